#include "kai/placement/node_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/changes/listener.h"
#include "kai/model/changes/statement.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::node_index_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kWithGpus = NodeIndex::GroupOf(/*cpu_only=*/false, /*offers=*/true);
constexpr size_t kWithoutGpus = NodeIndex::GroupOf(/*cpu_only=*/true, /*offers=*/true);
constexpr size_t kNoGpusToOffer = NodeIndex::GroupOf(/*cpu_only=*/true, /*offers=*/false);

// Reports changed nodes to an index, as NodeSearch does.
class Toucher final : public Listener {
 public:
  explicit Toucher(NodeIndex* index) : index_(index) {}
  void Applied(const Change& change) override { index_->Touch(change.to_node); }
  void Undone(const Change& change) override { index_->Touch(change.to_node); }

 private:
  NodeIndex* index_;
};

// The names of a group's nodes that fit a pod, best first, one per key.
std::vector<std::string> Bests(const Cluster& cluster, const NodeIndex& index, size_t group,
                               std::string_view pod, Room room) {
  const std::vector<uint8_t> all_ok(cluster.node_classes().size(), 1);
  const auto request = cluster.RequestOf(PodNamed(cluster, pod));
  std::vector<std::string> names;
  std::optional<double> after;
  for (;;) {
    const NodeId node = index.FirstFit(group, request, all_ok, room, after ? &*after : nullptr);
    if (!node.valid()) return names;
    names.emplace_back(cluster.Text(cluster.nodes().name[node]));
    after = index.key(node);
  }
}

TEST(NodeIndexTest, BinpackPrefersTheFullestNodeThatStillFits) {
  const auto cluster = MakeCluster()
                           .Node("a", {.gpus = 8})
                           .Node("b", {.gpus = 8})
                           .Node("c", {.gpus = 8})
                           .Running("ns/three", {.gpus = 3, .node = "b"})
                           .Running("ns/seven", {.gpus = 7, .node = "c"})
                           .Pending("ns/one", {.gpus = 1})
                           .Pending("ns/two", {.gpus = 2})
                           .Build();
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/one-0", Room::kNow),
              ElementsAre("c", "b", "a"));
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/two-0", Room::kNow), ElementsAre("b", "a"));
}

TEST(NodeIndexTest, FollowsTheTouchedNodes) {
  const auto cluster = MakeCluster()
                           .Node("a", {.gpus = 8})
                           .Node("b", {.gpus = 4})
                           .Pending("ns/four", {.gpus = 4})
                           .Build();
  NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  const PodId pod = PodNamed(*cluster, "ns/four-0");
  const auto request = cluster->RequestOf(pod);
  const std::vector<uint8_t> all_ok(cluster->node_classes().size(), 1);
  const NodeId node = NodeNamed(*cluster, "b");
  EXPECT_EQ(index.FirstFit(kWithGpus, request, all_ok, Room::kNow), node);
  const auto statement = Statement::Open(cluster.get(), {});
  statement->Place(pod, node);
  index.Touch(node);
  index.Refresh();
  EXPECT_EQ(index.FirstFit(kWithGpus, request, all_ok, Room::kNow), NodeNamed(*cluster, "a"));
}

TEST(NodeIndexTest, ReturnsTheFirstNodeThatPassesATestAndCountsItsKeys) {
  const auto cluster = MakeCluster()
                           .Node("a", {.gpus = 8})
                           .Node("b", {.gpus = 8})
                           .Node("c", {.gpus = 8})
                           .Running("ns/seven", {.gpus = 7, .node = "c"})
                           .Pending("ns/one", {.gpus = 1})
                           .Build();
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_EQ(index.CountKeys(), 2) << "8 and 1";
  const std::vector<uint8_t> all_ok(cluster->node_classes().size(), 1);
  const auto is_b = [&](NodeId node) { return node == NodeNamed(*cluster, "b"); };
  const auto accepts_none = [](NodeId) { return false; };
  const auto find = [&](NodeIndex::Test test) {
    return index.FirstFit(kWithGpus, cluster->RequestOf(PodNamed(*cluster, "ns/one-0")), all_ok,
                          Room::kNow, nullptr, &test);
  };
  EXPECT_EQ(find(is_b), NodeNamed(*cluster, "b"));
  EXPECT_FALSE(find(accepts_none).valid());
}

