#include "kai/placement/pod_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/placement/rooms_for_test.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::pod_order_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- which pods an attempt works on (spec 2 G11, G13)

class PodsToPlaceTest : public testing::Test {
 protected:
  // The pods of the next attempt; also places them.
  static std::vector<std::string> Next(Rooms* rooms) {
    const PodList pods = rooms->order().PodsToPlace(rooms->Group("ns/g"));
    for (const PodId pod : pods) rooms->statement().Place(pod, rooms->Node("n"));
    return Names(rooms->cluster(), pods);
  }
};

TEST_F(PodsToPlaceTest, AGangFirstThenItsExtrasOneByOne) {  // example (a)
  Rooms rooms(MakeCluster().Node("n").Pending("ns/g", {.pods = 5, .min_member = 2}).Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0", "g-1"));
  EXPECT_THAT(Next(&rooms), ElementsAre("g-2"));
  EXPECT_THAT(Next(&rooms), ElementsAre("g-3"));
  EXPECT_THAT(Next(&rooms), ElementsAre("g-4"));
  EXPECT_THAT(Next(&rooms), IsEmpty());
}

TEST_F(PodsToPlaceTest, WithAMinimumOfOneSubGroupOneGoesFirst) {  // example (b), spec 2 E8
  Rooms rooms(GroupOf({Leaf("a", 2), Leaf("b", 1)},
                      /*min_sub_group=*/1)
                  .Pending("ns/g", {.pods = 2, .subgroup = "a"})
                  .Pending("ns/g", {.pods = 1, .subgroup = "b"})
                  .Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0", "g-1"));
  EXPECT_THAT(Next(&rooms), ElementsAre("g-2"));
  EXPECT_THAT(Next(&rooms), IsEmpty());
}

TEST_F(PodsToPlaceTest, SatisfiedSubGroupsAreSkippedWhileTheGangIsIncomplete) {  // (c), spec 2 E5
  Rooms rooms(GroupOf({Leaf("a", 1), Leaf("b", 1), Leaf("c", 1)})
                  .Running("ns/g", {.node = "n", .subgroup = "a"})
                  .Pending("ns/g", {.pods = 2, .subgroup = "a"})  // g-1, g-2: extras
                  .Pending("ns/g", {.subgroup = "b"})             // g-3
                  .Pending("ns/g", {.subgroup = "c"})             // g-4
                  .Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-3", "g-4"));
}

TEST_F(PodsToPlaceTest, TheMinimumOfALeafDefaultsToZero) {  // spec 2 E3
  const auto cluster = GroupOf({Leaf("a", std::nullopt)}).Build();
  EXPECT_EQ(cluster->sub_groups().minimum[PodSetNamed(*cluster, "ns/g", "a")], 0);
}

TEST_F(PodsToPlaceTest, AnInvalidTreeIsReplacedByTheDefaultTree) {  // spec 2 E3
  const auto orphan = GroupOf({Leaf("a", 2, "missing")}).Build();
  ASSERT_EQ(orphan->rejections().size(), 1u);
  EXPECT_EQ(orphan->rejections()[0].message, "parent subgroup missing of a not found");
  EXPECT_EQ(orphan->sub_groups().minimum[PodSetNamed(*orphan, "ns/g", "default")], 1);
  const auto twice = GroupOf({Leaf("a", 2), Leaf("a", 3)}).Build();
  ASSERT_EQ(twice->rejections().size(), 1u);
  EXPECT_EQ(twice->rejections()[0].message, "subgroup a already exists");
}

TEST_F(PodsToPlaceTest, WithoutAMinimumOfSubGroupsOneChildIsReturnedAtATime) {  // spec 2 E4
  Rooms rooms(GroupOf({Leaf("a", 2), Leaf("b", 2)},
                      /*min_sub_group=*/0)
                  .Pending("ns/g", {.pods = 2, .subgroup = "a"})
                  .Pending("ns/g", {.pods = 2, .subgroup = "b"})
                  .Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0", "g-1"));
  EXPECT_THAT(Next(&rooms), ElementsAre("g-2", "g-3"));
  EXPECT_THAT(Next(&rooms), IsEmpty());
}

TEST_F(PodsToPlaceTest, ExtrasComeOnePerAttempt) {  // spec 2 E6
  Rooms rooms(GroupOf({Leaf("a", 1), Leaf("b", 1)})
                  .Running("ns/g", {.node = "n", .subgroup = "a"})
                  .Running("ns/g", {.node = "n", .subgroup = "b"})
                  .Pending("ns/g", {.pods = 2, .subgroup = "a"})  // g-2, g-3
                  .Pending("ns/g", {.pods = 2, .subgroup = "b"})  // g-4, g-5
                  .Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-2"));  // 1 of 1 each: by name
  EXPECT_THAT(Next(&rooms), ElementsAre("g-4"));  // a now has 2 of 1
  EXPECT_THAT(Next(&rooms), ElementsAre("g-3"));
  EXPECT_THAT(Next(&rooms), ElementsAre("g-5"));
}

// A JobSet with a leader that starts first, as soon as its pod exists (startup order InOrder).
ClusterMaker LeaderAndWorkers() {
  return GroupOf({Set("leader", 1), Leaf("leader-0", 1, "leader"), Set("workers", 2),
                  Leaf("workers-0", 2, "workers"), Leaf("workers-1", 2, "workers")},
                 /*min_sub_group=*/1)
      .Running("ns/g", {.node = "n", .subgroup = "leader-0"})
      .Pending("ns/g", {.pods = 2, .subgroup = "workers-0"});  // g-1, g-2
}

TEST_F(PodsToPlaceTest, ASubGroupWithMissingPodsStartsLater) {  // spec 2 W3
  Rooms few(LeaderAndWorkers().Build());
  EXPECT_THAT(Next(&few), IsEmpty()) << "workers-1 has no pods yet, and workers needs both";
  Rooms all(LeaderAndWorkers().Pending("ns/g", {.pods = 2, .subgroup = "workers-1"}).Build());
  EXPECT_THAT(Next(&all), ElementsAre("g-1", "g-2", "g-3", "g-4"));
  Rooms as_kai(LeaderAndWorkers().Build(), {.choose_members = false});
  EXPECT_THAT(Next(&as_kai), ElementsAre("g-1", "g-2"));
}

TEST_F(PodsToPlaceTest, AnOnlySubGroupThatIsNotNeededWaitsForItsPodsAsWell) {
  const auto pods = [](int count) {
    return GroupOf({Leaf("a", 2)}, /*min_sub_group=*/0)
        .Pending("ns/g", {.pods = count, .subgroup = "a"})
        .Build();
  };
  Rooms few(pods(1));
  EXPECT_THAT(Next(&few), IsEmpty());
  Rooms all(pods(3));
  EXPECT_THAT(Next(&all), ElementsAre("g-0", "g-1"));
  EXPECT_THAT(Next(&all), ElementsAre("g-2"));
}

TEST_F(PodsToPlaceTest, EvictedPodsReturnToASubGroupThatLacksOthers) {
  Rooms rooms(GroupOf({Leaf("a", 3), Leaf("b", 1)}, /*min_sub_group=*/1)
                  .Running("ns/g", {.node = "n", .subgroup = "b"})
                  .Running("ns/g", {.node = "n", .subgroup = "a"})  // g-1
                  .Pending("ns/g", {.subgroup = "a"})
                  .Build());
  EXPECT_THAT(Names(rooms.cluster(), rooms.order().PodsToPlace(rooms.Group("ns/g"))), IsEmpty());
  rooms.Evict("ns/g-1");
  EXPECT_THAT(Names(rooms.cluster(), rooms.order().PodsToPlace(rooms.Group("ns/g"))),
              ElementsAre("g-1", "g-2"));
}

TEST_F(PodsToPlaceTest, OthersGrowWhileASubGroupWaitsForItsPods) {
  Rooms rooms(GroupOf({Leaf("a", 2), Leaf("b", 1)}, /*min_sub_group=*/1)
                  .Running("ns/g", {.node = "n", .subgroup = "b"})
                  .Pending("ns/g", {.subgroup = "a"})  // g-1
                  .Pending("ns/g", {.subgroup = "b"})  // g-2
                  .Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-2"));
  EXPECT_THAT(Next(&rooms), IsEmpty());
}

TEST_F(PodsToPlaceTest, TheLowerRatioGrowsFirst) {  // spec 2 G11: 4 of 2 before 9 of 4
  Rooms rooms(GroupOf({Leaf("a", 4), Leaf("b", 2)})
                  .Running("ns/g", {.pods = 9, .node = "n", .subgroup = "a"})
                  .Running("ns/g", {.pods = 4, .node = "n", .subgroup = "b"})
                  .Pending("ns/g", {.subgroup = "a"})  // g-13
                  .Pending("ns/g", {.subgroup = "b"})  // g-14
                  .Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-14"));
}

TEST_F(PodsToPlaceTest, InATreeTheSetWithTheLowerRatioGetsTwoPodsFirst) {  // spec 2 E7
  // `low` needs one child and has one; `high` needs one child and has two.
  Rooms rooms(GroupOf({Set("low", 1), Leaf("low-a", 1, "low"), Leaf("low-b", 2, "low"),
                       Set("high", 1), Leaf("high-a", 1, "high"), Leaf("high-b", 1, "high")})
                  .Running("ns/g", {.node = "n", .subgroup = "low-a"})
                  .Running("ns/g", {.node = "n", .subgroup = "high-a"})
                  .Running("ns/g", {.node = "n", .subgroup = "high-b"})
                  .Pending("ns/g", {.pods = 1, .subgroup = "low-a"})   // g-3
                  .Pending("ns/g", {.pods = 2, .subgroup = "low-b"})   // g-4, g-5
                  .Pending("ns/g", {.pods = 1, .subgroup = "high-a"})  // g-6
                  .Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-4", "g-5"));  // low-b: below its minimum goes first
  EXPECT_THAT(Next(&rooms), ElementsAre("g-6"));         // 2 of 1 both: high before low by name
  EXPECT_THAT(Next(&rooms), ElementsAre("g-3"));
}

TEST_F(PodsToPlaceTest, SubGroupsWithoutAMinimumComeLastFromTheSmallestOn) {  // spec 2 G11
  Rooms rooms(GroupOf({Leaf("a", 0), Leaf("b", 0), Leaf("c", 1)})
                  .Running("ns/g", {.pods = 2, .node = "n", .subgroup = "a"})
                  .Running("ns/g", {.pods = 1, .node = "n", .subgroup = "b"})
                  .Running("ns/g", {.pods = 5, .node = "n", .subgroup = "c"})
                  .Pending("ns/g", {.subgroup = "a"})  // g-8
                  .Pending("ns/g", {.subgroup = "b"})  // g-9
                  .Pending("ns/g", {.subgroup = "c"})  // g-10
                  .Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-10"));
  EXPECT_THAT(Next(&rooms), ElementsAre("g-9"));
  EXPECT_THAT(Next(&rooms), ElementsAre("g-8"));
}

TEST_F(PodsToPlaceTest, WithoutThePluginSubGroupsAreOrderedByName) {
  Rooms rooms(GroupOf({Leaf("a", 1), Leaf("b", 1)},
                      /*min_sub_group=*/1)
                  .Running("ns/g", {.node = "n", .subgroup = "a"})
                  .Pending("ns/g", {.subgroup = "a"})
                  .Pending("ns/g", {.subgroup = "b"})
                  .Build(),
              {.by_satisfaction = false});
  EXPECT_THAT(Next(&rooms), ElementsAre("g-1"));
}

TEST_F(PodsToPlaceTest, EvictedPodsAreReturnedAgainAndTerminatingOnesAreNot) {  // spec 2 S6
  Rooms rooms(MakeCluster()
                  .Node("n")
                  .Running("ns/g", {.node = "n"})
                  .Releasing("ns/g", {.node = "n"})
                  .Build());
  rooms.Evict("ns/g-0");
  const PodList pods = rooms.order().PodsToPlace(rooms.Group("ns/g"));
  EXPECT_THAT(Names(rooms.cluster(), pods), ElementsAre("g-0"));
}

TEST_F(PodsToPlaceTest, GatedPodsAreSkipped) {
  Rooms rooms(MakeCluster().Node("n").Gated("ns/g", {.min_member = 1}).Pending("ns/g").Build());
  EXPECT_THAT(Next(&rooms), ElementsAre("g-1"));
  EXPECT_THAT(Next(&rooms), IsEmpty());
}

TEST_F(PodsToPlaceTest, TheirRequestsAreSummedAndFollowTheStatement) {  // spec 2 G15
  Rooms rooms(
      MakeCluster()
          .Node("n", {.gpus = 8})
          .Pending("ns/g", {.pods = 3, .gpus = 2, .millicpu = 500, .mb = 1, .min_member = 2})
          .Build());
  const PodGroupId group = rooms.Group("ns/g");
  EXPECT_EQ(rooms.order().NextRequest(group), QuotaCount(1000, 2'000'000, 4));
  const Statement::Checkpoint start = rooms.statement().Mark();
  Next(&rooms);
  EXPECT_EQ(rooms.order().NextRequest(group), QuotaCount(500, 1'000'000, 2));
  rooms.statement().RollBackTo(start);
  EXPECT_EQ(rooms.order().NextRequest(group), QuotaCount(1000, 2'000'000, 4));
}

// ---- states of a pod group

TEST(PodGroupStateTest, ElasticStateIsBelowAtOrAboveTheMinimum) {  // spec 1 F73
  Rooms rooms(MakeCluster().Node("n").Pending("ns/g", {.pods = 3, .min_member = 2}).Build());
  const PodGroupId group = rooms.Group("ns/g");
  EXPECT_EQ(rooms.order().ElasticStateOf(group), ElasticState::kBelow);
  rooms.Place("ns/g-0", "n");
  EXPECT_EQ(rooms.order().ElasticStateOf(group), ElasticState::kBelow);
  rooms.Pipeline("ns/g-1", "n");
  EXPECT_EQ(rooms.order().ElasticStateOf(group), ElasticState::kAt) << "a promise counts";
  const Statement::Checkpoint mark = rooms.statement().Mark();
  rooms.Place("ns/g-2", "n");
  EXPECT_EQ(rooms.order().ElasticStateOf(group), ElasticState::kAbove);
  rooms.statement().RollBackTo(mark);
  EXPECT_EQ(rooms.order().ElasticStateOf(group), ElasticState::kAt);
}

TEST(PodGroupStateTest, OnePodSetBelowItsMinimumMakesTheGroupBelow) {
  Rooms rooms(GroupOf({Leaf("a", 1), Leaf("b", 1)})
                  .Running("ns/g", {.pods = 3, .node = "n", .subgroup = "a"})
                  .Pending("ns/g", {.subgroup = "b"})
                  .Build());
  EXPECT_EQ(rooms.order().ElasticStateOf(rooms.Group("ns/g")), ElasticState::kBelow);
}

TEST(PodGroupStateTest, TerminatingPodsDoNotCountTowardsTheMinimum) {
  Rooms rooms(MakeCluster()
                  .Node("n")
                  .Running("ns/g", {.node = "n", .min_member = 2})
                  .Releasing("ns/g", {.node = "n"})
                  .Build());
  EXPECT_EQ(rooms.order().ElasticStateOf(rooms.Group("ns/g")), ElasticState::kBelow);
}

bool IsReady(const ClusterMaker& maker) {
  const auto cluster = maker.Build();
  const PlacingOrder placing(*cluster, {});
  return PodOrder(placing, {}).IsReady(PodGroupNamed(*cluster, "ns/g"));
}

TEST(PodGroupStateTest, AGroupIsReadyWhenItsPodsHaveArrived) {  // spec 2 G7
  EXPECT_TRUE(IsReady(MakeCluster().Pending("ns/g", {.pods = 2, .min_member = 2})));
  EXPECT_FALSE(IsReady(MakeCluster().Pending("ns/g", {.pods = 1, .min_member = 2})));
  EXPECT_FALSE(IsReady(MakeCluster().Pending("ns/g", {.min_member = 2}).Gated("ns/g")));
  EXPECT_TRUE(IsReady(
      MakeCluster().Node("n").Running("ns/g", {.node = "n", .min_member = 2}).Pending("ns/g")));
}

TEST(PodGroupStateTest, SucceededPodsCountAsPresent) {  // switch completed_pods
  const ClusterMaker maker =
      MakeCluster().Pending("ns/g", {.pods = 2, .min_member = 3}).Succeeded("ns/g");
  EXPECT_TRUE(IsReady(maker));
  const auto cluster = maker.Build();
  const PlacingOrder placing(*cluster, {.comparators = {}, .count_completed = false});
  const PodOrder as_kai(placing, {});
  EXPECT_FALSE(as_kai.IsReady(PodGroupNamed(*cluster, "ns/g"))) << "spec 2 W21";
}

TEST(PodGroupStateTest, TerminatingPodsDoNotMakeAGroupReady) {  // spec 2 G7
  EXPECT_FALSE(IsReady(MakeCluster()
                           .Node("n")
                           .Pending("ns/g", {.pods = 2, .min_member = 3})
                           .Releasing("ns/g", {.node = "n"})));
}

TEST(PodGroupStateTest, ATreeIsReadyWhenEnoughOfItsChildrenAre) {
  const std::vector<SubGroupRow> subs = {Leaf("a", 1), Leaf("b", 1)};
  EXPECT_FALSE(IsReady(GroupOf(subs).Pending("ns/g", {.subgroup = "a"})));
  EXPECT_TRUE(IsReady(GroupOf(subs, 1).Pending("ns/g", {.subgroup = "a"})));
}

TEST(PodGroupStateTest, AGroupHasStartedOnceAPodHoldsANode) {
  Rooms rooms(MakeCluster().Node("n").Pending("ns/g", {.pods = 2}).Build());
  const PodGroupId group = rooms.Group("ns/g");
  EXPECT_FALSE(rooms.order().HasStarted(group));
  rooms.Pipeline("ns/g-0", "n");
  EXPECT_FALSE(rooms.order().HasStarted(group)) << "a promise is not a start";
  EXPECT_EQ(rooms.order().ActiveAllocated(group), 1);
  rooms.Place("ns/g-1", "n");
  EXPECT_TRUE(rooms.order().HasStarted(group));
  EXPECT_EQ(rooms.order().CountOf(group, PodStatus::kPending), 0);
}

// ---- parts of a group (spec 2 V2)

class PartTest : public testing::Test {
 protected:
  static std::vector<std::string> Next(Rooms* rooms, std::string_view group = "ns/g") {
    return Names(rooms->cluster(), rooms->order().PodsToPlace(rooms->Group(group)));
  }
  static void Narrow(Rooms* rooms, const std::vector<std::string>& pods,
                     std::string_view group = "ns/g") {
    std::vector<PodId> part;
    for (const std::string& pod : pods) part.push_back(rooms->Pod("ns/" + pod));
    rooms->order().Narrow(rooms->Group(group), part);
  }
  static int32_t MinimumOf(Rooms* rooms, std::string_view name) {
    return rooms->order().MinimumOf(PodSetNamed(rooms->cluster(), "ns/g", name));
  }
};

TEST_F(PartTest, NeedsNoMoreThanItsPods) {
  Rooms rooms(MakeCluster().Node("n").Pending("ns/g", {.pods = 4, .min_member = 4}).Build());
  PodOrder& order = rooms.order();
  const PodGroupId group = rooms.Group("ns/g");
  Narrow(&rooms, {"g-0", "g-1"});
  EXPECT_EQ(MinimumOf(&rooms, "default"), 2);
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0", "g-1"));
  EXPECT_EQ(order.NextRequest(group)[kQuotaCpu], 2000);
  order.Widen();
  EXPECT_EQ(MinimumOf(&rooms, "default"), 4);
  EXPECT_THAT(Next(&rooms), IsEmpty()) << "between parts no pod waits";
  Narrow(&rooms, {"g-0", "g-1", "g-2"});
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0", "g-1", "g-2"));
  order.ForgetParts();
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0", "g-1", "g-2", "g-3"));
  EXPECT_EQ(order.NextRequest(group)[kQuotaCpu], 4000);
}

TEST_F(PartTest, PodsThatHoldANodeArePartOfEveryPart) {
  Rooms rooms(MakeCluster()
                  .Node("n")
                  .Running("ns/g", {.pods = 2, .node = "n", .min_member = 5})
                  .Pending("ns/g", {.pods = 3})
                  .Build());
  Narrow(&rooms, {"g-2"});
  EXPECT_EQ(MinimumOf(&rooms, "default"), 3);
  EXPECT_THAT(Next(&rooms), ElementsAre("g-2"));
  rooms.Place("ns/g-2", "n");
  EXPECT_TRUE(rooms.order().IsGangSatisfied(rooms.Group("ns/g")));
  rooms.order().Widen();
  EXPECT_FALSE(rooms.order().IsGangSatisfied(rooms.Group("ns/g")));
}

TEST_F(PartTest, AMinimumIsNeverRaised) {
  Rooms rooms(MakeCluster().Node("n").Pending("ns/g", {.pods = 3, .min_member = 1}).Build());
  Narrow(&rooms, {"g-0", "g-1"});
  EXPECT_EQ(MinimumOf(&rooms, "default"), 1);
}

TEST_F(PartTest, TheRootNeedsNoMoreSubGroupsThanHavePods) {
  Rooms rooms(GroupOf({Leaf("a", 2), Leaf("b", 2)}, 2)
                  .Pending("ns/g", {.pods = 2, .subgroup = "a"})
                  .Pending("ns/g", {.pods = 2, .subgroup = "b"})
                  .Build());
  Narrow(&rooms, {"g-0", "g-1"});
  EXPECT_EQ(MinimumOf(&rooms, ""), 1);
  EXPECT_EQ(MinimumOf(&rooms, "a"), 2);
  EXPECT_EQ(MinimumOf(&rooms, "b"), 0);
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0", "g-1"));
  rooms.order().Widen();
  EXPECT_EQ(MinimumOf(&rooms, ""), 2);
  EXPECT_EQ(MinimumOf(&rooms, "b"), 2);
  EXPECT_FALSE(rooms.order().IsGangSatisfied(rooms.Group("ns/g")));
}

TEST_F(PartTest, ARootThatNeedsAllSubGroupsStillNeedsThem) {
  Rooms rooms(GroupOf({Leaf("a", 1), Leaf("b", 1)})
                  .Pending("ns/g", {.subgroup = "a"})
                  .Pending("ns/g", {.subgroup = "b"})
                  .Build());
  Narrow(&rooms, {"g-0"});
  EXPECT_EQ(MinimumOf(&rooms, ""), 2);
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0"));
}

TEST_F(PartTest, NarrowingAnotherGroupEndsThePartOfTheFirst) {
  Rooms rooms(MakeCluster()
                  .Node("n")
                  .Pending("ns/g", {.pods = 2, .min_member = 2})
                  .Pending("ns/h", {.pods = 2, .min_member = 2})
                  .Build());
  Narrow(&rooms, {"g-0"});
  rooms.order().Widen();
  Narrow(&rooms, {"h-0"}, "ns/h");
  EXPECT_THAT(Next(&rooms), ElementsAre("g-0", "g-1"));
  EXPECT_THAT(Next(&rooms, "ns/h"), ElementsAre("h-0"));
}

// ---- satisfied gangs (spec 2 G8)

bool IsGangSatisfied(const ClusterMaker& maker, const PodOrder::Options& options = {}) {
  const auto cluster = maker.Build();
  const PlacingOrder placing(*cluster, {});
  return PodOrder(placing, options).IsGangSatisfied(PodGroupNamed(*cluster, "ns/g"));
}

TEST(GangTest, TerminatingPodsStillCount) {
  const auto gang_of = [](int64_t minimum) {
    return MakeCluster()
        .Node("n")
        .Running("ns/g", {.node = "n", .min_member = minimum})
        .Releasing("ns/g", {.node = "n"})
        .Pending("ns/g");
  };
  EXPECT_TRUE(IsGangSatisfied(gang_of(2)));
  EXPECT_FALSE(IsGangSatisfied(gang_of(3)));
}

TEST(GangTest, EnoughSubGroupsSatisfyATree) {  // switch min_sub_group, spec 2 W2
  const auto replicas = [](std::optional<int64_t> minimum) {
    return GroupOf({Leaf("a", 1), Leaf("b", 1)}, minimum)
        .Running("ns/g", {.node = "n", .subgroup = "a"});
  };
  EXPECT_TRUE(IsGangSatisfied(replicas(1)));
  EXPECT_FALSE(IsGangSatisfied(replicas({}))) << "all are needed";
  EXPECT_FALSE(IsGangSatisfied(replicas(1), {.satisfy_tree = false})) << "as KAI";
}

// ---- compared with the oracle

TEST(PodOrderPropertyTest, TreesOfAllShapesAgreeWithTheOracle) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    const ClusterRows rows =
        MakeRandomCluster(seed, {.max_nodes = 2, .max_pods = 9, .sub_groups = true});
    Rooms rooms(rows.Build());
    oracle::World world(rows);
    const Cluster& cluster = rooms.cluster();
    for (const PodGroupId group : cluster.pod_groups().name.ids()) {
      for (int attempt = 0; attempt < 4; ++attempt) {
        const std::string name = cluster.PodGroupName(group);
        std::vector<std::string> pods;
        for (const PodId pod : rooms.order().PodsToPlace(group)) {
          pods.push_back(cluster.PodName(pod));
        }
        ASSERT_EQ(pods, oracle::TasksToAllocate(world, name)) << name;
        ASSERT_EQ(rooms.order().NextRequest(group), oracle::NextRequest(world, name));
        if (pods.empty() || cluster.nodes().size() == 0) break;
        for (const std::string& pod : pods) {
          if (random.OneIn(5)) continue;  // also attempts that place only some pods
          const std::string node(cluster.Text(cluster.nodes().name[NodeId(0)]));
          rooms.Place(pod, node);
          world.Place(pod, node, {"any"});  // the device, if it shares one
        }
      }
    }
  }
}

}  // namespace
}  // namespace kai::pod_order_test
