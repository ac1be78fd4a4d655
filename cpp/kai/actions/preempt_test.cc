#include "kai/actions/preempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/actions/cycle_for_test.h"
#include "kai/base/clock.h"

namespace kai::preempt_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;

Plan Preempt(const ClusterMaker& maker, std::string_view config = "") {
  return RunActions("preempt", maker, config);
}

std::vector<std::string> Evicted(const Plan& plan) {
  std::vector<std::string> pods;
  for (const CycleLog::Decision& each : plan.decisions) {
    if (each.kind == CycleLog::Decision::Kind::kEvict)
      pods.push_back(plan.cluster->PodName(each.pod));
  }
  return pods;
}

// Three pod groups with one GPU each fill the node.
ClusterMaker FullNode(int64_t priority = 50) {
  return MakeCluster()
      .Queue("q", {.deserved_gpus = 3})
      .Queue("other", {.deserved_gpus = 0})
      .Node("n1", {.gpus = 3})
      .Running("q/a", {.gpus = 1, .node = "n1", .priority = priority})
      .Running("q/b", {.gpus = 1, .node = "n1", .priority = priority})
      .Running("q/c", {.gpus = 1, .node = "n1", .priority = priority});
}

// ---- what it takes (spec 2 R4, E18)

TEST(PreemptTest, EvictsNoMoreThanItNeedsTheYoungestFirst) {
  EXPECT_THAT(Preempt(FullNode().Pending("q/new", {.gpus = 1, .priority = 75})),
              PlanIs(Evicts("q/c-0"), Pipelines("q/new-0", "n1")));
  EXPECT_THAT(Preempt(FullNode().Pending("q/new", {.gpus = 2, .priority = 75})),
              PlanIs(Evicts("q/c-0"), Evicts("q/b-0"), Pipelines("q/new-0", "n1")));
}

TEST(PreemptTest, AsKaiAPodThatWasEvictedTwiceCountsAsTwo) {  // decision 0008
  ClusterMaker maker = MakeCluster();
  for (const char* node : {"n1", "n2", "n3"})
    maker.Node(node, {.gpus = 1}).Running("ns/old", {.gpus = 1, .node = node, .priority = 50});
  maker.Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2, .priority = 90});
  maker.Pending("ns/next", {.gpus = 1, .priority = 75});
  EXPECT_THAT(Evicted(Preempt(maker)), ElementsAre("ns/old-2", "ns/old-1", "ns/old-0"));
  EXPECT_THAT(Evicted(Preempt(maker, AsKai("single_victims"))), ElementsAre("ns/old-2", "ns/old-1"))
      << "ns/old-2 twice, so that none of three counts as left";
}

TEST(PreemptTest, EqualAndHigherPrioritiesAreNotEvicted) {
  for (const int64_t priority : {49, 50}) {
    EXPECT_THAT(Preempt(FullNode(50).Pending("q/new", {.gpus = 1, .priority = priority})),
                PlanIs());
  }
  EXPECT_THAT(Preempt(FullNode(50).Pending("q/new", {.gpus = 1, .priority = 51})),
              PlanIs(Evicts("q/c-0"), Pipelines("q/new-0")));
}

TEST(PreemptTest, GroupsOfOtherQueuesAreNotEvicted) {
  EXPECT_THAT(Preempt(FullNode().Pending("other/new", {.gpus = 1, .priority = 75})), PlanIs());
}

TEST(PreemptTest, ANonPreemptibleGroupIsNeverAVictim) {
  const auto of = [](const char* preemptibility) {
    return MakeCluster()
        .Node("n1", {.gpus = 1})
        .Running("ns/old",
                 {.gpus = 1, .node = "n1", .priority = 50, .preemptibility = preemptibility})
        .Pending("ns/new", {.gpus = 1, .priority = 90});
  };
  EXPECT_THAT(Preempt(of("preemptible")), PlanIs(Evicts("ns/old-0"), Pipelines("ns/new-0")));
  EXPECT_THAT(Preempt(of("non-preemptible")), PlanIs());
}

TEST(PreemptTest, ANonPreemptibleGroupMayPreempt) {  // spec 1 F100
  EXPECT_THAT(Preempt(FullNode().Pending("q/new", {.gpus = 1, .priority = 100})),
              PlanIs(Evicts("q/c-0"), Pipelines("q/new-0")));
}

