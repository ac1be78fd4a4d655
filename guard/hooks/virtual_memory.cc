// Physical memory that programs map themselves. It counts from cuMemCreate until its last handle is
// released and its last mapping is gone. Imported handles count where the memory was made.
#include "guard/hooks/counted.h"

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

namespace {

// Held during the driver's call and until the answer is written down, as the driver may give a
// handle or an address again as soon as it has it back.
Mutex counting;

// Adds to the number of handles and mappings of the memory; at zero, it counts no longer.
void AddUses(uint64_t physical, int64_t uses) {
  Holding holding;
  if (!holdings().Take({Handle::kPhysical, physical}, &holding)) return;
  holding.more += static_cast<uint64_t>(uses);
  if (holding.more == 0) {
    Release(holding.row, holding.bytes);
  } else {
    holdings().Put({Handle::kPhysical, physical}, holding);
  }
}

Place PlaceOf(const CUmemAllocationProp* properties) {
  if (properties == nullptr) return {};
  const CUmemLocation& location = properties->location;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return PlaceOfDevice(location.id);
  // Else some device: most probably that of the thread.
  return IsOnHost(location.type) ? Place() : PlaceOfThread();
}

__attribute__((constructor)) void Register() {
  AddForget([] { counting.Reset(); });
}

}  // namespace

KAI_GUARD_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                      const CUmemAllocationProp* properties,
                                      unsigned long long flags) {
  const Place place = PlaceOf(properties);
  const auto call = [&] { return Call(real::cuMemCreate, handle, bytes, properties, flags); };
  if (!place.counts()) return call();
  if (!Reserve(place, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  const Locked locked(&counting);
  if (result == CUDA_SUCCESS) {
    holdings().Put({Handle::kPhysical, *handle}, {place.row, bytes, 0, 1});
  } else {
    Release(place.row, bytes);
  }
  return result;
}

KAI_GUARD_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const Locked locked(&counting);
  const CUresult result = Call(real::cuMemRelease, handle);
  if (result == CUDA_SUCCESS) AddUses(handle, -1);
  return result;
}

KAI_GUARD_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                                      void* address) {
  const Locked locked(&counting);
  const CUresult result = Call(real::cuMemRetainAllocationHandle, handle, address);
  if (result == CUDA_SUCCESS) AddUses(*handle, 1);
  return result;
}

KAI_GUARD_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                                   CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const Locked locked(&counting);
  const CUresult result = Call(real::cuMemMap, address, bytes, offset, handle, flags);
  if (result != CUDA_SUCCESS || ModeOfProcess() != Mode::kCounts) return result;
  AddUses(handle, 1);
  // Also of memory that does not count: it may lie beside such that does.
  holdings().Put({Handle::kMapping, address}, {Place::kNowhere, bytes, 0, handle});
  return result;
}

// May end several mappings that follow one another.
KAI_GUARD_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const Locked locked(&counting);
  const CUresult result = Call(real::cuMemUnmap, address, bytes);
  if (result != CUDA_SUCCESS) return result;
  Holding mapping;
  for (CUdeviceptr at = address;
       at < address + bytes && holdings().Take({Handle::kMapping, at}, &mapping);
       at += mapping.bytes) {
    AddUses(mapping.more, -1);
  }
  return result;
}
