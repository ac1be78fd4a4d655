#include "kai/session/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/claim_rows.h"

namespace kai::holdings_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(HoldingsTest, AClaimThatPodsShareIsHeldOnce) {
  ClusterMaker maker = MakeCluster();
  maker.Queue("default").Node("n1").Add(GpuClass()).Add(GpusOn("n1", 2)).Add(GpuClaim("a/c", 1));
  maker.Running("a/x", {.pods = 2, .node = "n1", .queue = "default"});
  for (const char* pod : {"a/x-0", "a/x-1"}) {
    Claims(&maker, pod, {"c"});
    Hold(&maker, "a/c", pod, "n1", {"0"});
  }
  maker.Pending("a/new", {.gpus = 2, .queue = "default"});
  const Plan plan = RunPlan(Session(ParseConfig("")), maker.Build());
  EXPECT_THAT(AccountOf(plan, TableOf(plan)).free, ElementsAre(Pair(1, 1)));
  const std::vector<Holding> holdings = HoldingsOf(plan);
  ASSERT_EQ(holdings.size(), 1);
  EXPECT_EQ(holdings[0].amounts[kGpuSlot.index()], kNanoOfAGpu);
  EXPECT_EQ(holdings[0].pods, 2);
}

TEST(HoldingsTest, EvictedPodsHoldNothingAndBoundPodsHaveTaken) {
  const Plan plan = RunPlan(Session(ParseConfig("")),
                            MakeCluster()
                                .Queue("a", {.deserved_gpus = 1})
                                .Queue("b")
                                .Node("n1", {.gpus = 1, .millicpu = 8000})
                                .Node("n2", {.millicpu = 8000})
                                .Running("b/old", {.gpus = 1, .millicpu = 2000, .node = "n1"})
                                .Pending("a/new", {.gpus = 1, .millicpu = 1000})
                                .Pending("b/cpu", {.millicpu = 3000, .node_selector = {}})
                                .Build());
  EXPECT_THAT(HoldingsOf(plan), ::testing::IsEmpty());
  const FreeAmounts after = FreeAfter(plan, AccountOf(plan, TableOf(plan)));
  double free = 0;
  double leaving = 0;
  for (const NodeId node : plan.cluster->nodes().name.ids()) {
    free += after.free[node][kCpuSlot.index()];
    leaving += after.leaving[node][kCpuSlot.index()];
  }
  EXPECT_EQ(free, 8000 + 8000 - 2000 - 3000);
  EXPECT_EQ(leaving, 2000 - 1000) << "one core of the evicted pod is promised";
}

TEST(HoldingsTest, WhatAPodWhoseDeletionIsStuckHoldsDoesNotLeave) {
  ClusterMaker maker = MakeCluster()
                           .Queue("q")
                           .Node("n", {.gpus = 1, .millicpu = 8000})
                           .Releasing("q/stuck", {.gpus = 1, .millicpu = 2000, .node = "n"})
                           .Releasing("q/leaves", {.millicpu = 3000, .node = "n"});
  maker.rows().pods[0].deletion_ns = kTestNowNs - 3600 * kSecondNs;
  const Plan plan = RunPlan(Session(ParseConfig("")), maker.Build());
  const FreeAmounts after = FreeAfter(plan, AccountOf(plan, TableOf(plan)));
  const NodeId node = NodeNamed(*plan.cluster, "n");
  EXPECT_EQ(after.leaving[node][kGpuSlot.index()], 0);
  EXPECT_EQ(after.leaving[node][kCpuSlot.index()], 3000);
  EXPECT_EQ(after.free[node][kCpuSlot.index()], 8000 - 2000 - 3000);
}

}  // namespace
}  // namespace kai::holdings_test
