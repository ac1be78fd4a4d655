// Queues in a cluster: only complete trees, and amounts in our units (spec 1 F1-F12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::queue_tree_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> QueueNames(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const NameId name : cluster.queues().name.raw()) names.emplace_back(cluster.Text(name));
  return names;
}

std::vector<std::string> Children(const Cluster& cluster, std::string_view name) {
  std::vector<std::string> names;
  for (const QueueId child : cluster.queues().ChildrenOf(QueueNamed(cluster, name))) {
    names.emplace_back(cluster.Text(cluster.queues().name[child]));
  }
  return names;
}

Rejection Rejected(std::string name, std::string field, std::string message) {
  return {"Queue", std::move(name), std::move(field), std::move(message)};
}

TEST(QueuesTest, AreNumberedByName) {
  const auto cluster = MakeCluster().Queue("b").Queue("a").Queue("c", {.parent = "b"}).Build();
  EXPECT_THAT(QueueNames(*cluster), ElementsAre("a", "b", "c"));
  EXPECT_THAT(cluster->rejections(), IsEmpty());
}

TEST(QueuesTest, FormATree) {
  const auto cluster = MakeCluster()
                           .Queue("ml")
                           .Queue("vision", {.parent = "ml"})
                           .Queue("speech", {.parent = "ml"})
                           .Queue("asr", {.parent = "speech"})
                           .Queue("alone")
                           .Build();
  const QueueColumns& queues = cluster->queues();
  EXPECT_THAT(Children(*cluster, "ml"), ElementsAre("speech", "vision"));
  EXPECT_THAT(Children(*cluster, "speech"), ElementsAre("asr"));
  EXPECT_TRUE(queues.IsLeaf(QueueNamed(*cluster, "asr")));
  EXPECT_TRUE(queues.IsLeaf(QueueNamed(*cluster, "alone")));
  EXPECT_FALSE(queues.IsLeaf(QueueNamed(*cluster, "ml")));
  EXPECT_EQ(queues.parent[QueueNamed(*cluster, "asr")], QueueNamed(*cluster, "speech"));
  EXPECT_FALSE(queues.parent[QueueNamed(*cluster, "ml")].valid());
  EXPECT_THAT(queues.top_level,
              ElementsAre(QueueNamed(*cluster, "alone"), QueueNamed(*cluster, "ml")));
  EXPECT_THAT(queues.parents_first,
              ElementsAre(QueueNamed(*cluster, "alone"), QueueNamed(*cluster, "ml"),
                          QueueNamed(*cluster, "speech"), QueueNamed(*cluster, "vision"),
                          QueueNamed(*cluster, "asr")));
}