TEST(NodeIndexTest, SpreadPrefersTheEmptiestNodeByShareOfItsDevices) {
  const auto cluster = MakeCluster()
                           .Node("big", {.gpus = 8})
                           .Node("middle", {.gpus = 4})
                           .Node("small", {.gpus = 2})
                           .Running("ns/x", {.gpus = 1, .node = "big"})     // 7 of 8 are free
                           .Running("ns/y", {.gpus = 1, .node = "middle"})  // 3 of 4
                           .Pending("ns/next", {.gpus = 1})
                           .Build();
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kSpread);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/next-0", Room::kNow),
              ElementsAre("small", "big", "middle"));
}

TEST(NodeIndexTest, TheLowerNameIsChosenForEqualRoom) {
  const auto cluster = MakeCluster()
                           .Node("n9", {.gpus = 8})
                           .Node("n10", {.gpus = 8})
                           .Node("n2", {.gpus = 8})
                           .Pending("ns/one", {.gpus = 1})
                           .Build();
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/one-0", Room::kNow), ElementsAre("n10"));
}

TEST(NodeIndexTest, RoomThatIsBeingFreedCountsForLaterOnly) {
  const auto cluster = MakeCluster()
                           .Node("full", {.gpus = 2})
                           .Node("free", {.gpus = 8})
                           .Releasing("ns/old", {.gpus = 2, .node = "full"})
                           .Pending("ns/new", {.gpus = 2})
                           .Build();
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/new-0", Room::kNow), ElementsAre("free"));
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/new-0", Room::kLater),
              ElementsAre("full", "free"));
}

TEST(NodeIndexTest, IdleResourcesOfPipelinedPodsAreNotUsedNow) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 4})
                           .Pending("ns/promised", {.gpus = 3})
                           .Pending("ns/next", {.gpus = 2})
                           .Build();
  NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  Toucher toucher(&index);
  const auto statement = Statement::Open(cluster.get(), {&toucher});
  statement->Pipeline(PodNamed(*cluster, "ns/promised-0"), NodeNamed(*cluster, "n"));
  index.Refresh();
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/next-0", Room::kNow), IsEmpty());
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/next-0", Room::kLater), IsEmpty());
}

TEST(NodeIndexTest, ANegativeElementRefusesPodsThatDoNotRequestIt) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 8, .millicpu = 4000})
                           .Running("ns/greedy", {.millicpu = 4001, .node = "n"})
                           .Pending("ns/gpu", {.gpus = 1, .millicpu = 0})
                           .Build();
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/gpu-0", Room::kLater), IsEmpty());
}

TEST(NodeIndexTest, FollowsTheLedgerWhenTouchedAndRefreshed) {
  const auto cluster = MakeCluster()
                           .Node("a", {.gpus = 8})
                           .Node("b", {.gpus = 8})
                           .Pending("ns/two", {.gpus = 2})
                           .Pending("ns/one", {.gpus = 1})
                           .Build();
  NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  Toucher toucher(&index);
  const auto statement = Statement::Open(cluster.get(), {&toucher});
  const Statement::Checkpoint start = statement->Mark();
  statement->Place(PodNamed(*cluster, "ns/two-0"), NodeNamed(*cluster, "b"));
  index.Refresh();
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/one-0", Room::kNow), ElementsAre("b", "a"));
  statement->RollBackTo(start);
  index.Refresh();
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "ns/one-0", Room::kNow), ElementsAre("a"));
}

