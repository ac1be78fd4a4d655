#include <gtest/gtest.h>

#include "kai/placement/scorers/scorers.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::resource_type_test {
namespace {

TEST(ResourceTypeScorerTest, ScoresTenForPodsWithoutGpusOnNodesWithoutGpus) {  // spec 3 T22
  const auto cluster = MakeCluster()
                           .Node("cpu")
                           .Node("gpu", {.gpus = 8})
                           .Node("mig", {.more = {{"nvidia.com/mig-1g.10gb", 7}}})
                           .Add(MakeNodeRow("claims"))
                           .Add(ResourceSliceRow{.node = "claims", .gpus = 4})
                           .Pending("ns/cpu")
                           .Pending("ns/gpu", {.gpus = 1})
                           .Build();
  const auto scorer = MakeResourceTypeScorer(*cluster);
  const auto score = [&](std::string_view pod, std::string_view node) {
    return scorer->Score(cluster->pods().pod_class[PodNamed(*cluster, pod)],
                         NodeNamed(*cluster, node), {});
  };
  EXPECT_EQ(score("ns/cpu-0", "cpu"), 10);
  EXPECT_EQ(score("ns/cpu-0", "gpu"), 0);
  EXPECT_EQ(score("ns/cpu-0", "mig"), 0);
  EXPECT_EQ(score("ns/cpu-0", "claims"), 0);
  for (const char* node : {"cpu", "gpu", "mig", "claims"}) EXPECT_EQ(score("ns/gpu-0", node), 0);
}

TEST(ResourceTypeScorerTest, DependsOnTheKindOfNodeForPodsWithoutGpusOnly) {
  const auto cluster =
      MakeCluster().Node("n").Pending("ns/cpu").Pending("ns/gpu", {.gpus = 1}).Build();
  const auto scorer = MakeResourceTypeScorer(*cluster);
  const auto depends = [&](std::string_view pod) {
    return scorer->DependsOn(cluster->pods().pod_class[PodNamed(*cluster, pod)]);
  };
  EXPECT_EQ(depends("ns/cpu-0"), Scorer::Dependence::kNodeKind);
  EXPECT_EQ(depends("ns/gpu-0"), Scorer::Dependence::kNothing);
}

}  // namespace
}  // namespace kai::resource_type_test
