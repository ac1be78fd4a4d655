// Finds functions of libraries that are loaded, without dlsym: the guard has its own one in its
// place.
//
//   auto* open = OfSystem<decltype(dlopen)>("dlopen");
//
// Invariants: a library is found by its file's name. Cost: O(loaded libraries), and the hash of one
// name. Threads: any.
#ifndef KAI_GUARD_DRIVER_ELF_H_
#define KAI_GUARD_DRIVER_ELF_H_

namespace kai::guard {

// The first definition of the name in a loaded library whose file name begins so ("libcuda.so" is
// also "libcuda.so.1"); null: there is none.
void* AddressOf(const char* library, const char* name);

// A function for libraries: of libc, or, before glibc 2.34, of libdl.
template <typename Function>
Function* OfSystem(const char* name) {
  void* found = AddressOf("libc.so", name);
  if (found == nullptr) found = AddressOf("libdl.so", name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace kai::guard

#endif  // KAI_GUARD_DRIVER_ELF_H_
