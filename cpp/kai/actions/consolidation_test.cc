#include "kai/actions/consolidation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kai/actions/cycle_for_test.h"
#include "kai/base/text.h"

namespace kai::consolidation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;

Plan Consolidate(const ClusterMaker& maker, std::string_view config = "") {
  return RunActions("consolidation", maker, config);
}

// Two nodes with two GPUs, one of them free on each.
ClusterMaker TwoHalfFullNodes(const PodsSpec& like = {}) {
  PodsSpec first = like;
  first.gpus = 1;
  PodsSpec second = first;
  first.node = "n1";
  second.node = "n2";
  return MakeCluster()
      .Node("n1", {.gpus = 2})
      .Node("n2", {.gpus = 2})
      .Running("ns/a", first)
      .Running("ns/b", second);
}

// ---- what it moves, and for which group (spec 2 R2, E21)

TEST(ConsolidationTest, MovesOnePodSoThatALargerOneFits) {
  EXPECT_THAT(Consolidate(TwoHalfFullNodes().Pending("ns/new", {.gpus = 2})),
              PlanIs(Evicts("ns/b-0"), Pipelines("ns/b-0", "n1"), Pipelines("ns/new-0", "n2")));
}

TEST(ConsolidationTest, MovesNoPodIfNoPodWaits) {
  EXPECT_THAT(Consolidate(TwoHalfFullNodes()), PlanIs());
}

TEST(ConsolidationTest, NoPodMayBeLost) {
  // Only b could make room, but there is no new place for b.
  EXPECT_THAT(Consolidate(MakeCluster()
                              .Node("n1", {.gpus = 2})
                              .Node("n2", {.gpus = 2})
                              .Running("ns/a", {.gpus = 1, .node = "n1"})
                              .Running("ns/b", {.pods = 2, .gpus = 1, .node = "n2"})
                              .Pending("ns/new", {.gpus = 2})),
              PlanIs());
}

TEST(ConsolidationTest, MovesNoPodOfAGangThatLeavingPodsHaveBroken) {
  // The pod could not start again if its gang needs two.
  const auto maker = [](int64_t min_member) {
    return MakeCluster()
        .Node("n1", {.gpus = 2})
        .Node("n2", {.gpus = 2})
        .Node("n3", {.gpus = 1})
        .Running("ns/stays", {.gpus = 1, .node = "n1", .preemptibility = "non-preemptible"})
        .Running("ns/gang", {.gpus = 1, .node = "n2", .min_member = min_member})
        .Releasing("ns/gang", {.gpus = 1, .node = "n3"})
        .Pending("ns/new", {.gpus = 2});
  };
  const auto moves =
      PlanIs(Evicts("ns/gang-0"), Pipelines("ns/gang-0", "n1"), Pipelines("ns/new-0", "n2"));
  EXPECT_THAT(Consolidate(maker(2)), PlanIs());
  EXPECT_THAT(Consolidate(maker(2), AsKai("whole_gangs")), moves);
  EXPECT_THAT(Consolidate(maker(1)), moves);
}

TEST(ConsolidationTest, MovesNoPodThatNoControllerWouldCreateAgain) {
  const ClusterMaker maker = TwoHalfFullNodes({.bare = true}).Pending("ns/new", {.gpus = 2});
  EXPECT_THAT(Consolidate(maker), PlanIs());
  EXPECT_THAT(Consolidate(maker, AsKai("bare_pods")),
              PlanIs(Evicts("ns/b-0"), Pipelines("ns/b-0", "n1"), Pipelines("ns/new-0", "n2")));
}

TEST(ConsolidationTest, MovesAnotherGroupIfThePodsOfTheFirstAreBare) {
  EXPECT_THAT(Consolidate(MakeCluster()
                              .Node("n1", {.gpus = 2})
                              .Node("n2", {.gpus = 2})
                              .Running("ns/a", {.gpus = 1, .node = "n1"})
                              .Running("ns/b", {.gpus = 1, .node = "n2", .bare = true})
                              .Pending("ns/new", {.gpus = 2})),
              PlanIs(Evicts("ns/a-0"), Pipelines("ns/a-0", "n2"), Pipelines("ns/new-0", "n1")));
}

