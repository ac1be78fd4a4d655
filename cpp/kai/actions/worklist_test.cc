#include "kai/actions/worklist.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kai/actions/candidates.h"
#include "kai/model/statement.h"
#include "kai/testing/cluster_maker.h"
#include "kai/testing/random_cluster.h"
#include "kai/testing/slow_oracle.h"

namespace kai {
namespace {

// A worklist with all that it looks at.
struct Rig {
  explicit Rig(std::unique_ptr<Cluster> made, const Worklist::Options& options = {})
      : cluster(std::move(made)),
        usage(*cluster, {}),
        order(*cluster, {.comparators = {PodComparator::kKubeflow, PodComparator::kRay,
                                         PodComparator::kTaskPriority}}),
        worklist(*cluster, &usage, &order, options),
        statement(Statement::Open(cluster.get(), {&usage, &order})) {}

  void PushAll() {
    for (const PodGroupId group : InCreationOrder(*cluster)) {
      if (IsCandidate(*cluster, order, group, {}, kTestNowNs)) worklist.Push(group);
    }
  }
  PodGroupId Named(std::string_view name) const {
    for (const PodGroupId group : cluster->pod_groups().name.ids()) {
      if (cluster->PodGroupName(group) == name) return group;
    }
    return PodGroupId();
  }
  std::vector<std::string> PopAll() {
    std::vector<std::string> names;
    while (!worklist.empty()) names.push_back(cluster->PodGroupName(worklist.Pop()));
    return names;
  }

  std::unique_ptr<Cluster> cluster;
  QueueUsage usage;
  PodOrder order;
  Worklist worklist;
  std::unique_ptr<Statement> statement;
};

using Names = std::vector<std::string>;

TEST(WorklistTest, InOneQueueByPriorityThenAge) {  // spec 1 F73
  Rig rig(MakeCluster()
              .Queue("q")
              .Node("n", {.gpus = 8})
              .Pending("q/old", {.gpus = 1, .priority = 50})
              .Pending("q/urgent", {.gpus = 1, .priority = 90})
              .Pending("q/young", {.gpus = 1, .priority = 50})
              .Build());
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"q/urgent", "q/old", "q/young"}));
}

TEST(WorklistTest, AGroupBelowItsMinimumGoesBeforeExtrasOfEqualPriority) {
  Rig rig(MakeCluster()
              .Queue("q")
              .Node("n", {.gpus = 8})
              .Running("q/elastic", {.pods = 1, .gpus = 1, .node = "n", .min_member = 1})
              .Pending("q/elastic", {.pods = 1, .gpus = 1})
              .Pending("q/gang", {.pods = 2, .gpus = 1, .min_member = 2})
              .Build());
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"q/gang", "q/elastic"}));
}

TEST(WorklistTest, TheStarvedQueueGoesFirst) {  // spec 1 F65
  Rig rig(MakeCluster()
              .Queue("full", {.deserved_gpus = 1})
              .Queue("starved", {.deserved_gpus = 4})
              .Node("n", {.gpus = 8})
              .Running("full/bulk", {.pods = 2, .gpus = 1, .node = "n"})
              .Pending("full/more", {.gpus = 1})
              .Pending("starved/first", {.gpus = 1})
              .Build());
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"starved/first", "full/more"}));
}

TEST(WorklistTest, WhatIsPlacedOnTheWayCountsForTheNextTurn) {
  Rig rig(MakeCluster()
              .Queue("a", {.deserved_gpus = 2})
              .Queue("b", {.deserved_gpus = 2})
              .Node("n", {.gpus = 8})
              .Pending("a/1", {.gpus = 1})
              .Pending("a/2", {.gpus = 1})
              .Pending("b/1", {.gpus = 1})
              .Pending("b/2", {.gpus = 1})
              .Build());
  rig.PushAll();
  Names turns;
  while (!rig.worklist.empty()) {
    const PodGroupId group = rig.worklist.Pop();
    turns.push_back(rig.cluster->PodGroupName(group));
    for (const PodId pod : rig.order.PodsToPlace(group)) rig.statement->Place(pod, NodeId(0));
  }
  EXPECT_EQ(turns, (Names{"a/1", "b/1", "a/2", "b/2"}));
}

