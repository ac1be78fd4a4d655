#include "kai/api/units.h"

#include <gtest/gtest.h>

namespace kai::units_test {
namespace {

TEST(UnitsTest, CpuMemoryAndGpuComeInThatOrder) {  // spec 1 F20
  const QuotaVector limit = {1000, 2e9, 0.5};
  EXPECT_EQ(limit[kQuotaCpu], 1000);
  EXPECT_EQ(limit[kQuotaMemory], 2e9);
  EXPECT_EQ(limit[kQuotaGpu], 0.5);
}

}  // namespace
}  // namespace kai::units_test
