#include "kai/api/units.h"

#include <gtest/gtest.h>

namespace kai::units_test {
namespace {

TEST(UnitsTest, CpuMemoryAndGpuComeInThatOrder) {  // spec 1 §0
  EXPECT_EQ(kQuotaCpu, 0);
  EXPECT_EQ(kQuotaMemory, 1);
  EXPECT_EQ(kQuotaGpu, 2);
}

}  // namespace
}  // namespace kai::units_test
