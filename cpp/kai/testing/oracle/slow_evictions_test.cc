// Tests the plain evictions on worked examples of the specs, and on situations from KAI's own tests
// (spec 2 E1-E34, spec 1 F95, F105, F109).
#include "kai/testing/oracle/slow_evictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/clock.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::oracle::slow_evictions_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Settings AsKai() {
  Settings settings;
  for (size_t i = 0; i < kSwitches; ++i) settings.switches.Set(static_cast<Switch>(i), false);
  return settings;
}

World Of(const ClusterMaker& maker, Settings settings = {}) {
  return World(maker.Rows(), std::move(settings));
}

// "evict ns/pod" and "ns/pod -> node", in order.
std::vector<std::string> Words(const std::vector<Decision>& plan) {
  std::vector<std::string> words;
  for (const Decision& each : plan) {
    words.push_back(each.kind == Decision::Kind::kEvict ? "evict " + each.pod
                                                        : each.pod + " -> " + each.node);
  }
  return words;
}

std::vector<std::string> PlanOf(const ClusterMaker& maker, const std::vector<std::string>& actions,
                                Settings settings = {}) {
  World world = Of(maker, std::move(settings));
  return Words(RunCycle(&world, actions));
}

const std::vector<std::string> kAll = {"allocate", "consolidation", "reclaim", "preempt",
                                       "stalegangeviction"};

// ---- preemption ---------------------------------------------------------------------------------

TEST(OraclePreemptTest, EvictsNoMoreThanItNeeds) {  // spec 2 E18
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 3})
                                 .Running("ns/a", {.gpus = 1, .node = "n1", .priority = 50})
                                 .Running("ns/b", {.gpus = 1, .node = "n1", .priority = 50})
                                 .Running("ns/c", {.gpus = 1, .node = "n1", .priority = 50})
                                 .Pending("ns/new", {.gpus = 1, .priority = 75});
  EXPECT_THAT(PlanOf(maker, {"preempt"}), ElementsAre("evict ns/c-0", "ns/new-0 -> n1"));
  EXPECT_THAT(PlanOf(maker, {"preempt"}, AsKai()), ElementsAre("evict ns/c-0", "ns/new-0 -> n1"));
  EXPECT_THAT(PlanOf(maker, {"consolidation", "reclaim"}), IsEmpty());
}

TEST(OraclePreemptTest, NamesThePodAndTheGroup) {
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 1})
                       .Running("ns/old", {.gpus = 1, .node = "n1", .priority = 50})
                       .Pending("ns/new", {.gpus = 1, .priority = 75}));
  EXPECT_THAT(RunCycle(&world, kAll),
              ElementsAre(Decision{.kind = Decision::Kind::kEvict,
                                   .pod = "ns/old-0",
                                   .action = "preempt",
                                   .for_group = "ns/new"},
                          Decision{Decision::Kind::kPipeline, "ns/new-0", "n1"}));
  EXPECT_EQ(world.StatusOf("ns/old-0"), PodStatus::kReleasing);
  EXPECT_EQ(world.StatusOf("ns/new-0"), PodStatus::kPipelined);
}

TEST(OraclePreemptTest, DoesNotEvictEqualPrioritiesOrOtherQueues) {  // spec 2 E18
  const auto of = [](int64_t priority, const std::string& queue) {
    return MakeCluster()
        .Queue("a")
        .Queue("b")
        .Node("n1", {.gpus = 1})
        .Running("a/old", {.gpus = 1, .node = "n1", .priority = priority})
        .Pending("a/new", {.gpus = 1, .queue = queue, .priority = 75});
  };
  EXPECT_THAT(PlanOf(of(50, "a"), {"preempt"}), SizeIs(2));
  EXPECT_THAT(PlanOf(of(75, "a"), {"preempt"}), IsEmpty());
  EXPECT_THAT(PlanOf(of(80, "a"), {"preempt"}), IsEmpty());
  EXPECT_THAT(PlanOf(of(50, "b"), {"preempt"}), IsEmpty());
}

TEST(OraclePreemptTest, DoesNotPlaceANonPreemptibleGroupBeyondItsQuota) {  // spec 2 E18
  const auto of = [](double deserved) {
    return MakeCluster()
        .Queue("a", {.deserved_gpus = deserved})
        .Node("n1", {.gpus = 1})
        .Running("a/old", {.gpus = 1, .node = "n1", .priority = 50})
        .Pending("a/new", {.gpus = 1, .priority = 100});
  };
  EXPECT_THAT(PlanOf(of(1), {"preempt"}), SizeIs(2));
  EXPECT_THAT(PlanOf(of(0), {"preempt"}), IsEmpty());
}

TEST(OraclePreemptTest, AnElasticVictimLosesOnePodSeveralOrAll) {  // spec 2 E19
  const auto of = [](int64_t gpus) {
    return MakeCluster()
        .Node("n1", {.gpus = 4})
        .Running("ns/e", {.pods = 4, .gpus = 1, .node = "n1", .min_member = 2, .priority = 50})
        .Pending("ns/new", {.gpus = gpus, .priority = 75});
  };
  EXPECT_THAT(PlanOf(of(1), {"preempt"}), ElementsAre("evict ns/e-3", "ns/new-0 -> n1"));
  EXPECT_THAT(PlanOf(of(2), {"preempt"}),
              ElementsAre("evict ns/e-3", "evict ns/e-2", "ns/new-0 -> n1"));
  EXPECT_THAT(PlanOf(of(3), {"preempt"}), SizeIs(5));
}

