#include "kai/actions/victim_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/actions/cycle_for_test.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::victim_lists_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(TestCycle* cycle, const std::vector<PodGroupId>& groups) {
  std::vector<std::string> names;
  for (const PodGroupId group : groups) names.push_back(cycle->cluster().PodGroupName(group));
  return names;
}

// As a search does that is committed.
void Evict(TestCycle* cycle, PodId pod) {
  cycle->view.statement->Evict(pod);
  cycle->log.Mark(cycle->cluster().pods().group[pod], CycleLog::kEvicted);
  cycle->view.statement->Settle();
}

ClusterMaker TwoQueues() {
  return MakeCluster()
      .Queue("a")
      .Queue("b")
      .Node("n", {.gpus = 8})
      .Running("b/first", {.gpus = 1, .node = "n"})
      .Running("a/old", {.gpus = 1, .node = "n"})
      .Running("a/young", {.gpus = 1, .node = "n"});
}

TEST(VictimListsTest, AGroupWithoutPodsToLoseLeavesTheListOfItsQueue) {
  TestCycle cycle(TwoQueues());
  VictimLists lists(cycle.view);
  const QueueId a = QueueNamed(cycle.cluster(), "a");
  EXPECT_THAT(Names(&cycle, lists.In(a)), ElementsAre("a/old", "a/young"));
  EXPECT_THAT(Names(&cycle, lists.SortedIn(a)), ElementsAre("a/young", "a/old"));
  Evict(&cycle, cycle.rooms.Pod("a/old-0"));
  lists.Update();
  EXPECT_THAT(Names(&cycle, lists.In(a)), ElementsAre("a/young"));
  EXPECT_THAT(Names(&cycle, lists.SortedIn(a)), ElementsAre("a/young"));
}

TEST(VictimListsTest, WhatIsRolledBackIsThereAgain) {
  TestCycle cycle(TwoQueues());
  VictimLists lists(cycle.view);
  const QueueId a = QueueNamed(cycle.cluster(), "a");
  const Statement::Checkpoint start = cycle.view.statement->Mark();
  cycle.view.statement->Evict(cycle.rooms.Pod("a/old-0"));
  lists.Update();
  cycle.view.statement->RollBackTo(start);
  lists.Update();
  EXPECT_THAT(Names(&cycle, lists.In(a)), ElementsAre("a/old", "a/young"));
}

TEST(CandidatesTest, GroupsOfSeveralQueuesAreMergedByAge) {
  TestCycle cycle(TwoQueues().Queue("empty"));
  VictimLists lists(cycle.view);
  const std::vector<QueueId> queues = {QueueNamed(cycle.cluster(), "empty"),
                                       QueueNamed(cycle.cluster(), "a"),
                                       QueueNamed(cycle.cluster(), "b")};
  const Candidates candidates(&lists, queues);
  EXPECT_THAT(Names(&cycle, candidates.All()), ElementsAre("b/first", "a/old", "a/young"));
  EXPECT_THAT(candidates.queues(), ElementsAre(queues[2], queues[1])) << "the oldest first";
  EXPECT_FALSE(candidates.empty());
  EXPECT_TRUE(Candidates(&lists, {queues[0]}).empty());
  EXPECT_THAT(Candidates().All(), IsEmpty());
}

TEST(VictimListsPropertyTest, ListsThatWereKeptAreThoseOfTheCurrentState) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    TestCycle cycle(
        MakeRandomCluster(seed, {.max_nodes = 4, .max_running_groups = 24, .sub_groups = true})
            .Build());
    const Cluster& cluster = cycle.cluster();
    Random random(seed);
    cycle.switches.Set(Switch::kSameCycleEviction, !random.OneIn(4));
    VictimLists kept(cycle.view);
    for (int round = 0; round < 4; ++round) {
      kept.Update();
      VictimLists fresh(cycle.view);
      std::vector<QueueId> leaves;
      for (const QueueId queue : cluster.queues().name.ids()) {
        if (!cluster.queues().IsLeaf(queue)) continue;
        leaves.push_back(queue);
        ASSERT_EQ(kept.In(queue), MayLoseIn(cycle.view, queue));
        ASSERT_EQ(kept.SortedIn(queue), fresh.SortedIn(queue));
      }
      ASSERT_EQ(Candidates(&kept, leaves).All(), MayLose(cycle.view));
      for (const PodId pod : cluster.pods().name.ids()) {
        if (IsActiveAllocated(cluster.pods().status[pod]) && cluster.pods().group[pod].valid() &&
            random.OneIn(6))
          Evict(&cycle, pod);
      }
    }
  }
}

}  // namespace
}  // namespace kai::victim_lists_test
