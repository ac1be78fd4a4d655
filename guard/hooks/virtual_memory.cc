// Physical memory that programs map themselves. It counts from cuMemCreate until its last handle is
// released and its last mapping and multicast binding are gone. Imported handles count where the
// memory was made.
//
// Where the driver does not say until when others have the memory, it counts until the process
// ends: after an export, and after it was mapped to an array or bound to a logical endpoint.
#include "guard/hooks/counted.h"

using namespace kai::guard;  // NOLINT: the functions below belong to the driver's interface

namespace {

// Held during the driver's call and until the answer is written down, as the driver may give a
// handle or an address again as soon as it has it back.
Mutex counting;

// In `more` of the memory, beside the number of its uses: others may have it.
constexpr uint64_t kKept = uint64_t{1} << 63;

// Adds to the number of handles, mappings and bindings of the memory. At zero it counts no longer,
// unless others may have it. False: it does not count.
bool AddUses(uint64_t physical, int64_t uses) {
  Holding holding;
  if (!holdings().Take({Handle::kPhysical, physical}, &holding)) return false;
  holding.more += static_cast<uint64_t>(uses);
  if (holding.more == 0) Release(holding.row, holding.bytes);
  if ((holding.more & ~kKept) != 0) holdings().Put({Handle::kPhysical, physical}, holding);
  return true;
}

void Keep(uint64_t physical) {
  Holding holding;
  if (!holdings().Find({Handle::kPhysical, physical}, &holding)) return;
  holding.more |= kKept;
  holdings().Put({Handle::kPhysical, physical}, holding);
}

// 0: there is no such memory. The driver's own count of handles stays as it is.
CUmemGenericAllocationHandle MemoryAt(void* address) {
  CUmemGenericAllocationHandle handle = 0;
  if (Call(real::cuMemRetainAllocationHandle, &handle, address) != CUDA_SUCCESS) return 0;
  Call(real::cuMemRelease, handle);
  return handle;
}

CUdevice DeviceOf(CUmemGenericAllocationHandle handle) {
  CUmemAllocationProp properties = {};
  Call(real::cuMemGetAllocationPropertiesFromHandle, &properties, handle);
  return properties.location.id;
}

struct Spot {  // in a multicast object
  CUmemGenericAllocationHandle multicast;
  CUdevice device;  // -1: that of the memory
  size_t offset;
};

Handle HandleOf(const Spot& spot) {
  return {Handle::kBinding,
          Mixed(spot.multicast) ^ Mixed(Mixed(spot.offset) + static_cast<uint64_t>(spot.device))};
}

// Binds memory: `call` does, `memory` finds its handle.
template <typename Find, typename Ask>
CUresult Bound(Spot spot, const Find& memory, const Ask& call) {
  const Locked locked(&counting);
  const CUresult result = call();
  if (result != CUDA_SUCCESS || ModeOfProcess() != Mode::kCounts) return result;
  const CUmemGenericAllocationHandle handle = memory();
  if (!AddUses(handle, 1)) return result;
  if (spot.device < 0) spot.device = DeviceOf(handle);
  holdings().Put(HandleOf(spot), {Place::kNowhere, 0, 0, handle});
  return result;
}

// Gives memory to others: `call` does, `memory` finds its handle.
template <typename Find, typename Ask>
CUresult Kept(const Find& memory, const Ask& call) {
  const Locked locked(&counting);
  const CUresult result = call();
  if (result == CUDA_SUCCESS && ModeOfProcess() == Mode::kCounts) Keep(memory());
  return result;
}

template <typename Real>
CUresult MappedToArrays(Real* const& real, CUarrayMapInfo* list, unsigned int count,
                        CUstream stream) {
  const Locked locked(&counting);
  const CUresult result = Call(real, list, count, stream);
  if (result != CUDA_SUCCESS) return result;
  for (unsigned int i = 0; i < count; ++i) {
    if (list[i].memOperationType == CU_MEM_OPERATION_TYPE_MAP) Keep(list[i].memHandle.memHandle);
  }
  return result;
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
  // Also of memory that does not count: it may lie beside such that does.
  const uint64_t counted = AddUses(handle, 1) ? handle : 0;
  holdings().Put({Handle::kMapping, address}, {Place::kNowhere, bytes, 0, counted});
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

// ---- what binds memory, or gives it to others ---------------------------------------------------

KAI_GUARD_EXPORT CUresult cuMulticastBindMem(CUmemGenericAllocationHandle multicast, size_t offset,
                                             CUmemGenericAllocationHandle memory, size_t at,
                                             size_t bytes, unsigned long long flags) {
  return Bound(
      {multicast, -1, offset}, [&] { return memory; },
      [&] { return Call(real::cuMulticastBindMem, multicast, offset, memory, at, bytes, flags); });
}

KAI_GUARD_EXPORT CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle multicast,
                                                CUdevice device, size_t offset,
                                                CUmemGenericAllocationHandle memory, size_t at,
                                                size_t bytes, unsigned long long flags) {
  return Bound(
      {multicast, device, offset}, [&] { return memory; },
      [&] {
        return Call(real::cuMulticastBindMem_v2, multicast, device, offset, memory, at, bytes,
                    flags);
      });
}

KAI_GUARD_EXPORT CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, size_t offset,
                                              CUdeviceptr address, size_t bytes,
                                              unsigned long long flags) {
  const auto memory = [&] { return MemoryAt(reinterpret_cast<void*>(address)); };
  return Bound({multicast, -1, offset}, memory, [&] {
    return Call(real::cuMulticastBindAddr, multicast, offset, address, bytes, flags);
  });
}

