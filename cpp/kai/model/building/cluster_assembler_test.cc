// Building as a whole: the order of rows does not matter, earlier rejections are kept, and random
// clusters agree with an oracle that follows the specification literally.
#include "kai/model/building/cluster_assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::cluster_assembler_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ClusterRowsTest, BuildsAnEmptyCluster) {
  const auto cluster = ClusterRows().Build();
  EXPECT_EQ(cluster->nodes().size(), size_t{0});
  EXPECT_EQ(cluster->pods().size(), size_t{0});
  EXPECT_EQ(cluster->total(), QuotaCount());
  EXPECT_THAT(cluster->rejections(), IsEmpty());
}

TEST(ClusterRowsTest, KeepsTheRejectionsOfReadersAndItsOwn) {
  ClusterRows rows;
  rows.rejections.push_back({"Pod", "ns/p", "spec", "is not an object"});
  rows.queues.push_back(MakeQueueRow("orphan", {.parent = "missing"}));
  const auto cluster = std::move(rows).Build();
  EXPECT_THAT(cluster->rejections(),
              ElementsAre(Rejection{"Pod", "ns/p", "spec", "is not an object"},
                          Rejection{"Queue", "orphan", "spec.parentQueue",
                                    "parent queue \"missing\" does not exist"}));
}

TEST(ClusterRowsTest, BuildsTheValidPartOfAnInput) {
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Queue("twice")
                           .Queue("twice")
                           .Node("n1", {.gpus = 8})
                           .Node("n2")
                           .Node("n2")
                           .Pending("q/train", {.gpus = 1})
                           .Build();
  EXPECT_EQ(cluster->queues().size(), size_t{1});
  EXPECT_EQ(cluster->nodes().size(), size_t{1});
  EXPECT_EQ(cluster->pods().status[PodNamed(*cluster, "q/train-0")], PodStatus::kPending);
  EXPECT_EQ(cluster->rejections().size(), size_t{2});
}

TEST(ClusterRowsTest, AGpuWithMigSlicesCountsAsOneGpuIfMigCountsAsParts) {  // spec 3 M5
  ClusterMaker maker = MakeCluster()
                           .Node("n", {.more = {{"nvidia.com/mig-1g.5gb", 7}}})
                           .Pending("ns/p", {.more = {{"nvidia.com/mig-1g.5gb", 1}}});
  EXPECT_EQ(maker.Build()->total()[kQuotaGpu], 7);
  maker.params().count_mig_as_parts = true;
  const auto cluster = maker.Build();
  EXPECT_DOUBLE_EQ(cluster->total()[kQuotaGpu], 1);
  EXPECT_DOUBLE_EQ(cluster->ClassOf(PodNamed(*cluster, "ns/p-0")).requested[kQuotaGpu], 1.0 / 7);
}

TEST(ClusterRowsTest, DevicesOfEveryVendorAreGpusIfAllAcceleratorsCount) {  // spec 3 R27
  ClusterMaker maker = MakeCluster()
                           .Node("gaudi", {.more = {{"habana.ai/gaudi", 8000}}})
                           .Node("nvidia", {.gpus = 8})
                           .Pending("ns/p", {.more = {{"habana.ai/gaudi", 2000}}})
                           .Pending("ns/cpu");
  const auto plain = maker.Build();
  EXPECT_EQ(plain->total()[kQuotaGpu], 8);
  EXPECT_TRUE(plain->ClassOf(PodNamed(*plain, "ns/p-0")).cpu_only);

  maker.params().count_all_accelerators = true;
  const auto cluster = maker.Build();
  EXPECT_EQ(cluster->total()[kQuotaGpu], 16);
  const PodId pod = PodNamed(*cluster, "ns/p-0");
  EXPECT_EQ(cluster->ClassOf(pod).requested[kQuotaGpu], 2);
  EXPECT_FALSE(cluster->ClassOf(pod).cpu_only);
  EXPECT_TRUE(cluster->ClassOf(PodNamed(*cluster, "ns/cpu-0")).cpu_only);
  EXPECT_TRUE(Fits(cluster->RequestOf(pod), cluster->nodes().idle[NodeId(0)]));
  EXPECT_FALSE(Fits(cluster->RequestOf(pod), cluster->nodes().idle[NodeId(1)]))
      << "of another vendor";
}