TEST(OraclePreemptTest, AGangUsesWholeNodes) {  // spec 2 E20, smaller
  ClusterMaker maker = MakeCluster();
  for (int i = 0; i < 3; ++i) {
    const std::string node = "n" + std::to_string(i);
    maker.Node(node, {.gpus = 2});
    maker.Running("ns/a" + node, {.gpus = 1, .node = node, .priority = 50});
    maker.Running("ns/b" + node, {.gpus = 1, .node = node, .priority = 50});
  }
  maker.Pending("ns/gang", {.pods = 3, .gpus = 2, .min_member = 3, .priority = 75});
  for (const Settings& settings : {Settings(), AsKai()}) {
    EXPECT_THAT(PlanOf(maker, {"preempt"}, settings), SizeIs(9));
  }
}

// spec 2 V3: also the nodes of recorded victims
TEST(OraclePreemptTest, GangsMayNeedANodeForEveryPod) {
  ClusterMaker maker = MakeCluster();
  for (int i = 0; i < 5; ++i) {
    const std::string node = "n" + std::to_string(i);
    maker.Node(node, {.gpus = 1}).Running("ns/" + node, {.gpus = 1, .node = node, .priority = 50});
  }
  maker.Pending("ns/gang", {.pods = 5, .gpus = 1, .min_member = 5, .priority = 75});
  for (const Settings& settings : {Settings(), AsKai()}) {
    EXPECT_THAT(PlanOf(maker, {"preempt"}, settings), SizeIs(10));
  }
}

TEST(OraclePreemptTest, RecordsASiblingThatStayed) {  // beside pods that did not stay
  // n1 is emptied. Of e, e-1 is placed again on its node. It uses e's only attempt in the final
  // probe, although e-2 could move to n2 if e-1 were not tried.
  const ClusterMaker maker =
      MakeCluster()
          .Node("n1", {.gpus = 2, .labels = {{"disk", "ssd"}}})
          .Node("n2", {.gpus = 4})
          .Running("ns/e", {.pods = 2, .gpus = 1, .node = "n2", .min_member = 1})
          .Running("ns/e", {.gpus = 1, .node = "n1"})
          .Running("ns/e", {.gpus = 1, .node = "n2"})
          .Running("ns/y", {.gpus = 1, .node = "n1"})
          .Pending("ns/new", {.gpus = 2, .node_selector = {{"disk", "ssd"}}, .priority = 75});
  EXPECT_THAT(PlanOf(maker, {"preempt"}),
              ElementsAre("evict ns/e-3", "evict ns/e-2", "evict ns/y-0", "ns/new-0 -> n1",
                          "ns/y-0 -> n2"));
}

TEST(OraclePreemptTest, AProtectedGroupLosesOnlyPodsAboveItsMinimum) {  // spec 1 F104, F106
  const auto of = [](int64_t gpus, int64_t min_member) {
    ClusterMaker maker = MakeCluster();
    maker.Node("n1", {.gpus = 2})
        .Running("ns/e",
                 {.pods = 2, .gpus = 1, .node = "n1", .min_member = min_member, .priority = 50})
        .Pending("ns/new", {.gpus = gpus, .priority = 75});
    maker.rows().pod_groups[0].last_start_ns = kTestNowNs - kSecondNs;
    return maker;
  };
  Settings settings;
  EXPECT_THAT(PlanOf(of(1, 2), {"preempt"}, settings), SizeIs(3));
  settings.preempt_min_runtime_ns = 2 * kSecondNs;
  EXPECT_THAT(PlanOf(of(1, 2), {"preempt"}, settings), IsEmpty());
  EXPECT_THAT(PlanOf(of(1, 1), {"preempt"}, settings), SizeIs(2));
  EXPECT_THAT(PlanOf(of(2, 1), {"preempt"}, settings), IsEmpty());
  settings.preempt_min_runtime_ns = kSecondNs;  // has just ended
  EXPECT_THAT(PlanOf(of(2, 1), {"preempt"}, settings), SizeIs(3));
}

TEST(OraclePreemptTest, ADelayedGroupEvictsNothing) {  // spec 2 D1, D2, E12
  ClusterMaker maker = MakeCluster();
  maker.Node("n1", {.gpus = 1})
      .Running("ns/old", {.gpus = 1, .node = "n1", .priority = 50})
      .Pending("ns/new", {.gpus = 1, .priority = 75});
  PodGroupRow& row = maker.rows().pod_groups[1];
  row.preemption_delay_ns = 10 * kSecondNs;
  EXPECT_THAT(PlanOf(maker, kAll), SizeIs(2));
  row.created_ns = kTestNowNs - 5 * kSecondNs;
  EXPECT_THAT(PlanOf(maker, kAll), IsEmpty());
  row.created_ns = kTestNowNs - 10 * kSecondNs;
  EXPECT_THAT(PlanOf(maker, kAll), SizeIs(2));
  row.last_eviction_ns = kTestNowNs - 5 * kSecondNs;
  EXPECT_THAT(PlanOf(maker, kAll), IsEmpty());
}

