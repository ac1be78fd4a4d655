#include "guard/driver/nvml.h"

#include <dlfcn.h>

#include "guard/driver/elf.h"

namespace kai::guard {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so";

bool Load() {
  if (AddressOf(kLibrary, "nvmlInit_v2") != nullptr) return true;
  auto* open = FunctionOf<decltype(&dlopen)>("libc.so", "dlopen");
  if (open == nullptr) open = FunctionOf<decltype(&dlopen)>("libdl.so", "dlopen");
  return open != nullptr && open("libnvidia-ml.so.1", RTLD_LAZY) != nullptr;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(RealNvml(name));
}

}  // namespace

void* RealNvml(const char* name) { return AddressOf(kLibrary, name); }

bool MemoryOfDevice(const CUuuid& device, nvmlMemory_t* memory) {
  if (!Load()) return false;
  auto* init = Real<decltype(nvmlInit_v2)>("nvmlInit_v2");
  auto* find = Real<decltype(nvmlDeviceGetHandleByUUID)>("nvmlDeviceGetHandleByUUID");
  auto* ask = Real<decltype(nvmlDeviceGetMemoryInfo)>("nvmlDeviceGetMemoryInfo");
  if (init == nullptr || find == nullptr || ask == nullptr || init() != NVML_SUCCESS) return false;
  nvmlDevice_t handle = nullptr;
  constexpr const char* kPrefixes[] = {"GPU-", "MIG-"};
  for (const char* prefix : kPrefixes) {
    char text[48];
    size_t size = 0;
    for (const char* at = prefix; *at != '\0'; ++at) text[size++] = *at;
    for (int i = 0; i < 16; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text[size++] = '-';
      const auto byte = static_cast<unsigned char>(device.bytes[i]);
      text[size++] = "0123456789abcdef"[byte >> 4];
      text[size++] = "0123456789abcdef"[byte & 15];
    }
    text[size] = '\0';
    if (find(text, &handle) == NVML_SUCCESS) return ask(handle, memory) == NVML_SUCCESS;
  }
  return false;
}

}  // namespace kai::guard