TEST(NodeIndexTest, NodesOfOneKindAreInTheirOwnGroup) {
  const auto cluster = MakeCluster().Node("cpu").Node("gpu", {.gpus = 8}).Pending("ns/one").Build();
  const NodeIndex cpu(*cluster, kCpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, cpu, kWithoutGpus, "ns/one-0", Room::kNow), ElementsAre("cpu"));
  EXPECT_THAT(Bests(*cluster, cpu, kWithGpus, "ns/one-0", Room::kNow), ElementsAre("gpu"));
  const NodeIndex gpu(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, gpu, kNoGpusToOffer, "ns/one-0", Room::kNow), ElementsAre("cpu"));
  EXPECT_THAT(Bests(*cluster, gpu, kWithoutGpus, "ns/one-0", Room::kNow), IsEmpty());
}

TEST(NodeIndexTest, EmptyGroupsHaveNoFirstAndNoNext) {
  const auto cluster = MakeCluster().Pending("ns/one", {.gpus = 1}).Build();
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  for (size_t group = 0; group < NodeIndex::kGroups; ++group) {
    EXPECT_FALSE(index.First(group).valid());
    EXPECT_FALSE(index.NextKey(group, -1e300).valid());
    EXPECT_THAT(Bests(*cluster, index, group, "ns/one-0", Room::kLater), IsEmpty());
  }
  EXPECT_EQ(index.least_room(), 0);
  EXPECT_EQ(index.most_room(), 0);
}

TEST(NodeIndexTest, ExtremesIncludeFullAndCordonedNodes) {
  const auto cluster = MakeCluster()
                           .Node("cordoned", {.gpus = 16, .cordoned = true})
                           .Node("full", {.gpus = 4})
                           .Node("half", {.gpus = 8})
                           .Node("cpu")
                           .Running("ns/x", {.gpus = 4, .node = "full"})
                           .Running("ns/y", {.gpus = 4, .node = "half"})
                           .Build();
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_EQ(index.least_room(), 0);
  EXPECT_EQ(index.most_room(), 16);
  const NodeIndex cpu(*cluster, kCpuSlot, Strategy::kBinpack);
  EXPECT_EQ(cpu.least_room(), 63'000);
  EXPECT_EQ(cpu.most_room(), 64'000);
}

TEST(NodeIndexTest, OneAllowedClassAmongMoreThanSixtyFourIsFound) {
  // A subtree stores its classes by their numbers modulo 64, so 7 and 71 look the same from above.
  constexpr int kClasses = 150;
  ClusterMaker maker = MakeCluster().Pending("ns/one", {.gpus = 1});
  for (int i = 0; i < kClasses; ++i) {
    const Taint own{.key = "class", .value = StrCat(i), .effect = TaintEffect::kNoSchedule};
    maker.Node(StrCat("n", i), {.gpus = 8, .taints = {own}});
  }
  const auto cluster = maker.Build();
  ASSERT_EQ(cluster->node_classes().size(), kClasses);
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  const auto request = cluster->RequestOf(PodNamed(*cluster, "ns/one-0"));
  for (const NodeId node : cluster->nodes().name.ids()) {
    std::vector<uint8_t> class_ok(kClasses, 0);
    class_ok[cluster->nodes().node_class[node].index()] = 1;
    EXPECT_EQ(index.FirstFit(kWithGpus, request, class_ok, Room::kNow), node);
  }
  const std::vector<uint8_t> none(kClasses, 0);
  EXPECT_FALSE(index.FirstFit(kWithGpus, request, none, Room::kNow).valid());
}

// ---- compared with a walk over all nodes

// The expected answers of an index, from a walk over all nodes.
class PlainIndex {
 public:
  PlainIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy) : cluster_(cluster) {
    const NodeColumns& nodes = cluster.nodes();
    for (const NodeId node : nodes.name.ids()) {
      const double offered = nodes.allocatable[node][slot.index()];
      const double room = nodes.idle[node][slot.index()] + nodes.releasing[node][slot.index()];
      const double count = slot == kGpuSlot ? nodes.gpu_count[node] : offered;
      const bool binpack = strategy == Strategy::kBinpack;
      if (binpack) key_.Add(offered == 0 ? 0 : room);
      if (!binpack) key_.Add(count == 0 ? 0 : -(room / count));
      if (offered != 0) rooms_.push_back(room);
      order_[NodeIndex::GroupOf(nodes.cpu_only[node] != 0, !binpack || offered != 0)].push_back(
          node);
    }
    for (std::vector<NodeId>& order : order_) {
      std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
        return std::tuple(key_[a], cluster.Text(nodes.name[a])) <
               std::tuple(key_[b], cluster.Text(nodes.name[b]));
      });
    }
  }

  double key(NodeId node) const { return key_[node]; }
  const std::vector<NodeId>& InOrder(size_t group) const { return order_[group]; }

  NodeId FirstFit(size_t group, std::span<const double> request,
                  const std::vector<uint8_t>& class_ok, Room room,
                  std::optional<double> after) const {
    for (const NodeId node : order_[group]) {
      if (after && !(key_[node] > *after)) continue;
      if (class_ok[cluster_.nodes().node_class[node].index()] == 0) continue;
      bool fits = true;
      for (size_t i = 0; i < request.size(); ++i) {
        const double idle = cluster_.nodes().idle[node][i];
        const double releasing = cluster_.nodes().releasing[node][i];
        if (request[i] > idle + releasing) fits = false;
        if (room == Room::kNow && request[i] > idle) fits = false;
      }
      if (fits) return node;
    }
    return NodeId();
  }

  NodeId NextKey(size_t group, double key) const {
    for (const NodeId node : order_[group]) {
      if (key_[node] > key) return node;
    }
    return NodeId();
  }

  double least_room() const {
    return rooms_.empty() ? 0 : *std::min_element(rooms_.begin(), rooms_.end());
  }
  double most_room() const {
    return rooms_.empty() ? 0 : *std::max_element(rooms_.begin(), rooms_.end());
  }

 private:
  const Cluster& cluster_;
  IndexVector<NodeId, double> key_;
  std::array<std::vector<NodeId>, NodeIndex::kGroups> order_;
  std::vector<double> rooms_;
};