TEST(ConsolidationTest, OneBarePodKeepsItsWholeGroupInPlace) {
  const auto with = [](bool bare) {
    return MakeCluster()
        .Node("n1", {.gpus = 2})
        .Node("n2", {.gpus = 2})
        .Node("n3", {.gpus = 1})
        .Running("ns/stays", {.gpus = 1, .node = "n1", .preemptibility = "non-preemptible"})
        .Running("ns/b", {.gpus = 1, .node = "n3", .bare = bare})
        .Running("ns/b", {.gpus = 1, .node = "n2"})
        .Pending("ns/new", {.gpus = 2});
  };
  EXPECT_THAT(Consolidate(with(false)),
              PlanIs(Evicts("ns/b-1"), Pipelines("ns/new-0", "n2"), Pipelines("ns/b-1", "n1")));
  EXPECT_THAT(Consolidate(with(true)), PlanIs());
}

TEST(ConsolidationTest, ServesBarePodsAndGroupsWithWaitingBarePods) {
  EXPECT_THAT(Consolidate(TwoHalfFullNodes().Pending("ns/new", {.gpus = 2, .bare = true})),
              PlanIs(Evicts("ns/b-0"), Pipelines("ns/b-0", "n1"), Pipelines("ns/new-0", "n2")));
}

TEST(ConsolidationTest, NeitherMovesNorServesNonPreemptibleGroups) {
  const auto of = [](std::string running, std::string waiting) {
    return TwoHalfFullNodes({.preemptibility = std::move(running)})
        .Pending("ns/new", {.gpus = 2, .preemptibility = std::move(waiting)});
  };
  EXPECT_THAT(Consolidate(of("preemptible", "preemptible")),
              PlanIs(Evicts("ns/b-0"), Pipelines("ns/b-0"), Pipelines("ns/new-0")));
  EXPECT_THAT(Consolidate(of("non-preemptible", "preemptible")), PlanIs());
  EXPECT_THAT(Consolidate(of("preemptible", "non-preemptible")), PlanIs());
}

TEST(ConsolidationTest, PriorityAndQueueOfPodsThatMoveDoNotMatter) {
  EXPECT_THAT(
      Consolidate(MakeCluster()
                      .Queue("high")
                      .Queue("low")
                      .Node("n1", {.gpus = 2})
                      .Node("n2", {.gpus = 2})
                      .Running("high/a", {.gpus = 1, .node = "n1", .priority = 90})
                      .Running("high/b", {.gpus = 1, .node = "n2", .priority = 90})
                      .Pending("low/new", {.gpus = 2, .priority = 10})),
      PlanIs(Evicts("high/b-0"), Pipelines("low/new-0", "n2"), Pipelines("high/b-0", "n1")));
}

