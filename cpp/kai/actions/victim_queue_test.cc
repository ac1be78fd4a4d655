#include "kai/actions/victim_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/actions/cycle_for_test.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_evictions.h"

namespace kai::victim_queue_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

using Strings = std::vector<std::string>;

// The batches that these groups give up, with `recorded` victims.
Strings Batches(TestCycle* cycle, const Strings& groups, const Strings& recorded = {}) {
  const std::vector<PodGroupId> candidates = cycle->Groups(groups);
  VictimPool pool(cycle->view, Candidates(candidates));
  VictimQueue queue(&pool);
  PodMarks marks(cycle->cluster().pods().size());
  for (const std::string& pod : recorded) marks.Set(cycle->rooms.Pod(pod));
  Strings batches;
  while (const std::optional<VictimBatch> batch = queue.Next(marks)) {
    batches.push_back(cycle->Text(batch->pods));
    for (const PodId pod : batch->pods) EXPECT_EQ(cycle->cluster().pods().group[pod], batch->group);
  }
  return batches;
}
Strings Batches(const ClusterMaker& maker, const Strings& groups, const Strings& recorded = {}) {
  TestCycle cycle(maker);
  return Batches(&cycle, groups, recorded);
}

// ---- in one queue (spec 1 F108)

TEST(VictimQueueTest, TheLowestPriorityIsEvictedFirstThenTheYoungest) {
  EXPECT_THAT(Batches(MakeCluster()
                          .Node("n", {.gpus = 8})
                          .Running("ns/old", {.gpus = 1, .node = "n", .priority = 50})
                          .Running("ns/high", {.gpus = 1, .node = "n", .priority = 60})
                          .Running("ns/young", {.gpus = 1, .node = "n", .priority = 50})
                          .Running("ns/low", {.gpus = 1, .node = "n", .priority = 40}),
                      {"ns/old", "ns/high", "ns/young", "ns/low"}),
              ElementsAre("ns/low-0", "ns/young-0", "ns/old-0", "ns/high-0"));
}

TEST(VictimQueueTest, GroupsAboveTheirMinimumAreEvictedBeforeGroupsAtIt) {
  // e gives up the pods above its minimum, and returns as an older group at its minimum.
  EXPECT_THAT(Batches(MakeCluster()
                          .Node("n", {.gpus = 8})
                          .Running("ns/e", {.pods = 4, .gpus = 1, .node = "n", .min_member = 2})
                          .Running("ns/gang", {.pods = 2, .gpus = 1, .node = "n", .min_member = 2}),
                      {"ns/e", "ns/gang"}),
              ElementsAre("ns/e-3", "ns/e-2", "ns/gang-1 ns/gang-0", "ns/e-1 ns/e-0"));
}

TEST(VictimQueueTest, PriorityComesBeforeTheMinimum) {
  EXPECT_THAT(
      Batches(
          MakeCluster()
              .Node("n", {.gpus = 8})
              .Running("ns/e", {.pods = 2, .gpus = 1, .node = "n", .min_member = 1, .priority = 60})
              .Running("ns/low", {.gpus = 1, .node = "n", .min_member = 1, .priority = 50}),
          {"ns/e", "ns/low"}),
      ElementsAre("ns/low-0", "ns/e-1", "ns/e-0"));
}

TEST(VictimQueueTest, OnlyCandidatesAreEvicted) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n", {.gpus = 8})
                                 .Running("ns/a", {.gpus = 1, .node = "n"})
                                 .Running("ns/b", {.gpus = 1, .node = "n"})
                                 .Pending("ns/waits", {.gpus = 1});
  EXPECT_THAT(Batches(maker, {"ns/a"}), ElementsAre("ns/a-0"));
  EXPECT_THAT(Batches(maker, {"ns/waits"}), IsEmpty());
  EXPECT_THAT(Batches(maker, {}), IsEmpty());
}

// ---- between queues (spec 1 F109)

