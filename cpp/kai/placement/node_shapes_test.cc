#include "kai/placement/node_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::node_shapes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Adds a pod on the node that shares the device.
void AddSharer(ClusterMaker* maker, const std::string& name, double part, bool leaves,
               const std::string& device) {
  const PodsSpec spec{.gpu_fraction = part, .node = "n"};
  leaves ? maker->Releasing(name, spec) : maker->Running(name, spec);
  maker->rows().pods.back().gpu_groups = {device};
}

NodeId OnlyNode() { return NodeId(0); }

PodClassId ClassOf(const Cluster& cluster, std::string_view pod) {
  return cluster.pods().pod_class[PodNamed(cluster, pod)];
}

TEST(NodeShapesTest, SharedGpusComeFirstThenIdleOnesThenUsedOnes) {
  ClusterMaker maker = MakeCluster().Node("n", {.gpus = 4, .millicpu = 10'000});
  AddSharer(&maker, "ns/a", 0.3, false, "first");
  maker.Running("ns/whole", {.gpus = 1, .millicpu = 2'000, .node = "n"});
  const auto cluster = maker.Build();
  const packing::NodeShape shape = NodeShapes(*cluster).Of(OnlyNode());
  EXPECT_THAT(shape.gpu_milli, ElementsAre(700, 1000, 1000, 0));
  EXPECT_EQ(shape.cpu_milli, 10'000 - 1'000 - 2'000);
  EXPECT_EQ(shape.clusters, 0b11U) << "pods that share, and pods with one GPU";
}

TEST(NodeShapesTest, ResourcesBeingFreedCountAsIdle) {
  ClusterMaker maker = MakeCluster().Node("n", {.gpus = 2, .millicpu = 10'000});
  AddSharer(&maker, "ns/a", 0.3, false, "first");
  AddSharer(&maker, "ns/b", 0.5, true, "first");
  maker.Releasing("ns/whole", {.gpus = 1, .node = "n"});
  const auto cluster = maker.Build();
  const packing::NodeShape shape = NodeShapes(*cluster).Of(OnlyNode());
  EXPECT_THAT(shape.gpu_milli, ElementsAre(700, 1000));
  EXPECT_EQ(shape.cpu_milli, 9'000);
}

TEST(NodeShapesTest, PodsRequestWholeGpusPartsOrNone) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 4})
                           .Pending("ns/two", {.gpus = 2, .millicpu = 500})
                           .Pending("ns/part", {.gpu_fraction = 0.25})
                           .Pending("ns/none", {.millicpu = 3'000})
                           .Build();
  const NodeShapes shapes(*cluster);
  const auto shape = [&](std::string_view pod) {
    return shapes.Of(ClassOf(*cluster, pod), OnlyNode());
  };
  EXPECT_EQ(shape("ns/two-0"), (packing::PodShape{.cpu_milli = 500, .gpus = 2, .gpu_milli = 1000}));
  EXPECT_EQ(shape("ns/part-0"),
            (packing::PodShape{.cpu_milli = 1'000, .gpus = 1, .gpu_milli = 250}));
  EXPECT_EQ(shape("ns/none-0"), (packing::PodShape{.cpu_milli = 3'000}));
  EXPECT_EQ(shapes.largest().cpu_milli, 64'000);
  EXPECT_EQ(shapes.largest().gpu_milli, 4'000);
}

TEST(TypicalPodsTest, AreAllPodsOfGroupsByFrequency) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 8})
                           .Running("ns/run", {.pods = 3, .gpus = 1, .node = "n"})
                           .Pending("ns/same", {.pods = 2, .gpus = 1})
                           .Pending("ns/part", {.pods = 4, .gpu_fraction = 0.5})
                           .Pending("ns/rare", {.gpus = 8})
                           .Build();
  const packing::PodMix mix = TypicalPodsOf(*cluster, 90);
  ASSERT_EQ(mix.size(), 2U);
  EXPECT_EQ(mix[0].pod.gpu_milli, 1000);
  EXPECT_EQ(mix[0].weight, 5);
  EXPECT_EQ(mix[1].pod.gpu_milli, 500);
  EXPECT_EQ(mix[1].weight, 4);
  EXPECT_EQ(TypicalPodsOf(*cluster, 100).size(), 3U);
  EXPECT_THAT(TypicalPodsOf(*MakeCluster().Node("n", {}).Build(), 95), IsEmpty());
}

TEST(TypicalPodsTest, AreRestrictedToTheNodesThatTheirSelectorsMatch) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 8, .labels = {{"model", "a"}}})
                           .Node("m", {.gpus = 8, .labels = {{"model", "b"}}})
                           .Node("o", {.gpus = 8, .labels = {{"model", "b"}}})
                           .Pending("ns/p", {.gpus = 1, .node_selector = {{"model", "b"}}})
                           .Pending("ns/q", {.gpus = 1})
                           .Build();
  const packing::PodMix mix = TypicalPodsOf(*cluster, 100);
  ASSERT_EQ(mix.size(), 2U);
  const NodeShapes shapes(*cluster);
  const auto open = [&](const packing::TypicalPod& pod, std::string_view node) {
    return pod.kinds.empty() ||
           pod.kinds[static_cast<size_t>(shapes.Of(NodeNamed(*cluster, node)).kind)] != 0;
  };
  const packing::TypicalPod& picky = mix[0].kinds.empty() ? mix[1] : mix[0];
  const packing::TypicalPod& any = mix[0].kinds.empty() ? mix[0] : mix[1];
  EXPECT_FALSE(open(picky, "n"));
  EXPECT_TRUE(open(picky, "m") && open(picky, "o"));
  EXPECT_TRUE(open(any, "n") && open(any, "m"));
}

TEST(MeasuredShapesTest, ListNodesThatAcceptPodsSortedByName) {
  const auto cluster = MakeCluster()
                           .Node("n10", {.gpus = 4})
                           .Node("n2", {.gpus = 2})
                           .Pending("ns/p", {.gpus = 1})
                           .Build();
  const MeasuredShapes measured = MeasuredShapesOf(*cluster);
  ASSERT_EQ(measured.node.size(), 2U);
  EXPECT_EQ(cluster->Text(cluster->nodes().name[measured.node[0]]), "n10");
  EXPECT_THAT(measured.shape[1].gpu_milli, ElementsAre(1000, 1000));
  EXPECT_EQ(measured.mix.size(), 1U);
}

}  // namespace
}  // namespace kai::node_shapes_test
