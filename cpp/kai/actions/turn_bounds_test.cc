#include "kai/actions/turn_bounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/actions/cycle_for_test.h"
#include "kai/actions/turns.h"
#include "kai/actions/victim_search.h"

namespace kai::turn_bounds_test {
namespace {

// 38 nodes of two GPUs, all in use. Queue "other" holds 40 of the 41 GPUs that it deserves, "own"
// 36 of 38: with one more GPU, own's share is below other's, and with two it is above.
struct Full {
  PodsSpec victim = {.gpus = 2};
  PodsSpec last_victim = {.gpus = 2};
  int64_t gpus_of_last_node = 2;
  std::string parent_of_other = {};
};
ClusterMaker FullCluster(const Full& full = {}) {
  ClusterMaker maker;
  maker.Queue("own", {.deserved_gpus = 38});
  if (!full.parent_of_other.empty()) maker.Queue(full.parent_of_other, {.deserved_gpus = 41});
  maker.Queue("other", {.parent = full.parent_of_other, .deserved_gpus = 41});
  for (int i = 0; i < 38; ++i) {
    const std::string name = std::to_string(i);
    const bool is_last = i == 19;
    maker.Node("n" + name, {.gpus = is_last ? full.gpus_of_last_node : 2});
    PodsSpec spec = is_last ? full.last_victim : full.victim;
    spec.node = "n" + name;
    maker.Running((i < 20 ? "other/v" : "own/r") + name, spec);
  }
  return maker;
}

struct Bounds {
  explicit Bounds(const ClusterMaker& maker)
      : cycle(maker),
        candidates(
            cycle.cluster().pod_groups().lists.may_lose_in[QueueNamed(cycle.cluster(), "other")]),
        group(cycle.rooms.Group("own/new")),
        waiting(cycle.view, group),
        bounds(cycle.view, group, candidates, waiting.runs()) {}

  bool AllReturnFirst() {
    return bounds.AllReturnFirst(cycle.rooms.order().PodsToPlace(group).front());
  }
  // The number of scenarios of a search for own/new, which finds nothing.
  int64_t Scenarios(bool plain) {
    cycle.view.plain_search = plain;
    SearchMeter meter(cycle.budgets, "reclaim", nullptr);
    const Candidates all(candidates);
    VictimSearch search(cycle.view, group, all,
                        [](const Scenario&, const QuotaCount&) { return true; }, &meter, {});
    EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
    return meter.scenarios();
  }

