#include "kai/actions/reclaim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/actions/cycle_for_test.h"
#include "kai/base/clock.h"

namespace kai::reclaim_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;

Plan Reclaim(const ClusterMaker& maker, std::string_view config = "") {
  return RunActions("reclaim", maker, config);
}

// ---- how much it takes (spec 1 F84, F90)

TEST(ReclaimTest, ReclaimsOnlyUpToTheDeservedAmount) {
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("vision", {.deserved_gpus = 2})
                          .Queue("speech", {.deserved_gpus = 6})
                          .Node("n1", {.gpus = 8})
                          .Running("speech/bulk", {.pods = 8, .gpus = 1, .node = "n1"})
                          .Pending("vision/train", {.pods = 2, .gpus = 1, .min_member = 2})
                          .Pending("vision/more", {.gpus = 1})),
              PlanIs(Evicts(2, "speech/bulk"), Pipelines(2, "vision/train", "n1")));
}

// `b` holds this number of four GPUs, `a` the rest; each deserves two.
ClusterMaker TwoAndTwo(int held_by_b, const PodsSpec& waiting = {.gpus = 1}) {
  ClusterMaker maker = MakeCluster()
                           .Queue("a", {.deserved_gpus = 2})
                           .Queue("b", {.deserved_gpus = 2})
                           .Node("n1", {.gpus = 4})
                           .Running("a/x", {.pods = 4 - held_by_b, .gpus = 1, .node = "n1"});
  if (held_by_b > 0) maker.Running("b/x", {.pods = held_by_b, .gpus = 1, .node = "n1"});
  return maker.Pending("b/new", waiting);
}

TEST(ReclaimTest, ReclaimsUpToTheFairShareOnly) {
  EXPECT_THAT(Reclaim(TwoAndTwo(0)), PlanIs(Evicts("a/x-3"), Pipelines("b/new-0")));
  EXPECT_THAT(Reclaim(TwoAndTwo(1)), PlanIs(Evicts("a/x-2"), Pipelines("b/new-0")))
      << "exactly the fair share";
  EXPECT_THAT(Reclaim(TwoAndTwo(2)), PlanIs());
  EXPECT_THAT(Reclaim(TwoAndTwo(1, {.gpus = 2})), PlanIs()) << "one GPU too many";
}

TEST(ReclaimTest, RefusesAGroupAboveTheFairShareOfAnyResource) {
  // It deserves the GPU, but its fair share of cores is one.
  const auto of = [](int64_t millicpu) {
    return MakeCluster()
        .Queue("a", {.deserved_gpus = 0, .deserved_millicpu = 7000})
        .Queue("b", {.deserved_gpus = 1, .deserved_millicpu = 1000, .weight_millicpu = 0})
        .Node("n1", {.gpus = 1, .millicpu = 8000})
        .Running("a/x", {.gpus = 1, .millicpu = 4000, .node = "n1"})
        .Pending("b/new", {.gpus = 1, .millicpu = millicpu});
  };
  EXPECT_THAT(Reclaim(of(1000)), PlanIs(Evicts("a/x-0"), Pipelines("b/new-0")));
  EXPECT_THAT(Reclaim(of(1001)), PlanIs());
}

TEST(ReclaimTest, AQueueAtItsFairShareLosesNothing) {
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("a", {.deserved_gpus = 0, .weight_gpus = 1})
                          .Queue("b", {.deserved_gpus = 0, .weight_gpus = 1})
                          .Node("n1", {.gpus = 2})
                          .Running("a/x", {.gpus = 1, .node = "n1"})
                          .Running("b/x", {.gpus = 1, .node = "n1"})
                          .Pending("b/new", {.gpus = 1})),
              PlanIs());
}

TEST(ReclaimTest, AQueueWithoutAQuotaLosesEverythingToAStarvedOne) {
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("rest", {.deserved_gpus = 0})
                          .Queue("owner", {.deserved_gpus = 2})
                          .Node("n1", {.gpus = 2})
                          .Running("rest/a", {.gpus = 1, .node = "n1"})
                          .Running("rest/b", {.gpus = 1, .node = "n1"})
                          .Pending("owner/new", {.gpus = 2})),
              PlanIs(Evicts("rest/b-0"), Evicts("rest/a-0"), Pipelines("owner/new-0")));
}