TEST(QueuesTest, HaveMemoryInBytesAndOtherAmountsUnchanged) {  // spec 1 F2
  const auto cluster = MakeCluster()
                           .Queue("q", {.deserved_gpus = 1.5,
                                        .limit_gpus = 4,
                                        .weight_gpus = 2,
                                        .deserved_millicpu = 3000,
                                        .limit_millicpu = 8000,
                                        .weight_millicpu = 3,
                                        .deserved_mb = 4096,
                                        .limit_mb = 8192,
                                        .weight_mb = 4})
                           .Build();
  const QueueId q = QueueNamed(*cluster, "q");
  EXPECT_THAT(cluster->queues().deserved[q], ElementsAre(3000, 4'096'000'000.0, 1.5));
  EXPECT_THAT(cluster->queues().limit[q], ElementsAre(8000, 8'192'000'000.0, 4));
  EXPECT_THAT(cluster->queues().over_quota_weight[q], ElementsAre(3, 4, 2));
}

TEST(QueuesTest, ReadMinusOneAsUnlimited) {  // spec 1 F3, F4
  const auto cluster =
      MakeCluster().Queue("q", {.deserved_gpus = -1, .deserved_mb = -1, .limit_mb = -1}).Build();
  const QueueId q = QueueNamed(*cluster, "q");
  EXPECT_THAT(cluster->queues().deserved[q], ElementsAre(kUnlimited, kUnlimited, kUnlimited));
  EXPECT_THAT(cluster->queues().limit[q], ElementsAre(kUnlimited, kUnlimited, kUnlimited));
}

TEST(QueuesTest, ReadMissingResourcesAsZero) {  // spec 1 F4
  QueueRow row;
  row.name = "q";
  const auto cluster = MakeCluster().Add(row).Build();
  const QueueId q = QueueNamed(*cluster, "q");
  EXPECT_THAT(cluster->queues().deserved[q], ElementsAre(0, 0, 0));
  EXPECT_THAT(cluster->queues().limit[q], ElementsAre(0, 0, 0));
  EXPECT_THAT(cluster->queues().over_quota_weight[q], ElementsAre(0, 0, 0));
}

TEST(QueuesTest, ClampOnlyNegativeMemory) {  // spec 1 F6
  const auto cluster = MakeCluster()
                           .Queue("q", {.deserved_gpus = -2,
                                        .limit_gpus = -3,
                                        .deserved_millicpu = -4,
                                        .deserved_mb = -5,
                                        .limit_mb = -6})
                           .Build();
  const QueueId q = QueueNamed(*cluster, "q");
  EXPECT_THAT(cluster->queues().deserved[q], ElementsAre(-4, kUnlimited, -2));
  EXPECT_THAT(cluster->queues().limit[q], ElementsAre(kUnlimited, kUnlimited, -3));
}

TEST(QueuesTest, HaveDefaultsForMissingFields) {  // spec 1 F1
  QueueRow row;
  row.name = "plain";
  const auto cluster =
      MakeCluster()
          .Add(row)
          .Queue("fancy", {.priority = -5, .created_s = 7, .display_name = "Fancy"})
          .Build();
  const QueueId plain = QueueNamed(*cluster, "plain");
  const QueueId fancy = QueueNamed(*cluster, "fancy");
  EXPECT_EQ(cluster->queues().priority[plain], 100);
  EXPECT_EQ(cluster->Text(cluster->queues().display_name[plain]), "plain");
  EXPECT_EQ(cluster->queues().priority[fancy], -5);
  EXPECT_EQ(cluster->queues().created_ns[fancy], 7'000'000'000);
  EXPECT_EQ(cluster->Text(cluster->queues().display_name[fancy]), "Fancy");
}

// ---- invalid queues

TEST(QueuesTest, WithEqualNamesAreAllRejected) {
  const auto cluster =
      MakeCluster().Queue("twice").Queue("once").Queue("twice", {.deserved_gpus = 5}).Build();
  EXPECT_THAT(QueueNames(*cluster), ElementsAre("once"));
  EXPECT_THAT(cluster->rejections(),
              ElementsAre(Rejected("twice", "metadata.name",
                                   "occurs 2 times, and it is unknown which one is valid: all are "
                                   "left out")));
}

TEST(QueuesTest, WithAMissingParentAreRejectedWithTheirSubtree) {  // spec 1 F10
  const auto cluster = MakeCluster()
                           .Queue("kept")
                           .Queue("orphan", {.parent = "missing"})
                           .Queue("child", {.parent = "orphan"})
                           .Queue("grandchild", {.parent = "child"})
                           .Build();
  EXPECT_THAT(QueueNames(*cluster), ElementsAre("kept"));
  EXPECT_THAT(
      cluster->rejections(),
      ElementsAre(
          Rejected("child", "spec.parentQueue", "parent queue \"orphan\" was left out"),
          Rejected("grandchild", "spec.parentQueue", "parent queue \"child\" was left out"),
          Rejected("orphan", "spec.parentQueue", "parent queue \"missing\" does not exist")));
}

TEST(QueuesTest, WithoutAnOrphanAreSixOfSeven) {  // spec 1 F10
  ClusterMaker maker = MakeCluster();
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) maker.Queue(name);
  maker.Queue("g", {.parent = "missing"});
  EXPECT_EQ(maker.Build()->queues().size(), size_t{6});
}

TEST(QueuesTest, BelowADuplicateAreRejected) {
  const auto cluster =
      MakeCluster().Queue("twice").Queue("twice").Queue("child", {.parent = "twice"}).Build();
  EXPECT_THAT(QueueNames(*cluster), IsEmpty());
  EXPECT_EQ(cluster->rejections()[0],
            Rejected("child", "spec.parentQueue", "parent queue \"twice\" does not exist"));
}

TEST(QueuesTest, InACycleAreRejectedWithTheirSubtrees) {  // spec 1 F11
  const auto cluster = MakeCluster()
                           .Queue("a", {.parent = "c"})
                           .Queue("b", {.parent = "a"})
                           .Queue("c", {.parent = "b"})
                           .Queue("below", {.parent = "b"})
                           .Queue("kept")
                           .Build();
  EXPECT_THAT(QueueNames(*cluster), ElementsAre("kept"));
  EXPECT_THAT(
      cluster->rejections(),
      ElementsAre(
          Rejected("a", "spec.parentQueue", "is its own ancestor, through the parent queue \"c\""),
          Rejected("b", "spec.parentQueue", "is its own ancestor, through the parent queue \"a\""),
          Rejected("below", "spec.parentQueue", "parent queue \"b\" was left out"),
          Rejected("c", "spec.parentQueue",
                   "is its own ancestor, through the parent queue \"b\"")));
}

TEST(QueuesTest, ThatAreTheirOwnParentAreRejected) {
  const auto cluster = MakeCluster().Queue("self", {.parent = "self"}).Build();
  EXPECT_THAT(QueueNames(*cluster), IsEmpty());
  EXPECT_THAT(cluster->rejections(),
              ElementsAre(Rejected("self", "spec.parentQueue",
                                   "is its own ancestor, through the parent queue \"self\"")));
}

// ---- node pools and the flat hierarchy

TEST(QueuesTest, OfAnotherNodePoolAreIgnored) {  // spec 1 F9
  ClusterMaker maker = MakeCluster().Queue("ours");
  QueueRow other = MakeQueueRow("theirs");
  other.labels = {{"kai.scheduler/node-pool", "gold"}};
  maker.Add(other).Queue("child", {.parent = "theirs"});
  const auto without_pool = maker.Build();
  EXPECT_THAT(QueueNames(*without_pool), ElementsAre("ours"));
  EXPECT_THAT(
      without_pool->rejections(),
      ElementsAre(Rejected("child", "spec.parentQueue", "parent queue \"theirs\" does not exist")));
  maker.params().node_pool_label_value = "gold";
  EXPECT_THAT(QueueNames(*maker.Build()), ElementsAre("theirs"));
  maker.params().node_pool_label_key = "";
  EXPECT_THAT(QueueNames(*maker.Build()), ElementsAre("child", "ours", "theirs"));
}

TEST(QueuesTest, AreSiblingsWithoutFullHierarchy) {  // spec 1 F12
  ClusterMaker maker = MakeCluster()
                           .Queue("ml", {.deserved_gpus = 8})
                           .Queue("vision", {.parent = "ml", .deserved_gpus = 2})
                           .Queue("asr", {.parent = "vision"})
                           .Queue("lost", {.parent = "missing"});
  maker.params().full_hierarchy_fairness = false;
  const auto cluster = maker.Build();
  EXPECT_THAT(QueueNames(*cluster), ElementsAre("asr", "default", "lost", "vision"));
  EXPECT_THAT(Children(*cluster, "default"), ElementsAre("asr", "lost", "vision"));
  EXPECT_TRUE(cluster->queues().IsLeaf(QueueNamed(*cluster, "vision")));
  const QueueId root = QueueNamed(*cluster, "default");
  EXPECT_THAT(cluster->queues().deserved[root], ElementsAre(kUnlimited, kUnlimited, kUnlimited));
  EXPECT_THAT(cluster->queues().limit[root], ElementsAre(kUnlimited, kUnlimited, kUnlimited));
  EXPECT_THAT(cluster->queues().over_quota_weight[root], ElementsAre(1, 1, 1));
  EXPECT_EQ(cluster->queues().priority[root], 100);
  EXPECT_THAT(cluster->rejections(), IsEmpty());
}

// In KAI such a queue becomes its own parent, and KAI hangs (spec 1 F12, W3).
TEST(QueuesTest, NamedDefaultAreRejectedInAFlatHierarchy) {
  ClusterMaker maker = MakeCluster()
                           .Queue("ml")
                           .Queue("default", {.parent = "ml"})
                           .Queue("vision", {.parent = "default"});
  maker.params().full_hierarchy_fairness = false;
  const auto cluster = maker.Build();
  EXPECT_THAT(QueueNames(*cluster), ElementsAre("default", "vision"));
  EXPECT_THAT(cluster->rejections(),
              ElementsAre(Rejected("default", "metadata.name",
                                   "this name is reserved for the parent of all queues when "
                                   "fullHierarchyFairness is off")));
}

}  // namespace
}  // namespace kai::queue_tree_test
