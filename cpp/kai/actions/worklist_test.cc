#include "kai/actions/worklist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kai/actions/candidates.h"
#include "kai/base/text.h"
#include "kai/model/changes/statement.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::worklist_test {
namespace {

// A worklist with all its inputs.
struct Rig {
  explicit Rig(std::unique_ptr<Cluster> made, const Worklist::Options& options = {})
      : cluster(std::move(made)),
        usage(*cluster),
        shares(*cluster, usage, {}),
        placing(*cluster, {.comparators = {PodComparator::kKubeflow, PodComparator::kRay,
                                           PodComparator::kTaskPriority}}),
        order(placing, {}),
        worklist(*cluster, &shares, &order, options),
        statement(Statement::Open(cluster.get(), {&usage, &order})) {}

  void PushAll() {
    for (const PodGroupId group : InOrderOfCreation(cluster->pod_groups())) {
      if (IsCandidate(*cluster, order, group, {})) worklist.Push(group);
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
  FairShares shares;
  PlacingOrder placing;
  PodOrder order;
  Worklist worklist;
  std::unique_ptr<Statement> statement;
};

using Names = std::vector<std::string>;

TEST(WorklistTest, AfterForgetOrderItStillReturnsAllGroups) {
  Rig rig(MakeCluster()
              .Queue("a")
              .Queue("b")
              .Node("n", {.gpus = 8})
              .Pending("a/one", {.gpus = 1})
              .Pending("b/one", {.gpus = 1})
              .Pending("b/two", {.gpus = 1})
              .Build());
  rig.PushAll();
  rig.worklist.ForgetOrder();
  EXPECT_THAT(rig.PopAll(), testing::UnorderedElementsAre("a/one", "b/one", "b/two"));
}

TEST(WorklistTest, GroupsOfOneQueueAreSortedByPriorityThenAge) {  // spec 1 F73
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

TEST(WorklistTest, GroupsPlacedMeanwhileCountForTheNextTurn) {
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

ClusterMaker TwoOneThree() {
  return MakeCluster()
      .Queue("q")
      .Node("n", {.gpus = 8})
      .Pending("q/two", {.gpus = 1, .priority = 52})
      .Pending("q/one", {.gpus = 1, .priority = 51})
      .Pending("q/three", {.gpus = 1, .priority = 53});
}

TEST(WorklistTest, TheDepthKeepsTheFirstGroups) {  // switch queue_depth
  Rig rig(TwoOneThree().Build(), {.depth = 2});
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"q/three", "q/two"}));
}

TEST(WorklistTest, AsKaiTheDepthDropsTheLastGroupOfTheHeap) {  // spec 2 W9: not the worst
  // The heap [two, one] becomes [three, one, two] and loses its last slot: the better group is
  // dropped.
  Rig rig(TwoOneThree().Build(), {.depth = 2, .keep_first = false});
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"q/three", "q/one"}));
}

TEST(WorklistTest, APoppedGroupMayBePushedAgain) {
  Rig rig(MakeCluster().Queue("q").Node("n").Pending("q/only").Build());
  rig.PushAll();
  const PodGroupId group = rig.worklist.Pop();
  EXPECT_TRUE(rig.worklist.empty());
  rig.worklist.Push(group);
  EXPECT_EQ(rig.PopAll(), Names{"q/only"});
}

// Of two equal queues of the same age, the right argument goes first in both orders (spec 1 F71),
// so the heap's layout decides: the last queue takes the place of the one that left.
TEST(WorklistTest, TheHeapLayoutOrdersEqualQueues) {
  ClusterMaker maker = MakeCluster().Node("n", {.gpus = 8});
  for (const char* queue : {"a", "b", "c", "d"}) {
    maker.Queue(queue, {.deserved_gpus = 2, .created_s = 1});
  }
  for (const char* queue : {"a", "b", "c", "d"}) maker.Pending(StrCat(queue, "/g"), {.gpus = 1});
  Rig rig(maker.Build());
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"a/g", "d/g", "c/g", "b/g"}));
}

TEST(WorklistTest, AnInnerQueueIsRepresentedByTheBestOfItsBestLeaf) {  // spec 1 F60
  // b requests less than a as soon as its better leaf represents it.
  Rig rig(MakeCluster()
              .Queue("a", {.deserved_gpus = 8})
              .Queue("b", {.deserved_gpus = 8})
              .Queue("a1", {.parent = "a", .deserved_gpus = 8})
              .Queue("b1", {.parent = "b", .deserved_gpus = 0})
              .Queue("b2", {.parent = "b", .deserved_gpus = 4})
              .Node("n", {.gpus = 8})
              .Pending("a1/two", {.gpus = 2})
              .Pending("b1/four", {.gpus = 4})
              .Pending("b2/one", {.gpus = 1})
              .Build());
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"b2/one", "a1/two", "b1/four"}));
}