// strategy (a): no quotas at all
TEST(ReclaimTest, AQueueBelowItsFairShareReclaimsFromOneAboveIt) {
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("a", {.deserved_gpus = 0})
                          .Queue("b", {.deserved_gpus = 0})
                          .Node("n1", {.gpus = 2})
                          .Running("a/x", {.gpus = 1, .node = "n1"})
                          .Running("a/y", {.gpus = 1, .node = "n1"})
                          .Pending("b/new", {.gpus = 1})),
              PlanIs(Evicts("a/y-0"), Pipelines("b/new-0")));
}

TEST(ReclaimTest, AGangIsEvictedWholeEvenIfItsQueueEndsBelowItsQuota) {  // spec 1 F95
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("a", {.deserved_gpus = 2})
                          .Queue("b", {.deserved_gpus = 2})
                          .Node("n1", {.gpus = 4})
                          .Running("a/gang", {.pods = 4, .gpus = 1, .node = "n1", .min_member = 4})
                          .Pending("b/new", {.gpus = 1})),
              PlanIs(Evicts(4, "a/gang"), Pipelines("b/new-0")));
}

TEST(ReclaimTest, AnEvictedGangNeedsNoVictimsForItsOtherPods) {
  const ClusterMaker cluster =
      MakeCluster()
          .Queue("owner", {.deserved_gpus = 2})
          .Queue("team", {.deserved_gpus = 1})
          .Queue("rest", {.deserved_gpus = 0})
          .Node("n1", {.gpus = 2, .labels = {{"fast", "yes"}}})
          .Node("n2", {.gpus = 2})
          .Running("team/gang", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 2})
          .Pending("team/gang", {.gpus = 1})
          .Running("rest/bulk", {.pods = 2, .gpus = 1, .node = "n2", .min_member = 1})
          .Pending("owner/new",
                   {.pods = 2, .gpus = 1, .node_selector = {{"fast", "yes"}}, .min_member = 2});
  EXPECT_THAT(Reclaim(cluster), PlanIs(Evicts(2, "team/gang"), Pipelines(2, "owner/new", "n1")));
  EXPECT_THAT(Reclaim(cluster, AsKai("whole_gangs")),
              PlanIs(Evicts(2, "team/gang"), Pipelines(2, "owner/new", "n1"), Evicts("rest/bulk-1"),
                     Pipelines("team/gang-2", "n2")));
}

// ---- which queues it takes from (spec 1 F85, F86; spec 2 R3)

TEST(ReclaimTest, GroupsOfTheOwnQueueAreNotEvicted) {
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("a", {.deserved_gpus = 4})
                          .Node("n1", {.gpus = 1})
                          .Running("a/old", {.gpus = 1, .node = "n1", .priority = 10})
                          .Pending("a/new", {.gpus = 1, .priority = 90})),
              PlanIs());
}

TEST(ReclaimTest, PriorityIsNotCompared) {
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("a", {.deserved_gpus = 0})
                          .Queue("b", {.deserved_gpus = 1})
                          .Node("n1", {.gpus = 1})
                          .Running("a/old", {.gpus = 1, .node = "n1", .priority = 99})
                          .Pending("b/new", {.gpus = 1, .priority = 1})),
              PlanIs(Evicts("a/old-0"), Pipelines("b/new-0")));
}

TEST(ReclaimTest, ANonPreemptibleGroupIsNeverAVictim) {
  EXPECT_THAT(
      Reclaim(MakeCluster()
                  .Queue("a", {.deserved_gpus = 0})
                  .Queue("b", {.deserved_gpus = 1})
                  .Node("n1", {.gpus = 1})
                  .Running("a/old", {.gpus = 1, .node = "n1", .preemptibility = "non-preemptible"})
                  .Pending("b/new", {.gpus = 1})),
      PlanIs());
}

TEST(ReclaimTest, AQueueBelowItsQuotaDoesNotHideOtherVictims) {  // spec 2 E23
  // poor comes first among victims, because its queue has the lowest priority, but it is below its
  // quota.
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("poor", {.deserved_gpus = 2, .priority = 1})
                          .Queue("rich", {.deserved_gpus = 0, .priority = 200})
                          .Queue("new", {.deserved_gpus = 1})
                          .Node("n1", {.gpus = 3})
                          .Running("poor/a", {.gpus = 1, .node = "n1"})
                          .Running("rich/a", {.gpus = 2, .node = "n1"})
                          .Pending("new/a", {.gpus = 1})),
              PlanIs(Evicts("rich/a-0"), Pipelines("new/a-0", "n1")));
}

