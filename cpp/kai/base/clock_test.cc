#include "kai/base/clock.h"

#include <gtest/gtest.h>

namespace kai::clock_test {
namespace {

TEST(ClockTest, AManualClockMovesOnlyByAdvance) {
  ManualClock clock;
  EXPECT_EQ(clock.NowNs(), 0);
  clock.Advance(1'000'000);
  clock.Advance(5);
  EXPECT_EQ(clock.NowNs(), 1'000'005);
}

TEST(ClockTest, ASystemClockNeverGoesBack) {
  const SystemClock clock;
  const int64_t before = clock.NowNs();
  EXPECT_LE(before, clock.NowNs());
}

}  // namespace
}  // namespace kai::clock_test
