#include <gtest/gtest.h>

#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"

namespace kai::worker_nodes_test {
namespace {

ClusterMaker Workers() {
  return MakeCluster()
      .Node("gpu", {.gpus = 8, .labels = {{"node-role.kubernetes.io/gpu-worker", ""}}})
      .Node("cpu", {.gpus = 8, .labels = {{"node-role.kubernetes.io/cpu-worker", ""}}})
      .Node("both", {.gpus = 8,
                     .labels = {{"node-role.kubernetes.io/gpu-worker", "true"},
                                {"node-role.kubernetes.io/cpu-worker", "true"}}})
      .Pending("ns/trains", {.gpus = 1})
      .Pending("ns/serves");
}

TEST(WorkerNodeFilterTest, GpuPodsRunOnGpuWorkersAndAllOthersOnCpuWorkers) {
  ClusterMaker maker = Workers();
  maker.params().restrict_node_scheduling = true;
  const auto cluster = maker.Build();
  const auto filter = MakeWorkerNodeFilter(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/trains-0", "gpu"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/trains-0", "cpu"),
            "gpu task can't run on non gpu nodes");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/trains-0", "both"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/serves-0", "gpu"),
            "cpu task can't run on non cpu nodes");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/serves-0", "cpu"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/serves-0", "both"), "");
}

TEST(WorkerNodeFilterTest, IsSkippedUnlessNodesAreRestricted) {
  const auto cluster = Workers().Build();
  const auto filter = MakeWorkerNodeFilter(*cluster);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/trains-0"), Filter::Scope::kNothing);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/serves-0"), Filter::Scope::kNothing);
}

}  // namespace
}  // namespace kai::worker_nodes_test