TEST(ReclaimTest, QuotasOfTheBranchesAreCompared) {
  // The leaves have different parents, so the parents are compared (spec 1 F88).
  const auto of = [](double deserved) {
    return MakeCluster()
        .Queue("org1", {.deserved_gpus = deserved})
        .Queue("org2", {.deserved_gpus = 1})
        .Queue("a", {.parent = "org1", .deserved_gpus = 0})
        .Queue("b", {.parent = "org2", .deserved_gpus = 1})
        .Node("n1", {.gpus = 2})
        .Running("a/x", {.gpus = 1, .node = "n1"})
        .Running("a/y", {.gpus = 1, .node = "n1"})
        .Pending("b/new", {.gpus = 1});
  };
  EXPECT_THAT(Reclaim(of(1)), PlanIs(Evicts("a/y-0"), Pipelines("b/new-0")));
  EXPECT_THAT(Reclaim(of(2)), PlanIs());
}

TEST(ReclaimTest, ANestedQueueReclaimsFromATopLevelLeaf) {
  EXPECT_THAT(Reclaim(MakeCluster()
                          .Queue("flat", {.deserved_gpus = 0})
                          .Queue("org", {.deserved_gpus = 1})
                          .Queue("leaf", {.parent = "org", .deserved_gpus = 1})
                          .Node("n1", {.gpus = 1})
                          .Running("flat/x", {.gpus = 1, .node = "n1"})
                          .Pending("leaf/new", {.gpus = 1})),
              PlanIs(Evicts("flat/x-0"), Pipelines("leaf/new-0")));
}

// ---- for which queues (spec 1 F84, F92)

TEST(ReclaimTest, ANonPreemptibleGroupStaysWithinItsQuota) {
  const auto of = [](double deserved, int64_t running) {
    ClusterMaker maker = MakeCluster()
                             .Queue("a", {.deserved_gpus = 0})
                             .Queue("b", {.deserved_gpus = deserved})
                             .Node("n1", {.gpus = 4})
                             .Running("a/x", {.pods = 3, .gpus = 1, .node = "n1"});
    if (running > 0) {
      maker.Running("b/own", {.gpus = running, .node = "n1", .preemptibility = "non-preemptible"});
    } else {
      maker.Running("a/x", {.gpus = 1, .node = "n1"});
    }
    return maker.Pending("b/new", {.gpus = 1, .preemptibility = "non-preemptible"});
  };
  EXPECT_THAT(Reclaim(of(1, 0)), PlanIs(Evicts("a/x-3"), Pipelines("b/new-0")));
  EXPECT_THAT(Reclaim(of(2, 1)), PlanIs(Evicts("a/x-2"), Pipelines("b/new-0")));
  EXPECT_THAT(Reclaim(of(1, 1)), PlanIs());
  EXPECT_THAT(Reclaim(of(0, 0)), PlanIs());
}

TEST(ReclaimTest, NonPreemptiblePodsOfTheParentQueueCount) {
  const auto of = [](double deserved) {
    return MakeCluster()
        .Queue("a", {.deserved_gpus = 0})
        .Queue("org", {.deserved_gpus = deserved})
        .Queue("b", {.parent = "org", .deserved_gpus = 1})
        .Queue("c", {.parent = "org", .deserved_gpus = 1})
        .Node("n1", {.gpus = 3})
        .Running("a/x", {.pods = 2, .gpus = 1, .node = "n1"})
        .Running("c/x", {.gpus = 1, .node = "n1", .preemptibility = "non-preemptible"})
        .Pending("b/new", {.gpus = 1, .preemptibility = "non-preemptible"});
  };
  EXPECT_THAT(Reclaim(of(2)), PlanIs(Evicts("a/x-1"), Pipelines("b/new-0")));
  EXPECT_THAT(Reclaim(of(1)), PlanIs());
}

// ---- moving instead of taking (spec 2 E22, spec 2 V14)

// Each of two nodes has a pod of queue a and room for one more; a pod of queue b needs a whole
// node.
ClusterMaker APodOnEachNode(double deserved_by_a) {
  return MakeCluster()
      .Queue("a", {.deserved_gpus = deserved_by_a})
      .Queue("b", {.deserved_gpus = 2})
      .Node("n1", {.gpus = 2})
      .Node("n2", {.gpus = 2})
      .Running("a/one", {.gpus = 1, .node = "n1"})
      .Running("a/two", {.gpus = 1, .node = "n2"})
      .Pending("b/new", {.gpus = 2});
}

