// Contexts and their limits. A context's own memory counts once for each process and device:
// KAI_GUARD_CONTEXT, or as much as the device had less, by NVML, after the pod's first was made.
#include <string.h>

#include <algorithm>

#include "guard/driver/nvml.h"
#include "guard/hooks/counted.h"

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

namespace {

constexpr int kMostDevicesHere = 64;

Mutex making;  // one context at a time, so that each can be measured
CUcontext primaries[kMostDevicesHere];
int contexts_on[kMostDevicesHere];  // of this process, the primary one as one
uint64_t counted_on[kMostDevicesHere];

__attribute__((constructor)) void Register() {
  AddForget([] {
    making.Reset();
    memset(primaries, 0, sizeof(primaries));
    memset(contexts_on, 0, sizeof(contexts_on));
    memset(counted_on, 0, sizeof(counted_on));
  });
}

bool IsActive(CUdevice device) {
  unsigned int flags = 0;
  int active = 0;
  return Call(real::cuDevicePrimaryCtxGetState, device, &flags, &active) == CUDA_SUCCESS &&
         active != 0;
}

uint64_t UsedOnMachine(CUdevice device) {
  CUuuid uuid;
  nvmlMemory_t memory;
  if (Call(real::cuDeviceGetUuid_v2, &uuid, device) != CUDA_SUCCESS) return 0;
  return MemoryOfDevice(uuid, &memory) ? memory.used : 0;
}

void ReleaseHolding(const Holding& holding) { Release(holding.row, holding.bytes); }

// The driver has destroyed the context, and with it all that it held.
void Gone(CUcontext context, CUdevice device) {
  holdings().TakeAllOf(NumberOf(context), ReleaseHolding);
  ForgetContexts();
  if (--contexts_on[device] > 0) return;
  Release(PlaceOfDevice(device).row, counted_on[device]);
  counted_on[device] = 0;
}

// Makes a context: `call` does, `undo` takes it back.
template <typename Make, typename Undo>
CUresult Made(CUdevice device, const Make& call, const Undo& undo) {
  const Place place = PlaceOfDevice(device);
  if (!place.counts() || device < 0 || device >= kMostDevicesHere) return call();
  if (place.row == Place::kRefused) return CUDA_ERROR_OUT_OF_MEMORY;
  if (contexts_on[device] > 0) {
    const CUresult result = call();
    if (result == CUDA_SUCCESS) ++contexts_on[device];
    return result;
  }
  // The first process of the pod measures it, when nothing else counts yet.
  uint64_t bytes = BytesOfContext(region().ContextOf(place.row));
  const bool measures = bytes == 0 && region().BeginMeasuring();
  if (measures) bytes = BytesOfContext(region().ContextOf(place.row));
  const bool is_known = bytes > 0;
  if (measures && is_known) region().EndMeasuring();  // another process has, in the meantime
  if (is_known && !Reserve(place, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t before = is_known ? 0 : UsedOnMachine(device);
  const CUresult result = call();
  if (!is_known) {
    const uint64_t after = result == CUDA_SUCCESS ? UsedOnMachine(device) : 0;
    bytes = BytesOfContext(after > before ? after - before : 0);
    if (result == CUDA_SUCCESS) region().SetContext(place.row, bytes);
    if (measures) region().EndMeasuring();
  }
  if (result != CUDA_SUCCESS) {
    if (is_known) Release(place.row, bytes);
    return result;
  }
  if (!is_known && !Reserve(place, bytes)) {
    undo();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  counted_on[device] = bytes;
  contexts_on[device] = 1;
  return result;
}

template <typename Make>
CUresult Created(CUcontext* context, CUdevice device, const Make& call) {
  const Locked locked(&making);
  return Made(device, call, [&] { Call(real::cuCtxDestroy_v2, *context); });
}

template <typename Real>
CUresult Destroyed(Real* const& real, CUcontext context) {
  const Locked locked(&making);
  const Place place = PlaceOfContext(context);
  const CUresult result = Call(real, context);
  if (result == CUDA_SUCCESS && place.row >= 0) Gone(context, place.device);
  return result;
}

// Releasing is not always the end of the primary context; resetting is.
template <typename Real>
CUresult GivenUp(Real* const& real, CUdevice device) {
  const Locked locked(&making);
  const bool was_active = IsActive(device);
  const CUresult result = Call(real, device);
  const bool is_counted = device >= 0 && device < kMostDevicesHere && primaries[device] != nullptr;
  if (was_active && is_counted && !IsActive(device)) {
    Gone(primaries[device], device);
    primaries[device] = nullptr;
  }
  return result;
}

// ---- limits of a context ------------------------------------------------------------------------

// Bytes of device memory for this value of the limit.
uint64_t CostOf(CUlimit limit, size_t value, CUdevice device) {
  if (limit != CU_LIMIT_STACK_SIZE) return value;
  int processors = 0, threads = 0;
  Call(real::cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  Call(real::cuDeviceGetAttribute, &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
       device);
  return value * static_cast<uint64_t>(processors) * static_cast<uint64_t>(threads);
}

bool HasMemory(CUlimit limit) {
  return limit == CU_LIMIT_STACK_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE ||
         limit == CU_LIMIT_MALLOC_HEAP_SIZE;
}

}  // namespace

KAI_GUARD_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const auto call = [&] { return Call(real::cuDevicePrimaryCtxRetain, context, device); };
  const Locked locked(&making);
  const bool is_new = ModeOfProcess() != Mode::kOff && !IsActive(device);
  const CUresult result =
      is_new ? Made(device, call, [&] { Call(real::cuDevicePrimaryCtxRelease_v2, device); })
             : call();
  const bool is_counted = is_new && result == CUDA_SUCCESS && device >= 0;
  if (is_counted && device < kMostDevicesHere) primaries[device] = *context;
  return result;
}

KAI_GUARD_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return GivenUp(real::cuDevicePrimaryCtxRelease, device);
}

KAI_GUARD_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return GivenUp(real::cuDevicePrimaryCtxRelease_v2, device);
}

KAI_GUARD_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return GivenUp(real::cuDevicePrimaryCtxReset, device);
}

