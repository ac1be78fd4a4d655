#include "kai/testing/makers/cluster_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kai::cluster_maker_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ClusterMakerTest, TheExampleInTheHeaderIsRight) {
  const auto cluster = MakeCluster()
                           .Queue("vision", {.deserved_gpus = 2})
                           .Queue("speech", {.deserved_gpus = 6})
                           .Node("n1", {.gpus = 8})
                           .Running("speech/bulk", {.pods = 8, .gpus = 1, .node = "n1"})
                           .Pending("vision/train", {.pods = 2, .gpus = 1, .min_member = 2})
                           .Build();
  EXPECT_THAT(cluster->rejections(), IsEmpty());
  EXPECT_EQ(cluster->nodes().idle[NodeNamed(*cluster, "n1")][kGpuSlot.index()], 0);
  const PodGroupId train = PodGroupNamed(*cluster, "vision/train");
  EXPECT_EQ(cluster->pod_groups().queue[train], QueueNamed(*cluster, "vision"));
  EXPECT_EQ(cluster->sub_groups().minimum[PodSetNamed(*cluster, "vision/train", "default")], 2);
  EXPECT_EQ(cluster->pods().status[PodNamed(*cluster, "vision/train-1")], PodStatus::kPending);
  EXPECT_EQ(cluster->pods().status[PodNamed(*cluster, "speech/bulk-7")], PodStatus::kRunning);
}

TEST(ClusterMakerTest, NamingAGroupAgainAddsPodsToIt) {
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1")
                           .Running("q/elastic", {.node = "n1", .min_member = 1})
                           .Pending("q/elastic", {.pods = 2})
                           .Build();
  EXPECT_EQ(cluster->pod_groups().size(), size_t{1});
  EXPECT_EQ(cluster->pods().status[PodNamed(*cluster, "q/elastic-0")], PodStatus::kRunning);
  EXPECT_EQ(cluster->pods().status[PodNamed(*cluster, "q/elastic-2")], PodStatus::kPending);
}

TEST(ClusterMakerTest, ObjectsAreCreatedInTheOrderOfCalls) {
  const ClusterRows rows =
      MakeCluster().Queue("b").Queue("a").Pending("b/y", {.pods = 2}).Pending("a/x").Rows();
  EXPECT_LT(rows.queues[0].created_ns, rows.queues[1].created_ns);
  EXPECT_LT(rows.pod_groups[0].created_ns, rows.pod_groups[1].created_ns);
  EXPECT_LT(rows.pods[0].created_ns, rows.pods[1].created_ns);
}

TEST(ClusterMakerTest, WithoutQueuesAllGroupsUseOneQueue) {
  const auto cluster = MakeCluster().Pending("any/g").Build();
  const QueueId queue = QueueNamed(*cluster, "default");
  EXPECT_EQ(cluster->pod_groups().queue[PodGroupId(0)], queue);
  EXPECT_THAT(cluster->queues().deserved[queue], ElementsAre(kUnlimited, kUnlimited, kUnlimited));
  EXPECT_THAT(cluster->queues().limit[queue], ElementsAre(kUnlimited, kUnlimited, kUnlimited));
}

TEST(ClusterMakerTest, AQueueMayBeNamed) {
  const auto cluster =
      MakeCluster().Queue("q").Pending("ns/g", {.queue = "q"}).Pending("ns/h").Build();
  EXPECT_TRUE(cluster->pod_groups().queue[PodGroupNamed(*cluster, "ns/g")].valid());
  EXPECT_FALSE(cluster->pod_groups().queue[PodGroupNamed(*cluster, "ns/h")].valid());
}

TEST(ClusterMakerTest, APriorityAddsItsClass) {
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Pending("q/a", {.priority = 7})
                           .Pending("q/b", {.priority = 7})
                           .Build();
  EXPECT_EQ(cluster->pod_groups().priority[PodGroupNamed(*cluster, "q/a")], 7);
  EXPECT_EQ(cluster->pod_groups().priority[PodGroupNamed(*cluster, "q/b")], 7);
}

TEST(ClusterMakerDeathTest, AMissingNameEndsTheTest) {
  const auto cluster = MakeCluster().Node("n1").Build();
  EXPECT_DEATH(NodeNamed(*cluster, "n2"), "no node n2");
  EXPECT_DEATH(MakeCluster().Pending("nameless"), "namespace/name");
}

}  // namespace
}  // namespace kai::cluster_maker_test
