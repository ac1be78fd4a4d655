#include <gtest/gtest.h>

#include "kai/placement/rooms_for_test.h"

namespace kai::preferred_nodes_test {
namespace {

WeightedNodeTerm Preferred(std::string key, std::string value, int32_t weight) {
  return {.term = {.expressions = {{.key = std::move(key),
                                    .op = SelectorOp::kIn,
                                    .values = {std::move(value)}}},
                   .fields = {}},
          .weight = weight};
}

ClusterMaker Models(std::vector<WeightedNodeTerm> terms) {
  return MakeCluster()
      .Node("a100", {.gpus = 1, .labels = {{"model", "a100"}, {"disk", "fast"}}})
      .Node("h100", {.gpus = 8, .labels = {{"model", "h100"}}})
      .Pending("ns/p", {.gpus = 1, .preferred_nodes = std::move(terms)});
}

double ScoreOf(const Cluster& cluster, std::string_view node) {
  return MakePreferredNodesScorer(cluster)->Score(
      cluster.pods().pod_class[PodNamed(cluster, "ns/p-0")], NodeNamed(cluster, node), {});
}

TEST(PreferredNodesScorerTest, ANodeScoresTheFractionOfWeightsThatItMatches) {
  const auto cluster = Models({Preferred("model", "a100", 2), Preferred("disk", "fast", 1),
                               Preferred("model", "h100", 6)})
                           .Build();
  EXPECT_EQ(ScoreOf(*cluster, "a100"), 300);  // 900 * (2 + 1) / 9
  EXPECT_EQ(ScoreOf(*cluster, "h100"), 600);
}

TEST(PreferredNodesScorerTest, OutranksPackingIfItIsOn) {
  const ClusterMaker maker = Models({Preferred("model", "h100", 1)});
  EXPECT_EQ(Rooms(maker.Build()).Find("ns/p-0"), "a100") << "the fuller node";
  EXPECT_EQ(Rooms(maker.Build(), {.preferred_nodes = true}).Find("ns/p-0"), "h100");
}

TEST(PreferredNodesScorerTest, StartingNowOutranksIt) {
  ClusterMaker maker = Models({Preferred("model", "h100", 100)});
  maker.Releasing("ns/old", {.gpus = 8, .node = "h100"});
  EXPECT_EQ(Rooms(maker.Build(), {.preferred_nodes = true}).Find("ns/p-0"), "a100");
}

TEST(PreferredNodesScorerTest, IsSkippedForPodsWithoutPreferences) {
  const auto cluster = MakeCluster().Node("n").Pending("ns/p").Build();
  EXPECT_EQ(MakePreferredNodesScorer(*cluster)->DependsOn(
                cluster->pods().pod_class[PodNamed(*cluster, "ns/p-0")]),
            Scorer::Dependence::kNothing);
}

}  // namespace
}  // namespace kai::preferred_nodes_test
