// CUDA's header with every name as the driver exports it: cuMemAlloc_v2 is not also cuMemAlloc.
//
//   decltype(::cuMemAlloc_v2)* alloc_ = nullptr;
//
// Invariants: included before, and instead of, <cuda.h>. Cost: none. Threads: has declarations
// only.
#ifndef KAI_GUARD_DRIVER_CUDA_H_
#define KAI_GUARD_DRIVER_CUDA_H_

#define __CUDA_API_VERSION_INTERNAL 1  // NOLINT: the header asks for this name
#include <cuda.h>
#include <nvml.h>

#if CUDA_VERSION < 13030
#error "the guard needs the headers of CUDA 13.3 or newer (tools/setup.sh python installs them)"
#endif

#endif  // KAI_GUARD_DRIVER_CUDA_H_
