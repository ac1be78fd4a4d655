#include <gtest/gtest.h>

#include "kai/placement/rooms_for_test.h"

namespace kai::config_maps_test {
namespace {

constexpr char kMissing[] =
    "Scheduling conditions were not met for pod ns/p-0:\n"
    "ConfigMap: Missing required configmaps: [a c].\n";

ClusterMaker PodThatNeeds(std::vector<std::string> config_maps) {
  return MakeCluster().Node("n").Pending("ns/p", {.config_maps = std::move(config_maps)});
}

TEST(ConfigMapCheckTest, APodWaitsForMissingConfigMaps) {  // spec 3 P13
  ClusterMaker maker = PodThatNeeds({"c", "b", "a"});
  maker.rows().config_maps = std::vector{ConfigMapRow{.namespace_name = "ns", .name = "b"},
                                         ConfigMapRow{.namespace_name = "other", .name = "a"}};
  Rooms rooms(maker.Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  EXPECT_EQ(rooms.Explain("ns/p-0"), kMissing);
  EXPECT_TRUE(
      rooms.search().plans().CanNeverRun(rooms.cluster().pods().pod_class[rooms.Pod("ns/p-0")]));
}

TEST(ConfigMapCheckTest, WithAllConfigMapsTheCheckIsSkipped) {
  ClusterMaker maker = PodThatNeeds({"a"}).Pending("ns/q");
  maker.rows().config_maps = std::vector{ConfigMapRow{.namespace_name = "ns", .name = "a"}};
  const auto cluster = maker.Build();
  EXPECT_EQ(cluster->pods().pod_class[PodNamed(*cluster, "ns/p-0")],
            cluster->pods().pod_class[PodNamed(*cluster, "ns/q-0")]);
}

TEST(ConfigMapCheckTest, WithoutConfigMapsInTheInputTheCheckIsSkipped) {
  EXPECT_EQ(Rooms(PodThatNeeds({"a"}).Build()).Find("ns/p-0"), "n");
}

TEST(ConfigMapCheckTest, EveryReasonOfAPodIsReported) {  // spec 3 P15
  ClusterMaker maker = MakeCluster().Node("n").Pending(
      "ns/p",
      {.gpus = 1, .config_maps = {"a", "c"}, .volumes = {{.claim = "data", .ephemeral = false}}});
  maker.rows().config_maps.emplace();
  EXPECT_EQ(Rooms(maker.Build()).Explain("ns/p-0"),
            "Scheduling conditions were not met for pod ns/p-0:\n"
            "VolumeBinding: persistentvolumeclaim \"data\" not found.\n"
            "ConfigMap: Missing required configmaps: [a c].\n"
            "MaxNodePoolResources: The pod ns/p-0 requires GPU: 1, CPU: 1 (cores), memory: 0 (GB), "
            "pods: 1. No node in the default node-pool has GPU resources.\n");
}

}  // namespace
}  // namespace kai::config_maps_test
