#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/base/text.h"
#include "kai/model/columns/cluster.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::numa_writer_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using Kind = ContainerRow::Kind;
using Source = ZoneRecordRow::Source;

NodeZonesRow Zones(std::vector<std::string> names, const ResourceAmounts& each) {
  NodeZonesRow row{.name = "n", .policy = NumaPolicy::kRestricted, .scope = NumaScope::kPod};
  for (std::string& name : names)
    row.zones.push_back({.name = std::move(name), .allocatable = each, .available = each});
  return row;
}

const NumaNode& NodeOf(const Cluster& cluster) {
  return *cluster.numa().Find(NodeNamed(cluster, "n"));
}

const NumaNeeds& NeedsOf(const Cluster& cluster, std::string_view pod) {
  return cluster.numa().needs[cluster.ClassOf(PodNamed(cluster, pod)).numa];
}

// The pod's amounts per zone, "1:cpu=3000".
std::string PlacementText(const Cluster& cluster, std::string_view pod) {
  std::string text;
  for (const auto& [id, placement] : cluster.numa().placements) {
    if (cluster.PodName(id) != pod) continue;
    for (const ZoneAmount& each : placement) {
      StrAppend(&text, text.empty() ? "" : " ", each.zone, ":",
                NodeOf(cluster).resources[static_cast<size_t>(each.resource)].name, "=",
                static_cast<int64_t>(each.amount));
    }
  }
  return text;
}

TEST(AssembleNumaTest, ZonesAreSortedByNumber) {  // spec 3 U3
  const auto cluster = MakeCluster()
                           .Node("n")
                           .Add(Zones({"b", "node-10", "node-2", "a-2", "a"}, {{"cpu", 1000}}))
                           .Build();
  EXPECT_THAT(NodeOf(*cluster).zones, ElementsAre("a-2", "node-2", "node-10", "a", "b"));
}

TEST(AssembleNumaTest, OnlyResourcesThatPodsCanRequestAreAligned) {  // spec 3 U3
  const auto cluster =
      MakeCluster()
          .Node("n", {.gpus = 4})
          .Add(Zones(
              {"z0", "z1"},
              {{"cpu", 1000}, {"vendor/nic", 1000}, {"amd.com/gpu", 1}, {"nvidia.com/gpu", 2}}))
          .Build();
  const NumaNode& node = NodeOf(*cluster);
  ASSERT_THAT(node.resources, SizeIs(2));
  EXPECT_EQ(node.resources[0].name, "cpu");
  EXPECT_FALSE(node.resources[0].is_device);
  EXPECT_EQ(node.resources[1].name, "nvidia.com/gpu") << "of two names for one resource the last";
  EXPECT_TRUE(node.resources[1].is_device);
  EXPECT_THAT(node.allocatable, ElementsAre(1000, 3, 1000, 3));
}

TEST(AssembleNumaTest, ZonesWithoutANodeAndNodesWithoutZonesAreIgnored) {  // spec 3 U1
  EXPECT_TRUE(MakeCluster().Add(Zones({"z"}, {})).Build()->numa().empty());
  EXPECT_TRUE(MakeCluster().Node("n").Add(Zones({}, {})).Build()->numa().empty());
  const auto cluster = MakeCluster().Node("m").Node("n").Add(Zones({"z"}, {})).Build();
  EXPECT_EQ(cluster->numa().Find(NodeNamed(*cluster, "m")), nullptr);
  EXPECT_NE(cluster->numa().Find(NodeNamed(*cluster, "n")), nullptr);
}

TEST(AssembleNumaTest, ADuplicateZoneIsReportedWithOneSentence) {
  const auto cluster = MakeCluster().Node("n").Add(Zones({"z", "z"}, {})).Build();
  EXPECT_TRUE(cluster->numa().empty());
  EXPECT_THAT(cluster->rejections(), ElementsAre(Rejection{.kind = "NodeResourceTopology",
                                                           .name = "n",
                                                           .field = "zones",
                                                           .message = "zone \"z\" occurs twice"}));
}

TEST(AssembleNumaTest, WholeCpusOfGuaranteedPodsCount) {  // spec 3 U5
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 4})
                           .Add(Zones({"z"}, {{"cpu", 9000}, {"nvidia.com/gpu", 1}}))
                           .Pending("ns/whole", {.millicpu = 2000, .guaranteed = true})
                           .Pending("ns/part", {.millicpu = 2500, .guaranteed = true})
                           .Pending("ns/gpu", {.gpus = 1, .millicpu = 2000})
                           .Pending("ns/half", {.gpu_fraction = 0.5, .millicpu = 2000})
                           .Pending("ns/none", {.millicpu = 2000})
                           .Build();
  EXPECT_THAT(NeedsOf(*cluster, "ns/whole-0").pod, ElementsAre(Pair(kCpuSlot, 2000)));
  EXPECT_THAT(NeedsOf(*cluster, "ns/part-0").pod, IsEmpty());
  EXPECT_THAT(NeedsOf(*cluster, "ns/gpu-0").pod, ElementsAre(Pair(kGpuSlot, 1)));
  EXPECT_FALSE(cluster->ClassOf(PodNamed(*cluster, "ns/half-0")).numa.valid())
      << "GPU requests in annotations do not count (spec 3 U16)";
  EXPECT_FALSE(cluster->ClassOf(PodNamed(*cluster, "ns/none-0")).numa.valid());
}