// ---- consolidation ------------------------------------------------------------------------------

// The cycle of spec 2 E34.
ClusterMaker Worked() {
  return MakeCluster()
      .Queue("q0", {.deserved_gpus = 4})
      .Queue("q1", {.deserved_gpus = 4})
      .Node("node0", {.gpus = 4})
      .Node("node1", {.gpus = 4})
      .Running("q0/j0", {.gpus = 2, .node = "node0"})
      .Running("q0/j1", {.gpus = 2, .node = "node1"})
      .Running("q0/j2", {.gpus = 1, .node = "node1"})
      .Pending("q0/p0", {.gpus = 3})
      .Pending("q1/p1", {.gpus = 4});
}

TEST(OracleWorkedCycleTest, ConsolidationMovesOnePodSoThatAnotherFits) {
  EXPECT_THAT(PlanOf(Worked(), {"allocate", "consolidation"}),
              ElementsAre("evict q0/j1-0", "q0/j1-0 -> node0", "q0/p0-0 -> node1"));
}

TEST(OracleWorkedCycleTest, ReclaimMovesSomeVictimsAndEvictsTheRest) {
  for (const Settings& settings : {Settings(), AsKai()}) {
    EXPECT_THAT(
        PlanOf(Worked(), {"allocate", "reclaim"}, settings),
        ElementsAre("evict q0/j2-0", "evict q0/j1-0", "q1/p1-0 -> node1", "q0/j1-0 -> node0"));
  }
}