  TestCycle cycle;
  std::vector<PodGroupId> candidates;
  PodGroupId group;
  WaitingRuns waiting;
  TurnBounds bounds;
};

bool AllReturnFirst(const ClusterMaker& maker) { return Bounds(maker).AllReturnFirst(); }

ClusterMaker Blocked(ClusterMaker maker) {
  return maker.Pending("own/first", {.gpus = 2}).Pending("own/new", {.gpus = 1});
}

TEST(TurnBoundsTest, AGroupBehindALargerOneComesAfterAllVictims) {
  EXPECT_TRUE(AllReturnFirst(Blocked(FullCluster())));
}

TEST(TurnBoundsTest, AGroupWhoseOwnShareWouldBeLargerComesAfterAllVictims) {
  EXPECT_TRUE(AllReturnFirst(FullCluster().Pending("own/new", {.gpus = 2})));
}

TEST(TurnBoundsTest, AGroupWithASmallerShareComesFirst) {
  EXPECT_FALSE(AllReturnFirst(FullCluster().Pending("own/new", {.gpus = 1})));
}

TEST(TurnBoundsTest, AYoungerGroupOfItsQueueBlocksNothing) {
  EXPECT_FALSE(AllReturnFirst(
      FullCluster().Pending("own/new", {.gpus = 1}).Pending("own/later", {.gpus = 2})));
  EXPECT_FALSE(AllReturnFirst(FullCluster()
                                  .Pending("own/first", {.gpus = 2})
                                  .Pending("own/new", {.gpus = 1, .priority = 70})))
      << "nor one with a lower priority";
}

TEST(TurnBoundsTest, AGroupThatNeverFitsBlocksNothing) {
  EXPECT_FALSE(AllReturnFirst(
      FullCluster().Pending("own/first", {.gpus = 4}).Pending("own/new", {.gpus = 1})));
  EXPECT_FALSE(AllReturnFirst(FullCluster()
                                  .Pending("own/first", {.pods = 2, .gpus = 2, .min_member = 2})
                                  .Pending("own/new", {.gpus = 1})))
      << "not in a scenario with one victim";
}

TEST(TurnBoundsTest, ALargeGroupInFrontOfTheVictimsHoldsThemBack) {
  // With it, the share of their queue would be above that of the group's queue.
  const PodsSpec young = {.pods = 2, .gpus = 2, .min_member = 2};
  PodsSpec urgent = young;
  urgent.priority = 70;
  EXPECT_FALSE(AllReturnFirst(Blocked(FullCluster().Pending("other/urgent", urgent))));
  EXPECT_TRUE(AllReturnFirst(Blocked(FullCluster().Pending("other/young", young))));
}

TEST(TurnBoundsTest, VictimsThatDifferMayTakeEachOthersPlaces) {
  EXPECT_FALSE(
      AllReturnFirst(Blocked(FullCluster({.last_victim = {.gpus = 1}, .gpus_of_last_node = 1}))));
  EXPECT_FALSE(
      AllReturnFirst(Blocked(FullCluster({.last_victim = {.gpus = 2, .millicpu = 2000}}))));
}

TEST(TurnBoundsTest, AFreePlaceForAVictimProvesNothing) {
  EXPECT_FALSE(AllReturnFirst(Blocked(FullCluster().Node("free", {.gpus = 2}))));
}

TEST(TurnBoundsTest, AVictimWhoseNodeTakesNoPodsDoesNotReturn) {
  ClusterMaker maker = FullCluster();
  maker.rows().nodes.front().unschedulable = true;
  EXPECT_FALSE(AllReturnFirst(Blocked(maker)));
}

TEST(TurnBoundsTest, VictimsThatLosePodsOneByOneProveNothing) {
  EXPECT_FALSE(
      AllReturnFirst(Blocked(FullCluster({.victim = {.pods = 2, .gpus = 1, .min_member = 1}}))));
}

TEST(TurnBoundsTest, GangsOfVictimsReturnWhole) {
  const PodsSpec gang = {.pods = 2, .gpus = 1, .min_member = 2};
  EXPECT_TRUE(AllReturnFirst(
      FullCluster({.victim = gang, .last_victim = gang}).Pending("own/new", {.gpus = 2})));
}

TEST(TurnBoundsTest, AQueueAboveItsLimitDoesNotGetItsPodsBack) {
  ClusterMaker maker = FullCluster();
  for (QueueRow& queue : maker.rows().queues) {
    if (queue.name == "other") queue.resources[kQuotaGpu].limit = 39;
  }
  EXPECT_FALSE(AllReturnFirst(Blocked(maker)));
}

TEST(TurnBoundsTest, VictimsInAnotherDepartmentProveNothing) {
  EXPECT_FALSE(AllReturnFirst(Blocked(FullCluster({.parent_of_other = "department"}))));
}

// The heap of queues is right only at its top. A third queue may hide a victim's queue if it falls
// back while its groups are added.
ClusterMaker WithThird(const PodsSpec& first, const PodsSpec& urgent, double deserved_gpus) {
  PodsSpec higher = urgent;
  higher.priority = 70;
  return Blocked(FullCluster()
                     .Queue("third", {.deserved_gpus = deserved_gpus})
                     .Pending("third/first", first)
                     .Pending("third/urgent", higher));
}

TEST(TurnBoundsTest, AQueueThatFallsBackBehindTheGroupMayHideAVictimsQueue) {
  const PodsSpec large = {.pods = 11, .gpus = 2, .min_member = 11};
  EXPECT_TRUE(AllReturnFirst(WithThird({.gpus = 1}, {.gpus = 2}, 20))) << "before all victims";
  EXPECT_FALSE(AllReturnFirst(WithThird({.gpus = 1}, large, 20)));
  EXPECT_TRUE(AllReturnFirst(WithThird({.gpus = 1}, {.gpus = 2}, 1))) << "behind all victims";
}

TEST(TurnBoundsTest, GroupsBehindTheFirstOfAQueueDoNotMatter) {
  const PodsSpec large = {.pods = 11, .gpus = 2, .min_member = 11};
  EXPECT_TRUE(
      AllReturnFirst(WithThird({.gpus = 1}, {.gpus = 1}, 20).Pending("third/large", large)));
}

TEST(TurnBoundsTest, TheQueueOfTheGroupMayFallBack) {
  Bounds bounds(FullCluster()
                    .Pending("own/small", {.gpus = 1})
                    .Pending("own/urgent", {.gpus = 2, .priority = 70})
                    .Pending("own/new", {.gpus = 1}));
  EXPECT_TRUE(bounds.AllReturnFirst());
  EXPECT_GE(bounds.Scenarios(true), 20) << "which all fail";
}

TEST(TurnBoundsTest, ASearchEndsAfterAFewScenarios) {
  Bounds bounds(Blocked(FullCluster()));
  EXPECT_GE(bounds.Scenarios(true), 2 * 20 - 1);
  EXPECT_LE(bounds.Scenarios(false), 2 * 15);
}

}  // namespace
}  // namespace kai::turn_bounds_test
