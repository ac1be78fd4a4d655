// Limits of contexts: device memory for the stacks, the heap and the printf of kernels, and for how
// deep they launch each other.
#include <algorithm>

#include "guard/hooks/counted.h"

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

namespace {

// More is measured only if other processes allocate at the same time.
constexpr uint64_t kMostMeasured = uint64_t{1} << 30;

Mutex setting;  // one limit at a time, so that each can be measured

__attribute__((constructor)) void Register() {
  AddForget([] { setting.Reset(); });
}

// Bytes of device memory for this value of the limit.
uint64_t CostOf(CUlimit limit, size_t value, CUdevice device) {
  if (limit != CU_LIMIT_STACK_SIZE) return value;
  int processors = 0, threads = 0;
  Call(real::cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  Call(real::cuDeviceGetAttribute, &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
       device);
  return value * static_cast<uint64_t>(processors) * static_cast<uint64_t>(threads);
}

bool IsKnown(CUlimit limit) {
  return limit == CU_LIMIT_STACK_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE ||
         limit == CU_LIMIT_MALLOC_HEAP_SIZE;
}

bool IsHint(CUlimit limit) {
  return limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY || limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

Handle HandleOf(const Place& place, CUlimit limit) {
  return {Handle::kLimit, place.context ^ (uint64_t{limit} << 56)};
}

// A limit whose value is bytes, or bytes of each thread: what it has above that of a new context.
CUresult SetKnown(const Place& place, CUlimit limit, size_t value) {
  const Handle handle = HandleOf(place, limit);
  Holding earlier;
  if (!holdings().Find(handle, &earlier)) {
    size_t first = 0;
    Call(real::cuCtxGetLimit, &first, limit);
    earlier = {place.row, 0, place.context, CostOf(limit, first, place.device)};
  }
  const uint64_t cost = CostOf(limit, value, place.device);
  const uint64_t bytes = cost > earlier.more ? cost - earlier.more : 0;
  if (bytes > earlier.bytes && !Reserve(place, bytes - earlier.bytes))
    return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = Call(real::cuCtxSetLimit, limit, value);
  const uint64_t counted = std::max(bytes, earlier.bytes);
  const uint64_t remains = result == CUDA_SUCCESS ? bytes : earlier.bytes;
  Release(place.row, counted - remains);
  holdings().Put(handle, {place.row, remains, place.context, earlier.more});
  return result;
}

// Other limits, such as how deep kernels may launch kernels: what the device has less afterwards.
CUresult SetMeasured(const Place& place, CUlimit limit, size_t value) {
  size_t value_before = 0;
  Call(real::cuCtxGetLimit, &value_before, limit);
  const uint64_t before = FreeOnDevice();
  const CUresult result = Call(real::cuCtxSetLimit, limit, value);
  if (result != CUDA_SUCCESS) return result;
  const uint64_t after = FreeOnDevice();
  const uint64_t taken = std::min(before > after ? before - after : 0, kMostMeasured);
  if (taken > 0 && !Reserve(place, taken)) {
    Call(real::cuCtxSetLimit, limit, value_before);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const Handle handle = HandleOf(place, limit);
  Holding counted = {place.row, 0, place.context};
  holdings().Find(handle, &counted);
  const uint64_t given = std::min(after > before ? after - before : 0, counted.bytes);
  Release(place.row, given);
  counted.bytes = counted.bytes + taken - given;
  holdings().Put(handle, counted);
  return result;
}

}  // namespace

KAI_GUARD_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const Place place = IsHint(limit) ? Place() : PlaceOfThread();
  if (!place.counts()) return Call(real::cuCtxSetLimit, limit, value);
  if (place.row == Place::kRefused) return CUDA_ERROR_OUT_OF_MEMORY;
  const Locked locked(&setting);
  return IsKnown(limit) ? SetKnown(place, limit, value) : SetMeasured(place, limit, value);
}
