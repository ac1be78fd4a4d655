#include <gtest/gtest.h>

#include "kai/placement/scorers/scorers.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::nominated_node_test {
namespace {

TEST(NominatedNodeScorerTest, ScoresTenMillionForTheNominatedNode) {
  const auto cluster = MakeCluster()
                           .Node("n1")
                           .Node("n2")
                           .Pending("ns/chosen", {.nominated_node = "n2"})
                           .Pending("ns/free")
                           .Pending("ns/lost", {.nominated_node = "gone"})
                           .Build();
  const auto scorer = MakeNominatedNodeScorer(*cluster);
  const auto pods = [&](std::string_view pod) {
    return cluster->pods().pod_class[PodNamed(*cluster, pod)];
  };
  EXPECT_EQ(scorer->Score(pods("ns/chosen-0"), NodeNamed(*cluster, "n1"), {}), 0);
  EXPECT_EQ(scorer->Score(pods("ns/chosen-0"), NodeNamed(*cluster, "n2"), {}), 10'000'000);
  EXPECT_EQ(scorer->DependsOn(pods("ns/chosen-0")), Scorer::Dependence::kNode);
  EXPECT_EQ(scorer->DependsOn(pods("ns/free-0")), Scorer::Dependence::kNothing);
  for (const char* node : {"n1", "n2"})
    EXPECT_EQ(scorer->Score(pods("ns/lost-0"), NodeNamed(*cluster, node), {}), 0) << node;
}

}  // namespace
}  // namespace kai::nominated_node_test