TEST(PreemptTest, AGroupThatWouldExceedTheQuotaEvictsNothing) {  // spec 1 F99, spec 2 E18
  const auto of = [](double deserved, const char* preemptibility) {
    return MakeCluster()
        .Queue("q", {.deserved_gpus = deserved})
        .Node("n1", {.gpus = 1})
        .Running("q/old", {.gpus = 1, .node = "n1", .priority = 50})
        .Pending("q/new", {.gpus = 1, .priority = 100, .preemptibility = preemptibility});
  };
  EXPECT_THAT(Preempt(of(1, "non-preemptible")), PlanIs(Evicts("q/old-0"), Pipelines("q/new-0")));
  EXPECT_THAT(Preempt(of(0, "non-preemptible")), PlanIs());
  EXPECT_THAT(Preempt(of(0, "preemptible")), PlanIs(Evicts("q/old-0"), Pipelines("q/new-0")));
}

TEST(PreemptTest, WithoutTheQuotaPluginGroupsAboveTheirQuotaPreempt) {
  EXPECT_THAT(Preempt(MakeCluster()
                          .Queue("q", {.deserved_gpus = 0})
                          .Node("n1", {.gpus = 1})
                          .Running("q/old", {.gpus = 1, .node = "n1", .priority = 50})
                          .Pending("q/new", {.gpus = 1, .priority = 100}),
                      R"(, "tiers": [{"plugins": [{"name": "predicates"}, {"name": "priority"},
                  {"name": "nodeplacement"}, {"name": "sg-nodelocalgreedy"}]}])"),
              PlanIs(Evicts("q/old-0"), Pipelines("q/new-0")));
}

TEST(PreemptTest, AGroupThatIsNotReadyEvictsNothing) {
  EXPECT_THAT(Preempt(FullNode().Pending("q/new", {.gpus = 1, .min_member = 2, .priority = 75})),
              PlanIs());
}

TEST(PreemptTest, OverduePodsAreNotVictimsButTheirSiblingsAre) {  // spec 2 E2
  ClusterMaker maker = MakeCluster()
                           .Node("n1", {.gpus = 2})
                           .Releasing("ns/stuck", {.gpus = 1, .node = "n1"})
                           .Running("ns/stuck", {.gpus = 1, .node = "n1"})
                           .Pending("ns/new", {.gpus = 1, .priority = 75});
  maker.rows().pods[0].deletion_ns = kTestNowNs - 300 * kSecondNs;
  EXPECT_THAT(Preempt(maker), PlanIs(Evicts("ns/stuck-1"), Pipelines("ns/new-0")));
  maker.rows().pods[1].deletion_ns = kTestNowNs - 300 * kSecondNs;
  EXPECT_THAT(Preempt(maker), PlanIs());
}

TEST(PreemptTest, NoPodIsEvictedIfResourcesAreBeingFreed) {
  // allocate pipelines onto releasing resources; no eviction is needed after that.
  const ClusterMaker maker = FullNode()
                                 .Node("n2", {.gpus = 1})
                                 .Releasing("q/gone", {.gpus = 1, .node = "n2"})
                                 .Pending("q/new", {.gpus = 1, .priority = 75});
  EXPECT_THAT(RunActions("allocate, preempt", maker), PlanIs(Pipelines("q/new-0", "n2")));
}

TEST(PreemptTest, AGroupWithoutVictimsStillDeterminesTheOrderOfItsQueue) {  // spec 1 F65
  // d and e hold one GPU each and deserve two. d/wide/big comes first in d and would exceed that,
  // so e goes first, although big itself finds no victims.
  ClusterMaker maker = MakeCluster()
                           .Queue("d", {.deserved_gpus = 2})
                           .Queue("wide", {.parent = "d"})
                           .Queue("narrow", {.parent = "d"})
                           .Queue("e", {.deserved_gpus = 2})
                           .Node("n1", {.gpus = 2})
                           .Running("narrow/old", {.gpus = 1, .node = "n1", .priority = 50})
                           .Running("e/old", {.gpus = 1, .node = "n1", .priority = 50})
                           .Pending("narrow/new", {.gpus = 1, .priority = 75})
                           .Pending("e/new", {.gpus = 1, .priority = 75});
  EXPECT_THAT(Preempt(maker), PlanIs(Evicts("narrow/old-0"), Pipelines("narrow/new-0"),
                                     Evicts("e/old-0"), Pipelines("e/new-0")))
      << "d is older";
  EXPECT_THAT(Preempt(maker.Pending("wide/big", {.gpus = 2, .priority = 75})),
              PlanIs(Evicts("e/old-0"), Pipelines("e/new-0"), Evicts("narrow/old-0"),
                     Pipelines("narrow/new-0")));
}

