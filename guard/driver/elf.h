// Finds functions of libraries that are loaded, without dlsym: the guard has its own one in its
// place.
//
//   auto* open = FunctionOf<decltype(&dlopen)>("libc.so", "dlopen");
//
// Invariants: a library is found by its file's name. Cost: O(loaded libraries), and the hash of one
// name. Threads: any.
#ifndef KAI_GUARD_DRIVER_ELF_H_
#define KAI_GUARD_DRIVER_ELF_H_

namespace kai::guard {

// The first definition of the name in a loaded library whose file name begins so ("libcuda.so" is
// also "libcuda.so.1"); null: there is none.
void* AddressOf(const char* library, const char* name);

template <typename Function>
Function FunctionOf(const char* library, const char* name) {
  return reinterpret_cast<Function>(AddressOf(library, name));
}

}  // namespace kai::guard

#endif  // KAI_GUARD_DRIVER_ELF_H_
