#include "guard/driver/driver.h"

#include <dlfcn.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "guard/driver/elf.h"

namespace kai::guard {

namespace real {
#define HOOK(symbol, name, since, thread) decltype(&::symbol) symbol = nullptr;
#include "guard/driver/hooks.inc"
#undef HOOK
#define ASK(symbol) decltype(&::symbol) symbol = nullptr;
#include "guard/driver/asked.inc"
#undef ASK
}  // namespace real

namespace {

constexpr const char* kLibrary = "libcuda.so";

struct Hook {
  const char* symbol;
  const char* name;
  int since;
  bool of_thread;
  void* function;
  void** real;
};

template <typename Function>
void* Plain(Function* function) {
  return reinterpret_cast<void*>(function);
}
template <typename Function>
void** Place(Function** function) {
  return reinterpret_cast<void**>(function);
}

const Hook kHooks[] = {
#define HOOK(symbol, name, since, thread) \
  {#symbol, name, since, thread == 1, Plain(&::symbol), Place(&real::symbol)},
#include "guard/driver/hooks.inc"
#undef HOOK
};

struct Asked {
  const char* symbol;
  void** real;
};

const Asked kAsked[] = {
#define ASK(symbol) {#symbol, Place(&real::symbol)},
#include "guard/driver/asked.inc"
#undef ASK
};

constexpr const char* kKnown[] = {
#include "known.inc"  // generated from cuda.h, sorted
};

std::atomic<bool> is_loaded{false};

}  // namespace

bool LoadDriver() {
  if (is_loaded.load(std::memory_order_acquire)) return true;
  // Both threads of a race write the same.
  if (AddressOf(kLibrary, "cuInit") == nullptr) {
    auto* open = OfSystem<decltype(dlopen)>("dlopen");
    if (open == nullptr || open("libcuda.so.1", RTLD_LAZY) == nullptr) return false;
    if (AddressOf(kLibrary, "cuInit") == nullptr) return false;
  }
  for (const Hook& hook : kHooks) *hook.real = AddressOf(kLibrary, hook.symbol);
  for (const Asked& asked : kAsked) *asked.real = AddressOf(kLibrary, asked.symbol);
  is_loaded.store(true, std::memory_order_release);
  return true;
}

void* HookFor(void* real_function) {
  for (const Hook& hook : kHooks) {
    if (*hook.real == real_function) return hook.function;
  }
  return nullptr;
}

void* HookFor(const char* name, int cuda_version, bool of_thread) {
  const Hook* best = nullptr;
  for (const Hook& hook : kHooks) {
    if (hook.since > cuda_version || strcmp(hook.name, name) != 0) continue;
    if (hook.of_thread && !of_thread) continue;
    // Later forms and, if asked for, those of a thread come later in the list.
    if (*hook.real != nullptr) best = &hook;
  }
  return best == nullptr ? nullptr : best->function;
}

bool IsKnown(const char* name) {
  const auto less = [](const char* a, const char* b) { return strcmp(a, b) < 0; };
  return std::binary_search(std::begin(kKnown), std::end(kKnown), name, less);
}

bool IsOfDriver(const char* name, void* function) { return AddressOf(kLibrary, name) == function; }

bool IsFileOfDriver(const char* path) {
  const char* slash = strrchr(path, '/');
  return strncmp(slash == nullptr ? path : slash + 1, kLibrary, strlen(kLibrary)) == 0;
}

}  // namespace kai::guard
