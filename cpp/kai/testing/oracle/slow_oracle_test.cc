// Tests the oracle on worked examples of the specs. If oracle and engine shared a mistake,
// comparing the two would not find it.
#include "kai/testing/oracle/slow_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::oracle::slow_oracle_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

World Of(const ClusterMaker& maker, Settings settings = {}) {
  return World(maker.Rows(), std::move(settings));
}

TEST(OracleScoreTest, DensityOfSpec3W3) {  // x = 0, 3, 4 -> 9, 2.25, 0
  const World world = Of(MakeCluster()
                             .Node("x0", {.gpus = 4})
                             .Node("x3", {.gpus = 4})
                             .Node("x4", {.gpus = 4})
                             .Running("ns/a", {.pods = 4, .gpus = 1, .node = "x0"})
                             .Running("ns/b", {.gpus = 1, .node = "x3"})
                             .Pending("ns/new", {.gpus = 1}),
                         {.plugins = {"nodeplacement"}});
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "x0"), 9);
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "x3"), 2.25);
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "x4"), 0);
}

TEST(OracleScoreTest, CpuPodsArePlacedOnCpuNodes) {  // spec 3 W11: 1010 against 1009
  const World world = Of(MakeCluster()
                             .Node("c1", {.millicpu = 16'000})
                             .Node("g1", {.gpus = 4, .millicpu = 4000})
                             .Pending("ns/new"));
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "c1"), 1010);
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "g1"), 1009);
  EXPECT_EQ(FindNode(world, "ns/new-0"), (Choice{.node = "c1", .now = true}));
}

TEST(OracleScoreTest, SpreadDividesByTheNumberOfDevices) {  // spec 3 W4
  const World world = Of(MakeCluster()
                             .Node("a", {.gpus = 4})
                             .Node("b", {.gpus = 4, .labels = {{"nvidia.com/gpu.count", "8"}}})
                             .Pending("ns/new", {.gpus = 1}),
                         {.plugins = {"nodeplacement"}, .gpu_spread = true});
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "a"), 1);
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "b"), 0.5);
}

TEST(OraclePlaceTest, AGangWaitsTogether) {  // the example of spec 2 T6
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 2})
                       .Releasing("ns/old", {.gpus = 1, .node = "n1"})
                       .Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2}));
  const std::vector<Decision> plan = Allocate(&world);
  EXPECT_THAT(plan, ElementsAre(Decision{Decision::Kind::kPipeline, "ns/gang-1", "n1"},
                                Decision{Decision::Kind::kPipeline, "ns/gang-0", "n1"}));
}

TEST(OraclePlaceTest, AnElasticGroupGrowsUntilThereIsNoRoom) {  // spec 2 G13, example (a)
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 3})
                       .Pending("ns/g", {.pods = 5, .gpus = 1, .min_member = 2}));
  EXPECT_THAT(TasksToAllocate(world, "ns/g"), ElementsAre("ns/g-0", "ns/g-1"));
  EXPECT_EQ(Allocate(&world).size(), size_t{3});
  EXPECT_THAT(TasksToAllocate(world, "ns/g"), ElementsAre("ns/g-3"));
}

TEST(OraclePlaceTest, AnIncompleteGangLeavesNoTrace) {  // spec 2 E14
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 1})
                       .Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2}));
  EXPECT_THAT(Allocate(&world), IsEmpty());
  EXPECT_EQ(world.StatusOf("ns/gang-0"), PodStatus::kPending);
}

TEST(OracleWorldTest, APodThatMovesLeavesItsOldPlaceReleasing) {  // spec 2 T5
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 2})
                       .Node("n2", {.gpus = 2})
                       .Running("ns/a", {.gpus = 2, .node = "n1"}));
  const World before = world;
  world.Evict("ns/a-0");
  world.Pipeline("ns/a-0", "n2");
  EXPECT_EQ(world.Releasing("n1").at("gpu"), 2);
  EXPECT_EQ(world.Releasing("n2").at("gpu"), -2);
  EXPECT_EQ(world.NodeOf("ns/a-0"), "n2");
  EXPECT_EQ(before.NodeOf("ns/a-0"), "n1");
}

TEST(OracleDivisionTest, TheHierarchyOfSpec1F52) {
  const World world = Of(MakeCluster()
                             .Queue("a", {.deserved_gpus = 8})
                             .Queue("a1", {.parent = "a", .deserved_gpus = 6, .weight_gpus = 1})
                             .Queue("a2", {.parent = "a", .deserved_gpus = 2, .weight_gpus = 3})
                             .Queue("b", {.deserved_gpus = 4})
                             .Node("n1", {.gpus = 20})
                             .Pending("a1/x", {.pods = 10, .gpus = 1})
                             .Pending("a2/x", {.pods = 5, .gpus = 1})
                             .Pending("b/x", {.pods = 30, .gpus = 1}));
  const auto numbers = NumbersOf(world);
  EXPECT_EQ(numbers.at("a").fair_share[2], 12);
  EXPECT_EQ(numbers.at("b").fair_share[2], 8);
  EXPECT_EQ(numbers.at("a1").fair_share[2], 7);
  EXPECT_EQ(numbers.at("a2").fair_share[2], 5);
}

TEST(OracleDivisionTest, TheRemainderOfSpec1F52) {
  std::vector<Sibling> siblings = {{.name = "a", .deserved = 2, .weight = 1, .request = 10},
                                   {.name = "b", .deserved = 2, .weight = 4, .request = 10}};
  EXPECT_EQ(Divide(11, 0, &siblings), 0);
  EXPECT_EQ(siblings[0].fair_share, 3);
  EXPECT_EQ(siblings[1].fair_share, 8);
}

}  // namespace
}  // namespace kai::oracle::slow_oracle_test
