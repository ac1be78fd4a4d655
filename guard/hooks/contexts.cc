// Contexts. Their own memory counts once for each process and device: KAI_GUARD_CONTEXT, or what
// the pod's first one took. What their limits add is in limits.cc.
#include <string.h>

#include <algorithm>

#include "guard/driver/nvml.h"
#include "guard/hooks/counted.h"

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

namespace {

constexpr int kMostDevicesHere = 64;
constexpr uint64_t kMib = uint64_t{1} << 20;
// What a context takes on today's cards is between these; another figure has memory in it that
// another process has allocated or freed meanwhile.
constexpr uint64_t kLeastMeasured = 32 * kMib, kMostMeasured = 1024 * kMib;
constexpr uint64_t kUsual = 512 * kMib;  // counts if there is no other figure

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

uint64_t Growth(uint64_t before, uint64_t after) { return after > before ? after - before : 0; }

void ReleaseHolding(const Holding& holding) { Release(holding.row, holding.bytes); }

// The driver has destroyed the context, and with it all that it held.
void Gone(CUcontext context, CUdevice device) {
  holdings().TakeAllOf(NumberOf(context), ReleaseHolding);
  ForgetContexts();
  if (--contexts_on[device] > 0) return;
  Release(PlaceOfDevice(device).row, counted_on[device]);
  counted_on[device] = 0;
}

// False: it has to be measured.
bool IsContextKnown(int row, uint64_t* bytes) {
  if (IsContextGiven(bytes)) return true;
  *bytes = region().ContextOf(row);
  return *bytes > 0;
}

// This process's first context on a device, where it is known what one takes.
template <typename Make>
CUresult MadeKnown(const Place& place, uint64_t bytes, const Make& call) {
  if (!Reserve(place, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  if (result == CUDA_SUCCESS) {
    counted_on[place.device] = bytes;
  } else {
    Release(place.row, bytes);
  }
  return result;
}

// Makes the context, and measures what it takes; 0: that is not known. NVML may say what this
// process uses. Else the whole machine's memory has to do, before and after, and that of others
// changes too: it is made twice, and the smaller figure counts.
template <typename Make, typename Undo>
CUresult Measured(const NvmlDevice& device, uint64_t* bytes, const Make& call, const Undo& undo) {
  const uint64_t own = device.UsedByProcess();
  uint64_t smallest = kMostMeasured + 1;
  for (int times = 0; times < 2; ++times) {
    if (times > 0) undo();
    const uint64_t before = device.UsedOnMachine();
    const CUresult result = call();
    if (result != CUDA_SUCCESS) return result;
    const uint64_t after = device.UsedOnMachine();
    *bytes = Growth(own, device.UsedByProcess());
    if (*bytes > 0 && *bytes <= kMostMeasured) return result;
    const uint64_t grown = Growth(before, after);
    if (grown >= kLeastMeasured) smallest = std::min(smallest, grown);
  }
  *bytes = smallest <= kMostMeasured ? smallest : 0;
  return CUDA_SUCCESS;
}

void SayThatItIsUsual() {
  static Once once;
  Say(&once,
      "what a context takes cannot be measured, as NVML is missing or others use the device: "
      "512 MiB count for it; KAI_GUARD_CONTEXT sets another size");
}

// The first one of the pod.
template <typename Make, typename Undo>
CUresult MadeMeasured(const Place& place, const Make& call, const Undo& undo) {
  CUuuid uuid = {};
  Call(real::cuDeviceGetUuid_v2, &uuid, place.device);
  const NvmlDevice device(uuid);
  if (!device.is_found()) {
    SayThatItIsUsual();
    return MadeKnown(place, kUsual, call);
  }
  uint64_t bytes = 0;
  const CUresult result = Measured(device, &bytes, call, undo);
  if (result != CUDA_SUCCESS) return result;
  region().SetContext(place.row, bytes);
  if (bytes == 0) {
    SayThatItIsUsual();
    bytes = kUsual;
  }
  if (!Reserve(place, bytes)) {
    undo();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  counted_on[place.device] = bytes;
  return result;
}

// False: it is known what a context takes. Else this process measures it, until EndMeasuring.
bool BeginsToMeasure(int row, uint64_t* bytes) {
  if (IsContextKnown(row, bytes)) return false;
  region().BeginMeasuring();  // in vain after ten seconds: then two measure at once
  if (!IsContextKnown(row, bytes)) return true;
  region().EndMeasuring();  // another process has done it meanwhile
  return false;
}

// Makes a context: `call` does, `undo` takes it back.
template <typename Make, typename Undo>
CUresult Made(CUdevice device, const Make& call, const Undo& undo) {
  const Place place = PlaceOfDevice(device);
  if (!place.counts() || device < 0 || device >= kMostDevicesHere) return call();
  if (place.row == Place::kRefused) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = CUDA_SUCCESS;
  uint64_t bytes = 0;
  if (contexts_on[device] > 0) {
    result = call();
  } else if (BeginsToMeasure(place.row, &bytes)) {
    result = MadeMeasured(place, call, undo);
    region().EndMeasuring();
  } else {
    result = MadeKnown(place, bytes, call);
  }
  if (result == CUDA_SUCCESS) ++contexts_on[device];
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

// Takes the primary context of the device or makes it: `call` does, `undo` takes it back, and
// `primary` finds it then.
template <typename Make, typename Undo, typename Find>
CUresult Retained(CUdevice device, const Make& call, const Undo& undo, const Find& primary) {
  const Locked locked(&making);
  const bool is_new = ModeOfProcess() != Mode::kOff && !IsActive(device);
  // The driver may forget the program's flags with the context.
  const auto undo_but_flags = [&] {
    unsigned int flags = 0;
    int active = 0;
    Call(real::cuDevicePrimaryCtxGetState, device, &flags, &active);
    undo();
    Call(real::cuDevicePrimaryCtxSetFlags_v2, device, flags);
  };
  const CUresult result = is_new ? Made(device, call, undo_but_flags) : call();
  const bool is_counted = is_new && result == CUDA_SUCCESS && device >= 0;
  if (is_counted && device < kMostDevicesHere) primaries[device] = primary();
  return result;
}

// After a call that may have ended the primary context of the device.
void LookAtPrimary(CUdevice device) {
  if (device < 0 || device >= kMostDevicesHere) return;
  if (primaries[device] == nullptr || IsActive(device)) return;
  Gone(primaries[device], device);
  primaries[device] = nullptr;
}

template <typename Real>
CUresult GivenUp(Real* const& real, CUdevice device) {
  const Locked locked(&making);
  const CUresult result = Call(real, device);
  LookAtPrimary(device);
  return result;
}

}  // namespace

KAI_GUARD_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return Retained(
      device, [&] { return Call(real::cuDevicePrimaryCtxRetain, context, device); },
      [&] { Call(real::cuDevicePrimaryCtxRelease_v2, device); }, [&] { return *context; });
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

// ---- contexts that share one --------------------------------------------------------------------

KAI_GUARD_EXPORT CUresult cuCtxAttach(CUcontext* context, unsigned int flags) {
  const Locked locked(&making);
  const CUresult result = Call(real::cuCtxAttach, context, flags);
  if (result != CUDA_SUCCESS || ModeOfProcess() != Mode::kCounts) return result;
  const Handle handle = {Handle::kContext, NumberOf(*context)};
  Holding attached = {Place::kNowhere, 0, NumberOf(*context)};
  holdings().Find(handle, &attached);
  ++attached.more;
  holdings().Put(handle, attached);
  return result;
}

// Destroys the context, unless it was attached more often than detached.
KAI_GUARD_EXPORT CUresult cuCtxDetach(CUcontext context) {
  const Locked locked(&making);
  const Place place = PlaceOfContext(context);
  const CUresult result = Call(real::cuCtxDetach, context);
  if (result != CUDA_SUCCESS || place.row < 0) return result;
  const Handle handle = {Handle::kContext, NumberOf(context)};
  Holding attached;
  if (holdings().Take(handle, &attached) && attached.more > 0) {
    --attached.more;
    holdings().Put(handle, attached);
  } else {
    Gone(context, place.device);
  }
  return result;
}

// A green context keeps the primary one.
KAI_GUARD_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc from,
                                           CUdevice device, unsigned int flags) {
  return Retained(
      device, [&] { return Call(real::cuGreenCtxCreate, context, from, device, flags); },
      [&] { Call(real::cuGreenCtxDestroy, *context); },
      [&] {
        CUcontext primary = nullptr;
        if (Call(real::cuDevicePrimaryCtxRetain, &primary, device) == CUDA_SUCCESS)
          Call(real::cuDevicePrimaryCtxRelease_v2, device);
        return primary;
      });
}

// What is allocated in a green context is the primary one's.
KAI_GUARD_EXPORT CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  const Locked locked(&making);
  const CUresult result = Call(real::cuCtxFromGreenCtx, context, green);
  if (result != CUDA_SUCCESS) return result;
  const CUdevice device = PlaceOfContext(*context).device;
  if (device < 0 || device >= kMostDevicesHere || primaries[device] == nullptr) return result;
  holdings().Put({Handle::kGreen, NumberOf(*context)},
                 {Place::kNowhere, 0, NumberOf(primaries[device])});
  ForgetContexts();
  return result;
}

KAI_GUARD_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx context) {
  const Locked locked(&making);
  const CUresult result = Call(real::cuGreenCtxDestroy, context);
  for (CUdevice device = 0; device < kMostDevicesHere; ++device) LookAtPrimary(device);
  return result;
}
