#include "kai/api/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kai::units_test {
namespace {

using ::testing::ElementsAre;

TEST(UnitsTest, QuotaVectorsAddElementByElement) {
  QuotaVector sum = {1000, 2e9, 0.5};
  sum += QuotaVector{500, 1e9, 0.5};
  EXPECT_THAT(sum, ElementsAre(1500, 3e9, 1));
  sum -= QuotaVector{1500, 0, 2};
  EXPECT_THAT(sum, ElementsAre(0, 3e9, -1));
  EXPECT_THAT((QuotaVector{1, 2, 3} + QuotaVector{4, 5, 6}), ElementsAre(5, 7, 9));
}

TEST(UnitsTest, CpuMemoryAndGpuComeInThatOrder) {  // spec 1 §0
  EXPECT_EQ(kQuotaCpu, 0);
  EXPECT_EQ(kQuotaMemory, 1);
  EXPECT_EQ(kQuotaGpu, 2);
}

}  // namespace
}  // namespace kai::units_test
