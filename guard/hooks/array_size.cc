#include "guard/hooks/array_size.h"

namespace kai::guard {
namespace {

struct FormatBits {
  CUarray_format format;
  unsigned int bits;  // of one element; the number of channels is part of the format
};

constexpr FormatBits kWholeElements[] = {
    {CU_AD_FORMAT_NV12, 12},
    {CU_AD_FORMAT_P010, 24},
    {CU_AD_FORMAT_P016, 24},
    {CU_AD_FORMAT_NV16, 16},
    {CU_AD_FORMAT_P210, 32},
    {CU_AD_FORMAT_P216, 32},
    {CU_AD_FORMAT_YUY2, 16},
    {CU_AD_FORMAT_Y210, 32},
    {CU_AD_FORMAT_Y216, 32},
    {CU_AD_FORMAT_AYUV, 32},
    {CU_AD_FORMAT_Y410, 32},
    {CU_AD_FORMAT_Y416, 64},
    {CU_AD_FORMAT_Y444_PLANAR8, 24},
    {CU_AD_FORMAT_Y444_PLANAR10, 48},
    {CU_AD_FORMAT_UNORM_INT8X1, 8},
    {CU_AD_FORMAT_UNORM_INT8X2, 16},
    {CU_AD_FORMAT_UNORM_INT8X4, 32},
    {CU_AD_FORMAT_UNORM_INT16X1, 16},
    {CU_AD_FORMAT_UNORM_INT16X2, 32},
    {CU_AD_FORMAT_UNORM_INT16X4, 64},
    {CU_AD_FORMAT_SNORM_INT8X1, 8},
    {CU_AD_FORMAT_SNORM_INT8X2, 16},
    {CU_AD_FORMAT_SNORM_INT8X4, 32},
    {CU_AD_FORMAT_SNORM_INT16X1, 16},
    {CU_AD_FORMAT_SNORM_INT16X2, 32},
    {CU_AD_FORMAT_SNORM_INT16X4, 64},
    {CU_AD_FORMAT_UNORM_INT_101010_2, 32},
    // Blocks of four by four elements, of 8 or 16 bytes.
    {CU_AD_FORMAT_BC1_UNORM, 4},
    {CU_AD_FORMAT_BC1_UNORM_SRGB, 4},
    {CU_AD_FORMAT_BC2_UNORM, 8},
    {CU_AD_FORMAT_BC2_UNORM_SRGB, 8},
    {CU_AD_FORMAT_BC3_UNORM, 8},
    {CU_AD_FORMAT_BC3_UNORM_SRGB, 8},
    {CU_AD_FORMAT_BC4_UNORM, 4},
    {CU_AD_FORMAT_BC4_SNORM, 4},
    {CU_AD_FORMAT_BC5_UNORM, 8},
    {CU_AD_FORMAT_BC5_SNORM, 8},
    {CU_AD_FORMAT_BC6H_UF16, 8},
    {CU_AD_FORMAT_BC6H_SF16, 8},
    {CU_AD_FORMAT_BC7_UNORM, 8},
    {CU_AD_FORMAT_BC7_UNORM_SRGB, 8},
};

}  // namespace

uint64_t BitsOf(CUarray_format format, unsigned int channels) {
  for (const FormatBits& each : kWholeElements) {
    if (each.format == format) return each.bits;
  }
  const uint64_t count = std::max(channels, 1U);
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 8 * count;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 16 * count;
    default:
      return 32 * count;
  }
}

uint64_t SizeOfMipmaps(const CUDA_ARRAY3D_DESCRIPTOR& first, unsigned int levels) {
  const bool has_layers = (first.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  uint64_t bytes = 0;
  CUDA_ARRAY3D_DESCRIPTOR level = first;
  const auto half = [](size_t size) { return size <= 1 ? size : size / 2; };
  for (unsigned int i = 0; i < levels; ++i) {
    bytes += SizeOfArray(level);
    if (level.Width <= 1 && level.Height <= 1 && (has_layers || level.Depth <= 1)) break;
    level.Width = half(level.Width);
    level.Height = half(level.Height);
    if (!has_layers) level.Depth = half(level.Depth);
  }
  return bytes;
}

}  // namespace kai::guard
