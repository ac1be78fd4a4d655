// The functions of NVML that the guard calls or has in their place.
//
//   const NvmlDevice device(uuid);
//   const uint64_t own = device.UsedByProcess();
//
// Invariants: RealNvml loads nothing. Cost: the first NvmlDevice loads and initialises NVML, about
// 20 ms. Threads: any.
#ifndef KAI_GUARD_DRIVER_NVML_H_
#define KAI_GUARD_DRIVER_NVML_H_

#include <cstdint>

#include "guard/driver/cuda.h"

namespace kai::guard {

// The real function of this name; null if NVML is not loaded.
void* RealNvml(const char* name);

class NvmlDevice {
 public:
  explicit NvmlDevice(const CUuuid& device);
  // False: there is no NVML, and nothing is used.
  bool is_found() const { return handle_ != nullptr; }
  uint64_t UsedOnMachine() const;
  // 0: NVML does not know. In a container many drivers list this process with its number on the
  // host, or without bytes.
  uint64_t UsedByProcess() const;

 private:
  nvmlDevice_t handle_ = nullptr;
};

}  // namespace kai::guard

#endif  // KAI_GUARD_DRIVER_NVML_H_