// ---- how much (spec 2 E19, E20, V16)

TEST(PreemptTest, AGangGetsPlacesForAllOfItsPods) {
  EXPECT_THAT(
      Preempt(FullNode().Pending("q/new", {.pods = 3, .gpus = 1, .min_member = 3, .priority = 75})),
      PlanIs(Evicts("q/c-0"), Evicts("q/b-0"), Evicts("q/a-0"), Pipelines(3, "q/new")));
}

TEST(PreemptTest, AGangThatDoesNotFitWholeEvictsNothing) {
  EXPECT_THAT(
      Preempt(FullNode().Pending("q/new", {.pods = 4, .gpus = 1, .min_member = 4, .priority = 75})),
      PlanIs());
}

TEST(PreemptTest, AnElasticGroupGetsOneIncrementPerCycle) {  // spec 2 V16
  EXPECT_THAT(
      Preempt(FullNode().Pending("q/new", {.pods = 3, .gpus = 1, .min_member = 1, .priority = 75})),
      PlanIs(Evicts("q/c-0"), Pipelines("q/new-0")));
}

TEST(PreemptTest, AVictimGangIsEvictedWhole) {
  EXPECT_THAT(
      Preempt(MakeCluster()
                  .Node("n1", {.gpus = 3})
                  .Running("ns/gang",
                           {.pods = 3, .gpus = 1, .node = "n1", .min_member = 3, .priority = 50})
                  .Pending("ns/new", {.gpus = 1, .priority = 75})),
      PlanIs(Evicts(3, "ns/gang"), Pipelines("ns/new-0")));
}

TEST(PreemptTest, SeveralGroupsFindDifferentVictims) {
  EXPECT_THAT(
      Preempt(FullNode()
                  .Pending("q/first", {.gpus = 1, .priority = 90})
                  .Pending("q/second", {.gpus = 1, .priority = 80})),
      PlanIs(Evicts("q/c-0"), Pipelines("q/first-0"), Evicts("q/b-0"), Pipelines("q/second-0")));
}

// ---- messages (spec 2 R6)

TEST(PreemptTest, TheMessageNamesThePreemptor) {
  const Plan plan = Preempt(FullNode().Pending("q/new", {.gpus = 1, .priority = 75}));
  EXPECT_THAT(EvictionMessages(plan),
              ElementsAre("Pod q/c-0 was preempted by higher priority workload q/new"));
  ASSERT_FALSE(plan.decisions.empty());
  EXPECT_EQ(plan.decisions[0].action, "preempt");
  EXPECT_EQ(plan.cluster->PodGroupName(plan.decisions[0].for_group), "q/new");
}

TEST(PreemptTest, TheEvictionTimeIsSetOnlyForGroupsThatLostAPod) {  // spec 2 T7
  const Plan plan = Preempt(FullNode().Pending("q/new", {.gpus = 1, .priority = 75}));
  EXPECT_TRUE(OutcomeOf(plan, "q/c").writes.last_eviction);
  EXPECT_FALSE(OutcomeOf(plan, "q/b").writes.last_eviction);
  EXPECT_FALSE(OutcomeOf(plan, "q/new").writes.last_eviction);
}

// ---- minimum run times (spec 1 F102-F106)

