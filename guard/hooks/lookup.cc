// The ways in which programs find functions of the driver: dlsym and dlvsym, cuGetProcAddress, and
// the names that the guard exports itself. cuInit is where a process that cannot count is refused.
//
// dlmopen would give a program a second driver that has no guard: it gets the first one.
#include <dlfcn.h>
#include <string.h>

#include <algorithm>

#include "guard/driver/driver.h"
#include "guard/driver/elf.h"
#include "guard/hooks/counted.h"
#include "guard/hooks/reports.h"

using namespace kai::guard;  // NOLINT: the functions below belong to other interfaces

using Find = void*(void*, const char*);
using FindVersion = void*(void*, const char*, const char*);
using OpenApart = void*(Lmid_t, const char*, int);

extern "C" {
// Where dlsym, dlvsym and dlmopen continue, below.
__attribute__((visibility("hidden"))) Find* kai_guard_real_dlsym = nullptr;
__attribute__((visibility("hidden"))) FindVersion* kai_guard_real_dlvsym = nullptr;
__attribute__((visibility("hidden"))) OpenApart* kai_guard_real_dlmopen = nullptr;
}

namespace {

bool MayBeTheDrivers(void* handle, const char* name) {
  // RTLD_NEXT depends on the caller, who is only known where dlsym continues.
  return handle != RTLD_NEXT && name != nullptr &&
         (strncmp(name, "cu", 2) == 0 || strncmp(name, "nvml", 4) == 0);
}

void SayThatItIsNew(const char* name) {
  static Once once;
  if (ModeOfProcess() == Mode::kOff) return;
  Say(&once, "this function is newer than the guard: what it allocates does not count", name);
}

void* ReplacementFor(const char* name, void* found) {
  if (found == nullptr) return nullptr;
  if (name[0] == 'n') return ReplacementInNvml(name, found);
  if (!LoadDriver()) return nullptr;
  void* hook = HookFor(found);
  if (hook == nullptr && !IsKnown(name) && IsOfDriver(name, found)) SayThatItIsNew(name);
  return hook;
}

// `ask` asks the driver for this version of the function. What the driver finds may have another
// address than the exported name, and then it is recognised by name and version. But it may also be
// a form that is newer than the guard, with other parameters: the driver finds it for the version
// that the program wants, and not for the last one that the guard knows.
template <typename Ask>
CUresult FindInDriver(const char* name, void** function, int version, cuuint64_t flags,
                      const Ask& ask) {
  const CUresult result = ask(function, version);
  if (result != CUDA_SUCCESS || function == nullptr || *function == nullptr) return result;
  void* hook = HookFor(*function);
  if (hook == nullptr) {
    const bool of_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    const int known_version = std::min(version, CUDA_VERSION);
    void* known = *function;
    if (version > CUDA_VERSION && ask(&known, CUDA_VERSION) != CUDA_SUCCESS) known = nullptr;
    hook = HookFor(name, known_version, of_thread);
    const bool is_new = hook == nullptr ? !IsKnown(name) : known != *function;
    if (is_new) SayThatItIsNew(name);
    if (is_new || hook == nullptr) return result;
  }
  *function = hook;
  return result;
}

}  // namespace

extern "C" {

__attribute__((visibility("hidden"))) void* kai_guard_replaced(void* handle, const char* name) {
  if (kai_guard_real_dlsym == nullptr) kai_guard_real_dlsym = OfSystem<Find>("dlsym");
  if (!MayBeTheDrivers(handle, name)) return nullptr;
  return ReplacementFor(name, kai_guard_real_dlsym(handle, name));
}

__attribute__((visibility("hidden"))) void* kai_guard_replaced_version(void* handle,
                                                                       const char* name,
                                                                       const char* version) {
  if (kai_guard_real_dlvsym == nullptr) kai_guard_real_dlvsym = OfSystem<FindVersion>("dlvsym");
  if (!MayBeTheDrivers(handle, name)) return nullptr;
  return ReplacementFor(name, kai_guard_real_dlvsym(handle, name, version));
}

__attribute__((visibility("hidden"))) void* kai_guard_opened_apart(Lmid_t, const char* file,
                                                                   int flags) {
  if (kai_guard_real_dlmopen == nullptr) kai_guard_real_dlmopen = OfSystem<OpenApart>("dlmopen");
  if (file == nullptr || !IsFileOfDriver(file) || ModeOfProcess() == Mode::kOff) return nullptr;
  return OfSystem<decltype(dlopen)>("dlopen")(file, flags);
}

}  // extern "C"

