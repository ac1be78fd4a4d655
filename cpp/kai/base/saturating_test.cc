#include "kai/base/saturating.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace kai::saturating_test {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

TEST(SaturatingTest, AddsExactlyWithinTheRange) {
  EXPECT_EQ(AddSaturating(2, 3), 5);
  EXPECT_EQ(AddSaturating(kMost, kLeast), -1);
  EXPECT_EQ(AddSaturating(kMost - 1, 1), kMost);
}

TEST(SaturatingTest, SaturatesAtTheEndsOfTheRange) {
  EXPECT_EQ(AddSaturating(kMost, 1), kMost);
  EXPECT_EQ(AddSaturating(1, kMost), kMost);
  EXPECT_EQ(AddSaturating(kLeast, -1), kLeast);
  EXPECT_EQ(AddSaturating(kLeast, kLeast), kLeast);
}

}  // namespace
}  // namespace kai::saturating_test