ClusterMaker TwoQueuesOfThree() {
  ClusterMaker maker = MakeCluster().Queue("q2").Queue("q1").Node("n", {.gpus = 6});
  for (const int64_t priority : {98, 99, 100}) {
    for (const std::string queue : {"q1", "q2"}) {
      maker.Running(queue + "/p" + std::to_string(priority),
                    {.gpus = 1, .node = "n", .priority = priority});
    }
  }
  return maker;
}
const Strings kTwoQueuesOfThree = {"q1/p98", "q2/p98", "q1/p99", "q2/p99", "q1/p100", "q2/p100"};

TEST(VictimQueueTest, EqualQueuesTakeTurns) {  // the example of spec 1 F109
  EXPECT_THAT(
      Batches(TwoQueuesOfThree(), kTwoQueuesOfThree),
      ElementsAre("q1/p98-0", "q2/p98-0", "q1/p99-0", "q2/p99-0", "q1/p100-0", "q2/p100-0"));
}

TEST(VictimQueueTest, AQueueAboveItsDeservedAmountGoesFirst) {
  EXPECT_THAT(Batches(MakeCluster()
                          .Queue("poor", {.deserved_gpus = 2})
                          .Queue("rich", {.deserved_gpus = 1})
                          .Queue("starved", {.deserved_gpus = 1})
                          .Node("n", {.gpus = 4})
                          .Running("rich/a", {.gpus = 1, .node = "n"})
                          .Running("rich/b", {.gpus = 1, .node = "n"})
                          .Running("poor/a", {.gpus = 1, .node = "n"})
                          .Running("poor/b", {.gpus = 1, .node = "n"})
                          .Pending("starved/a", {.gpus = 1}),
                      {"rich/a", "rich/b", "poor/a", "poor/b"}),
              ElementsAre("rich/b-0", "rich/a-0", "poor/b-0", "poor/a-0"));
}

TEST(VictimQueueTest, WithoutFairShareTheYoungestQueueDrainsFirst) {
  TestCycle cycle(TwoQueuesOfThree());
  cycle.view.worklist.by_fair_share = false;
  EXPECT_THAT(Batches(&cycle, kTwoQueuesOfThree), ElementsAre("q1/p98-0", "q1/p99-0", "q1/p100-0",
                                                              "q2/p98-0", "q2/p99-0", "q2/p100-0"));
}

// a1 and a2 below a hold two GPUs each; b1 below b has three groups with one GPU.
ClusterMaker TwoBranches() {
  return MakeCluster()
      .Queue("a")
      .Queue("a1", {.parent = "a"})
      .Queue("a2", {.parent = "a"})
      .Queue("b")
      .Queue("b1", {.parent = "b"})
      .Node("n", {.gpus = 8})
      .Running("a1/x", {.gpus = 2, .node = "n"})
      .Running("a2/x", {.gpus = 2, .node = "n"})
      .Running("b1/x", {.gpus = 1, .node = "n"})
      .Running("b1/y", {.gpus = 1, .node = "n"})
      .Running("b1/z", {.gpus = 1, .node = "n"});
}
const Strings kTwoBranches = {"a1/x", "a2/x", "b1/x", "b1/y", "b1/z"};

TEST(VictimQueueTest, VictimsCountInAllAncestorQueues) {  // switch victim_shares
  EXPECT_THAT(Batches(TwoBranches(), kTwoBranches),
              ElementsAre("b1/z-0", "a2/x-0", "b1/y-0", "a1/x-0", "b1/x-0"));
}

TEST(VictimQueueTest, AsKaiVictimsOfOtherLeavesOfABranchDoNotCount) {  // spec 1 W13
  TestCycle cycle(TwoBranches());
  cycle.switches.Set(Switch::kVictimShares, false);
  EXPECT_THAT(Batches(&cycle, kTwoBranches),
              ElementsAre("b1/z-0", "a2/x-0", "a1/x-0", "b1/y-0", "b1/x-0"));
}

// ---- recorded victims (spec 2 V8)