// A group of two that started a second ago; it is protected for `seconds`.
Plan PreemptProtected(int64_t gpus, int64_t min_member, int64_t seconds) {
  ClusterMaker maker =
      MakeCluster()
          .Queue("q")
          .Node("n1", {.gpus = 2})
          .Running("q/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = min_member})
          .Pending("q/new", {.gpus = gpus, .priority = 75});
  maker.rows().pod_groups[0].last_start_ns = kTestNowNs - kSecondNs;
  maker.rows().queues[0].preempt_min_runtime_ns = seconds * kSecondNs;
  return Preempt(maker);
}

TEST(PreemptProtectionTest, AGangThatHasJustStartedIsProtected) {
  EXPECT_THAT(PreemptProtected(1, 2, /*seconds=*/2), PlanIs());
  EXPECT_THAT(PreemptProtected(1, 2, /*seconds=*/1), PlanIs(Evicts(2, "q/e"), Pipelines("q/new")))
      << "the protection has just ended";
  EXPECT_THAT(PreemptProtected(1, 2, /*seconds=*/0), PlanIs(Evicts(2, "q/e"), Pipelines("q/new")));
}

TEST(PreemptProtectionTest, AnElasticGroupMayLosePodsAboveItsMinimum) {  // spec 1 F104, F106
  EXPECT_THAT(PreemptProtected(1, 1, /*seconds=*/2), PlanIs(Evicts("q/e-1"), Pipelines("q/new")));
  EXPECT_THAT(PreemptProtected(2, 1, /*seconds=*/2), PlanIs());
  EXPECT_THAT(PreemptProtected(2, 1, /*seconds=*/1), PlanIs(Evicts(2, "q/e"), Pipelines("q/new")));
}

TEST(PreemptProtectionTest, TheReclaimRuntimeOfTheQueueDoesNotCount) {
  ClusterMaker maker = MakeCluster()
                           .Queue("q")
                           .Node("n1", {.gpus = 1})
                           .Running("q/old", {.gpus = 1, .node = "n1"})
                           .Pending("q/new", {.gpus = 1, .priority = 75});
  maker.rows().pod_groups[0].last_start_ns = kTestNowNs - kSecondNs;
  maker.rows().queues[0].reclaim_min_runtime_ns = 100 * kSecondNs;
  EXPECT_THAT(Preempt(maker), PlanIs(Evicts("q/old-0"), Pipelines("q/new-0")));
}

TEST(PreemptProtectionTest, APodWithAPromisedPlaceDoesNotCountTowardsTheMinimum) {
  ClusterMaker maker =
      MakeCluster()
          .Queue("q")
          .Node("n1", {.gpus = 2, .labels = {{"host", "n1"}}})
          .Node("n2", {.gpus = 1})
          .Running("q/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 2})
          .Releasing("q/old", {.gpus = 1, .node = "n2"})
          .Pending("q/e", {.gpus = 1})
          .Pending("q/new", {.gpus = 1, .node_selector = {{"host", "n1"}}, .priority = 75});
  maker.rows().pod_groups[0].last_start_ns = kTestNowNs - kSecondNs;
  maker.rows().queues[0].preempt_min_runtime_ns = 100 * kSecondNs;
  EXPECT_THAT(RunActions("allocate, preempt", maker), PlanIs(Pipelines("q/e-2", "n2")));
  EXPECT_THAT(RunActions("allocate, preempt", maker, AsKai("protected_minimum")),
              PlanIs(Pipelines("q/e-2", "n2"), Evicts("q/e-1"), Pipelines("q/new-0", "n1")));
}

// ---- the delay of a group that would preempt (spec 2 D1, D2, E12)

ClusterMaker Delayed(int64_t delay_s, int64_t created_ago_s) {
  ClusterMaker maker = FullNode().Pending("q/new", {.gpus = 1, .priority = 75});
  PodGroupRow& row = maker.rows().pod_groups.back();
  row.preemption_delay_ns = delay_s * kSecondNs;
  row.created_ns = kTestNowNs - created_ago_s * kSecondNs;
  return maker;
}

TEST(PreemptionDelayTest, ADelayedGroupEvictsNothingAndHasAReason) {
  const Plan plan = Preempt(Delayed(300, 60));
  EXPECT_THAT(plan, PlanIs());
  EXPECT_THAT(plan, Reasons("q/new", reason_codes::kPreemptionDelay));
  // kTestNowNs is a million seconds, 13:46:40 on 12 January 1970; the delay ends 240 s later.
  EXPECT_THAT(plan,
              HasMessage("q/new", testing::HasSubstr(
                                      "Workload is within its preemption delay window (5m0s) and "
                                      "may not trigger evictions before 1970-01-12T13:50:40Z")));
}

TEST(PreemptionDelayTest, TheGroupPreemptsAfterItsDelay) {
  EXPECT_THAT(Preempt(Delayed(300, 300)), PlanIs(Evicts("q/c-0"), Pipelines("q/new-0")));
  EXPECT_THAT(Preempt(Delayed(0, 0)), PlanIs(Evicts("q/c-0"), Pipelines("q/new-0")));
}

TEST(PreemptionDelayTest, TheLastEvictionRestartsTheDelay) {
  ClusterMaker maker = Delayed(300, 1000);
  maker.rows().pod_groups.back().last_eviction_ns = kTestNowNs - 60 * kSecondNs;
  EXPECT_THAT(Preempt(maker), PlanIs());
}

TEST(PreemptionDelayTest, TheReasonIsReportedOnceForAllActions) {  // spec 2 E12
  const Plan plan = RunActions("consolidation, reclaim, preempt", Delayed(300, 60));
  int reports = 0;
  for (const ReportedReason& reason : OutcomeOf(plan, "q/new").reasons)
    reports += reason.code == reason_codes::kPreemptionDelay ? 1 : 0;
  EXPECT_EQ(reports, 1);
}

TEST(PreemptionDelayTest, ADelayedGroupIsStillAllocatedAndStillAVictim) {  // spec 2 E12
  ClusterMaker maker = FullNode().Pending("q/new", {.gpus = 1, .priority = 75});
  PodGroupRow& victim = maker.rows().pod_groups[2];
  victim.preemption_delay_ns = 300 * kSecondNs;
  victim.created_ns = kTestNowNs - kSecondNs;
  EXPECT_THAT(Preempt(maker), PlanIs(Evicts("q/c-0"), Pipelines("q/new-0")));
  ClusterMaker roomy = Delayed(300, 60);
  roomy.Node("n2", {.gpus = 1});
  EXPECT_THAT(RunActions("allocate", roomy), PlanIs(Binds("q/new-0", "n2")));
}

// ---- pods that the cycle itself placed (switch same_cycle_eviction)

TEST(PreemptTest, PodsPlacedInThisCycleAreNotVictims) {
  // The gang comes first and finds no room; low takes the only free GPU.
  const ClusterMaker maker =
      MakeCluster()
          .Node("n1", {.gpus = 2})
          .Running("ns/old", {.gpus = 1, .node = "n1", .priority = 60})
          .Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2, .priority = 75})
          .Pending("ns/low", {.gpus = 1, .priority = 50});
  EXPECT_THAT(RunActions("allocate, preempt", maker), PlanIs(Binds("ns/low-0")));
  EXPECT_THAT(
      RunActions("allocate, preempt", maker, AsKai("same_cycle_eviction")),
      PlanIs(Binds("ns/low-0"), Evicts("ns/low-0"), Evicts("ns/old-0"), Pipelines(2, "ns/gang")));
}

