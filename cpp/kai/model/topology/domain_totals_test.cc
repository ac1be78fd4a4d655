#include "kai/model/topology/domain_totals.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::domain_totals_test {
namespace {

// How many pods that request only `gpus` GPUs fit on the first node.
int32_t CountPods(const Cluster& cluster, double gpus) {
  std::vector<double> largest(cluster.slots().size());
  largest[kGpuSlot.index()] = gpus;
  return CountPodsOn(cluster, NodeId(0), largest);
}

TEST(CountPodsOnTest, IdleResourcesAndThoseBeingFreedCount) {
  const auto cluster = MakeCluster()
                           .Node("n1", {.gpus = 8})
                           .Running("ns/a", {.gpus = 3, .node = "n1"})
                           .Releasing("ns/b", {.gpus = 2, .node = "n1"})
                           .Build();
  EXPECT_EQ(CountPods(*cluster, 1), 5);
  EXPECT_EQ(CountPods(*cluster, 2), 2);
  EXPECT_EQ(CountPods(*cluster, 6), 0);
}

TEST(CountPodsOnTest, TheRestOfASharedDeviceCountsForSharers) {
  ClusterMaker maker =
      MakeCluster().Node("n1", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "10000"}}});
  maker.Running("ns/a", {.gpu_fraction = 0.25, .node = "n1"});
  maker.Releasing("ns/b", {.gpu_fraction = 0.5, .node = "n1"});
  for (PodRow& pod : maker.rows().pods) pod.gpu_groups = {"x"};
  const auto cluster = maker.Build();
  EXPECT_EQ(CountPods(*cluster, 0.25), 3);  // one now, two once b is gone
  EXPECT_EQ(CountPods(*cluster, 0.75), 1);
  EXPECT_EQ(CountPods(*cluster, 0.8), 0);
  EXPECT_EQ(CountPods(*cluster, 1), 0);  // a whole device needs an unshared one
}

}  // namespace
}  // namespace kai::domain_totals_test