TEST(WorklistTest, QueuesOfDifferentDepthsAreCompared) {
  Rig rig(MakeCluster()
              .Queue("flat", {.deserved_gpus = 1, .priority = 50})
              .Queue("deep", {.deserved_gpus = 8})
              .Queue("deeper", {.parent = "deep", .deserved_gpus = 8})
              .Queue("deepest", {.parent = "deeper", .deserved_gpus = 8})
              .Node("n", {.gpus = 8})
              .Pending("flat/g", {.gpus = 1})
              .Pending("deepest/g", {.gpus = 1})
              .Build());
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"deepest/g", "flat/g"}));
}

TEST(WorklistTest, WithoutFairShareTheOlderQueueDrainsFirst) {  // spec 2 X1
  Rig rig(MakeCluster()
              .Queue("org")
              .Queue("department", {.parent = "org"})
              .Queue("team2", {.parent = "department", .created_s = 5})
              .Queue("team1", {.parent = "department", .created_s = 5})
              .Queue("team0", {.parent = "department", .priority = 900, .created_s = 6})
              .Node("n", {.gpus = 8})
              .Pending("team0/g", {.gpus = 1, .priority = 90})
              .Pending("team2/g", {.gpus = 1, .priority = 90})
              .Pending("team1/low", {.gpus = 1, .priority = 20})
              .Pending("team1/high", {.gpus = 1, .priority = 80})
              .Build(),
          {.by_fair_share = false});
  rig.PushAll();
  EXPECT_EQ(rig.PopAll(), (Names{"team1/high", "team1/low", "team2/g", "team0/g"}));
}

TEST(WorklistTest, GroupsAreComparedByTheActivePlugins) {  // spec 1 F73
  const auto order = [](std::vector<GroupComparator> comparators) {
    Rig rig(MakeCluster()
                .Queue("q")
                .Node("n", {.gpus = 8})
                .Pending("q/old", {.gpus = 1, .min_member = 0, .priority = 10})
                .Pending("q/urgent", {.gpus = 1, .min_member = 0, .priority = 90})
                .Pending("q/gang", {.pods = 2, .gpus = 1, .min_member = 2, .priority = 50})
                .Build(),
            {.comparators = std::move(comparators)});
    rig.PushAll();
    return rig.PopAll();
  };
  using enum GroupComparator;
  EXPECT_EQ(order({kPriority, kElastic}), (Names{"q/urgent", "q/gang", "q/old"}));
  EXPECT_EQ(order({kElastic, kPriority}), (Names{"q/gang", "q/urgent", "q/old"}));
  EXPECT_EQ(order({kElastic}), (Names{"q/gang", "q/old", "q/urgent"}));
  EXPECT_EQ(order({}), (Names{"q/old", "q/urgent", "q/gang"}));
}

