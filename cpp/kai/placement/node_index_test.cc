#include "kai/placement/node_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/cluster_builder.h"
#include "kai/model/listener.h"
#include "kai/model/statement.h"

namespace kai {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kGib = int64_t{1} << 30;
constexpr size_t kWithGpus = NodeIndex::GroupOf(/*cpu_only=*/false, /*offers=*/true);
constexpr size_t kWithoutGpus = NodeIndex::GroupOf(/*cpu_only=*/true, /*offers=*/true);
constexpr size_t kNoGpusToOffer = NodeIndex::GroupOf(/*cpu_only=*/true, /*offers=*/false);

NodeRow Node(std::string name, int64_t gpus, int64_t cores = 64) {
  NodeRow row;
  row.name = std::move(name);
  row.allocatable = {{"cpu", 1000 * cores}, {"memory", 256 * kGib}, {"pods", 110}};
  if (gpus > 0) row.allocatable.emplace_back("nvidia.com/gpu", gpus);
  row.ready = ConditionStatus::kTrue;
  return row;
}

PodRow Pod(std::string name, int64_t gpus, int64_t cores = 1) {
  PodRow row;
  row.namespace_name = "ns";
  row.name = std::move(name);
  row.scheduler_name = "kai-scheduler";
  row.pod_group = "group";
  row.requests = {{"cpu", 1000 * cores}, {"memory", kGib}};
  row.gpu.count = gpus;
  row.gpu.portion = gpus > 0 ? 1 : 0;
  row.phase = Phase::kPending;
  return row;
}

PodRow On(std::string node, PodRow row, bool leaving = false) {
  row.node_name = std::move(node);
  row.phase = Phase::kRunning;
  if (leaving) row.deletion_ns = 1;
  return row;
}

std::unique_ptr<Cluster> Build(std::vector<NodeRow> nodes, std::vector<PodRow> pods) {
  ClusterBuilder builder(ShardParams{});
  for (NodeRow& row : nodes) builder.Add(std::move(row));
  for (PodRow& row : pods) builder.Add(std::move(row));
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "group";
  builder.Add(std::move(group));
  return std::move(builder).Build();
}

PodId PodNamed(const Cluster& cluster, std::string_view name) {
  for (const PodId pod : cluster.pods().name.ids()) {
    if (cluster.Text(cluster.pods().name[pod]) == name) return pod;
  }
  return PodId();
}

// Tells an index of the nodes that change, as NodeSearch does.
class Toucher final : public Listener {
 public:
  explicit Toucher(NodeIndex* index) : index_(index) {}
  void Applied(const Change& change, UndoStack*) override { index_->Touch(change.to_node); }
  void Undone(const Change& change, UndoStack*) override { index_->Touch(change.to_node); }

 private:
  NodeIndex* index_;
};

class NodeIndexTest : public testing::Test {
 protected:
  // The names of a group's nodes that take a pod, best first, one per key.
  static std::vector<std::string> Bests(const Cluster& cluster, const NodeIndex& index,
                                        size_t group, std::string_view pod, Room room) {
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
};

TEST_F(NodeIndexTest, BinpackPrefersTheFullestNodeThatStillFits) {
  const auto cluster =
      Build({Node("a", 8), Node("b", 8), Node("c", 8)},
            {On("b", Pod("three", 3)), On("c", Pod("seven", 7)), Pod("one", 1), Pod("two", 2)});
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "one", Room::kNow), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "two", Room::kNow), ElementsAre("b", "a"));
}

TEST_F(NodeIndexTest, SpreadPrefersTheEmptiestNodeByShareOfItsDevices) {
  // 7/8, 3/4 and 2/2 are free.
  const auto cluster =
      Build({Node("big", 8), Node("middle", 4), Node("small", 2)},
            {On("big", Pod("one", 1)), On("middle", Pod("other", 1)), Pod("next", 1)});
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kSpread);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "next", Room::kNow),
              ElementsAre("small", "big", "middle"));
}

TEST_F(NodeIndexTest, EqualRoomFallsToTheLowerName) {
  const auto cluster = Build({Node("n10", 8), Node("n9", 8), Node("n1", 8)}, {Pod("one", 1)});
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "one", Room::kNow), ElementsAre("n1"));
}