TEST(ConsolidationTest, MovesOnePodOfAnElasticGroupButNotTwo) {  // spec 2 E21, spec 2 W19
  const auto of = [](int64_t gpus) {
    return MakeCluster()
        .Node("n1", {.gpus = 4})
        .Node("n2", {.gpus = 4})
        .Running("ns/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 1})
        .Running("ns/full", {.gpus = 2, .node = "n2", .preemptibility = "non-preemptible"})
        .Pending("ns/new", {.gpus = gpus});
  };
  EXPECT_THAT(Consolidate(of(3)),
              PlanIs(Evicts("ns/e-1"), Pipelines("ns/new-0", "n1"), Pipelines("ns/e-1", "n2")));
  EXPECT_THAT(Consolidate(of(4)), PlanIs());
}

// spec 2 E21
TEST(ConsolidationTest, APodThatMovesIsPlacedFirstUnlessTheWaitingOneHasPriority) {
  EXPECT_THAT(Consolidate(TwoHalfFullNodes().Pending("ns/new", {.gpus = 2, .priority = 50})),
              PlanIs(Evicts("ns/b-0"), Pipelines("ns/b-0", "n1"), Pipelines("ns/new-0", "n2")));
  EXPECT_THAT(Consolidate(TwoHalfFullNodes().Pending("ns/new", {.gpus = 2, .priority = 60})),
              PlanIs(Evicts("ns/b-0"), Pipelines("ns/new-0", "n2"), Pipelines("ns/b-0", "n1")));
}

TEST(ConsolidationTest, FullNodesAreNotTouched) {  // spec 2 E21
  EXPECT_THAT(Consolidate(TwoHalfFullNodes()
                              .Node("n3", {.gpus = 2})
                              .Running("ns/full", {.pods = 2, .gpus = 1, .node = "n3"})
                              .Pending("ns/new", {.gpus = 2})),
              PlanIs(Evicts("ns/b-0"), Pipelines("ns/b-0", "n1"), Pipelines("ns/new-0", "n2")));
}

TEST(ConsolidationTest, PipelinedPodsAreNotMoved) {
  // allocate gives old the GPU that is being freed, and old stays there.
  EXPECT_THAT(
      RunActions("allocate, consolidation", MakeCluster()
                                                .Node("n1", {.gpus = 1})
                                                .Node("n2", {.gpus = 1})
                                                .Releasing("ns/gone", {.gpus = 1, .node = "n1"})
                                                .Releasing("ns/too", {.gpus = 1, .node = "n2"})
                                                .Pending("ns/old", {.gpus = 1})
                                                .Pending("ns/new", {.gpus = 1})),
      PlanIs(Pipelines("ns/old-0"), Pipelines("ns/new-0")));
}

// ---- when it does not even begin (spec 2 R2)

TEST(ConsolidationTest, DoesNotSearchForMoreGpusThanAreFree) {
  EXPECT_THAT(Consolidate(TwoHalfFullNodes().Pending("ns/new", {.gpus = 3})), PlanIs());
}

TEST(ConsolidationTest, OnlyFreeGpusOfReadyNodesCount) {
  const auto of = [](bool ready) {
    ClusterMaker maker = TwoHalfFullNodes().Pending("ns/new", {.gpus = 2});
    maker.rows().nodes[0].ready = ready ? ConditionStatus::kTrue : ConditionStatus::kFalse;
    return maker;
  };
  EXPECT_THAT(Consolidate(of(true)),
              PlanIs(Evicts("ns/b-0"), Pipelines("ns/b-0"), Pipelines("ns/new-0")));
  EXPECT_THAT(Consolidate(of(false)), PlanIs());
}

// Half of each of two devices with 10,000 MiB is free.
ClusterMaker TwoHalfFullDevices() {
  ClusterMaker maker = MakeCluster();
  for (const char* node : {"n1", "n2"})
    maker.Node(node, {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "10000"}}});
  for (const char* node : {"n1", "n2"}) {
    maker.Running(StrCat("ns/on-", node), {.gpu_memory_mib = 5000, .node = node});
    maker.rows().pods.back().gpu_groups = {node};
  }
  return maker;
}

