// Code: modules and libraries. What loading took counts, by the memory that is free before and
// after. It is known only afterwards: images are far larger than what is loaded of them, and have
// no bytes of variables that are zero at first. Code that the driver loads later, when a function
// is first used, does not count.
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "guard/hooks/counted.h"

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

namespace {

constexpr uint32_t kElf = 0x464c457f;
constexpr uint32_t kWrappedFatbin = 0x466243b1;
constexpr uint32_t kFatbin = 0xba55ed50;

struct WrappedFatbin {
  uint32_t magic, version;
  const void* fatbin;
};

struct Fatbin {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t rest_bytes;
};

// Images may lie at any address.
template <typename Header>
Header HeaderOf(const void* image) {
  Header header;
  memcpy(&header, image, sizeof(header));
  return header;
}

uint64_t SizeOfImage(const void* image) {
  if (image == nullptr) return 0;
  switch (HeaderOf<uint32_t>(image)) {
    case kElf: {
      const auto header = HeaderOf<Elf64_Ehdr>(image);  // the table of sections is the last part
      return header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum;
    }
    case kWrappedFatbin:
      return SizeOfImage(HeaderOf<WrappedFatbin>(image).fatbin);
    case kFatbin: {
      const auto header = HeaderOf<Fatbin>(image);
      return header.header_bytes + header.rest_bytes;
    }
    default:  // text, which the driver compiles
      return strlen(static_cast<const char*>(image));
  }
}

uint64_t SizeOfFile(const char* path) {
  struct stat found;
  const bool is_found = path != nullptr && syscall(SYS_newfstatat, AT_FDCWD, path, &found, 0) == 0;
  return is_found ? static_cast<uint64_t>(found.st_size) : 0;
}

// What the device has less after the call, but for what other threads of this process count.
template <typename Ask>
CUresult Measured(int row, uint64_t* taken, const Ask& call) {
  const auto rest = [&] { return FreeOnDevice() + region().UsedByProcess(row); };
  const uint64_t before = rest();
  const CUresult result = call();
  const uint64_t after = rest();
  *taken = before > after ? before - after : 0;
  return result;
}

template <typename Loaded, typename Ask, typename Undo>
CUresult Load(uint64_t image_bytes, Loaded* loaded, const Ask& call, const Undo& undo) {
  const Place place = PlaceOfThread();
  if (!place.counts()) return call();
  if (place.row == Place::kRefused) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t taken = 0;
  CUresult result = Measured(place.row, &taken, call);
  // More is a variable, or what another process has allocated meanwhile: a second time the variable
  // takes as much again. (While a graph is recorded nothing can be unloaded.)
  if (result == CUDA_SUCCESS && taken > image_bytes && undo() == CUDA_SUCCESS) {
    uint64_t again = 0;
    result = Measured(place.row, &again, call);
    taken = std::min(taken, again);
  }
  if (result != CUDA_SUCCESS || taken == 0) return result;
  if (!Reserve(place, taken)) {
    undo();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  holdings().Put({Handle::kModule, NumberOf(*loaded)}, {place.row, taken, place.context});
  return result;
}

template <typename Ask>
CUresult LoadModule(uint64_t image_bytes, CUmodule* loaded, const Ask& call) {
  return Load(image_bytes, loaded, call, [&] { return Call(real::cuModuleUnload, *loaded); });
}

template <typename Ask>
CUresult LoadLibrary(uint64_t image_bytes, CUlibrary* loaded, const Ask& call) {
  return Load(image_bytes, loaded, call, [&] { return Call(real::cuLibraryUnload, *loaded); });
}

}  // namespace

KAI_GUARD_EXPORT CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return LoadModule(SizeOfFile(path), module,
                    [&] { return Call(real::cuModuleLoad, module, path); });
}

KAI_GUARD_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadModule(SizeOfImage(image), module,
                    [&] { return Call(real::cuModuleLoadData, module, image); });
}

KAI_GUARD_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image,
                                             unsigned int count, CUjit_option* options,
                                             void** values) {
  return LoadModule(SizeOfImage(image), module, [&] {
    return Call(real::cuModuleLoadDataEx, module, image, count, options, values);
  });
}

KAI_GUARD_EXPORT CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return LoadModule(SizeOfImage(image), module,
                    [&] { return Call(real::cuModuleLoadFatBinary, module, image); });
}

KAI_GUARD_EXPORT CUresult cuModuleUnload(CUmodule module) {
  return Freed({Handle::kModule, NumberOf(module)},
               [&] { return Call(real::cuModuleUnload, module); });
}

KAI_GUARD_EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit,
                                            void** jit_values, unsigned int jit_count,
                                            CUlibraryOption* options, void** values,
                                            unsigned int count) {
  return LoadLibrary(SizeOfImage(code), library, [&] {
    return Call(real::cuLibraryLoadData, library, code, jit, jit_values, jit_count, options, values,
                count);
  });
}

KAI_GUARD_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                                                CUjit_option* jit, void** jit_values,
                                                unsigned int jit_count, CUlibraryOption* options,
                                                void** values, unsigned int count) {
  return LoadLibrary(SizeOfFile(path), library, [&] {
    return Call(real::cuLibraryLoadFromFile, library, path, jit, jit_values, jit_count, options,
                values, count);
  });
}

KAI_GUARD_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  return Freed({Handle::kModule, NumberOf(library)},
               [&] { return Call(real::cuLibraryUnload, library); });
}