// Everything in a cluster that has an order, as text.
std::vector<std::string> Everything(const Cluster& cluster) {
  std::vector<std::string> all;
  const auto add = [&all](const auto&... parts) {
    all.push_back(testing::PrintToString(std::tuple(parts...)));
  };
  for (const NodeId id : cluster.nodes().name.ids()) {
    const auto row = [&](const ResourceTable<NodeId>& table) {
      return std::vector<double>(table[id].begin(), table[id].end());
    };
    add(cluster.Text(cluster.nodes().name[id]), row(cluster.nodes().allocatable),
        row(cluster.nodes().idle), row(cluster.nodes().releasing), row(cluster.nodes().used),
        cluster.nodes().gpu_count[id], cluster.nodes().gpu_memory_mib[id]);
  }
  for (const QueueId id : cluster.queues().name.ids()) {
    add(cluster.Text(cluster.queues().name[id]), cluster.queues().parent[id].value(),
        cluster.queues().deserved[id], cluster.queues().limit[id], cluster.queues().priority[id],
        cluster.queues().sums[id].requested.values(), cluster.queues().sums[id].allocated.values());
  }
  for (const PodGroupId id : cluster.pod_groups().name.ids()) {
    add(cluster.PodGroupName(id), cluster.pod_groups().queue[id].value(),
        cluster.pod_groups().priority[id], cluster.pod_groups().creation_rank[id]);
  }
  for (const PodId id : cluster.pods().name.ids()) {
    const auto request = cluster.RequestOf(id);
    add(cluster.PodName(id), static_cast<int>(cluster.pods().status[id]),
        cluster.pods().node[id].value(), cluster.pods().pod_set[id].value(),
        cluster.pods().ledger_gpus[id], std::vector<double>(request.begin(), request.end()),
        cluster.ClassOf(id).requested.values(), cluster.ClassOf(id).matches_own_required);
  }
  add(cluster.total().values(), cluster.largest_node());
  for (const Rejection& each : cluster.rejections()) {
    add(each.kind, each.name, each.field, each.message);
  }
  return all;
}

TEST(ClusterBuilderPropertyTest, TheOrderOfRowsDoesNotMatter) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    ClusterRows rows = MakeRandomCluster(seed, {.sub_groups = true});
    const std::vector<std::string> expected = Everything(*rows.Build());
    Random random(seed);
    random.Shuffle(&rows.nodes);
    random.Shuffle(&rows.queues);
    random.Shuffle(&rows.priority_classes);
    random.Shuffle(&rows.pod_groups);
    random.Shuffle(&rows.pods);
    random.Shuffle(&rows.bind_requests);
    ASSERT_EQ(Everything(*rows.Build()), expected);
  }
}

class OracleTest : public testing::TestWithParam<bool> {};

TEST_P(OracleTest, AgreesWithALiteralReadingOfTheRows) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    ClusterRows rows = MakeRandomCluster(seed, {.sub_groups = true});
    rows.params.full_hierarchy_fairness = GetParam();
    // No pod is overdue: rows contain no time.
    const oracle::World world(rows, {.now_ns = 0});
    const auto cluster = rows.Build();

    std::vector<std::string> names;
    for (const NodeId id : cluster->nodes().name.ids()) {
      names.emplace_back(cluster->Text(cluster->nodes().name[id]));
      const auto row = [&](const ResourceTable<NodeId>& table) {
        oracle::Amounts amounts;
        for (size_t i = 0; i < table.slots(); ++i) {
          amounts[cluster->slots().Name(ResourceSlot(i))] = table[id][i];
        }
        return amounts;
      };
      EXPECT_EQ(row(cluster->nodes().allocatable), world.Allocatable(names.back()));
      EXPECT_EQ(row(cluster->nodes().idle), world.Idle(names.back()));
      EXPECT_EQ(row(cluster->nodes().releasing), world.Releasing(names.back()));
      EXPECT_EQ(row(cluster->nodes().used), world.Used(names.back()));
    }
    EXPECT_EQ(names, world.Nodes());

    names.clear();
    for (const NameId name : cluster->queues().name.raw()) names.emplace_back(cluster->Text(name));
    EXPECT_EQ(names, world.Queues());
    const auto numbers = oracle::NumbersOf(world);
    for (const QueueId id : cluster->queues().name.ids()) {
      const auto& expected = numbers.at(std::string(cluster->Text(cluster->queues().name[id])));
      EXPECT_EQ(cluster->queues().deserved[id], expected.deserved);
      EXPECT_EQ(cluster->queues().limit[id], expected.limit);
      EXPECT_EQ(cluster->queues().over_quota_weight[id], expected.weight);
    }
    EXPECT_EQ(cluster->total(), world.Total());

    names.clear();
    for (const PodGroupId id : cluster->pod_groups().name.ids()) {
      names.push_back(cluster->PodGroupName(id));
    }
    EXPECT_EQ(names, world.PodGroups());
    for (const PodId pod : cluster->pods().name.ids()) {
      const std::string name = cluster->PodName(pod);
      EXPECT_EQ(cluster->pods().status[pod], world.StatusOf(name)) << name;
      const NodeId node = cluster->pods().node[pod];
      EXPECT_EQ(node.valid() ? cluster->Text(cluster->nodes().name[node]) : "", world.NodeOf(name))
          << name;
    }
    ASSERT_FALSE(HasFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(FullAndFlatHierarchy, OracleTest, testing::Bool());

}  // namespace
}  // namespace kai::cluster_assembler_test
