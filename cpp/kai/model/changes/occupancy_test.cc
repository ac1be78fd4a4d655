#include "kai/model/changes/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::occupancy_test {
namespace {

struct Standing {
  PodId pod;
  NodeId node;
  PodStatus status = PodStatus::kPending;
  GpuList gpus;
};

std::vector<Standing> AllPlacements(const Cluster& cluster) {
  std::vector<Standing> standing;
  const PodColumns& pods = cluster.pods();
  for (const PodId pod : pods.name.ids()) {
    if (IsActiveUsed(pods.status[pod]) && pods.node[pod].valid())
      standing.push_back(
          {.pod = pod, .node = pods.node[pod], .status = pods.status[pod], .gpus = pods.gpus[pod]});
  }
  return standing;
}

// What pods take of nodes, and how they count for affinity.
struct Taken {
  explicit Taken(const Cluster& cluster)
      : idle(cluster.nodes().idle),
        releasing(cluster.nodes().releasing),
        used(cluster.nodes().used),
        affinity(cluster.affinity()) {}
  ResourceTable<NodeId> idle, releasing, used;
  AffinityIndex affinity;
  friend bool operator==(const Taken&, const Taken&) = default;
};

TEST(OccupancyTest, RemovingAllPodsEmptiesTheClusterAndAddingRestoresIt) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const auto cluster = MakeRandomCluster(seed, {.max_nodes = 6}).Build();
    const Taken loaded(*cluster);
    std::vector<Standing> standing = AllPlacements(*cluster);
    Random random(seed);
    Occupancy occupancy(cluster.get());
    random.Shuffle(&standing);
    for (const Standing& each : standing) occupancy.Vacate(each.pod, each.node, each.status);
    EXPECT_EQ(cluster->nodes().idle, cluster->nodes().allocatable);
    for (const NodeId node : cluster->nodes().name.ids()) {
      for (const double amount : cluster->nodes().used[node]) EXPECT_EQ(amount, 0);
      for (const double amount : cluster->nodes().releasing[node]) EXPECT_EQ(amount, 0);
    }
    std::ranges::reverse(standing);
    for (const Standing& each : standing)
      occupancy.Occupy(each.pod, each.node, each.status, each.gpus);
    EXPECT_EQ(Taken(*cluster), loaded);
  }
}

TEST(OccupancyTest, AStatusChangeCountsLikeRemovingAndAddingThePod) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 4})
                           .Running("ns/run", {.gpus = 2, .node = "n"})
                           .Releasing("ns/leave", {.gpus = 1, .node = "n"})
                           .Build();
  const PodId pod = PodNamed(*cluster, "ns/run-0");
  const NodeId node = NodeNamed(*cluster, "n");
  Occupancy occupancy(cluster.get());
  occupancy.ChangeStatus(pod, node, PodStatus::kRunning, PodStatus::kReleasing);
  EXPECT_EQ(cluster->nodes().idle[node][kGpuSlot.index()], 1);
  EXPECT_EQ(cluster->nodes().releasing[node][kGpuSlot.index()], 3);
  const Taken restood(*cluster);
  occupancy.Vacate(pod, node, PodStatus::kReleasing);
  occupancy.Occupy(pod, node, PodStatus::kReleasing);
  EXPECT_EQ(Taken(*cluster), restood);
}

TEST(OccupancyTest, TheFirstSharerOpensADeviceAndTheLastClosesIt) {  // spec 3 N5, N6
  ClusterMaker maker = MakeCluster()
                           .Node("n", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "1000"}}})
                           .Running("ns/a", {.gpu_fraction = 0.5, .node = "n"})
                           .Running("ns/b", {.gpu_fraction = 0.5, .node = "n"});
  for (PodRow& pod : maker.rows().pods) pod.gpu_groups = {"g"};
  const auto cluster = maker.Build();
  const NodeId node = NodeNamed(*cluster, "n");
  const auto idle_gpus = [&] { return cluster->nodes().idle[node][kGpuSlot.index()]; };
  Occupancy occupancy(cluster.get());
  EXPECT_EQ(idle_gpus(), 1);
  occupancy.Vacate(PodNamed(*cluster, "ns/a-0"), node, PodStatus::kRunning);
  EXPECT_EQ(idle_gpus(), 1);
  occupancy.Vacate(PodNamed(*cluster, "ns/b-0"), node, PodStatus::kRunning);
  EXPECT_EQ(idle_gpus(), 2);
}

}  // namespace
}  // namespace kai::occupancy_test