TEST_F(NodeIndexTest, RoomToComeCountsForLaterOnly) {
  const auto cluster =
      Build({Node("full", 2), Node("free", 8)}, {On("full", Pod("old", 2), true), Pod("new", 2)});
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "new", Room::kNow), ElementsAre("free"));
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "new", Room::kLater), ElementsAre("full", "free"));
}

TEST_F(NodeIndexTest, WhatIsPromisedOfTheIdleIsNotGivenAwayNow) {
  const auto cluster = Build({Node("n", 4)}, {Pod("promised", 3), Pod("next", 2)});
  NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  Toucher toucher(&index);
  const auto statement = Statement::Open(cluster.get(), {&toucher});
  statement->Pipeline(PodNamed(*cluster, "promised"), NodeId(0));
  index.Refresh();
  // Four are idle, but three of them are owed.
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "next", Room::kNow), IsEmpty());
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "next", Room::kLater), IsEmpty());
}

TEST_F(NodeIndexTest, ANegativeElementRefusesPodsThatDoNotAskForIt) {
  const auto cluster = Build({Node("n", 8, /*cores=*/4)},
                             {On("n", Pod("greedy", 0, /*cores=*/5)), Pod("gpu", 1, /*cores=*/0)});
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "gpu", Room::kLater), IsEmpty());
}

TEST_F(NodeIndexTest, FollowsTheLedgerWhenTouchedAndRefreshed) {
  const auto cluster = Build({Node("a", 8), Node("b", 8)}, {Pod("two", 2), Pod("one", 1)});
  NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  Toucher toucher(&index);
  const auto statement = Statement::Open(cluster.get(), {&toucher});
  const Statement::Checkpoint start = statement->Mark();
  statement->Place(PodNamed(*cluster, "two"), NodeId(1));
  index.Refresh();
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "one", Room::kNow), ElementsAre("b", "a"));
  statement->RollBackTo(start);
  index.Refresh();
  EXPECT_THAT(Bests(*cluster, index, kWithGpus, "one", Room::kNow), ElementsAre("a"));
}

TEST_F(NodeIndexTest, NodesOfOneKindStandInAGroupOfTheirOwn) {
  const auto cluster = Build({Node("cpu", 0), Node("gpu", 8)}, {Pod("one", 0)});
  const NodeIndex cpu(*cluster, kCpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, cpu, kWithoutGpus, "one", Room::kNow), ElementsAre("cpu"));
  EXPECT_THAT(Bests(*cluster, cpu, kWithGpus, "one", Room::kNow), ElementsAre("gpu"));
  const NodeIndex gpu(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_THAT(Bests(*cluster, gpu, kNoGpusToOffer, "one", Room::kNow), ElementsAre("cpu"));
  EXPECT_THAT(Bests(*cluster, gpu, kWithoutGpus, "one", Room::kNow), IsEmpty());
}

TEST_F(NodeIndexTest, EmptyGroupsHaveNoFirstAndNoNext) {
  const auto cluster = Build({}, {Pod("one", 1)});
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  for (size_t group = 0; group < NodeIndex::kGroups; ++group) {
    EXPECT_FALSE(index.First(group).valid());
    EXPECT_FALSE(index.NextKey(group, -1e300).valid());
    EXPECT_THAT(Bests(*cluster, index, group, "one", Room::kLater), IsEmpty());
  }
  EXPECT_EQ(index.least_room(), 0);
  EXPECT_EQ(index.most_room(), 0);
}