TEST(OracleConsolidationTest, MovesOneElasticPodButNotTwo) {  // spec 2 E21
  const auto of = [](int64_t gpus) {
    return MakeCluster()
        .Node("n1", {.gpus = 4})
        .Node("n2", {.gpus = 4})
        .Running("ns/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 1})
        .Running("ns/full", {.gpus = 2, .node = "n2", .preemptibility = "non-preemptible"})
        .Pending("ns/new", {.gpus = gpus});
  };
  EXPECT_THAT(PlanOf(of(3), {"consolidation"}),
              ElementsAre("evict ns/e-1", "ns/new-0 -> n1", "ns/e-1 -> n2"));
  EXPECT_THAT(PlanOf(of(4), {"consolidation"}), IsEmpty());
}

TEST(OracleConsolidationTest, NeitherServesNorMovesNonPreemptibleGroups) {  // spec 2 E21
  const auto of = [](const std::string& running, const std::string& waiting) {
    return MakeCluster()
        .Node("n1", {.gpus = 2})
        .Node("n2", {.gpus = 2})
        .Running("ns/a", {.gpus = 1, .node = "n1", .preemptibility = running})
        .Running("ns/b", {.gpus = 1, .node = "n2", .preemptibility = running})
        .Pending("ns/new", {.gpus = 2, .preemptibility = waiting});
  };
  EXPECT_THAT(PlanOf(of("preemptible", "preemptible"), {"consolidation"}), SizeIs(3));
  EXPECT_THAT(PlanOf(of("non-preemptible", "preemptible"), {"consolidation"}), IsEmpty());
  EXPECT_THAT(PlanOf(of("preemptible", "non-preemptible"), {"consolidation"}), IsEmpty());
}

TEST(OracleConsolidationTest, TheLimitCountsPodGroups) {  // spec 2 R2
  const auto of = [](int64_t limit) {
    ClusterMaker maker = MakeCluster();
    maker.params().max_consolidation_preemptees = limit;
    maker.Node("n1", {.gpus = 2}).Node("n2", {.gpus = 2});
    maker.Node("n3", {.gpus = 2}).Node("n4", {.gpus = 1});
    maker.Running("ns/a", {.gpus = 1, .node = "n1"});
    maker.Running("ns/b", {.gpus = 1, .node = "n2", .node_selector = {{"no", "where"}}});
    maker.Running("ns/c", {.gpus = 1, .node = "n3", .node_selector = {{"no", "where"}}});
    return maker.Pending("ns/fill", {.gpus = 1}).Pending("ns/new", {.gpus = 2});
  };
  Settings off;
  off.switches.Set(Switch::kConsolidationLimit, false);
  EXPECT_THAT(PlanOf(of(0), {"consolidation"}), Not(testing::Contains("evict ns/a-0")));
  EXPECT_THAT(PlanOf(of(2), {"consolidation"}), Not(testing::Contains("evict ns/a-0")));
  EXPECT_THAT(PlanOf(of(2), {"consolidation"}, off), testing::Contains("evict ns/a-0"));
  EXPECT_THAT(PlanOf(of(3), {"consolidation"}), testing::Contains("evict ns/a-0"));
  EXPECT_THAT(PlanOf(of(-1), {"consolidation"}), testing::Contains("evict ns/a-0"));
}

// ---- reclaim ------------------------------------------------------------------------------------

TEST(OracleReclaimTest, MayMoveVictimsInsteadOfEvicting) {  // spec 2 E22
  ClusterMaker maker = MakeCluster();
  maker.Queue("a", {.deserved_gpus = 2})
      .Queue("b", {.deserved_gpus = 2})
      .Node("n1", {.gpus = 2})
      .Node("n2", {.gpus = 2})
      .Running("a/one", {.gpus = 1, .node = "n1"})
      .Running("a/two", {.gpus = 1, .node = "n2"})
      .Pending("b/new", {.gpus = 2});
  EXPECT_THAT(PlanOf(maker, {"reclaim"}), SizeIs(3));
  maker.params().allow_consolidating_reclaim = false;  // a is at its quota
  EXPECT_THAT(PlanOf(maker, {"reclaim"}), IsEmpty());
}

TEST(OracleReclaimTest, AProtectedQueueDoesNotProtectItsSibling) {  // spec 2 E23
  const ClusterMaker maker = MakeCluster()
                                 .Queue("poor", {.deserved_gpus = 2, .priority = 1})
                                 .Queue("rich", {.deserved_gpus = 0, .priority = 200})
                                 .Queue("new", {.deserved_gpus = 1})
                                 .Node("n1", {.gpus = 3})
                                 .Running("poor/a", {.gpus = 1, .node = "n1"})
                                 .Running("rich/a", {.gpus = 2, .node = "n1"})
                                 .Pending("new/a", {.gpus = 1});
  for (const Settings& settings : {Settings(), AsKai()}) {
    EXPECT_THAT(PlanOf(maker, {"reclaim"}, settings),
                ElementsAre("evict rich/a-0", "new/a-0 -> n1"));
  }
}

TEST(OracleReclaimTest, NothingIsReclaimedBeyondTheFairShare) {
  const auto of = [](int64_t running) {
    ClusterMaker maker = MakeCluster()
                             .Queue("a", {.deserved_gpus = 2})
                             .Queue("b", {.deserved_gpus = 2})
                             .Node("n1", {.gpus = 4});
    maker.Running("a/x", {.pods = 4 - static_cast<int>(running), .gpus = 1, .node = "n1"});
    if (running > 0) {
      maker.Running("b/x", {.pods = static_cast<int>(running), .gpus = 1, .node = "n1"});
    }
    return maker.Pending("b/new", {.gpus = 1});
  };
  EXPECT_THAT(PlanOf(of(0), {"reclaim"}), ElementsAre("evict a/x-3", "b/new-0 -> n1"));
  EXPECT_THAT(PlanOf(of(1), {"reclaim"}), SizeIs(2));
  EXPECT_THAT(PlanOf(of(2), {"reclaim"}), IsEmpty());
}

TEST(OracleReclaimTest, OtherPartsOfTheClusterDoNotBlockReclaim) {  // switch unrelated_blockers
  // The first group in b can never run. With it, b ranks after a, and a/x returns to its place
  // before b/z is placed.
  const ClusterMaker maker = MakeCluster()
                                 .Queue("a", {.deserved_gpus = 1})
                                 .Queue("b", {.deserved_gpus = 2})
                                 .Node("n1", {.gpus = 3})
                                 .Running("a/x", {.gpus = 3, .node = "n1"})
                                 .Pending("b/a", {.gpus = 30, .preemptibility = "preemptible"})
                                 .Pending("b/z", {.gpus = 2});
  Settings off;
  off.switches.Set(Switch::kUnrelatedBlockers, false);
  EXPECT_THAT(PlanOf(maker, {"reclaim"}), ElementsAre("evict a/x-0", "b/z-0 -> n1"));
  EXPECT_THAT(PlanOf(maker, {"reclaim"}, off), IsEmpty());
}

QueueNumbers Gpus(double allocated, double deserved, double fair_share) {
  QueueNumbers numbers;
  numbers.allocated = {0, 0, allocated};
  numbers.deserved[2] = deserved;
  numbers.fair_share[2] = fair_share;
  numbers.limit.fill(-1);
  return numbers;
}

TEST(OracleReclaimRuleTest, TheExamplesOfSpec1F95) {
  const std::map<std::string, std::string> flat = {{"x", ""}, {"y", ""}};
  const Claim claim = {.queue = "x", .preemptible = true, .request = {0, 0, 1}};
  const std::vector<Chunk> one = {{.queue = "y", .amount = {0, 0, 1}}};
  EXPECT_TRUE(MayReclaim({{"x", Gpus(2, 3, 3)}, {"y", Gpus(3, 2, 2)}}, flat, claim, one, 1));
  EXPECT_FALSE(MayReclaim({{"x", Gpus(2, 3, 3)}, {"y", Gpus(2, 2, 2)}}, flat, claim, one, 1));
  EXPECT_TRUE(MayReclaim({{"x", Gpus(2, 3, 3)}, {"y", Gpus(3, 2, 3)}}, flat, claim, one, 1));
  const std::vector<Chunk> gang = {{.queue = "y", .amount = {0, 0, 4}}};
  EXPECT_TRUE(MayReclaim({{"x", Gpus(2, 3, 3)}, {"y", Gpus(4, 2, 2)}}, flat, claim, gang, 1));
}

TEST(OracleReclaimRuleTest, TheSaturationOfSpec1F95) {
  const std::map<std::string, std::string> parents = {
      {"d1", ""}, {"d2", ""}, {"x", "d1"}, {"y", "d2"}};
  const std::map<std::string, QueueNumbers> numbers = {
      {"d1", Gpus(4, 0, 4)}, {"d2", Gpus(7, 0, 3)}, {"x", Gpus(0, 0, 4)}, {"y", Gpus(7, 0, 3)}};
  const Claim claim = {.queue = "x", .preemptible = true, .request = {0, 0, 1}};
  const std::vector<Chunk> one = {{.queue = "y", .amount = {0, 0, 1}}};
  EXPECT_TRUE(MayReclaim(numbers, parents, claim, one, 1));
  EXPECT_FALSE(MayReclaim(numbers, parents, claim, one, 1.6));
}

TEST(OracleReclaimRuleTest, TheBranchOfSpec1F95) {
  const std::map<std::string, std::string> parents = {
      {"top", ""}, {"mid1", "top"}, {"mid2", "top"}, {"x", "mid1"}, {"s", "mid1"}, {"y", "mid2"}};
  const std::map<std::string, QueueNumbers> numbers = {
      {"top", Gpus(2, 0, 2)}, {"mid1", Gpus(0.5, 0, 1)}, {"mid2", Gpus(1.5, 0, 1)},
      {"x", Gpus(0, 0, 1)},   {"s", Gpus(0.5, 0, 0)},    {"y", Gpus(1.5, 0, 1)}};
  const Claim claim = {.queue = "x", .preemptible = true, .request = {0, 0, 1}};
  const Chunk far = {.queue = "y", .amount = {0, 0, 1.5}};
  const Chunk near = {.queue = "s", .amount = {0, 0, 0.5}};
  EXPECT_FALSE(MayReclaim(numbers, parents, claim, {far}, 1));
  EXPECT_TRUE(MayReclaim(numbers, parents, claim, {far, near}, 1));
}

TEST(OracleRuntimeTest, TheTreeOfSpec1F105) {
  ClusterMaker maker = MakeCluster();
  const auto queue = [&](const std::string& name, const std::string& parent, int64_t seconds) {
    maker.Queue(name, {.parent = parent});
    if (seconds >= 0) maker.rows().queues.back().reclaim_min_runtime_ns = seconds * kSecondNs;
  };
  queue("a", "", -1);
  queue("b", "a", 600);
  queue("c", "b", -1);
  queue("d", "b", 60);
  queue("leaf1", "c", 0);
  queue("leaf2", "c", 180);
  queue("leaf3", "d", -1);
  queue("other", "", -1);
  Settings settings;
  settings.reclaim_min_runtime_ns = 7 * kSecondNs;
  const World world = Of(maker, settings);
  EXPECT_EQ(MinRuntimeNs(world, "reclaim", "leaf1", "leaf3"), 60 * kSecondNs);
  EXPECT_EQ(MinRuntimeNs(world, "reclaim", "leaf1", "leaf2"), 180 * kSecondNs);
  EXPECT_EQ(MinRuntimeNs(world, "reclaim", "leaf3", "leaf1"), 600 * kSecondNs);
  EXPECT_EQ(MinRuntimeNs(world, "reclaim", "other", "leaf2"), 7 * kSecondNs);  // only of the top
  EXPECT_EQ(MinRuntimeNs(world, "preempt", "leaf2", "leaf2"), 0);
}

// ---- victims ------------------------------------------------------------------------------------

TEST(OracleVictimTest, QueuesTakeTurns) {  // the example of spec 1 F109
  ClusterMaker maker = MakeCluster().Queue("q2").Queue("q1").Node("n1", {.gpus = 6});
  std::vector<std::string> groups;
  for (const int64_t priority : {98, 99, 100}) {
    for (const std::string queue : {"q1", "q2"}) {
      groups.push_back(queue + "/" + std::to_string(priority));
      maker.Running(groups.back(), {.gpus = 1, .node = "n1", .priority = priority});
    }
  }
  for (const Settings& settings : {Settings(), AsKai()}) {
    EXPECT_EQ(VictimOrder(Of(maker, settings), groups), groups);
  }
}

TEST(OracleVictimTest, LossesOfAQueueCountInAllAncestors) {  // switch victim_shares
  const ClusterMaker maker = MakeCluster()
                                 .Queue("a")
                                 .Queue("a1", {.parent = "a"})
                                 .Queue("a2", {.parent = "a"})
                                 .Queue("b")
                                 .Queue("b1", {.parent = "b"})
                                 .Node("n1", {.gpus = 8})
                                 .Running("a1/x", {.gpus = 2, .node = "n1"})
                                 .Running("a2/x", {.gpus = 2, .node = "n1"})
                                 .Running("b1/x", {.gpus = 1, .node = "n1"})
                                 .Running("b1/y", {.gpus = 1, .node = "n1"})
                                 .Running("b1/z", {.gpus = 1, .node = "n1"});
  const std::vector<std::string> groups = {"a1/x", "a2/x", "b1/x", "b1/y", "b1/z"};
  Settings off;
  off.switches.Set(Switch::kVictimShares, false);
  EXPECT_THAT(VictimOrder(Of(maker), groups), ElementsAre("b1/z", "a2/x", "b1/y", "a1/x", "b1/x"));
  EXPECT_THAT(VictimOrder(Of(maker, off), groups),
              ElementsAre("b1/z", "a2/x", "a1/x", "b1/y", "b1/x"));
}

TEST(OracleVictimTest, RecordedVictimsAreNotCountedTwice) {  // spec 2 E24
  const World world =
      Of(MakeCluster()
             .Node("n1", {.gpus = 4})
             .Running("ns/e", {.pods = 4, .gpus = 1, .node = "n1", .min_member = 2}));
  EXPECT_THAT(
      Bases(world, {"ns/e"}, {"ns/e-3"}),
      ElementsAre(IsEmpty(), ElementsAre("ns/e-2"), ElementsAre("ns/e-2", "ns/e-1", "ns/e-0")));
  EXPECT_THAT(Bases(world, {"ns/e"}, {}), ElementsAre(IsEmpty(), SizeIs(1), SizeIs(2), SizeIs(4)));
}

TEST(OracleVictimTest, PrefixesOfSpec2V9) {
  EXPECT_THAT(PrefixSizes({1, 1, 2, 4, 4}, 3), ElementsAre(3, 4, 5));
  EXPECT_THAT(PrefixSizes({1, 1, 1, 1, 1, 1, 1, 1}, 0), ElementsAre(0, 1, 3, 7, 8));
  EXPECT_THAT(PrefixSizes({1, 1}, 3), IsEmpty());
}

// Two replicas; one is enough. Each has a leader and a worker, one pod more than it needs.
ClusterMaker Replicas(std::optional<int64_t> min_sub_group) {
  PodGroupRow row;
  row.namespace_name = "ns";
  row.name = "g";
  row.queue = "default";
  row.min_sub_group = min_sub_group;
  row.created_ns = 1;
  for (const std::string name : {"a", "b"}) {
    row.sub_groups.emplace_back();
    row.sub_groups.back().name = name;
    row.sub_groups.back().min_member = 1;
  }
  ClusterMaker maker = MakeCluster();
  maker.Add(row).Node("n1", {.gpus = 4});
  return maker;
}

TEST(OracleVictimTest, SurplusPodsAreEvictedFirstThenSurplusChildren) {  // spec 2 G14, E9
  ClusterMaker maker = Replicas(1);
  maker.Running("ns/g", {.pods = 2, .gpus = 1, .node = "n1", .subgroup = "a"})
      .Running("ns/g", {.gpus = 1, .node = "n1", .subgroup = "b"});
  const World world = Of(maker);
  EXPECT_THAT(NextBatch(world, "ns/g", {"ns/g-0", "ns/g-1", "ns/g-2"}), ElementsAre("ns/g-1"));
  EXPECT_THAT(NextBatch(world, "ns/g", {"ns/g-0", "ns/g-2"}), ElementsAre("ns/g-2"));
  EXPECT_THAT(NextBatch(world, "ns/g", {"ns/g-0"}), ElementsAre("ns/g-0"));
  EXPECT_THAT(NextBatch(world, "ns/g", {}), IsEmpty());
}

TEST(OracleVictimTest, AnUnsatisfiedGroupIsEvictedWhole) {  // spec 2 E9
  const World world =
      Of(MakeCluster()
             .Node("n1", {.gpus = 4})
             .Running("ns/g", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 3}));
  EXPECT_THAT(NextBatch(world, "ns/g", {"ns/g-0", "ns/g-1"}), ElementsAre("ns/g-1", "ns/g-0"));
}