KAI_GUARD_EXPORT CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast,
                                                 CUdevice device, size_t offset,
                                                 CUdeviceptr address, size_t bytes,
                                                 unsigned long long flags) {
  const auto memory = [&] { return MemoryAt(reinterpret_cast<void*>(address)); };
  return Bound({multicast, device, offset}, memory, [&] {
    return Call(real::cuMulticastBindAddr_v2, multicast, device, offset, address, bytes, flags);
  });
}

KAI_GUARD_EXPORT CUresult cuMulticastUnbind(CUmemGenericAllocationHandle multicast, CUdevice device,
                                            size_t offset, size_t bytes) {
  const Locked locked(&counting);
  const CUresult result = Call(real::cuMulticastUnbind, multicast, device, offset, bytes);
  Holding binding;
  if (result == CUDA_SUCCESS && holdings().Take(HandleOf({multicast, device, offset}), &binding))
    AddUses(binding.more, -1);
  return result;
}

KAI_GUARD_EXPORT CUresult cuMemExportToShareableHandle(void* shareable,
                                                       CUmemGenericAllocationHandle memory,
                                                       CUmemAllocationHandleType type,
                                                       unsigned long long flags) {
  return Kept(
      [&] { return memory; },
      [&] { return Call(real::cuMemExportToShareableHandle, shareable, memory, type, flags); });
}

KAI_GUARD_EXPORT CUresult cuLogicalEndpointBindMem(CUlogicalEndpointId endpoint, CUdevice device,
                                                   cuuint64_t offset,
                                                   CUmemGenericAllocationHandle memory,
                                                   cuuint64_t at, cuuint64_t bytes,
                                                   unsigned long long flags) {
  return Kept([&] { return memory; },
              [&] {
                return Call(real::cuLogicalEndpointBindMem, endpoint, device, offset, memory, at,
                            bytes, flags);
              });
}

KAI_GUARD_EXPORT CUresult cuLogicalEndpointBindAddr(CUlogicalEndpointId endpoint, CUdevice device,
                                                    cuuint64_t offset, void* address,
                                                    cuuint64_t bytes, unsigned long long flags) {
  return Kept([&] { return MemoryAt(address); },
              [&] {
                return Call(real::cuLogicalEndpointBindAddr, endpoint, device, offset, address,
                            bytes, flags);
              });
}

KAI_GUARD_EXPORT CUresult cuMemMapArrayAsync(CUarrayMapInfo* list, unsigned int count,
                                             CUstream stream) {
  return MappedToArrays(real::cuMemMapArrayAsync, list, count, stream);
}

KAI_GUARD_EXPORT CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo* list, unsigned int count,
                                                  CUstream stream) {
  return MappedToArrays(real::cuMemMapArrayAsync_ptsz, list, count, stream);
}
