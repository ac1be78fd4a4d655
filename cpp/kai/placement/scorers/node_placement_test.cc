#include <gtest/gtest.h>

#include "kai/placement/node_index.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::node_placement_test {
namespace {

// ---- spec 3 W3

TEST(BinpackScoreTest, IsNineWithTheLeastFreeAndZeroWithTheMost) {
  const auto score = [](double room, double least, double most) {
    return BinpackScore(room, least, most, /*allocatable=*/16);
  };
  EXPECT_EQ(score(0, 0, 4), 9);  // 0, 3 and 4 are free
  EXPECT_EQ(score(3, 0, 4), 2.25);
  EXPECT_EQ(score(4, 0, 4), 0);
  EXPECT_DOUBLE_EQ(score(8, 4, 16), 6);  // 8, 4 and 16
  EXPECT_EQ(score(4, 4, 16), 9);
  EXPECT_EQ(score(16, 4, 16), 0);
}

TEST(BinpackScoreTest, IsNineIfAllNodesAreAlike) { EXPECT_EQ(BinpackScore(5, 5, 5, 8), 9); }

TEST(BinpackScoreTest, IsZeroIfNoNodeHasFreeResources) {
  EXPECT_EQ(BinpackScore(0, 0, 0, 8), 0);
  EXPECT_EQ(BinpackScore(-2, -2, 0, 8), 0);
}

TEST(BinpackScoreTest, IsZeroOnNodesWithoutTheResource) {
  EXPECT_EQ(BinpackScore(0, 0, 4, 0), 0);
  EXPECT_EQ(BinpackScore(0, 5, 5, 0), 0);
}

TEST(BinpackScoreTest, WorksWithNegativeFreeAmounts) {
  EXPECT_EQ(BinpackScore(-2, -2, 4, 8), 9);
  EXPECT_EQ(BinpackScore(-3, -3, -1, 8), 9);
}

TEST(SpreadScoreTest, IsTheFreeFractionOfTheResource) {  // spec 3 W4
  EXPECT_EQ(SpreadScore(4, 8), 0.5);
  EXPECT_EQ(SpreadScore(8, 8), 1);
  EXPECT_EQ(SpreadScore(7, 8), 0.875);
  EXPECT_EQ(SpreadScore(0, 8), 0);
  EXPECT_EQ(SpreadScore(4, 0), 0);
}

// ---- the scorer

class NodePlacementTest : public testing::Test {
 protected:
  static double Score(const Cluster& cluster, Strategy gpu, Strategy cpu, std::string_view pod,
                      std::string_view node, ScoreView view = {}) {
    return MakeNodePlacementScorer(cluster, gpu, cpu)
        ->Score(cluster.pods().pod_class[PodNamed(cluster, pod)], NodeNamed(cluster, node), view);
  }
};

TEST_F(NodePlacementTest, GpuPodsAreScoredByGpusAndOthersByCpu) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 8, .millicpu = 10'000})
                           .Running("ns/x", {.gpus = 2, .millicpu = 4000, .node = "n"})
                           .Pending("ns/gpu", {.gpus = 1})
                           .Pending("ns/cpu")
                           .Build();
  EXPECT_EQ(Score(*cluster, Strategy::kSpread, Strategy::kSpread, "ns/gpu-0", "n"), 0.75);
  EXPECT_EQ(Score(*cluster, Strategy::kSpread, Strategy::kSpread, "ns/cpu-0", "n"), 0.6);
  const ScoreView gpus{.least_room = 4, .most_room = 8};
  EXPECT_EQ(Score(*cluster, Strategy::kBinpack, Strategy::kSpread, "ns/gpu-0", "n", gpus), 4.5);
  EXPECT_EQ(Score(*cluster, Strategy::kBinpack, Strategy::kSpread, "ns/cpu-0", "n", gpus), 0.6);
  const ScoreView cores{.least_room = 6000, .most_room = 8000};
  EXPECT_EQ(Score(*cluster, Strategy::kSpread, Strategy::kBinpack, "ns/cpu-0", "n", cores), 9);
}

TEST_F(NodePlacementTest, ResourcesBeingFreedCountAsFree) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 8})
                           .Running("ns/stays", {.gpus = 4, .node = "n"})
                           .Releasing("ns/leaves", {.gpus = 2, .node = "n"})
                           .Pending("ns/p", {.gpus = 1})
                           .Build();
  EXPECT_EQ(Score(*cluster, Strategy::kSpread, Strategy::kSpread, "ns/p-0", "n"), 0.5);
}

TEST_F(NodePlacementTest, SpreadingDividesByTheDevicesThatTheLabelCounts) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 6, .labels = {{"nvidia.com/gpu.count", "8"}}})
                           .Pending("ns/p", {.gpus = 1})
                           .Build();
  EXPECT_EQ(Score(*cluster, Strategy::kSpread, Strategy::kSpread, "ns/p-0", "n"), 0.75);
}

TEST_F(NodePlacementTest, NodesWithoutTheResourceScoreZero) {
  const auto cluster = MakeCluster().Node("n").Pending("ns/p", {.gpus = 1}).Build();
  const ScoreView view{.least_room = 0, .most_room = 8};
  EXPECT_EQ(Score(*cluster, Strategy::kBinpack, Strategy::kBinpack, "ns/p-0", "n", view), 0);
  EXPECT_EQ(Score(*cluster, Strategy::kSpread, Strategy::kSpread, "ns/p-0", "n", view), 0);
}

}  // namespace
}  // namespace kai::node_placement_test