// ---- earlier decisions of the same cycle --------------------------------------------------------

TEST(OracleCycleTest, PodsPlacedInACycleAreNotItsVictims) {  // switch same_cycle_eviction
  const ClusterMaker maker = MakeCluster()
                                 .Queue("a", {.deserved_gpus = 0, .limit_gpus = 1})
                                 .Queue("b", {.deserved_gpus = 1})
                                 .Node("n1", {.gpus = 1})
                                 .Pending("a/old", {.gpus = 1})
                                 .Pending("b/new", {.gpus = 1});
  Settings settings;
  settings.switches.Set(Switch::kSameCycleEviction, false);
  EXPECT_THAT(PlanOf(maker, {"allocate"}), SizeIs(1));
  World world = Of(maker);
  world.Place("a/old-0", "n1");
  EXPECT_THAT(Words(RunCycle(&world, {"reclaim"})), IsEmpty());
  world = Of(maker, settings);
  world.Place("a/old-0", "n1");
  EXPECT_THAT(Words(RunCycle(&world, {"reclaim"})), ElementsAre("evict a/old-0", "b/new-0 -> n1"));
}

TEST(OracleCycleTest, AnEvictionIsRecorded) {  // spec 2 D1
  ClusterMaker maker = MakeCluster();
  maker.Node("n1", {.gpus = 2})
      .Running("ns/tiny", {.gpus = 1, .node = "n1", .priority = 30})
      .Running("ns/low", {.gpus = 1, .node = "n1", .min_member = 1, .priority = 40});
  World world = Of(maker.Pending("ns/high", {.gpus = 2, .priority = 75}));
  RunCycle(&world, {"preempt"});
  for (const std::string group : {"ns/tiny", "ns/low"}) {
    EXPECT_EQ(world.group(world.kept().GroupIndex(group)).last_eviction_ns, kTestNowNs);
  }
  EXPECT_FALSE(world.group(world.kept().GroupIndex("ns/high")).last_eviction_ns.has_value());
}