// ---- budgets (spec 2 V17, W4)

// Only e could make room for slow, and e is protected: the search needs more than one scenario to
// find this out. quick needs any pod of n2.
ClusterMaker SlowThenQuick() {
  ClusterMaker maker = MakeCluster()
                           .Queue("q")
                           .Node("n1", {.gpus = 2, .labels = {{"zone", "a"}}})
                           .Node("n2", {.gpus = 2, .labels = {{"zone", "b"}}})
                           .Running("q/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 1})
                           .Running("q/x", {.gpus = 1, .node = "n2"})
                           .Running("q/y", {.gpus = 1, .node = "n2"});
  maker.rows().queues[0].preempt_min_runtime_ns = 100 * kSecondNs;
  maker.rows().pod_groups[0].last_start_ns = kTestNowNs - kSecondNs;
  return maker.Pending("q/slow", {.gpus = 2, .node_selector = {{"zone", "a"}}, .priority = 90})
      .Pending("q/quick", {.gpus = 1, .node_selector = {{"zone", "b"}}, .priority = 80});
}
constexpr char kOneScenarioEach[] = R"(, "scenarioSearchBudgets": {"maxScenarios": {"job": 1}})";

TEST(PreemptBudgetTest, ASearchThatEndsEarlyHasAReasonAndTheNextGroupIsTried) {  // switch slow_job
  const Plan unlimited = Preempt(SlowThenQuick());
  EXPECT_THAT(unlimited, PlanIs(Evicts("q/y-0"), Pipelines("q/quick-0", "n2")));
  EXPECT_THAT(unlimited, Not(Reasons("q/slow", reason_codes::kSearchBudgetSpent)));
  const Plan plan = Preempt(SlowThenQuick(), kOneScenarioEach);
  EXPECT_THAT(plan, PlanIs(Evicts("q/y-0"), Pipelines("q/quick-0", "n2")));
  EXPECT_THAT(plan, Reasons("q/slow", reason_codes::kSearchBudgetSpent));
}

TEST(PreemptBudgetTest, AsKaiOneSlowGroupEndsTheAction) {  // spec 2 W4
  const Plan plan = Preempt(SlowThenQuick(), std::string(kOneScenarioEach) + AsKai("slow_job"));
  EXPECT_THAT(plan, PlanIs());
  EXPECT_THAT(plan, Reasons("q/slow", reason_codes::kSearchBudgetSpent));
  EXPECT_THAT(plan, Not(Reasons("q/quick", reason_codes::kSearchBudgetSpent)));
}

TEST(PreemptBudgetTest, WithoutBudgetOfTheActionNoGroupIsTried) {
  const Plan plan =
      Preempt(SlowThenQuick(), R"(, "scenarioSearchBudgets": {"maxScenarios": {"action": 0}})");
  EXPECT_THAT(plan, PlanIs());
  EXPECT_THAT(plan, Reasons("q/slow", reason_codes::kSearchBudgetSpent));
}

TEST(PreemptBudgetTest, WithoutVictimsTheBudgetIsNotTheReason) {
  // The action may try one scenario, and q/first uses it.
  const Plan plan = Preempt(MakeCluster()
                                .Node("n1", {.gpus = 1})
                                .Running("q/old", {.gpus = 1, .node = "n1", .priority = 50})
                                .Pending("q/first", {.gpus = 1, .priority = 90})
                                .Pending("q/second", {.gpus = 1, .priority = 80}),
                            R"(, "scenarioSearchBudgets": {"maxScenarios": {"action": 1}})");
  EXPECT_THAT(plan, PlanIs(Evicts("q/old-0"), Pipelines("q/first-0")));
  EXPECT_THAT(plan, Not(Reasons("q/second", reason_codes::kSearchBudgetSpent)));
}

TEST(PreemptBudgetTest, AnEvictedStaleGangCausesNoBudgetReason) {
  ClusterMaker maker =
      MakeCluster()
          .Node("n1", {.gpus = 1})
          .Running("q/stale", {.gpus = 1, .node = "n1", .min_member = 2, .priority = 50})
          .Pending("q/new", {.gpus = 1, .priority = 75});
  maker.params().default_staleness_grace_ns = 0;
  const Plan plan = RunActions("stalegangeviction, preempt", maker,
                               R"(, "scenarioSearchBudgets": {"maxScenarios": {"action": 0}})");
  EXPECT_THAT(plan, PlanIs(Evicts("q/stale-0")));
  EXPECT_THAT(plan, Not(Reasons("q/new", reason_codes::kSearchBudgetSpent)));
}

// ---- depth

TEST(PreemptTest, PreemptHasItsOwnDepth) {  // spec 2 C9
  const ClusterMaker maker = FullNode()
                                 .Pending("q/first", {.gpus = 1, .priority = 90})
                                 .Pending("q/second", {.gpus = 1, .priority = 80});
  EXPECT_THAT(Preempt(maker, R"(, "queueDepthPerAction": {"preempt": 1})"),
              PlanIs(Evicts("q/c-0"), Pipelines("q/first-0")));
  EXPECT_THAT(
      Preempt(maker, R"(, "queueDepthPerAction": {"reclaim": 1})"),
      PlanIs(Evicts("q/c-0"), Pipelines("q/first-0"), Evicts("q/b-0"), Pipelines("q/second-0")));
}

}  // namespace
}  // namespace kai::preempt_test