// The worklist and a simple transcription of spec 1 F60 return the same groups during any changes:
// groups are added and removed, pods of any queue are placed, promised and evicted, shares are
// rolled back while heaps exist, groups have sub-groups, plugins are missing, leaves have a depth.
// Trees have 1 to 4 levels, many ties and equal ages.
TEST(WorklistTest, AgreesWithAPlainTreeOfHeapsAfterAnyChanges) {
  int64_t pops = 0;
  int64_t with_siblings = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed + 2'000'000);
    RandomClusterOptions options;
    options.max_nodes = 2;
    options.max_queue_levels = 1 + static_cast<int>(seed % 4);
    options.max_children = 2 + static_cast<int>(seed % 6);
    options.max_groups = 24;
    options.max_running_groups = 12;
    options.pod_affinity = false;
    options.sub_groups = random.Coin();
    const ClusterRows rows = MakeRandomCluster(seed, options);

    oracle::Settings settings{.now_ns = 0};  // no pod is overdue
    Worklist::Options worklist_options;
    if (random.OneIn(4)) {
      std::erase(settings.plugins, "proportion");
      worklist_options.by_fair_share = false;
    }
    if (random.OneIn(4)) {
      std::erase(settings.plugins, "elastic");
      worklist_options.comparators = {GroupComparator::kPriority};
    }
    if (random.OneIn(4)) settings.depth = worklist_options.depth = random.Between(1, 3);
    oracle::World world(rows, settings);
    oracle::QueueTree tree(&world);
    Rig rig(rows.Build(), worklist_options);
    with_siblings += rig.cluster->queues().size() > 3 ? 1 : 0;

    std::vector<PodGroupId> outside;  // groups that may be pushed
    for (const PodGroupId group : rig.cluster->pod_groups().name.ids()) {
      const QueueId queue = rig.cluster->pod_groups().queue[group];
      if (queue.valid() && rig.cluster->queues().IsLeaf(queue)) outside.push_back(group);
    }
    random.Shuffle(&outside);
    const auto push_any = [&] {
      if (outside.empty()) return;
      const PodGroupId group = outside.back();
      outside.pop_back();
      rig.worklist.Push(group);
      tree.Push(rig.cluster->PodGroupName(group));
    };
    const auto pods = static_cast<int64_t>(rig.cluster->pods().size());
    const auto nodes = static_cast<int64_t>(rig.cluster->nodes().size());
    const auto change_any = [&] {
      const PodId pod(static_cast<int32_t>(random.Below(pods)));
      const NodeId node(static_cast<int32_t>(random.Below(nodes)));
      const std::string name = rig.cluster->PodName(pod);
      const std::string node_name(rig.cluster->Text(rig.cluster->nodes().name[node]));
      const PodStatus status = rig.cluster->pods().status[pod];
      if (status == PodStatus::kPending && random.Coin()) {
        rig.statement->Place(pod, node);
        world.Place(name, node_name, {"any"});  // the device, if it shares one
      } else if (status == PodStatus::kPending) {
        rig.statement->Pipeline(pod, node);
        world.Pipeline(name, node_name, {"any"});
      } else if (IsActiveAllocated(status)) {
        rig.statement->Evict(pod);
        world.Evict(name);
      }
    };

    while (random.Below(8) != 0) push_any();
    Statement::Checkpoint mark = rig.statement->Mark();
    oracle::World at_mark = world;
    for (int step = 0; step < 120; ++step) {
      switch (random.Below(10)) {
        case 0:
        case 1:
        case 2:
          push_any();
          break;
        case 3:
        case 4:
        case 5:
          if (pods > 0) change_any();
          break;
        case 6:
          if (random.Coin()) {
            mark = rig.statement->Mark();
            at_mark = world;
          } else {
            rig.statement->RollBackTo(mark);
            world = at_mark;
          }
          break;
        default: {
          ASSERT_EQ(rig.worklist.empty(), tree.empty());
          if (tree.empty()) break;
          const PodGroupId group = rig.worklist.Pop();
          ASSERT_EQ(rig.cluster->PodGroupName(group), tree.Pop()) << "step " << step;
          ++pops;
          outside.push_back(group);
          random.Shuffle(&outside);
        }
      }
    }
  }
  EXPECT_GT(pops, 2000);
  EXPECT_GT(with_siblings, 100);
}

// The groups that come, without kinds that fail; these are skipped in one piece or one by one.
Names PopWithout(Rig* rig, const std::map<std::string, std::vector<PodGroupId>>& lists,
                 const std::set<PodGroupId>& failing, bool in_one_piece) {
  Worklist worklist(*rig->cluster, &rig->shares, &rig->order, {});
  for (const auto& [kind, groups] : lists) worklist.Push(groups);
  Names names;
  while (!worklist.empty()) {
    const PodGroupId group = worklist.Pop();
    if (!failing.contains(group)) {
      names.push_back(rig->cluster->PodGroupName(group));
    } else if (in_one_piece) {
      worklist.PassOverAlike();
    }
  }
  return names;
}

TEST(WorklistTest, SkippingFailedGroupsTogetherKeepsTheOrderOfTheOthers) {
  size_t passed_over = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    ClusterMaker maker = MakeCluster().Node("n", {.gpus = 64});
    const Names queues = {"a", "b", "c", "d"};
    for (const std::string& queue : queues) {
      const auto gpus = static_cast<double>(random.Below(6));
      maker.Queue(queue, {.deserved_gpus = gpus});
      if (random.Coin()) maker.Running(queue + "/runs", {.gpus = 1 + random.Below(4), .node = "n"});
    }
    std::map<std::string, std::string> kinds;  // of groups
    for (int64_t i = 0; i < 24; ++i) {
      const std::string& queue = random.Pick(queues);
      const int64_t gpus = 1 + random.Below(3);
      const auto priority = static_cast<int32_t>(random.OneIn(5) ? 90 : 50);
      const std::string name = StrCat(queue, "/g", i);
      maker.Pending(name, {.gpus = gpus, .priority = priority});
      kinds[name] = StrCat(queue, " ", gpus, " ", priority);
    }
    Rig rig(maker.Build());
    std::set<std::string> failing_kinds;
    for (const auto& [name, kind] : kinds) {
      if (random.Coin()) failing_kinds.insert(kind);
    }
    std::map<std::string, std::vector<PodGroupId>> lists;
    std::set<PodGroupId> failing;
    for (const PodGroupId group : InOrderOfCreation(rig.cluster->pod_groups())) {
      const auto kind = kinds.find(rig.cluster->PodGroupName(group));
      if (kind == kinds.end()) continue;
      lists[kind->second].push_back(group);
      if (failing_kinds.contains(kind->second)) failing.insert(group);
    }
    passed_over += failing.size();
    EXPECT_EQ(PopWithout(&rig, lists, failing, true), PopWithout(&rig, lists, failing, false));
  }
  EXPECT_GT(passed_over, 1000);
}

}  // namespace
}  // namespace kai::worklist_test