TEST(ConsolidationTest, MovesASharerSoThatAWholeDeviceIsFree) {
  EXPECT_THAT(Consolidate(TwoHalfFullDevices().Pending("ns/new", {.gpu_memory_mib = 10'000})),
              PlanIs(Evicts("ns/on-n2-0"), Pipelines("ns/on-n2-0", "n1"), Pipelines("ns/new-0")));
}

TEST(ConsolidationTest, DoesNotSearchForMoreGpuMemoryThanIsFree) {
  const auto plan_for = [](int pods) {
    return Consolidate(TwoHalfFullDevices().Pending(
                           "ns/new", {.pods = pods, .gpu_memory_mib = 5001, .min_member = pods}),
                       R"(, "scenarioSearchBudgets": {"maxScenarios": {"action": 0}})");
  };
  EXPECT_THAT(plan_for(1), Reasons("ns/new", reason_codes::kSearchBudgetSpent));
  EXPECT_THAT(plan_for(2), Not(Reasons("ns/new", reason_codes::kSearchBudgetSpent)));
}

// b and c cannot move anywhere; a can.
ClusterMaker OneOfThreeMayMove(int64_t limit) {
  ClusterMaker maker = MakeCluster();
  maker.params().max_consolidation_preemptees = limit;
  const StringPairs nowhere = {{"no", "where"}};
  return maker.Node("n1", {.gpus = 2})
      .Node("n2", {.gpus = 2})
      .Node("n3", {.gpus = 2})
      .Running("ns/a", {.gpus = 1, .node = "n1"})
      .Running("ns/b", {.gpus = 1, .node = "n2", .node_selector = nowhere})
      .Running("ns/c", {.gpus = 1, .node = "n3", .node_selector = nowhere})
      .Pending("ns/new", {.gpus = 2});
}

TEST(ConsolidationLimitTest, CountsPodGroupsTheYoungestFirst) {  // switch consolidation_limit
  EXPECT_THAT(Consolidate(OneOfThreeMayMove(2)), PlanIs());
  EXPECT_THAT(Consolidate(OneOfThreeMayMove(3)),
              PlanIs(Evicts("ns/a-0"), Pipelines("ns/a-0"), Pipelines("ns/new-0", "n1")));
}

TEST(ConsolidationLimitTest, TheYoungestGroupIsEnough) {
  ClusterMaker maker = OneOfThreeMayMove(1);
  std::swap(maker.rows().pods[0].node_selector, maker.rows().pods[2].node_selector);
  EXPECT_THAT(Consolidate(maker),
              PlanIs(Evicts("ns/c-0"), Pipelines("ns/c-0"), Pipelines("ns/new-0", "n3")));
}

TEST(ConsolidationLimitTest, AsKaiTheLimitAllowsOneMore) {  // spec 2 W10
  EXPECT_THAT(Consolidate(OneOfThreeMayMove(2), AsKai("consolidation_limit")),
              PlanIs(Evicts("ns/a-0"), Pipelines("ns/a-0"), Pipelines("ns/new-0", "n1")));
  EXPECT_THAT(Consolidate(OneOfThreeMayMove(1), AsKai("consolidation_limit")), PlanIs());
}

TEST(ConsolidationLimitTest, MinusOneIsNoLimitAndZeroDisablesTheAction) {
  EXPECT_THAT(Consolidate(OneOfThreeMayMove(-1)),
              PlanIs(Evicts("ns/a-0"), Pipelines("ns/a-0"), Pipelines("ns/new-0", "n1")));
  EXPECT_THAT(Consolidate(OneOfThreeMayMove(0)), PlanIs());
  EXPECT_THAT(Consolidate(OneOfThreeMayMove(0), AsKai("consolidation_limit")), PlanIs());
}

// ---- messages (spec 2 R6)

TEST(ConsolidationTest, TheMessageStatesWhyAPodMoves) {
  const Plan plan = Consolidate(TwoHalfFullNodes().Pending("ns/new", {.gpus = 2}));
  EXPECT_THAT(EvictionMessages(plan),
              ElementsAre("Pod ns/b-0 was preempted and rescheduled due to bin packing (resource "
                          "consolidation) procedure"));
  ASSERT_FALSE(plan.decisions.empty());
  EXPECT_EQ(plan.decisions[0].action, "consolidation");
}

// ---- the worked cycle (spec 2 E34)

ClusterMaker Worked() {
  return MakeCluster()
      .Queue("q0", {.deserved_gpus = 4})
      .Queue("q1", {.deserved_gpus = 4})
      .Node("node0", {.gpus = 4})
      .Node("node1", {.gpus = 4})
      .Running("q0/j0", {.gpus = 2, .node = "node0"})
      .Running("q0/j1", {.gpus = 2, .node = "node1"})
      .Running("q0/j2", {.gpus = 1, .node = "node1"})
      .Pending("q0/p0", {.gpus = 3})
      .Pending("q1/p1", {.gpus = 4});
}

TEST(WorkedCycleTest, ConsolidationMakesRoomIfNoPodIsLost) {
  EXPECT_THAT(
      RunActions("allocate, consolidation", Worked()),
      PlanIs(Evicts("q0/j1-0"), Pipelines("q0/j1-0", "node0"), Pipelines("q0/p0-0", "node1")));
}

TEST(WorkedCycleTest, ReclaimMovesSomeVictimsAndEvictsTheRest) {
  EXPECT_THAT(RunActions("allocate, reclaim", Worked()),
              PlanIs(Evicts("q0/j2-0"), Evicts("q0/j1-0"), Pipelines("q1/p1-0", "node1"),
                     Pipelines("q0/j1-0", "node0")));
}

}  // namespace
}  // namespace kai::consolidation_test
