// The functions of NVML that the guard calls or has in their place.
//
//   nvmlMemory_t memory;
//   if (!MemoryOfDevice(uuid, &memory)) return false;
//
// Invariants: RealNvml loads nothing. Cost: the first MemoryOfDevice loads and initialises NVML,
// about 20 ms. Threads: any.
#ifndef KAI_GUARD_DRIVER_NVML_H_
#define KAI_GUARD_DRIVER_NVML_H_

#include "guard/driver/cuda.h"

namespace kai::guard {

// The real function of this name; null if NVML is not loaded.
void* RealNvml(const char* name);

// What the whole machine uses of the device. False: there is no NVML.
bool MemoryOfDevice(const CUuuid& device, nvmlMemory_t* memory);

}  // namespace kai::guard

#endif  // KAI_GUARD_DRIVER_NVML_H_
