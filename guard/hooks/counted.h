// The two shapes of nearly all functions that the guard has in their place.
//
//   return Counted(PlaceOfThread(), from->size, Handle::kExternal, call, [&] { return *memory; });
//   return Freed({Handle::kExternal, NumberOf(memory)}, [&] { ...
//
// Invariants: memory is counted before the driver gives it, and until it has taken it back, so two
// processes that both request some never get more than the limit together. Cost: that of Reserve
// and Release, and of one holding. Threads: any.
#ifndef KAI_GUARD_HOOKS_COUNTED_H_
#define KAI_GUARD_HOOKS_COUNTED_H_

#include "guard/hooks/process.h"

#define KAI_GUARD_EXPORT extern "C" __attribute__((visibility("default")))

namespace kai::guard {

template <typename T>
uint64_t NumberOf(T* handle) {
  return reinterpret_cast<uint64_t>(handle);
}
inline uint64_t NumberOf(uint64_t handle) { return handle; }
inline uint64_t NumberOf(unsigned int handle) { return handle; }
inline uint64_t NumberOf(unsigned long long handle) { return handle; }

// `call` asks the driver; `handle` is what it gave.
template <typename Ask, typename Given>
CUresult Counted(Place place, uint64_t bytes, Handle::Kind kind, const Ask& call,
                 const Given& handle) {
  if (!place.counts()) return call();
  if (!Reserve(place, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  if (result == CUDA_SUCCESS) {
    holdings().Put({kind, NumberOf(handle())}, {place.row, bytes, place.context});
  } else {
    Release(place.row, bytes);
  }
  return result;
}

// The holding goes first: another thread may get the same handle as soon as the driver has it back.
template <typename Ask>
CUresult Freed(Handle handle, const Ask& call) {
  Holding holding;
  const bool is_held = holdings().Take(handle, &holding);
  const CUresult result = call();
  if (is_held && result == CUDA_SUCCESS) Release(holding.row, holding.bytes);
  if (is_held && result != CUDA_SUCCESS) holdings().Put(handle, holding);
  return result;
}

}  // namespace kai::guard

#endif  // KAI_GUARD_HOOKS_COUNTED_H_
