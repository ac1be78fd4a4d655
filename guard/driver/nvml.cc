#include "guard/driver/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "guard/driver/elf.h"

namespace kai::guard {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so";
constexpr unsigned int kMostListed = 256;
constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE, of another type

bool Load() {
  if (AddressOf(kLibrary, "nvmlInit_v2") != nullptr) return true;
  auto* open = OfSystem<decltype(dlopen)>("dlopen");
  return open != nullptr && open("libnvidia-ml.so.1", RTLD_LAZY) != nullptr;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(RealNvml(name));
}

}  // namespace

void* RealNvml(const char* name) { return AddressOf(kLibrary, name); }

NvmlDevice::NvmlDevice(const CUuuid& device) {
  if (!Load()) return;
  auto* init = Real<decltype(nvmlInit_v2)>("nvmlInit_v2");
  auto* find = Real<decltype(nvmlDeviceGetHandleByUUID)>("nvmlDeviceGetHandleByUUID");
  if (init == nullptr || find == nullptr || init() != NVML_SUCCESS) return;
  constexpr const char* kPrefixes[] = {"GPU-", "MIG-"};
  for (const char* prefix : kPrefixes) {
    char text[48];
    char* at = text + snprintf(text, sizeof(text), "%s", prefix);
    for (int i = 0; i < 16; ++i) {
      const bool has_dash = i == 4 || i == 6 || i == 8 || i == 10;
      at += snprintf(at, sizeof("-00"), has_dash ? "-%02x" : "%02x",
                     static_cast<unsigned char>(device.bytes[i]));
    }
    if (find(text, &handle_) == NVML_SUCCESS) return;
  }
  handle_ = nullptr;
}

uint64_t NvmlDevice::UsedOnMachine() const {
  auto* ask = Real<decltype(nvmlDeviceGetMemoryInfo)>("nvmlDeviceGetMemoryInfo");
  nvmlMemory_t memory = {};
  if (handle_ == nullptr || ask == nullptr || ask(handle_, &memory) != NVML_SUCCESS) return 0;
  return memory.used;
}

uint64_t NvmlDevice::UsedByProcess() const {
  auto* ask = Real<decltype(nvmlDeviceGetComputeRunningProcesses_v3)>(
      "nvmlDeviceGetComputeRunningProcesses_v3");
  nvmlProcessInfo_t found[kMostListed];
  unsigned int count = kMostListed;
  if (handle_ == nullptr || ask == nullptr || ask(handle_, &count, found) != NVML_SUCCESS) return 0;
  for (unsigned int i = 0; i < count; ++i) {
    const bool is_known = found[i].usedGpuMemory != kNotAvailable;
    if (found[i].pid == static_cast<unsigned int>(getpid()) && is_known)
      return found[i].usedGpuMemory;
  }
  return 0;
}

}  // namespace kai::guard