TEST(AssembleNumaTest, SidecarsAreAlignedBeforeAppsAndInitContainersSeparately) {  // spec 3 U5, U6
  const auto container = [](Kind kind, int64_t millicpu) {
    return ContainerRow{.kind = kind, .requests = {{"cpu", millicpu}}};
  };
  const auto cluster =
      MakeCluster()
          .Node("n")
          .Add(Zones({"z"}, {{"cpu", 9000}}))
          .Pending("ns/p",
                   {.millicpu = 7500,
                    .guaranteed = true,
                    .containers = {container(Kind::kInit, 4000), container(Kind::kSidecar, 1000),
                                   container(Kind::kInit, 7000), container(Kind::kSidecar, 500),
                                   container(Kind::kApp, 2000)}})
          .Build();
  const NumaNeeds& needs = NeedsOf(*cluster, "ns/p-0");
  EXPECT_THAT(needs.pod, ElementsAre(Pair(kCpuSlot, 8000)))
      << "while the second init container runs";
  const auto cpu = [](int64_t millicpu) { return NumaRequest{{kCpuSlot, millicpu}}; };
  EXPECT_THAT(needs.concurrent, ElementsAre(cpu(1000), NumaRequest(), cpu(2000)));
  EXPECT_THAT(needs.serial, ElementsAre(cpu(4000), cpu(7000)));
}

TEST(AssembleNumaTest, ContainersDistinguishPodsOnlyIfZonesAreReported) {
  const PodsSpec one{.millicpu = 2000, .guaranteed = true};
  PodsSpec two = one;
  two.containers = {{.requests = {{"cpu", 1000}}}, {.requests = {{"cpu", 1000}}}};
  const auto classes = [&](ClusterMaker maker) {
    return maker.Node("n").Pending("ns/a", one).Pending("ns/b", two).Build()->pod_classes().size();
  };
  EXPECT_EQ(classes(MakeCluster()), 1u);
  EXPECT_EQ(classes(MakeCluster().Add(Zones({"z"}, {{"cpu", 9000}}))), 2u);
}

// ---- records

ZoneRecordRow Record(Source source, std::string zone) {
  return {.source = source, .zones = {{.zone = std::move(zone), .amounts = {{"cpu", 1000}}}}};
}

std::unique_ptr<Cluster> WithRecords(std::vector<ZoneRecordRow> records) {
  return MakeCluster()
      .Node("n")
      .Add(Zones({"z0", "z1", "z2"}, {{"cpu", 4000}}))
      .Running("ns/p", {.node = "n", .guaranteed = true, .zone_records = std::move(records)})
      .Add(BindRequestRow{.namespace_name = "ns",
                          .pod = "p-0",
                          .node = "n",
                          .received_type = "",
                          .gpu_groups = {},
                          .zones = {{.zone = "z1", .amounts = {{"cpu", 1000}}}},
                          .phase = "",
                          .backoff_limit = {}})
      .Build();
}

TEST(AssembleNumaTest, ObservedRecordsComeBeforePredictedOnes) {  // spec 3 T40
  const auto text = [](std::vector<ZoneRecordRow> records) {
    return PlacementText(*WithRecords(std::move(records)), "ns/p-0");
  };
  EXPECT_EQ(text({Record(Source::kPredicted, "z2"), Record(Source::kObserved, "z0")}),
            "0:cpu=1000");
  EXPECT_EQ(text({Record(Source::kPredicted, "z2")}), "1:cpu=1000") << "from the bind request";
  EXPECT_EQ(text({ZoneRecordRow{.source = Source::kObserved}}), "1:cpu=1000")
      << "an empty record: the next";
  EXPECT_EQ(text({Record(Source::kObserved, "elsewhere")}), "") << "a zone that the node lacks";
}

TEST(AssembleNumaTest, AnInvalidRecordIsReportedAndTheNextOneIsUsed) {  // spec 3 T40
  const auto cluster =
      WithRecords({ZoneRecordRow{.source = Source::kObserved, .problem = "is not valid JSON"}});
  EXPECT_EQ(PlacementText(*cluster, "ns/p-0"), "1:cpu=1000");
  EXPECT_THAT(cluster->rejections(),
              ElementsAre(Rejection{
                  .kind = "Pod",
                  .name = "ns/p-0",
                  .field = "metadata.annotations[\"kai.scheduler/numa-placement-observed\"]",
                  .message = "is not valid JSON"}));
}

TEST(AssembleNumaTest, PodsOfOtherSchedulersHaveNoZones) {  // spec 3 U13
  const auto cluster = MakeCluster()
                           .Node("n")
                           .Add(Zones({"z0"}, {{"cpu", 4000}}))
                           .Foreign("ns/f", {.node = "n",
                                             .guaranteed = true,
                                             .zone_records = {Record(Source::kObserved, "z0")}})
                           .Build();
  EXPECT_THAT(cluster->numa().placements, IsEmpty());
}

}  // namespace
}  // namespace kai::numa_writer_test