TEST(ReclaimTest, MayMoveVictimsInsteadOfEvicting) {
  ClusterMaker maker = APodOnEachNode(2);
  EXPECT_THAT(Reclaim(maker),
              PlanIs(Evicts("a/two-0"), Pipelines("b/new-0", "n2"), Pipelines("a/two-0", "n1")));
  maker.params().allow_consolidating_reclaim = false;
  EXPECT_THAT(Reclaim(maker), PlanIs()) << "a moved pod counts as lost, and a is at its quota";
}

TEST(ReclaimTest, WithoutMovesItEvictsPodsAboveTheQuota) {
  ClusterMaker maker = APodOnEachNode(1);
  maker.params().allow_consolidating_reclaim = false;
  EXPECT_THAT(Reclaim(maker),
              PlanIs(Evicts("a/two-0"), Pipelines("b/new-0", "n2"), Pipelines("a/two-0", "n1")))
      << "it may lose a pod, so it may move one";
}

TEST(ReclaimTest, SkipsQueuesThatMayLoseNothing) {
  const auto plan_for = [](double deserved_by_a) {
    ClusterMaker maker = APodOnEachNode(deserved_by_a);
    maker.params().allow_consolidating_reclaim = false;
    return Reclaim(maker, R"(, "scenarioSearchBudgets": {"maxScenarios": {"action": 0}})");
  };
  EXPECT_THAT(plan_for(1), Reasons("b/new", reason_codes::kSearchBudgetSpent));
  EXPECT_THAT(plan_for(2), Not(Reasons("b/new", reason_codes::kSearchBudgetSpent)));
}

// ---- messages (spec 2 R6, spec 1 F95b)

