// Linear, pitched and managed memory, arrays, and memory that other interfaces have allocated.
//
// Managed memory counts in full, as all of it may be on the device at once. Memory of the host does
// not count.
#include <algorithm>

#include "guard/hooks/array_size.h"
#include "guard/hooks/counted.h"
#include "guard/hooks/pools.h"

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

namespace {

// What the driver's pitch is a multiple of on all devices so far. If a pitch is larger, the rest is
// counted afterwards.
constexpr uint64_t kPitch = 512;

template <typename Real, typename Pointer, typename Size>
CUresult Pitched(Real* const& real, Pointer* pointer, Size* pitch, Size width, Size height,
                 unsigned int element) {
  const auto call = [&] { return Call(real, pointer, pitch, width, height, element); };
  const Place place = PlaceOfThread();
  if (!place.counts()) return call();
  const uint64_t guess = (uint64_t{width} + kPitch - 1) / kPitch * kPitch * height;
  if (!Reserve(place, guess)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  const uint64_t bytes = result == CUDA_SUCCESS ? uint64_t{*pitch} * height : 0;
  if (bytes > guess && !Reserve(place, bytes - guess)) {
    Call(real::cuMemFree_v2, static_cast<CUdeviceptr>(*pointer));
    Release(place.row, guess);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (bytes < guess) Release(place.row, guess - bytes);
  if (result == CUDA_SUCCESS)
    holdings().Put({Handle::kMemory, NumberOf(*pointer)}, {place.row, bytes, place.context});
  return result;
}

template <typename Real, typename Descriptor>
CUresult Array(Real* const& real, CUarray* array, const Descriptor* descriptor) {
  const auto call = [&] { return Call(real, array, descriptor); };
  if (array == nullptr || descriptor == nullptr) return call();
  return Counted(PlaceOfThread(), SizeOfArray(*descriptor), Handle::kArray, call,
                 [&] { return *array; });
}

// Memory of a pool has no count of its own.
template <typename Real, typename Pointer>
CUresult FreeMemory(Real* const& real, Pointer pointer) {
  const Handle handle = {Handle::kMemory, NumberOf(pointer)};
  Holding holding;
  const bool is_of_pool = !holdings().Find(handle, &holding);
  const CUresult result = Freed(handle, [&] { return Call(real, pointer); });
  if (is_of_pool) NoteFreeToPool();
  return result;
}

}  // namespace

KAI_GUARD_EXPORT CUresult cuMemAlloc(CUdeviceptr_v1* pointer, unsigned int bytes) {
  return Counted(
      PlaceOfThread(), bytes, Handle::kMemory,
      [&] { return Call(real::cuMemAlloc, pointer, bytes); }, [&] { return *pointer; });
}

KAI_GUARD_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  return Counted(
      PlaceOfThread(), bytes, Handle::kMemory,
      [&] { return Call(real::cuMemAlloc_v2, pointer, bytes); }, [&] { return *pointer; });
}

KAI_GUARD_EXPORT CUresult cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned int* pitch,
                                          unsigned int width, unsigned int height,
                                          unsigned int element) {
  return Pitched(real::cuMemAllocPitch, pointer, pitch, width, height, element);
}

KAI_GUARD_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width,
                                             size_t height, unsigned int element) {
  return Pitched(real::cuMemAllocPitch_v2, pointer, pitch, width, height, element);
}

KAI_GUARD_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes,
                                            unsigned int flags) {
  return Counted(
      PlaceOfThread(), bytes, Handle::kMemory,
      [&] { return Call(real::cuMemAllocManaged, pointer, bytes, flags); },
      [&] { return *pointer; });
}

KAI_GUARD_EXPORT CUresult cuMemFree(CUdeviceptr_v1 pointer) {
  return FreeMemory(real::cuMemFree, pointer);
}

KAI_GUARD_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return FreeMemory(real::cuMemFree_v2, pointer);
}

// ---- arrays -------------------------------------------------------------------------------------

KAI_GUARD_EXPORT CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* from) {
  return Array(real::cuArrayCreate, array, from);
}

KAI_GUARD_EXPORT CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* from) {
  return Array(real::cuArrayCreate_v2, array, from);
}

KAI_GUARD_EXPORT CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* from) {
  return Array(real::cuArray3DCreate, array, from);
}

KAI_GUARD_EXPORT CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* from) {
  return Array(real::cuArray3DCreate_v2, array, from);
}

KAI_GUARD_EXPORT CUresult cuArrayDestroy(CUarray array) {
  return Freed({Handle::kArray, NumberOf(array)},
               [&] { return Call(real::cuArrayDestroy, array); });
}

KAI_GUARD_EXPORT CUresult cuMipmappedArrayCreate(CUmipmappedArray* array,
                                                 const CUDA_ARRAY3D_DESCRIPTOR* from,
                                                 unsigned int levels) {
  const auto call = [&] { return Call(real::cuMipmappedArrayCreate, array, from, levels); };
  if (array == nullptr || from == nullptr) return call();
  return Counted(PlaceOfThread(), SizeOfMipmaps(*from, levels), Handle::kArray, call,
                 [&] { return *array; });
}

KAI_GUARD_EXPORT CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return Freed({Handle::kArray, NumberOf(array)},
               [&] { return Call(real::cuMipmappedArrayDestroy, array); });
}

// ---- memory of other interfaces -----------------------------------------------------------------

KAI_GUARD_EXPORT CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                                 const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* from) {
  const auto call = [&] { return Call(real::cuImportExternalMemory, memory, from); };
  if (memory == nullptr || from == nullptr) return call();
  return Counted(PlaceOfThread(), from->size, Handle::kExternal, call, [&] { return *memory; });
}

KAI_GUARD_EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  return Freed({Handle::kExternal, NumberOf(memory)},
               [&] { return Call(real::cuDestroyExternalMemory, memory); });
}