TEST_F(NodeIndexTest, ExtremesAreOverAllNodesThatOfferTheResourceFullAndCordonedToo) {
  NodeRow cordoned = Node("cordoned", 16);
  cordoned.unschedulable = true;
  const auto cluster = Build({cordoned, Node("full", 4), Node("half", 8), Node("cpu", 0)},
                             {On("full", Pod("four", 4)), On("half", Pod("other", 4))});
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  EXPECT_EQ(index.least_room(), 0);
  EXPECT_EQ(index.most_room(), 16);
  const NodeIndex cpu(*cluster, kCpuSlot, Strategy::kBinpack);
  EXPECT_EQ(cpu.least_room(), 63'000);
  EXPECT_EQ(cpu.most_room(), 64'000);
}

TEST_F(NodeIndexTest, OneAllowedClassAmongMoreThanSixtyFourIsFound) {
  // A class is kept as a bit modulo 64, so classes 7 and 71 share one: the bit alone must not
  // decide.
  constexpr int kClasses = 150;
  std::vector<NodeRow> nodes;
  for (int i = 0; i < kClasses; ++i) {
    nodes.push_back(Node(StrCat("n", i), 8));
    nodes.back().taints = {
        {.key = "class", .value = StrCat(i), .effect = TaintEffect::kNoSchedule}};
  }
  const auto cluster = Build(std::move(nodes), {Pod("one", 1)});
  ASSERT_EQ(cluster->node_classes().size(), kClasses);
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  const auto request = cluster->RequestOf(PodNamed(*cluster, "one"));
  for (const NodeId node : cluster->nodes().name.ids()) {
    std::vector<uint8_t> class_ok(kClasses, 0);
    class_ok[cluster->nodes().node_class[node].index()] = 1;
    EXPECT_EQ(index.FirstFit(kWithGpus, request, class_ok, Room::kNow), node);
  }
  const std::vector<uint8_t> none(kClasses, 0);
  EXPECT_FALSE(index.FirstFit(kWithGpus, request, none, Room::kNow).valid());
}

// ---- against the plain way ----------------------------------------------------------------------

// What the index must answer, found by looking at every node.
class PlainIndex {
 public:
  PlainIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy)
      : cluster_(cluster), slot_(slot.index()), strategy_(strategy) {}

  std::vector<NodeId> InOrder(size_t group) const {
    std::vector<NodeId> order;
    for (const NodeId node : cluster_.nodes().name.ids()) {
      if (GroupOf(node) == group) order.push_back(node);
    }
    std::sort(order.begin(), order.end(), [this](NodeId a, NodeId b) {
      return std::tuple(Key(a), cluster_.Text(cluster_.nodes().name[a])) <
             std::tuple(Key(b), cluster_.Text(cluster_.nodes().name[b]));
    });
    return order;
  }

  NodeId FirstFit(size_t group, std::span<const double> request,
                  const std::vector<uint8_t>& class_ok, Room room,
                  std::optional<double> after) const {
    for (const NodeId node : InOrder(group)) {
      if (after && !(Key(node) > *after)) continue;
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
    for (const NodeId node : InOrder(group)) {
      if (Key(node) > key) return node;
    }
    return NodeId();
  }

  double Key(NodeId node) const {
    const double room =
        cluster_.nodes().idle[node][slot_] + cluster_.nodes().releasing[node][slot_];
    const double offered = cluster_.nodes().allocatable[node][slot_];
    if (strategy_ == Strategy::kBinpack) return offered == 0 ? 0 : room;
    const double count = slot_ == kGpuSlot.index() ? cluster_.nodes().gpu_count[node] : offered;
    return count == 0 ? 0 : -(room / count);
  }

  std::pair<double, double> Extremes() const {
    std::vector<double> rooms;
    for (const NodeId node : cluster_.nodes().name.ids()) {
      if (cluster_.nodes().allocatable[node][slot_] != 0) rooms.push_back(Key(node));
    }
    if (rooms.empty()) return {0, 0};
    const auto [least, most] = std::minmax_element(rooms.begin(), rooms.end());
    return {*least, *most};
  }

 private:
  size_t GroupOf(NodeId node) const {
    const bool offers =
        strategy_ == Strategy::kSpread || cluster_.nodes().allocatable[node][slot_] != 0;
    return NodeIndex::GroupOf(cluster_.nodes().cpu_only[node] != 0, offers);
  }

  const Cluster& cluster_;
  size_t slot_;
  Strategy strategy_;
};

class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}
  int64_t Below(int64_t end) {
    return static_cast<int64_t>(engine_() % static_cast<uint32_t>(end));
  }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  int64_t OneOf(std::vector<int64_t> values) {
    return values[static_cast<size_t>(Below(static_cast<int64_t>(values.size())))];
  }

 private:
  std::mt19937 engine_;
};

