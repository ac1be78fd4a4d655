// What programs ask how much memory there is: they see the limit as the device's size, and what the
// pod holds as used. Without a limit, the driver's own answers.
#include "guard/hooks/reports.h"

#include <string.h>

#include <algorithm>

#include "guard/driver/nvml.h"
#include "guard/hooks/counted.h"
#include "guard/hooks/settings.h"

namespace kai::guard {
namespace {

// Of a driver's or NVML's answer: the free bytes and the size.
template <typename Size>
void ShowShare(int row, Size* free, Size* total) {
  const uint64_t limit = region().LimitOf(row);
  if (limit == kNoLimit) return;
  const uint64_t used = region().UsedOf(row);
  const uint64_t left = limit > used ? limit - used : 0;
  *free = static_cast<Size>(std::min<uint64_t>(*free, left));
  *total = static_cast<Size>(std::min<uint64_t>(*total, limit));
}

template <typename Size, typename Real>
CUresult MemoryOfThread(Real* const& real, Size* free, Size* total) {
  const CUresult result = Call(real, free, total);
  const Place place = PlaceOfThread();
  if (result != CUDA_SUCCESS || place.row < 0) return result;
  region().Clean();
  ShowShare(place.row, free, total);
  return result;
}

template <typename Size, typename Real>
CUresult TotalOf(Real* const& real, Size* bytes, CUdevice device) {
  const CUresult result = Call(real, bytes, device);
  const Place place = PlaceOfDevice(device);
  if (result != CUDA_SUCCESS || place.row < 0) return result;
  Size free = 0;
  ShowShare(place.row, &free, bytes);
  return result;
}

// The processes of the pod may not have used the device yet: then nothing of its share is used.
template <typename Memory>
nvmlReturn_t MemoryOf(const char* function, nvmlDevice_t device, Memory* memory) {
  using Ask = nvmlReturn_t(nvmlDevice_t, Memory*);
  auto* real = reinterpret_cast<Ask*>(RealNvml(function));
  auto* uuid_of = reinterpret_cast<decltype(nvmlDeviceGetUUID)*>(RealNvml("nvmlDeviceGetUUID"));
  if (real == nullptr) return NVML_ERROR_FUNCTION_NOT_FOUND;
  const nvmlReturn_t result = real(device, memory);
  char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
  Uuid uuid;
  if (result != NVML_SUCCESS || uuid_of == nullptr || ModeOfProcess() != Mode::kCounts ||
      uuid_of(device, text, sizeof(text)) != NVML_SUCCESS || !ReadUuid(text, &uuid)) {
    return result;
  }
  region().Clean();
  const int row = region().FindRow(uuid);
  const uint64_t limit = row < 0 ? LimitOfDevice(uuid, memory->total) : region().LimitInFile(row);
  if (limit == kNoLimit) return result;
  memory->total = std::min<unsigned long long>(memory->total, limit);
  memory->used = std::min<unsigned long long>(row < 0 ? 0 : region().UsedOf(row), memory->total);
  memory->free = memory->total - memory->used;
  if constexpr (requires { memory->reserved; }) memory->reserved = 0;
  return result;
}

}  // namespace

void* ReplacementInNvml(const char* name, void* found) {
  if (found == nullptr || RealNvml(name) != found) return nullptr;
  if (strcmp(name, "nvmlDeviceGetMemoryInfo") == 0)
    return reinterpret_cast<void*>(&::nvmlDeviceGetMemoryInfo);
  if (strcmp(name, "nvmlDeviceGetMemoryInfo_v2") == 0)
    return reinterpret_cast<void*>(&::nvmlDeviceGetMemoryInfo_v2);
  return nullptr;
}

}  // namespace kai::guard

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

KAI_GUARD_EXPORT CUresult cuMemGetInfo(unsigned int* free, unsigned int* total) {
  return MemoryOfThread(real::cuMemGetInfo, free, total);
}

KAI_GUARD_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return MemoryOfThread(real::cuMemGetInfo_v2, free, total);
}

KAI_GUARD_EXPORT CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice device) {
  return TotalOf(real::cuDeviceTotalMem, bytes, device);
}

KAI_GUARD_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return TotalOf(real::cuDeviceTotalMem_v2, bytes, device);
}

KAI_GUARD_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return MemoryOf("nvmlDeviceGetMemoryInfo", device, memory);
}

KAI_GUARD_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device,
                                                         nvmlMemory_v2_t* memory) {
  return MemoryOf("nvmlDeviceGetMemoryInfo_v2", device, memory);
}
