// The real functions of the CUDA driver, and the guard's own ones in their place.
//
//   const CUresult result = Call(real::cuInit, flags);
//   void* hook = HookFor(*function);           // dlsym found a function of the driver
//   hook = HookFor(name, known_version, of_thread);  // cuGetProcAddress did
//
// Invariants: after LoadDriver() has returned true, nothing here changes. A function that an older
// driver lacks is null. Cost: LoadDriver is one load after the first time. Threads: any.
#ifndef KAI_GUARD_DRIVER_DRIVER_H_
#define KAI_GUARD_DRIVER_DRIVER_H_

#include "guard/driver/cuda.h"

namespace kai::guard {

namespace real {
#define HOOK(symbol, name, since, thread) extern decltype(&::symbol) symbol;
#include "guard/driver/hooks.inc"
#undef HOOK
#define ASK(symbol) extern decltype(&::symbol) symbol;
#include "guard/driver/asked.inc"
#undef ASK
}  // namespace real

// False: there is no driver. A later call looks again.
bool LoadDriver();

// The guard's function in place of this one of the driver; null: it has none.
void* HookFor(void* real_function);
void* HookFor(const char* name, int cuda_version, bool of_thread);

// Whether the headers that the guard was built with have a function of this name.
bool IsKnown(const char* name);
// Whether the driver exports this function by this name.
bool IsOfDriver(const char* name, void* function);
// Whether the path is one of the driver's library.
bool IsFileOfDriver(const char* path);

// Calls one of `real`, by reference: it is known once the driver is loaded; this loads it.
template <typename Function, typename... Arguments>
CUresult Call(Function* const& function, Arguments... arguments) {
  if (!LoadDriver()) return CUDA_ERROR_NOT_SUPPORTED;
  return function == nullptr ? CUDA_ERROR_NOT_SUPPORTED : function(arguments...);
}

}  // namespace kai::guard

#endif  // KAI_GUARD_DRIVER_DRIVER_H_