TEST(ReclaimMessageTest, NamesBothQueuesWithTheirAmountsBeforeReclaim) {
  const Plan plan = Reclaim(MakeCluster()
                                .Queue("speech", {.deserved_gpus = 1,
                                                  .deserved_millicpu = 2000,
                                                  .deserved_mb = 3000,
                                                  .priority = 7,
                                                  .display_name = "Speech team"})
                                .Queue("vision", {.deserved_gpus = 1})
                                .Node("n1", {.gpus = 2, .millicpu = 8000, .mb = 16'000})
                                .Running("speech/a", {.gpus = 1, .mb = 500, .node = "n1"})
                                .Running("speech/b", {.gpus = 1, .mb = 500, .node = "n1"})
                                .Pending("vision/train", {.gpus = 1}));
  EXPECT_THAT(
      EvictionMessages(plan),
      ElementsAre("Pod speech/b-0 was preempted by workload vision/train.\n"
                  "Speech team uses <GPU: 2, CPU: 2 (cores), memory: 1 (GB)> with a quota of "
                  "<GPU: 1, CPU: 2 (cores), memory: 3 (GB)>, fair-share of <GPU: 1, CPU: 2 "
                  "(cores), memory: 1 (GB)> and queue priority of <7>.\n"
                  "vision uses <GPU: 0, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 1, "
                  "CPU: Unlimited (cores), memory: Unlimited (GB)>, fair-share of <GPU: 1, CPU: 1 "
                  "(cores), memory: 0 (GB)> and queue priority of <100>."));
  ASSERT_FALSE(plan.decisions.empty());
  EXPECT_EQ(plan.decisions[0].action, "reclaim");
}

TEST(ReclaimMessageTest, QueuesOfDifferentBranchesAreNamedByTheirParents) {
  const Plan plan = Reclaim(MakeCluster()
                                .Queue("flat", {.deserved_gpus = 0})
                                .Queue("org", {.deserved_gpus = 1})
                                .Queue("leaf", {.parent = "org", .deserved_gpus = 1})
                                .Node("n1", {.gpus = 1})
                                .Running("flat/x", {.gpus = 1, .node = "n1"})
                                .Pending("leaf/new", {.gpus = 1}));
  ASSERT_EQ(EvictionMessages(plan).size(), size_t{1});
  EXPECT_THAT(EvictionMessages(plan)[0], testing::AllOf(testing::HasSubstr("\nflat uses <GPU: 1,"),
                                                        testing::HasSubstr("\norg uses <GPU: 0,")));
}

// ---- minimum run times (spec 1 F104-F106)

// A group of two in a queue without a quota that started a second ago; protected for `seconds`.
Plan ReclaimProtected(int64_t gpus, int64_t min_member, int64_t seconds) {
  ClusterMaker maker =
      MakeCluster()
          .Queue("a", {.deserved_gpus = 0})
          .Queue("b", {.deserved_gpus = 2})
          .Node("n1", {.gpus = 2})
          .Running("a/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = min_member})
          .Pending("b/new", {.gpus = gpus});
  maker.rows().pod_groups[0].last_start_ns = kTestNowNs - kSecondNs;
  maker.rows().queues[0].reclaim_min_runtime_ns = seconds * kSecondNs;
  return Reclaim(maker);
}

TEST(ReclaimProtectionTest, AGangThatHasJustStartedIsProtected) {
  EXPECT_THAT(ReclaimProtected(1, 2, /*seconds=*/2), PlanIs());
  EXPECT_THAT(ReclaimProtected(1, 2, /*seconds=*/1), PlanIs(Evicts(2, "a/e"), Pipelines("b/new")));
}

TEST(ReclaimProtectionTest, AnElasticGroupMayLosePodsAboveItsMinimum) {
  EXPECT_THAT(ReclaimProtected(1, 1, /*seconds=*/2), PlanIs(Evicts("a/e-1"), Pipelines("b/new")));
  EXPECT_THAT(ReclaimProtected(2, 1, /*seconds=*/2), PlanIs());
  EXPECT_THAT(ReclaimProtected(2, 1, /*seconds=*/1), PlanIs(Evicts(2, "a/e"), Pipelines("b/new")));
}

TEST(ReclaimProtectionTest, AGroupThatNeverStartedIsNotProtected) {  // spec 1 F103
  ClusterMaker maker = MakeCluster()
                           .Queue("a", {.deserved_gpus = 0})
                           .Queue("b", {.deserved_gpus = 1})
                           .Node("n1", {.gpus = 1})
                           .Running("a/x", {.gpus = 1, .node = "n1"})
                           .Pending("b/new", {.gpus = 1});
  maker.rows().queues[0].reclaim_min_runtime_ns = 100 * kSecondNs;
  EXPECT_THAT(Reclaim(maker), PlanIs(Evicts("a/x-0"), Pipelines("b/new-0")));
}

// a/e needs two pods and is protected; b is owed one of the GPUs on which two pods of it run.
ClusterMaker ProtectedAndOwed() {
  return MakeCluster()
      .Queue("a", {.deserved_gpus = 0})
      .Queue("b", {.deserved_gpus = 1})
      .Node("n1", {.gpus = 2, .labels = {{"host", "n1"}}})
      .Running("a/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 2})
      .Pending("b/new", {.gpus = 1, .node_selector = {{"host", "n1"}}});
}

TEST(ReclaimProtectionTest, APodWithAPromisedPlaceDoesNotCountTowardsTheMinimum) {
  ClusterMaker maker = ProtectedAndOwed()
                           .Node("n2", {.gpus = 1})
                           .Releasing("a/old", {.gpus = 1, .node = "n2"})
                           .Pending("a/e", {.gpus = 1});
  maker.rows().pod_groups[0].last_start_ns = kTestNowNs - kSecondNs;
  maker.rows().queues[0].reclaim_min_runtime_ns = 100 * kSecondNs;
  EXPECT_THAT(RunActions("allocate, reclaim", maker), PlanIs(Pipelines("a/e-2", "n2")));
  EXPECT_THAT(RunActions("allocate, reclaim", maker, AsKai("protected_minimum")),
              PlanIs(Pipelines("a/e-2", "n2"), Evicts("a/e-1"), Pipelines("b/new-0", "n1")))
      << "only one of its two pods runs on";
}

TEST(ReclaimProtectionTest, APodThatAnEarlierActionMovesDoesNotCountTowardsTheMinimum) {
  ClusterMaker maker = ProtectedAndOwed()
                           .Node("n2", {.gpus = 2})
                           .Node("n3", {.gpus = 1})
                           .Running("a/e", {.gpus = 1, .node = "n2"})
                           .Pending("a/big", {.gpus = 2});
  maker.rows().pod_groups[0].last_start_ns = kTestNowNs - kSecondNs;
  maker.rows().queues[0].reclaim_min_runtime_ns = 100 * kSecondNs;
  const auto moves = PlanIs(Evicts("a/e-2"), Pipelines("a/big-0", "n2"), Pipelines("a/e-2", "n3"));
  EXPECT_THAT(RunActions("consolidation", maker), moves);
  EXPECT_THAT(RunActions("consolidation, reclaim", maker), moves);
  EXPECT_THAT(RunActions("consolidation, reclaim", maker, AsKai("protected_minimum")),
              testing::Not(moves));
}

// ---- gangs that leaving pods have broken

TEST(ReclaimTest, APodOfABrokenGangIsEvictedAndGetsNoOtherPlace) {
  // Its gang needs two, so it could not start again on n2.
  const auto maker = [](int64_t min_member) {
    return MakeCluster()
        .Queue("a", {.deserved_gpus = 0})
        .Queue("b", {.deserved_gpus = 1})
        .Node("n1", {.gpus = 1, .labels = {{"host", "n1"}}})
        .Node("n2", {.gpus = 1})
        .Node("n3", {.gpus = 1})
        .Running("a/gang", {.gpus = 1, .node = "n1", .min_member = min_member})
        .Releasing("a/gang", {.gpus = 1, .node = "n3"})
        .Pending("b/new", {.gpus = 1, .node_selector = {{"host", "n1"}}});
  };
  const auto moves =
      PlanIs(Evicts("a/gang-0"), Pipelines("b/new-0", "n1"), Pipelines("a/gang-0", "n2"));
  EXPECT_THAT(Reclaim(maker(1)), moves);
  EXPECT_THAT(Reclaim(maker(2), AsKai("whole_gangs")), moves);
  EXPECT_THAT(Reclaim(maker(2)), PlanIs(Evicts("a/gang-0"), Pipelines("b/new-0", "n1")));
}

// ---- the rest of the cycle

TEST(ReclaimTest, ADelayedGroupReclaimsNothing) {  // spec 2 D2
  ClusterMaker maker = TwoAndTwo(0);
  maker.rows().pod_groups.back().preemption_delay_ns = 60 * kSecondNs;
  maker.rows().pod_groups.back().created_ns = kTestNowNs - 30 * kSecondNs;
  const Plan plan = Reclaim(maker);
  EXPECT_THAT(plan, PlanIs());
  EXPECT_THAT(plan, Reasons("b/new", reason_codes::kPreemptionDelay));
}

TEST(ReclaimTest, ResourcesReclaimedByOneGroupAreNotLeftForTheNext) {
  EXPECT_THAT(
      Reclaim(TwoAndTwo(0).Pending("b/second", {.gpus = 1}).Pending("b/third", {.gpus = 1})),
      PlanIs(Evicts("a/x-3"), Pipelines("b/new-0"), Evicts("a/x-2"), Pipelines("b/second-0")));
}

TEST(ReclaimTest, UnrelatedGroupsDoNotBlockReclaim) {  // switch unrelated_blockers
  // The first group in b can never run. If it counted, b would come after a, and a/x would return
  // to its old place before b/z is placed.
  const ClusterMaker maker = MakeCluster()
                                 .Queue("a", {.deserved_gpus = 1})
                                 .Queue("b", {.deserved_gpus = 2})
                                 .Node("n1", {.gpus = 3})
                                 .Running("a/x", {.gpus = 3, .node = "n1"})
                                 .Pending("b/a", {.gpus = 30, .preemptibility = "preemptible"})
                                 .Pending("b/z", {.gpus = 2});
  EXPECT_THAT(Reclaim(maker), PlanIs(Evicts("a/x-0"), Pipelines("b/z-0", "n1")));
  EXPECT_THAT(Reclaim(maker, AsKai("unrelated_blockers")), PlanIs());
}

TEST(ReclaimTest, WithoutFairSharesNoGroupMayReclaim) {  // spec 2 X1
  EXPECT_THAT(Reclaim(TwoAndTwo(0), R"(, "tiers": [{"plugins": [{"name": "predicates"},
                  {"name": "nodeplacement"}, {"name": "sg-nodelocalgreedy"}]}])"),
              PlanIs());
}

TEST(ReclaimTest, WithoutGeneratorsNothingIsReclaimed) {  // spec 2 V17
  EXPECT_THAT(Reclaim(TwoAndTwo(0), R"(, "tiers": [{"plugins": [{"name": "predicates"},
                  {"name": "proportion"}, {"name": "nodeplacement"}]}])"),
              PlanIs());
  EXPECT_THAT(Reclaim(TwoAndTwo(0), R"(, "tiers": [{"plugins": [{"name": "predicates"},
                  {"name": "proportion"}, {"name": "nodeplacement"},
                  {"name": "sg-multinodegang"}]}])"),
              PlanIs(Evicts("a/x-3"), Pipelines("b/new-0")));
}

}  // namespace
}  // namespace kai::reclaim_test