ClusterMaker ElasticFour() {
  return MakeCluster()
      .Node("n", {.gpus = 8})
      .Running("ns/e", {.pods = 4, .gpus = 1, .node = "n", .min_member = 2});
}

TEST(RecordedVictimsTest, ARecordedPodIsNotGivenUpAgain) {  // spec 2 E24: sizes 0, 1, 3
  EXPECT_THAT(Batches(ElasticFour(), {"ns/e"}, {"ns/e-3"}), ElementsAre("ns/e-2", "ns/e-1 ns/e-0"));
  EXPECT_THAT(Batches(ElasticFour(), {"ns/e"}, {"ns/e-3", "ns/e-2"}), ElementsAre("ns/e-1 ns/e-0"));
}

TEST(RecordedVictimsTest, AGroupThatIsRecordedWholeIsSkipped) {
  EXPECT_THAT(Batches(MakeCluster()
                          .Node("n", {.gpus = 8})
                          .Running("ns/a", {.pods = 2, .gpus = 1, .node = "n", .min_member = 2})
                          .Running("ns/b", {.gpus = 1, .node = "n"}),
                      {"ns/a", "ns/b"}, {"ns/a-0", "ns/a-1"}),
              ElementsAre("ns/b-0"));
}

TEST(RecordedVictimsTest, TheRestOfARecordedGangIsOneBatch) {
  EXPECT_THAT(Batches(MakeCluster()
                          .Node("n", {.gpus = 8})
                          .Running("ns/a", {.pods = 3, .gpus = 1, .node = "n", .min_member = 3}),
                      {"ns/a"}, {"ns/a-1"}),
              ElementsAre("ns/a-2 ns/a-0"));
}

TEST(RecordedVictimsTest, ARecordedPodOfALaterBatchIsLeftOutOfIt) {
  // e-0 is recorded: e-3 and e-2 are given up as before; the last batch does not contain e-0.
  EXPECT_THAT(Batches(ElasticFour(), {"ns/e"}, {"ns/e-0"}),
              ElementsAre("ns/e-3", "ns/e-2", "ns/e-1"));
}

// ---- the sequence that all probes share

TEST(VictimPoolTest, GroupsThatReturnGiveUpPodsInBatches) {
  TestCycle cycle(MakeCluster()
                      .Node("n", {.gpus = 8})
                      .Running("ns/one", {.gpus = 1, .node = "n", .min_member = 0})
                      .Running("ns/gang", {.pods = 2, .gpus = 1, .node = "n", .min_member = 2})
                      .Running("ns/elastic", {.pods = 2, .gpus = 1, .node = "n", .min_member = 1})
                      .Running("ns/growing", {.pods = 2, .gpus = 1, .node = "n", .min_member = 2})
                      .Pending("ns/growing"));
  const Strings names = {"ns/one", "ns/gang", "ns/elastic", "ns/growing"};
  const std::vector<PodGroupId> candidates = cycle.Groups(names);
  const VictimPool pool(cycle.view, Candidates(candidates));
  EXPECT_TRUE(pool.GivesAllAtOnce(cycle.rooms.Group("ns/one")));
  EXPECT_TRUE(pool.GivesAllAtOnce(cycle.rooms.Group("ns/gang")));
  EXPECT_FALSE(pool.GivesAllAtOnce(cycle.rooms.Group("ns/elastic")));
  EXPECT_FALSE(pool.GivesAllAtOnce(cycle.rooms.Group("ns/growing"))) << "a pod of it waits";
}

TEST(VictimPoolTest, TheSequenceIsComputedOnceAndReadInAnyOrder) {
  TestCycle cycle(TwoBranches());
  const std::vector<PodGroupId> candidates = cycle.Groups(kTwoBranches);
  VictimPool pool(cycle.view, Candidates(candidates));
  EXPECT_FALSE(pool.BatchAt(5).has_value());
  EXPECT_EQ(cycle.Text(pool.BatchAt(3)->pods), "a1/x-0");
  EXPECT_EQ(cycle.Text(pool.BatchAt(0)->pods), "b1/z-0");
  EXPECT_EQ(pool.BatchAt(1)->group, cycle.rooms.Group("a2/x"));
}