KAI_GUARD_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return GivenUp(real::cuDevicePrimaryCtxReset_v2, device);
}

KAI_GUARD_EXPORT CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return Created(context, device, [&] { return Call(real::cuCtxCreate, context, flags, device); });
}

KAI_GUARD_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return Created(context, device,
                 [&] { return Call(real::cuCtxCreate_v2, context, flags, device); });
}

KAI_GUARD_EXPORT CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity,
                                         int affinities, unsigned int flags, CUdevice device) {
  return Created(context, device, [&] {
    return Call(real::cuCtxCreate_v3, context, affinity, affinities, flags, device);
  });
}

KAI_GUARD_EXPORT CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* with,
                                         unsigned int flags, CUdevice device) {
  return Created(context, device,
                 [&] { return Call(real::cuCtxCreate_v4, context, with, flags, device); });
}

KAI_GUARD_EXPORT CUresult cuCtxDestroy(CUcontext context) {
  return Destroyed(real::cuCtxDestroy, context);
}

KAI_GUARD_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  return Destroyed(real::cuCtxDestroy_v2, context);
}

// A limit counts with what it has above that of a new context.
KAI_GUARD_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const auto call = [&] { return Call(real::cuCtxSetLimit, limit, value); };
  if (!HasMemory(limit)) return call();
  const Place place = PlaceOfThread();
  if (!place.counts()) return call();
  const Locked locked(&making);
  const Handle handle = {Handle::kHeap, place.context ^ (uint64_t{limit} << 56)};
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
  const CUresult result = call();
  const uint64_t counted = std::max(bytes, earlier.bytes);
  const uint64_t remains = result == CUDA_SUCCESS ? bytes : earlier.bytes;
  Release(place.row, counted - remains);
  holdings().Put(handle, {place.row, remains, place.context, earlier.more});
  return result;
}