// Nodes of all kinds, some with more on them than they have (what runs is not asked whether it
// fits), some with pods that leave; pods of all sizes that wait.
std::unique_ptr<Cluster> RandomTree(Dice* dice) {
  const int64_t count = dice->OneOf({1, 2, 3, 7, 20, 90});
  const int64_t classes = dice->OneOf({1, 3, 80});
  std::vector<NodeRow> nodes;
  for (int64_t i = 0; i < count; ++i) {
    nodes.push_back(
        Node(StrCat("n", i), dice->OneOf({0, 0, 1, 2, 4, 8, 8, 8}), dice->OneOf({0, 2, 8, 8, 64})));
    nodes.back().labels = {{"nvidia.com/gpu.count", StrCat(dice->OneOf({0, 4, 8, 10}))}};
    if (dice->OneIn(2)) nodes.back().labels.clear();
    nodes.back().taints = {{.key = "class",
                            .value = StrCat(dice->Below(classes)),
                            .effect = TaintEffect::kNoSchedule}};
  }
  std::vector<PodRow> pods;
  for (int64_t i = 0; i < count * 3; ++i) {
    PodRow pod =
        Pod(StrCat("p", i), dice->OneOf({0, 0, 1, 1, 2, 4, 8}), dice->OneOf({0, 0, 1, 2, 3, 9}));
    if (dice->OneIn(2)) {
      pod = On(StrCat("n", dice->Below(count)), std::move(pod), dice->OneIn(3));
    }
    pods.push_back(std::move(pod));
  }
  return Build(std::move(nodes), std::move(pods));
}

void ExpectEqualAnswers(const Cluster& cluster, const NodeIndex& index, const PlainIndex& plain,
                        Dice* dice) {
  EXPECT_EQ(std::pair(index.least_room(), index.most_room()), plain.Extremes());
  for (size_t group = 0; group < NodeIndex::kGroups; ++group) {
    const std::vector<NodeId> order = plain.InOrder(group);
    EXPECT_EQ(index.First(group), order.empty() ? NodeId() : order.front());
    for (const NodeId node : order) {
      ASSERT_EQ(index.key(node), plain.Key(node));
      ASSERT_EQ(index.NextKey(group, index.key(node)), plain.NextKey(group, plain.Key(node)));
    }
  }
  for (const PodClassId pods : cluster.pod_classes().info.ids()) {
    const std::span<const double> request = cluster.pod_classes().request[pods];
    std::vector<uint8_t> class_ok(cluster.node_classes().size());
    for (uint8_t& ok : class_ok) ok = dice->OneIn(4) ? 0 : 1;
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

TEST_P(NodeIndexPropertyTest, AnswersLikeALookAtEveryNodeAfterAnyChanges) {
  const auto [slot, strategy] = GetParam();
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    Dice dice(seed);
    const auto cluster = RandomTree(&dice);
    NodeIndex index(*cluster, slot, strategy);
    const PlainIndex plain(*cluster, slot, strategy);
    ExpectEqualAnswers(*cluster, index, plain, &dice);
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
      for (int64_t burst = dice.Below(5); burst > 0 && next < waiting.size(); --burst) {
        const NodeId node(
            static_cast<int32_t>(dice.Below(static_cast<int64_t>(cluster->nodes().size()))));
        if (dice.OneIn(3)) {
          statement->Pipeline(waiting[next++], node);  // also where nothing is being freed
        } else {
          statement->Place(waiting[next++], node);  // also where there is no room
        }
      }
      if (dice.OneIn(3)) {
        statement->RollBackTo(marks.back());
        next = 0;
        for (const PodId pod : waiting) next += cluster->pods().node[pod].valid() ? 1 : 0;
      } else {
        marks.push_back(statement->Mark());
      }
      index.Refresh();
      ExpectEqualAnswers(*cluster, index, plain, &dice);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NodeIndexPropertyTest,
                         testing::Combine(testing::Values(kGpuSlot, kCpuSlot),
                                          testing::Values(Strategy::kBinpack, Strategy::kSpread)),
                         [](const auto& info) {
                           const auto [slot, strategy] = info.param;
                           return StrCat(slot == kGpuSlot ? "Gpu" : "Cpu",
                                         strategy == Strategy::kBinpack ? "Binpack" : "Spread");
                         });

}  // namespace
}  // namespace kai