TEST(WorklistTest, TheDepthCapDropsWhatStandsLastInTheHeap) {  // spec 2 W9: not the worst
  // The heap [two, one] becomes [three, one, two] and loses its last slot: the better one goes.
  Rig rig(MakeCluster()
              .Queue("q")
              .Node("n", {.gpus = 8})
              .Pending("q/two", {.gpus = 1, .priority = 52})
              .Pending("q/one", {.gpus = 1, .priority = 51})
              .Pending("q/three", {.gpus = 1, .priority = 53})
              .Build(),
          {.depth = 2});
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"q/three", "q/one"}));
}

TEST(WorklistTest, APoppedGroupMayComeBack) {
  Rig rig(MakeCluster().Queue("q").Node("n").Pending("q/only").Build());
  rig.PushAll();
  const PodGroupId group = rig.worklist.Pop();
  EXPECT_TRUE(rig.worklist.empty());
  rig.worklist.Push(group);
  EXPECT_EQ(rig.PopAll(), Names{"q/only"});
}

// The worklist and the plain transcription of spec 1 F60 hand out the same groups, while groups
// come back and shares change under their hands. Trees of 1 to 4 levels, full of ties and equal
// ages.
TEST(WorklistTest, AgreesWithThePlainTreeOfHeaps) {
  int64_t pops = 0;
  int64_t with_siblings = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    RandomClusterOptions options;
    options.max_nodes = 3;
    options.max_queue_levels = 1 + static_cast<int>(seed % 4);
    options.max_children = 2 + static_cast<int>(seed % 5);  // four and more show the heap's layout
    options.max_groups = 24;
    options.pod_affinity = false;
    options.sub_groups = seed % 3 == 0;
    const ClusterRows rows = MakeRandomCluster(seed, options);
    Rig rig(rows.Build());
    oracle::World world(rows);
    oracle::QueueTree tree(&world);
    for (const std::string& name : oracle::Candidates(world)) {
      const PodGroupId group = rig.Named(name);
      ASSERT_TRUE(IsCandidate(*rig.cluster, rig.order, group, {}, kTestNowNs)) << name;
      rig.worklist.Push(group);
      tree.Push(name);
    }
    if (rig.cluster->nodes().size() == 0) continue;
    with_siblings += rig.cluster->queues().size() > 3 ? 1 : 0;

    Random random(seed + 1'000'000);
    for (int step = 0; step < 200 && !rig.worklist.empty(); ++step) {
      ASSERT_FALSE(tree.empty());
      const PodGroupId group = rig.worklist.Pop();
      const std::string name = rig.cluster->PodGroupName(group);
      ASSERT_EQ(name, tree.Pop()) << "pop " << step;
      ++pops;
      const std::vector<PodId> pods = rig.order.PodsToPlace(group);
      // Where it goes does not matter here, only that its queues use more.
      const auto nodes = static_cast<int64_t>(rig.cluster->nodes().size());
      const NodeId node(static_cast<int32_t>(random.Below(nodes)));
      const bool placed = random.Below(3) != 0;
      const bool waits = random.OneIn(4);
      for (const PodId pod : pods) {
        if (!placed) break;
        const std::string node_name(rig.cluster->Text(rig.cluster->nodes().name[node]));
        if (waits) {
          rig.statement->Pipeline(pod, node);
          world.Pipeline(rig.cluster->PodName(pod), node_name);
        } else {
          rig.statement->Place(pod, node);
          world.Place(rig.cluster->PodName(pod), node_name);
        }
      }
      const bool more = rig.order.CountOf(group, PodStatus::kPending) > 0;
      if ((placed && more) || random.OneIn(8)) {
        rig.worklist.Push(group);
        tree.Push(name);
      }
    }
    if (rig.worklist.empty()) {
      EXPECT_TRUE(tree.empty());
    }
  }
  EXPECT_GT(pops, 1000);
  EXPECT_GT(with_siblings, 100);
}

}  // namespace
}  // namespace kai