// The pod groups of a random cluster that may lose pods.
std::vector<PodGroupId> Losers(const Cluster& cluster) {
  return cluster.pod_groups().lists.may_lose;
}

TEST(VictimPoolPropertyTest, WithoutReturningRecordedVictimsTheSequenceIsThatOfAVictimQueue) {
  // Tests the shortcut of ScenarioBase: it removes batches of recorded groups from the shared
  // sequence.
  size_t skipped = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    TestCycle cycle(
        MakeRandomCluster(seed, {.max_nodes = 4, .max_running_groups = 24, .sub_groups = true})
            .Build());
    Random random(seed);
    cycle.switches.Set(Switch::kVictimShares, random.Coin());
    const std::vector<PodGroupId> candidates = Losers(cycle.cluster());
    VictimPool pool(cycle.view, Candidates(candidates));
    PodMarks recorded(cycle.cluster().pods().size());
    for (const PodGroupId group : candidates) {
      if (!pool.GivesAllAtOnce(group) || random.OneIn(3)) continue;
      for (const PodId pod : cycle.cluster().pods().name.ids()) {
        if (cycle.cluster().pods().group[pod] == group) recorded.Set(pod);
      }
    }
    Strings sequence;
    for (size_t i = 0;; ++i) {
      const std::optional<VictimBatch> batch = pool.BatchAt(i);
      if (!batch) break;
      if (recorded[batch->pods.front()] == 0) {
        sequence.push_back(cycle.Text(batch->pods));
      } else {
        ++skipped;
      }
    }
    VictimQueue queue(&pool);
    Strings given;
    while (const std::optional<VictimBatch> batch = queue.Next(recorded))
      given.push_back(cycle.Text(batch->pods));
    ASSERT_EQ(sequence, given);
  }
  EXPECT_GT(skipped, size_t{50});
}

TEST(VictimQueuePropertyTest, AgreesWithTheOracle) {
  size_t batches = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const ClusterRows rows = MakeRandomCluster(seed, {.max_nodes = 4, .sub_groups = true});
    TestCycle cycle(rows.Build());
    Random random(seed);
    oracle::Settings settings;
    for (const bool on : {true, false}) {
      settings.switches.Set(Switch::kVictimShares, on);
      cycle.switches.Set(Switch::kVictimShares, on);
      const oracle::World world(rows, settings);
      Strings groups, recorded;
      for (const PodGroupId group : Losers(cycle.cluster()))
        groups.push_back(cycle.cluster().PodGroupName(group));
      for (const PodId pod : cycle.cluster().pods().name.ids()) {
        const PodGroupId group = cycle.cluster().pods().group[pod];
        if (!group.valid() || !cycle.cluster().pods().pod_set[pod].valid() || !random.OneIn(6) ||
            !IsActiveAllocated(cycle.cluster().pods().status[pod]))
          continue;
        const std::string name = cycle.cluster().PodGroupName(group);
        if (std::find(groups.begin(), groups.end(), name) != groups.end())
          recorded.push_back(cycle.cluster().PodName(pod));
      }
      // The oracle lists all pods given up so far.
      Strings grown = {""};
      for (const std::string& batch : Batches(&cycle, groups, recorded))
        grown.push_back(grown.back() + (grown.back().empty() ? "" : " ") + batch);
      Strings expected;
      for (const Strings& base : oracle::Bases(world, groups, recorded)) {
        std::string text;
        for (const std::string& pod : base) text += (text.empty() ? "" : " ") + pod;
        expected.push_back(text);
      }
      ASSERT_THAT(grown, ElementsAreArray(expected)) << "switches on: " << on;
      batches += grown.size() - 1;
    }
  }
  EXPECT_GT(batches, size_t{1000});
}

}  // namespace
}  // namespace kai::victim_queue_test