TEST(OracleCycleTest, TheFirstPlacementSetsTheStartTime) {  // spec 1 F103
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 1})
                       .Releasing("ns/old", {.gpus = 1, .node = "n1"})
                       .Node("n2", {.gpus = 1})
                       .Pending("ns/now", {.gpus = 1})
                       .Pending("ns/later", {.gpus = 1}));
  RunCycle(&world, {"allocate"});
  EXPECT_EQ(world.group(world.kept().GroupIndex("ns/now")).last_start_ns, kTestNowNs);
  EXPECT_EQ(world.StatusOf("ns/later-0"), PodStatus::kPipelined);
  EXPECT_FALSE(world.group(world.kept().GroupIndex("ns/later")).last_start_ns.has_value());
}

TEST(OracleCycleTest, AScenarioThatLeavesTheGroupUnsatisfiedIsUndone) {  // spec 2 W1, W2
  ClusterMaker maker = Replicas(1);
  maker.Running("ns/low", {.pods = 4, .gpus = 1, .node = "n1", .min_member = 0, .priority = 40})
      .Pending("ns/g", {.gpus = 1, .subgroup = "a"})
      .Pending("ns/g", {.gpus = 1, .subgroup = "b"});
  Settings off;
  off.switches.Set(Switch::kMinSubGroup, false);
  EXPECT_THAT(PlanOf(maker, {"preempt"}), SizeIs(2));
  World world = Of(maker, off);
  EXPECT_THAT(RunCycle(&world, {"preempt"}), IsEmpty());
  EXPECT_EQ(world.StatusOf("ns/g-0"), PodStatus::kPending);
}