// Nodes of all kinds: some overcommitted (running pods are not checked for fit), some with leaving
// pods; waiting pods of all sizes.
std::unique_ptr<Cluster> RandomNodes(Random* random) {
  const auto pick = [random](std::vector<int64_t> values) { return random->Pick(values); };
  const int64_t count = pick({1, 2, 3, 7, 20, 90});
  const int64_t classes = pick({1, 3, 80});
  ClusterMaker maker;
  for (int64_t i = 0; i < count; ++i) {
    const Taint own{.key = "class",
                    .value = StrCat(random->Below(classes)),
                    .effect = TaintEffect::kNoSchedule};
    NodeSpec spec{.gpus = pick({0, 0, 1, 2, 4, 8, 8, 8}),
                  .millicpu = pick({0, 2000, 8000, 8000, 64'000}),
                  .taints = {own}};
    if (random->Coin()) spec.labels = {{"nvidia.com/gpu.count", StrCat(pick({0, 4, 8, 10}))}};
    maker.Node(StrCat("n", i), spec);
  }
  for (int64_t i = 0; i < count * 3; ++i) {
    const std::string name = StrCat("ns/p", i);
    PodsSpec spec{.gpus = pick({0, 0, 1, 1, 2, 4, 8}),
                  .millicpu = pick({0, 0, 1000, 2000, 3000, 9000})};
    if (random->Coin()) {
      maker.Pending(name, spec);
      continue;
    }
    spec.node = StrCat("n", random->Below(count));
    random->OneIn(3) ? maker.Releasing(name, spec) : maker.Running(name, spec);
  }
  return maker.Build();
}

void ExpectEqualAnswers(const Cluster& cluster, const NodeIndex& index, ResourceSlot slot,
                        Strategy strategy, Random* random) {
  const PlainIndex plain(cluster, slot, strategy);
  if (strategy == Strategy::kBinpack) {
    EXPECT_EQ(index.least_room(), plain.least_room());
    EXPECT_EQ(index.most_room(), plain.most_room());
  }
  for (size_t group = 0; group < NodeIndex::kGroups; ++group) {
    const std::vector<NodeId>& order = plain.InOrder(group);
    EXPECT_EQ(index.First(group), order.empty() ? NodeId() : order.front());
    for (const NodeId node : order) {
      ASSERT_EQ(index.key(node), plain.key(node));
      ASSERT_EQ(index.NextKey(group, index.key(node)), plain.NextKey(group, plain.key(node)));
    }
  }
  for (const PodClassId pods : cluster.pod_classes().info.ids()) {
    const std::span<const double> request = cluster.pod_classes().request[pods];
    std::vector<uint8_t> class_ok(cluster.node_classes().size());
    for (uint8_t& ok : class_ok) ok = random->OneIn(4) ? 0 : 1;
    for (size_t group = 0; group < NodeIndex::kGroups; ++group) {
      for (const Room room : {Room::kNow, Room::kLater}) {
        std::optional<double> after;
        for (;;) {  // every fitting node, one per key
          const NodeId node =
              index.FirstFit(group, request, class_ok, room, after ? &*after : nullptr);
          ASSERT_EQ(node, plain.FirstFit(group, request, class_ok, room, after));
          if (!node.valid()) break;
          after = index.key(node);
        }
      }
    }
  }
}

class NodeIndexPropertyTest : public testing::TestWithParam<std::tuple<ResourceSlot, Strategy>> {};

TEST_P(NodeIndexPropertyTest, AgreesWithAScanOfAllNodesAfterAnyChanges) {
  const auto [slot, strategy] = GetParam();
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    const auto cluster = RandomNodes(&random);
    NodeIndex index(*cluster, slot, strategy);
    ExpectEqualAnswers(*cluster, index, slot, strategy, &random);
    if (HasFatalFailure()) return;

    Toucher toucher(&index);
    const auto statement = Statement::Open(cluster.get(), {&toucher});
    std::vector<PodId> waiting;
    for (const PodId pod : cluster->pods().name.ids()) {
      if (cluster->pods().status[pod] == PodStatus::kPending) waiting.push_back(pod);
    }
    std::vector<Statement::Checkpoint> marks = {statement->Mark()};
    size_t next = 0;
    for (int step = 0; step < 8; ++step) {
      for (int64_t burst = random.Below(5); burst > 0 && next < waiting.size(); --burst) {
        const NodeId node(
            static_cast<size_t>(random.Below(static_cast<int64_t>(cluster->nodes().size()))));
        if (random.OneIn(3)) {
          statement->Pipeline(waiting[next++], node);  // also if nothing is being freed
        } else {
          statement->Place(waiting[next++], node);  // also if there is no room
        }
      }
      if (random.OneIn(3)) {
        statement->RollBackTo(marks.back());
        next = 0;
        for (const PodId pod : waiting) next += cluster->pods().node[pod].valid() ? 1 : 0;
      } else {
        marks.push_back(statement->Mark());
      }
      index.Refresh();
      ExpectEqualAnswers(*cluster, index, slot, strategy, &random);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NodeIndexPropertyTest,
                         testing::Combine(testing::Values(kGpuSlot, kCpuSlot),
                                          testing::Values(Strategy::kBinpack, Strategy::kSpread)),
                         [](const auto& index) {
                           const bool gpu = std::get<ResourceSlot>(index.param) == kGpuSlot;
                           const bool binpack =
                               std::get<Strategy>(index.param) == Strategy::kBinpack;
                           return StrCat(gpu ? "Gpu" : "Cpu", binpack ? "Binpack" : "Spread");
                         });

}  // namespace
}  // namespace kai::node_index_test
