// This process and the devices it uses: where a call of the driver counts, and the counting.
//
//   const Place place = PlaceOfThread();
//   if (!Reserve(place, guess)) return CUDA_ERROR_OUT_OF_MEMORY;
//   if (bytes < guess) Release(place.row, guess - bytes);
//
// Invariants: the process joins the region when it first uses the driver; a forked child joins
// again, as it can use no memory of its parent. What cannot be joined is refused: a process either
// counts or gets no memory. Cost: a place is a comparison, as long as the thread stays in one
// context. Threads: all may call all of it at once.
#ifndef KAI_GUARD_HOOKS_PROCESS_H_
#define KAI_GUARD_HOOKS_PROCESS_H_

#include <cstdint>

#include "guard/driver/driver.h"
#include "guard/hooks/holdings.h"
#include "guard/region/region.h"

namespace kai::guard {

enum class Mode : uint8_t {
  kOff,  // the environment asks for nothing, or there is no driver
  kCounts,
  kRefuses,  // the region cannot be used
};

// Joins the region if this is the first call.
Mode ModeOfProcess();

struct Place {
  static constexpr int kNowhere = -1;  // it does not count
  static constexpr int kRefused = -2;
  int row = kNowhere;
  uint64_t context = 0;  // the primary one of a green context
  CUdevice device = -1;
  bool counts() const { return row != kNowhere; }
};

Place PlaceOfThread();
Place PlaceOfContext(CUcontext context);
Place PlaceOfDevice(CUdevice device);
inline bool IsOnHost(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// Contexts may be at an address where another one was.
void ForgetContexts();

// False: over the limit, also after pools were trimmed and the dead were counted out.
bool Reserve(Place place, uint64_t bytes);
void Force(int row, uint64_t bytes);
void Release(int row, uint64_t bytes);

Region& region();
Holdings& holdings();
uint64_t LimitOfDevice(const Uuid& device, uint64_t total);
// KAI_GUARD_CONTEXT. False: it is not set.
bool IsContextGiven(uint64_t* bytes);
// By the driver, for the thread's device; 0: there is none.
uint64_t FreeOnDevice();

// `give` gives back what the driver keeps in the row for later. Called in constructors.
void AddRelief(void (*give)(int row));
// `forget` is called in forked children.
void AddForget(void (*forget)());

// Writes "kai guard: ..." to the standard error output, once for each `once`.
struct Once {
  std::atomic<bool> is_said{false};
};
void Say(Once* once, const char* sentence, const char* name = nullptr);

}  // namespace kai::guard

#endif  // KAI_GUARD_HOOKS_PROCESS_H_