TEST(OracleCycleTest, ASignatureThatFailedIsNotTriedAgain) {  // spec 2 H4, switch signature_skip
  // first fails, as top cannot be evicted. second requests fewer GPUs but more memory, so it is not
  // easier.
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 2, .mb = 4000})
                                 .Running("ns/low", {.gpus = 1, .node = "n1", .priority = 40})
                                 .Running("ns/top", {.gpus = 1, .node = "n1", .priority = 90})
                                 .Pending("ns/first", {.gpus = 2, .mb = 1, .priority = 80})
                                 .Pending("ns/second", {.gpus = 1, .mb = 2, .priority = 70});
  Settings off;
  off.switches.Set(Switch::kSignatureSkip, false);
  EXPECT_THAT(PlanOf(maker, {"preempt"}), ElementsAre("evict ns/low-0", "ns/second-0 -> n1"));
  EXPECT_THAT(PlanOf(maker, {"preempt"}, off), IsEmpty());
}

// ---- stale gangs --------------------------------------------------------------------------------

ClusterMaker Gang(std::optional<int64_t> since_s, std::optional<int64_t> grace_s) {
  ClusterMaker maker = MakeCluster();
  maker.Node("n1", {.gpus = 2}).Running("ns/g", {.gpus = 1, .node = "n1", .min_member = 2});
  PodGroupRow& row = maker.rows().pod_groups[0];
  if (since_s) row.stale_since_ns = kTestNowNs - *since_s * kSecondNs;
  if (grace_s) row.staleness_grace_ns = *grace_s * kSecondNs;
  return maker;
}

TEST(OracleStaleTest, AStaleGangIsEvictedAfterItsGracePeriod) {  // spec 2 E29
  const auto evicted = [](std::optional<int64_t> since_s, std::optional<int64_t> grace_s) {
    return !PlanOf(Gang(since_s, grace_s), kAll).empty();
  };
  EXPECT_FALSE(evicted(1, {}));
  EXPECT_TRUE(evicted(61, {}));
  EXPECT_TRUE(evicted(30, 10));
  EXPECT_FALSE(evicted(61, 120));
  EXPECT_FALSE(evicted(1000, -1));
  EXPECT_TRUE(evicted({}, 0));
  EXPECT_FALSE(evicted({}, 10));
}

TEST(OracleStaleTest, AGangWithASucceededOrTerminatingPodIsNotStale) {  // spec 2 E29
  ClusterMaker maker = Gang(61, {});
  maker.Succeeded("ns/g");
  EXPECT_THAT(PlanOf(maker, kAll), IsEmpty());
  maker = Gang(61, {});
  maker.Releasing("ns/g", {.node = "n1"});
  EXPECT_THAT(PlanOf(maker, kAll), IsEmpty());  // a leaving pod still counts
  World world = Of(Gang(61, {}));
  EXPECT_THAT(RunCycle(&world, kAll),
              ElementsAre(Decision{
                  .kind = Decision::Kind::kEvict, .pod = "ns/g-0", .action = "stalegangeviction"}));
  EXPECT_FALSE(world.group(0).last_eviction_ns.has_value());
}

TEST(OracleStaleTest, OneReplicaOfTwoIsEnough) {  // switch min_sub_group
  ClusterMaker maker = Replicas(1);
  maker.Running("ns/g", {.gpus = 1, .node = "n1", .subgroup = "a"});
  maker.rows().pod_groups[0].staleness_grace_ns = 0;
  EXPECT_THAT(PlanOf(maker, kAll), IsEmpty());
  EXPECT_THAT(PlanOf(maker, kAll, AsKai()), SizeIs(1));
}

