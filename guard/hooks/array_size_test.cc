#include "guard/hooks/array_size.h"

#include <gtest/gtest.h>

namespace kai::guard {
namespace {

TEST(ArraySizeTest, ElementsTimesChannels) {
  EXPECT_EQ(SizeOfArray(CUDA_ARRAY_DESCRIPTOR{64, 32, CU_AD_FORMAT_FLOAT, 4}), 64 * 32 * 16);
  EXPECT_EQ(SizeOfArray(CUDA_ARRAY_DESCRIPTOR{64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1}), 64);
  EXPECT_EQ(SizeOfArray(CUDA_ARRAY_DESCRIPTOR{64, 64, CU_AD_FORMAT_HALF, 2}), 64 * 64 * 4);
}

TEST(ArraySizeTest, BlocksAndPlanes) {
  EXPECT_EQ(SizeOfArray(CUDA_ARRAY_DESCRIPTOR{64, 64, CU_AD_FORMAT_BC1_UNORM, 4}), 64 * 64 / 2);
  EXPECT_EQ(SizeOfArray(CUDA_ARRAY_DESCRIPTOR{64, 64, CU_AD_FORMAT_NV12, 3}), 64 * 64 * 3 / 2);
}

TEST(ArraySizeTest, MemoryThatIsMappedLaterDoesNotCountHere) {
  EXPECT_EQ(
      SizeOfArray(CUDA_ARRAY3D_DESCRIPTOR{64, 64, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE}),
      0);
}

TEST(ArraySizeTest, LevelsHalveAndLayersStay) {
  CUDA_ARRAY3D_DESCRIPTOR from = {8, 8, 2, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
  EXPECT_EQ(SizeOfMipmaps(from, 2), 8 * 8 * 2 + 4 * 4 * 1);
  EXPECT_EQ(SizeOfMipmaps(from, 100), 128 + 16 + 4 + 1);
  from.Flags = CUDA_ARRAY3D_LAYERED;
  EXPECT_EQ(SizeOfMipmaps(from, 2), 8 * 8 * 2 + 4 * 4 * 2);
}

}  // namespace
}  // namespace kai::guard