#ifndef KAI_GUARD_WITHOUT_DLSYM  // a sanitizer's runtime calls it before any code of ours may run
// dlsym(RTLD_NEXT, name) looks behind the library of its caller, and dlmopen in that library's
// folders, so the real function has to see that caller: it is jumped to, not called.
#if defined(__x86_64__)
#define KAI_GUARD_JUMP(name, replaced, real) \
  asm(".text\n"                              \
      ".globl " name                         \
      "\n"                                   \
      ".type " name ", @function\n" name     \
      ":\n"                                  \
      "  endbr64\n"                          \
      "  push %rdi\n"                        \
      "  push %rsi\n"                        \
      "  push %rdx\n"                        \
      "  call " replaced                     \
      "\n"                                   \
      "  pop %rdx\n"                         \
      "  pop %rsi\n"                         \
      "  pop %rdi\n"                         \
      "  test %rax, %rax\n"                  \
      "  jne 1f\n"                           \
      "  jmp *" real                         \
      "(%rip)\n"                             \
      "1: ret\n"                             \
      ".size " name ", .-" name "\n")
#elif defined(__aarch64__)
#define KAI_GUARD_JUMP(name, replaced, real) \
  asm(".text\n"                              \
      ".globl " name                         \
      "\n"                                   \
      ".type " name ", %function\n" name     \
      ":\n"                                  \
      "  stp x0, x1, [sp, #-32]!\n"          \
      "  stp x2, x30, [sp, #16]\n"           \
      "  bl " replaced                       \
      "\n"                                   \
      "  mov x9, x0\n"                       \
      "  ldp x2, x30, [sp, #16]\n"           \
      "  ldp x0, x1, [sp], #32\n"            \
      "  cbnz x9, 1f\n"                      \
      "  adrp x16, " real                    \
      "\n"                                   \
      "  ldr x16, [x16, #:lo12:" real        \
      "]\n"                                  \
      "  br x16\n"                           \
      "1: mov x0, x9\n"                      \
      "  ret\n"                              \
      ".size " name ", .-" name "\n")
#endif

KAI_GUARD_JUMP("dlsym", "kai_guard_replaced", "kai_guard_real_dlsym");
KAI_GUARD_JUMP("dlvsym", "kai_guard_replaced_version", "kai_guard_real_dlvsym");
KAI_GUARD_JUMP("dlmopen", "kai_guard_opened_apart", "kai_guard_real_dlmopen");
#endif

KAI_GUARD_EXPORT CUresult cuInit(unsigned int flags) {
  const CUresult result = Call(real::cuInit, flags);
  // The sentence on the standard error output says why.
  if (result == CUDA_SUCCESS && ModeOfProcess() == Mode::kRefuses)
    return CUDA_ERROR_OPERATING_SYSTEM;
  return result;
}

KAI_GUARD_EXPORT CUresult cuGetProcAddress(const char* name, void** function, int version,
                                           cuuint64_t flags) {
  return FindInDriver(name, function, version, flags, [&](void** found, int of_version) {
    return Call(real::cuGetProcAddress, name, found, of_version, flags);
  });
}

KAI_GUARD_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                                              cuuint64_t flags,
                                              CUdriverProcAddressQueryResult* status) {
  return FindInDriver(name, function, version, flags, [&](void** found, int of_version) {
    CUdriverProcAddressQueryResult of_other;
    CUdriverProcAddressQueryResult* answer = found == function ? status : &of_other;
    return Call(real::cuGetProcAddress_v2, name, found, of_version, flags, answer);
  });
}
