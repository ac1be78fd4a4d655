// Nodes in a cluster: which nodes the shard uses, what they offer, and the memory of their devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::node_writer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> NodeNames(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const NameId name : cluster.nodes().name.raw()) names.emplace_back(cluster.Text(name));
  return names;
}

double Offered(const Cluster& cluster, std::string_view node, std::string_view resource) {
  return cluster.nodes()
      .allocatable[NodeNamed(cluster, node)][cluster.slots().Find(resource).index()];
}

TEST(NodesTest, AreNumberedByName) {
  const auto cluster = MakeCluster().Node("n2").Node("n10").Node("n1").Build();
  EXPECT_THAT(NodeNames(*cluster), ElementsAre("n1", "n10", "n2"));
  EXPECT_THAT(cluster->nodes().name_rank.raw(), ElementsAre(0, 1, 2));
}

TEST(NodesTest, WithEqualNamesAreAllRejected) {
  const auto cluster =
      MakeCluster().Node("n1").Node("n1", {.gpus = 8}).Node("n1").Node("n2").Build();
  EXPECT_THAT(NodeNames(*cluster), ElementsAre("n2"));
  EXPECT_THAT(
      cluster->rejections(),
      ElementsAre(Rejection{"Node", "n1", "metadata.name",
                            "occurs 3 times, and it is unknown which one is valid: all are left "
                            "out"}));
}

TEST(NodesTest, OfferTheirAllocatableResources) {
  const auto cluster =
      MakeCluster()
          .Node("n1", {.gpus = 8, .millicpu = 4000, .mb = 16, .pods = 50, .more = {{"lic", 3}}})
          .Node("n2")
          .Build();
  EXPECT_EQ(Offered(*cluster, "n1", "cpu"), 4000);
  EXPECT_EQ(Offered(*cluster, "n1", "memory"), 16e6);
  EXPECT_EQ(Offered(*cluster, "n1", "nvidia.com/gpu"), 8);
  EXPECT_EQ(Offered(*cluster, "n1", "pods"), 50);
  EXPECT_EQ(Offered(*cluster, "n1", "lic"), 3);
  EXPECT_EQ(Offered(*cluster, "n2", "lic"), 0);
  EXPECT_EQ(cluster->nodes().idle, cluster->nodes().allocatable);
}

TEST(NodesTest, OfBothVendorsHaveGpus) {  // spec 3 R5
  NodeRow row = MakeNodeRow("n1", {.gpus = 2});
  row.allocatable.emplace_back("amd.com/gpu", 3);
  const auto cluster = MakeCluster().Add(row).Build();
  EXPECT_EQ(Offered(*cluster, "n1", "gpu"), 5);
}

TEST(NodesTest, AddTheGpusOfTheirResourceSlices) {  // spec 3 N1
  const auto cluster = MakeCluster()
                           .Node("n1", {.gpus = 2})
                           .Node("n2")
                           .Add(ResourceSliceRow{.node = "n1", .gpus = 4})
                           .Add(ResourceSliceRow{.node = "n1", .gpus = 1})
                           .Add(ResourceSliceRow{.node = "elsewhere", .gpus = 8})
                           .Add(ResourceSliceRow{.node = "", .gpus = 8})
                           .Build();
  EXPECT_EQ(Offered(*cluster, "n1", "gpu"), 7);
  EXPECT_EQ(Offered(*cluster, "n2", "gpu"), 0);
  EXPECT_EQ(cluster->nodes().gpu_count[NodeNamed(*cluster, "n1")], 2);
  EXPECT_THAT(cluster->rejections(), IsEmpty());
}

TEST(NodesTest, ReadTheMemoryOfAGpuFromTheLabel) {  // spec 3 G1
  const auto memory = [](const std::string& label) {
    const auto cluster =
        MakeCluster().Node("n", {.labels = {{"nvidia.com/gpu.memory", label}}}).Build();
    return cluster->nodes().gpu_memory_mib[NodeId(0)];
  };
  EXPECT_EQ(memory("15360"), 15300);
  EXPECT_EQ(memory("81559"), 81500);
  EXPECT_EQ(memory("4096"), 4000);
  EXPECT_EQ(memory("4295000001"), 4000) << "bytes";
  EXPECT_EQ(memory("1048575"), 1'048'500) << "the largest number of MiB";
  EXPECT_EQ(memory("1048576"), 0) << "one MiB, in bytes";
  for (const char* unknown : {"", "many", "16GB", "0", "-5"}) EXPECT_EQ(memory(unknown), 100);
  EXPECT_EQ(MakeCluster().Node("n").Build()->nodes().gpu_memory_mib[NodeId(0)], 100);
}

TEST(NodesTest, CountDevicesByTheLabelOrByWholeGpus) {  // spec 3 N5
  const auto cluster = MakeCluster()
                           .Node("labelled", {.gpus = 7, .labels = {{"nvidia.com/gpu.count", "8"}}})
                           .Node("nonsense", {.gpus = 7, .labels = {{"nvidia.com/gpu.count", "x"}}})
                           .Node("plain", {.gpus = 4})
                           .Build();
  const auto& count = cluster->nodes().gpu_count;
  EXPECT_EQ(count[NodeNamed(*cluster, "labelled")], 8);
  EXPECT_EQ(count[NodeNamed(*cluster, "nonsense")], 7);
  EXPECT_EQ(count[NodeNamed(*cluster, "plain")], 4);
}

TEST(NodesTest, OfAnotherNodePoolAreIgnored) {  // spec 1 F9
  ClusterMaker maker =
      MakeCluster().Node("ours").Node("gold", {.labels = {{"kai.scheduler/node-pool", "gold"}}});
  EXPECT_THAT(NodeNames(*maker.Build()), ElementsAre("ours"));
  maker.params().node_pool_label_value = "gold";
  EXPECT_THAT(NodeNames(*maker.Build()), ElementsAre("gold"));
}

TEST(NodesTest, ThatAreNoWorkersAreIgnoredIfNodesAreRestricted) {  // spec 3 P10
  ClusterMaker maker = MakeCluster()
                           .Node("plain")
                           .Node("gpu", {.labels = {{"node-role.kubernetes.io/gpu-worker", ""}}})
                           .Node("cpu", {.labels = {{"node-role.kubernetes.io/cpu-worker", ""}}});
  EXPECT_EQ(maker.Build()->nodes().size(), size_t{3});
  maker.params().restrict_node_scheduling = true;
  EXPECT_THAT(NodeNames(*maker.Build()), ElementsAre("cpu", "gpu"));
}

TEST(NodesTest, GiveTheMaximumOfEachResource) {  // spec 3 P14
  const auto cluster = MakeCluster()
                           .Node("a", {.gpus = 8, .millicpu = 1000, .mb = 5})
                           .Node("b", {.gpus = 1, .millicpu = 9000, .mb = 7})
                           .Build();
  EXPECT_EQ(cluster->largest_node()[kGpuSlot.index()], 8);
  EXPECT_EQ(cluster->largest_node()[kCpuSlot.index()], 9000);
  EXPECT_EQ(cluster->largest_node()[kMemorySlot.index()], 7e6);
}

}  // namespace
}  // namespace kai::node_writer_test
