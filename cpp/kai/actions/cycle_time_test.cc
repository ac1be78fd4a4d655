#include "kai/actions/cycle_time.h"

#include <gtest/gtest.h>

namespace kai::cycle_time_test {
namespace {

TEST(CycleTimeTest, HoldsFromTheLastPastMomentToTheFirstFutureOne) {
  CycleTime time(100);
  EXPECT_TRUE(time.HasCome(40, WakeReason::kMinRuntime));
  EXPECT_TRUE(time.HasCome(70, WakeReason::kGangStale));
  EXPECT_TRUE(time.HasCome(50, WakeReason::kGangStale));
  EXPECT_FALSE(time.HasCome(200, WakeReason::kGangStale));
  EXPECT_FALSE(time.HasCome(160, WakeReason::kPodOverdue));
  EXPECT_FALSE(time.HasCome(180, WakeReason::kMinRuntime));
  EXPECT_EQ(time.holds().from_ns, 70);
  EXPECT_EQ(time.holds().until_ns, 160) << "the first check that changes";
  EXPECT_EQ(time.holds().then, WakeReason::kPodOverdue);
  EXPECT_TRUE(time.holds().Covers(70));
  EXPECT_TRUE(time.holds().Covers(159));
  EXPECT_FALSE(time.holds().Covers(69)) << "the clock was set back";
  EXPECT_FALSE(time.holds().Covers(160));
}

TEST(CycleTimeTest, TheCurrentMomentHasCome) {
  CycleTime time(100);
  EXPECT_TRUE(time.HasCome(100, WakeReason::kMinRuntime));
  EXPECT_EQ(time.holds().until_ns, CycleTime::kNever);
}

TEST(CycleTimeTest, HoldsForeverWithoutAnyCheck) {
  const CycleTime time(100);
  EXPECT_TRUE(time.holds().Covers(CycleTime::kAlways));
  EXPECT_TRUE(time.holds().Covers(CycleTime::kNever - 1));
}

TEST(CycleTimeTest, HoldsAtNoTimeIfTheTimeIsInTheResult) {
  CycleTime time(100);
  EXPECT_FALSE(time.HasCome(160, WakeReason::kPreemptionDelay));
  time.ExpireAtOnce();
  EXPECT_FALSE(time.holds().Covers(100));
  EXPECT_EQ(time.holds().until_ns, 160);
}

TEST(CycleTimeTest, NoDurationEndsAfterTheTimeThatIsTrusted) {
  CycleTime time(100, {.until_ns = 60});
  EXPECT_TRUE(time.HasCome(60, WakeReason::kGangStale));
  EXPECT_FALSE(time.HasCome(61, WakeReason::kGangStale));
  EXPECT_EQ(time.now_ns(), 100) << "durations that begin now begin at the current time";
  EXPECT_TRUE(time.holds().Covers(60));
  EXPECT_FALSE(time.holds().Covers(61));
  CycleTime later(100, {.until_ns = 200});
  EXPECT_TRUE(later.HasCome(100, WakeReason::kGangStale));
  EXPECT_FALSE(later.HasCome(101, WakeReason::kGangStale)) << "the future is not trusted more";
}

TEST(CycleTimeTest, ADurationThatBeganEarlierCountsFromTheTrustedStart) {
  const CycleTime time(100, {.from_ns = 90});
  EXPECT_EQ(time.EndOf(/*end_ns=*/50, /*length_ns=*/30), 120);
  EXPECT_EQ(time.EndOf(/*end_ns=*/125, /*length_ns=*/30), 125) << "it began at 95";
  EXPECT_EQ(time.EndOf(CycleTime::kAlways, 30), CycleTime::kAlways) << "no time stamp, no duration";
  EXPECT_EQ(time.EndOf(CycleTime::kNever, CycleTime::kNever), CycleTime::kNever);
  EXPECT_EQ(CycleTime(100).EndOf(50, 30), 50) << "without bounds the time stamp counts";
}

TEST(CycleTimeTest, EachWakeReasonHasAName) {
  EXPECT_EQ(WakeReasonName(WakeReason::kPodOverdue), "pod_overdue");
  EXPECT_EQ(WakeReasonName(WakeReason::kGangStale), "gang_stale");
  EXPECT_EQ(WakeReasonName(WakeReason::kPreemptionDelay), "preemption_delay");
  EXPECT_EQ(WakeReasonName(WakeReason::kMinRuntime), "min_runtime");
  EXPECT_EQ(WakeReasonName(WakeReason::kPromiseEnds), "promise_ends");
  EXPECT_EQ(WakeReasonName(WakeReason::kJobOrder), "job_order");
}

}  // namespace
}  // namespace kai::cycle_time_test