TEST(OracleStaleTest, SucceededPodsCountAsPresent) {  // switch completed_pods
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 2})
                                 .Succeeded("ns/g", {.min_member = 2})
                                 .Pending("ns/g", {.gpus = 1});
  EXPECT_THAT(PlanOf(maker, {"allocate"}), ElementsAre("ns/g-1 -> n1"));
  EXPECT_THAT(PlanOf(maker, {"allocate"}, AsKai()), IsEmpty());
}

TEST(OracleQueueDepthTest, TheBestGroupsStay) {  // the example of spec 2 W9
  const auto of = [](bool fixed) {
    Settings settings{.depth = 2};
    settings.switches.Set(Switch::kQueueDepth, fixed);
    return PlanOf(MakeCluster()
                      .Node("n1", {.gpus = 8})
                      .Pending("ns/two", {.gpus = 1, .priority = 70})
                      .Pending("ns/three", {.gpus = 1, .priority = 60})
                      .Pending("ns/one", {.gpus = 1, .priority = 80}),
                  {"allocate"}, settings);
  };
  EXPECT_THAT(of(true), ElementsAre("ns/one-0 -> n1", "ns/two-0 -> n1"));
  EXPECT_THAT(of(false), ElementsAre("ns/one-0 -> n1", "ns/three-0 -> n1"));
}

// ---- invariants on random clusters --------------------------------------------------------------

// Many running pods, some of them protected, with short delays, or in broken gangs.
ClusterRows Crowded(uint64_t seed) {
  Random random(seed);
  RandomClusterOptions options{
      .max_nodes = 5, .max_queue_levels = 2, .max_groups = 8, .max_pods = 4};
  options.max_running_groups = 16;
  options.bad_nodes = options.taints = options.pod_affinity = options.mig = false;
  options.labels = options.foreign = options.shared_gpus = false;
  options.cpu_only = random.Coin();
  options.sub_groups = random.Coin();
  ClusterRows rows = MakeRandomCluster(seed, options);
  for (PodGroupRow& group : rows.pod_groups) {
    if (random.OneIn(3)) group.last_start_ns = kTestNowNs - random.Between(0, 20) * kSecondNs;
    if (random.OneIn(6)) group.preemption_delay_ns = random.Between(0, 20) * kSecondNs;
    if (random.OneIn(6)) group.last_eviction_ns = kTestNowNs - random.Between(0, 20) * kSecondNs;
    if (random.OneIn(6)) group.staleness_grace_ns = random.Between(-1, 1) * kSecondNs;
  }
  for (QueueRow& queue : rows.queues) {
    if (random.OneIn(4)) queue.reclaim_min_runtime_ns = 10 * kSecondNs;
    if (random.OneIn(4)) queue.preempt_min_runtime_ns = 10 * kSecondNs;
  }
  rows.params.max_consolidation_preemptees = random.Between(-1, 4);
  rows.params.allow_consolidating_reclaim = random.Coin();
  return rows;
}

TEST(OracleCycleTest, RandomCyclesKeepAllInvariants) {
  std::map<std::string, int64_t> evictions;  // by action
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Settings settings = seed % 4 == 0 ? AsKai() : Settings();
    settings.switches.Set(Switch::kSameCycleEviction,
                          true);  // otherwise promises exceed the capacity
    World world(Crowded(seed), settings);
    const World before = world;
    const std::vector<Decision> plan = RunCycle(&world, kAll);
    World again = before;
    EXPECT_EQ(RunCycle(&again, kAll), plan);

    std::map<std::string, const Decision*> last;  // by pod
    for (const Decision& each : plan) {
      const bool evicts = each.kind == Decision::Kind::kEvict;
      if (evicts) {
        ++evictions[each.action];
        EXPECT_TRUE(IsActiveAllocated(before.StatusOf(each.pod))) << each;
      }
      // One decision per pod, except pods that are evicted and then moved.
      const Decision*& previous = last[each.pod];
      EXPECT_TRUE(previous == nullptr ||
                  (previous->kind == Decision::Kind::kEvict &&
                   each.kind == Decision::Kind::kPipeline && each.node != before.NodeOf(each.pod)))
          << each;
      previous = &each;
    }
    for (const auto& [pod, decision] : last) {
      const PodStatus status = decision->kind == Decision::Kind::kBind ? PodStatus::kAllocated
                               : decision->kind == Decision::Kind::kPipeline
                                   ? PodStatus::kPipelined
                                   : PodStatus::kReleasing;
      EXPECT_EQ(world.StatusOf(pod), status) << pod;
      if (!decision->node.empty()) {
        EXPECT_EQ(world.NodeOf(pod), decision->node) << pod;
        const double room =
            world.Idle(decision->node).at("gpu") + world.Releasing(decision->node).at("gpu");
        EXPECT_GE(room, 0) << decision->node;
      }
    }
    for (const std::string& group : world.PodGroups()) {  // the rest did not change
      for (const std::string& pod : world.PodsOf(group)) {
        if (last.contains(pod)) continue;
        EXPECT_EQ(world.StatusOf(pod), before.StatusOf(pod)) << pod;
        EXPECT_EQ(world.NodeOf(pod), before.NodeOf(pod)) << pod;
      }
    }
  }
  for (const std::string action : {"consolidation", "reclaim", "preempt", "stalegangeviction"}) {
    EXPECT_GT(evictions[action], 5) << action;
  }
}

}  // namespace
}  // namespace kai::oracle::slow_evictions_test
