// How much memory an array takes, from its descriptor: the sum of its elements. Devices add some to
// align rows, which their interface does not tell before the array is made.
//
//   SizeOfArray(CUDA_ARRAY_DESCRIPTOR{64, 32, CU_AD_FORMAT_FLOAT, 4})  // 32 KiB
//   SizeOfMipmaps(from, 2)
//
// Invariants: memory that is mapped to an array later is not in its size. Cost: O(1), of mipmaps
// O(levels). Threads: pure functions.
#ifndef KAI_GUARD_HOOKS_ARRAY_SIZE_H_
#define KAI_GUARD_HOOKS_ARRAY_SIZE_H_

#include <algorithm>
#include <cstdint>

#include "guard/driver/cuda.h"

namespace kai::guard {

// Of an element with this many channels. Formats of several planes are rounded up to whole bits of
// an element; unknown ones count as four bytes a channel.
uint64_t BitsOf(CUarray_format format, unsigned int channels);

inline uint64_t SizeOf(uint64_t width, uint64_t height, uint64_t depth, CUarray_format format,
                       unsigned int channels) {
  const uint64_t elements = width * std::max<uint64_t>(height, 1) * std::max<uint64_t>(depth, 1);
  return (elements * BitsOf(format, channels) + 7) / 8;
}

template <typename Descriptor>
uint64_t SizeOfArray(const Descriptor& array) {
  if constexpr (requires { array.Depth; }) {
    // Memory is mapped to such arrays later, and counts where it is made.
    if ((array.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0) return 0;
    return SizeOf(array.Width, array.Height, array.Depth, array.Format, array.NumChannels);
  } else {
    return SizeOf(array.Width, array.Height, 1, array.Format, array.NumChannels);
  }
}

// Each level has half the width, height and depth of the one before; layers stay.
uint64_t SizeOfMipmaps(const CUDA_ARRAY3D_DESCRIPTOR& first, unsigned int levels);

}  // namespace kai::guard

#endif  // KAI_GUARD_HOOKS_ARRAY_SIZE_H_
