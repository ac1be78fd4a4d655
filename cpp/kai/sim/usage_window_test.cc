#include "kai/sim/usage_window.h"

#include <gtest/gtest.h>

#include <string>

namespace kai::usage_window_test {
namespace {

using Kind = UsageWindow::Kind;

TEST(UsageWindowTest, ASlidingWindowStartsItsSizeBeforeNow) {
  WindowBegin begin({.kind = Kind::kSliding, .size_ns = 60});
  EXPECT_EQ(begin.At(100), 40);
  EXPECT_EQ(begin.At(160), 100);
}

TEST(UsageWindowTest, AtTheStartOfATumblingWindowThePreviousOneApplies) {
  const UsageWindow window = {.kind = UsageWindow::Kind::kTumbling, .size_ns = 60};
  WindowBegin begin(window);
  EXPECT_EQ(begin.At(60), 0);
  EXPECT_EQ(begin.At(61), 60);
  EXPECT_EQ(begin.At(180), 120);
  EXPECT_EQ(begin.At(181), 180);
}

TEST(UsageWindowTest, TumblingWindowsKeepTheirStart) {
  WindowBegin early({.kind = Kind::kTumbling, .size_ns = 60, .start_ns = -50});
  EXPECT_EQ(early.At(10), -50);
  EXPECT_EQ(early.At(11), 10);
  WindowBegin late({.kind = Kind::kTumbling, .size_ns = 60, .start_ns = 100});
  EXPECT_EQ(late.At(50), 50) << "no window has begun: it is empty";
  EXPECT_EQ(late.At(100), 100);
  EXPECT_EQ(late.At(160), 100);
  EXPECT_EQ(late.At(161), 160);
}

TEST(UsageWindowTest, EachResetIsRequestedOnce) {
  int calls = 0;
  WindowBegin begin({.kind = Kind::kResets, .next_reset = [&](int64_t after) {
                       ++calls;
                       return after < 70 ? int64_t{70} : after + 1000;
                     }});
  EXPECT_EQ(begin.At(0), 0);
  EXPECT_EQ(begin.At(70), 0) << "at the start of a window, the previous one still counts";
  EXPECT_EQ(begin.At(71), 70);
  EXPECT_EQ(begin.At(1070), 70);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(begin.At(5000), 4070);
}

TEST(UsageWindowTest, InvalidWindowsAreRejected) {
  const auto error = [](const UsageWindow& window) {
    return std::string(window.Check().message());
  };
  EXPECT_EQ(error({.size_ns = 60, .fetch_ns = 1}), "");
  EXPECT_EQ(error({.size_ns = 0, .fetch_ns = 1}), "usage: the window has no length");
  EXPECT_EQ(error({.size_ns = 60}), "usage: the fetch interval has no length");
  EXPECT_EQ(error({.size_ns = 60, .half_life_ns = -1, .fetch_ns = 1}),
            "usage: the half-life is negative");
  EXPECT_EQ(error({.kind = Kind::kResets, .fetch_ns = 1}),
            "usage: the start of the window is unknown");
}

}  // namespace
}  // namespace kai::usage_window_test
