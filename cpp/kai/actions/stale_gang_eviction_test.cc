#include "kai/actions/stale_gang_eviction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kai/base/clock.h"
#include "kai/session/config.h"
#include "kai/session/session.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/matchers/matchers.h"

namespace kai::stale_gang_eviction_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Plan RunStale(const ClusterMaker& maker, std::string_view compat = "",
              std::string_view actions = "stalegangeviction") {
  const std::string json =
      R"({"actions": ")" + std::string(actions) + R"(", "compat": {)" + std::string(compat) + "}}";
  absl::StatusOr<Config> config = Config::Parse(json, {});
  EXPECT_TRUE(config.ok()) << config.status().message();
  absl::StatusOr<Plan> plan =
      Session(*std::move(config)).Run(maker.Build(), kTestNowNs, /*stopwatch=*/nullptr);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

constexpr char kAsKaiCountsSubgroups[] = R"("min_sub_group": "kai")";

struct StaleFor {
  std::optional<int64_t> seconds = {};        // since the time stamp; none: no time stamp yet
  std::optional<int64_t> grace_seconds = {};  // of the group; none: the shard's 60
};

// A gang of three with two running pods.
ClusterMaker BrokenGang(const StaleFor& stale) {
  ClusterMaker maker =
      MakeCluster().Node("n").Running("ns/g", {.pods = 2, .node = "n", .min_member = 3});
  PodGroupRow& group = maker.rows().pod_groups[0];
  if (stale.seconds) group.stale_since_ns = kTestNowNs - *stale.seconds * kSecondNs;
  if (stale.grace_seconds) group.staleness_grace_ns = *stale.grace_seconds * kSecondNs;
  return maker;
}

StampWrite StaleSince(const Plan& plan, std::string_view group = "ns/g") {
  return OutcomeOf(plan, group).writes.stale_since;
}

// ---- how long (spec 2 D6, E29)

TEST(StaleGangTest, TheFirstCycleOnlyRecordsTheTime) {
  const Plan plan = RunStale(BrokenGang({}));
  EXPECT_THAT(plan, PlanIs());
  EXPECT_EQ(StaleSince(plan), StampWrite::kNow);
  EXPECT_THAT(plan, AllOf(HasVerdict("ns/g", Verdict::kRunning), Reasons("ns/g", "stale")));
  EXPECT_THAT(OutcomeOf(plan, "ns/g").events, IsEmpty()) << "KAI's event starts one cycle later";
}

TEST(StaleGangTest, AGangStaysDuringItsGracePeriod) {
  const Plan plan = RunStale(BrokenGang({.seconds = 59}));
  EXPECT_THAT(plan, PlanIs());
  EXPECT_EQ(StaleSince(plan), StampWrite::kNone);
  EXPECT_THAT(plan, HasMessage("ns/g", "Job is stale. 2 pods are active, minMember is 3"));
}

TEST(StaleGangTest, AllPodsAreEvictedAfterTheGracePeriod) {
  for (const int64_t seconds : {60, 61}) {
    const Plan plan = RunStale(BrokenGang({.seconds = seconds}));
    ASSERT_THAT(plan, PlanIs(Evicts("ns/g-0"), Evicts("ns/g-1")));
    const CycleLog::Decision& first = plan.decisions[0];
    EXPECT_EQ(first.action, "stalegangeviction");
    EXPECT_FALSE(first.for_group.valid());
    EXPECT_EQ(MessageOf(plan, first),
              "Workload doesn't meet the minimum required number of pods (3), evicting remaining "
              "pod: ns/g-0");
    EXPECT_EQ(StaleSince(plan), StampWrite::kNone);
    EXPECT_FALSE(OutcomeOf(plan, "ns/g").writes.last_eviction) << "KAI does not count this one";
    EXPECT_THAT(plan, AllOf(HasVerdict("ns/g", Verdict::kRunning), Reasons("ns/g", "evicted")));
  }
}

TEST(StaleGangTest, TheGracePeriodOfTheGroupIsUsed) {
  EXPECT_THAT(RunStale(BrokenGang({.seconds = 30, .grace_seconds = 10})),
              PlanIs(Evicts(2, "ns/g")));
  EXPECT_THAT(RunStale(BrokenGang({.seconds = 61, .grace_seconds = 120})), PlanIs());
}

TEST(StaleGangTest, ANegativeGracePeriodNeverEnds) {
  const Plan plan = RunStale(BrokenGang({.seconds = 1'000'000, .grace_seconds = -1}));
  EXPECT_THAT(plan, PlanIs());
  EXPECT_EQ(StaleSince(plan), StampWrite::kNone);
  EXPECT_EQ(StaleSince(RunStale(BrokenGang({.grace_seconds = -1}))), StampWrite::kNow);
}

TEST(StaleGangTest, WithoutAGracePeriodItIsEvictedAtOnce) {
  const Plan plan = RunStale(BrokenGang({.grace_seconds = 0}));
  EXPECT_THAT(plan, PlanIs(Evicts(2, "ns/g")));
  EXPECT_EQ(StaleSince(plan), StampWrite::kNow);
  EXPECT_THAT(plan, HasMessage("ns/g", HasSubstr("Job is stale.")));
}

TEST(StaleGangTest, AHugeGracePeriodDoesNotOverflow) {
  EXPECT_THAT(RunStale(BrokenGang({.seconds = 1'000'000, .grace_seconds = 9'000'000'000})),
              PlanIs());
}

// ---- which gangs (spec 2 D5)

TEST(StaleGangTest, ACompleteGangLosesTheTimeStamp) {
  ClusterMaker maker = BrokenGang({.seconds = 1000});
  const Plan plan = RunStale(maker.Running("ns/g", {.node = "n"}));
  EXPECT_THAT(plan, PlanIs());
  EXPECT_EQ(StaleSince(plan), StampWrite::kRemove);
  EXPECT_THAT(OutcomeOf(plan, "ns/g").events, IsEmpty());
  EXPECT_THAT(OutcomeOf(plan, "ns/g").reasons, IsEmpty());
}

TEST(StaleGangTest, ATerminatingPodStillCountsButIsNotEvictedAgain) {
  ClusterMaker whole = BrokenGang({.seconds = 1000});
  EXPECT_THAT(RunStale(whole.Releasing("ns/g", {.node = "n"})), PlanIs());
  ClusterMaker broken = MakeCluster()
                            .Node("n")
                            .Running("ns/g", {.node = "n", .min_member = 3})
                            .Releasing("ns/g", {.node = "n"});
  broken.rows().pod_groups[0].staleness_grace_ns = 0;
  EXPECT_THAT(RunStale(broken), PlanIs(Evicts("ns/g-0")));
}

TEST(StaleGangTest, AGangWithASucceededPodIsNotStale) {
  ClusterMaker maker =
      MakeCluster().Node("n").Running("ns/g", {.node = "n", .min_member = 3}).Succeeded("ns/g");
  maker.rows().pod_groups[0].staleness_grace_ns = 0;
  for (const char* compat : {"", R"("completed_pods": "kai")"})
    EXPECT_THAT(RunStale(maker, compat), PlanIs()) << compat;
}

TEST(StaleGangTest, AGangThatDoesNotRunIsNotStale) {
  ClusterMaker maker = MakeCluster().Pending("ns/g", {.min_member = 3});
  maker.rows().pod_groups[0].staleness_grace_ns = 0;
  EXPECT_THAT(RunStale(maker), PlanIs());
}

TEST(StaleGangTest, NonPreemptibleGangsAreEvictedToo) {
  ClusterMaker maker = BrokenGang({.seconds = 61});
  maker.rows().pod_groups[0].preemptibility = "non-preemptible";
  EXPECT_THAT(RunStale(maker), PlanIs(Evicts(2, "ns/g")));
}

TEST(StaleGangTest, GangsOfADeletedQueueAreEvictedWithoutACrash) {  // spec 2 W18
  ClusterMaker maker = BrokenGang({.seconds = 61});
  maker.rows().pod_groups[0].queue = "deleted";
  const Plan plan = RunStale(maker.Queue("ns"));
  EXPECT_THAT(plan, PlanIs(Evicts(2, "ns/g")));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kInvalid));
}

TEST(StaleGangTest, OlderGangsAreEvictedFirst) {
  ClusterMaker maker = MakeCluster()
                           .Node("n")
                           .Running("ns/z", {.node = "n", .min_member = 2})
                           .Running("ns/a", {.node = "n", .min_member = 2});
  maker.params().default_staleness_grace_ns = 0;
  EXPECT_THAT(RunStale(maker), PlanIs(Evicts("ns/z-0"), Evicts("ns/a-0")));
}

TEST(StaleGangTest, AGangThatAllocateCompletesIsNotStale) {
  ClusterMaker maker = BrokenGang({.seconds = 61});
  const Plan plan = RunStale(maker.Pending("ns/g"), "", "allocate, stalegangeviction");
  EXPECT_THAT(plan, PlanIs(Binds("ns/g-2")));
  EXPECT_EQ(StaleSince(plan), StampWrite::kRemove);
}

// ---- sub-groups (spec 2 W2)

// Four replicas; three are enough. Each needs one pod, and the last one has none.
ClusterMaker ThreeOfFourReplicas() {
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "g";
  group.min_sub_group = 3;
  group.staleness_grace_ns = 0;
  ClusterMaker maker = MakeCluster().Node("n");
  for (const char* name : {"a", "b", "c", "d"}) {
    SubGroupRow& replica = group.sub_groups.emplace_back();
    replica.name = name;
    replica.min_member = 1;
  }
  maker.Add(std::move(group));
  for (const char* name : {"a", "b", "c"}) maker.Running("ns/g", {.node = "n", .subgroup = name});
  return maker;
}

TEST(StaleGangTest, EnoughSubGroupsAreEnough) {
  EXPECT_THAT(RunStale(ThreeOfFourReplicas()), PlanIs());
  const Plan plan = RunStale(ThreeOfFourReplicas(), kAsKaiCountsSubgroups);
  EXPECT_THAT(plan, PlanIs(Evicts(3, "ns/g")));
  EXPECT_EQ(MessageOf(plan, plan.decisions[1]),
            "Workload doesn't meet the minimum required number of pods (1) in sub-group b, "
            "evicting remaining pod: ns/g-1");
  EXPECT_THAT(plan,
              HasMessage("ns/g",
                         "Job is stale. 3 pods are active, minMember is 4, subGroup d minMember is "
                         "1 and 0 pods are active"));
}

TEST(StaleGangTest, TooFewSubGroupsAreStale) {
  ClusterMaker maker = ThreeOfFourReplicas();
  maker.rows().pods.pop_back();
  EXPECT_THAT(RunStale(maker), PlanIs(Evicts(2, "ns/g")));
}

// The group needs both of its sub-groups; this cycle completes one and cannot complete the other.
TEST(StaleGangTest, PodsPlacedInThisCycleStay) {
  ClusterMaker maker = ThreeOfFourReplicas();
  maker.rows().pod_groups[0].min_sub_group = 1;
  maker.rows().pods.resize(1);
  maker.Pending("ns/g", {.subgroup = "b"});
  const std::string_view as_kai = R"("min_sub_group": "kai", "same_cycle_eviction": "kai")";
  EXPECT_THAT(RunStale(maker, as_kai, "allocate, stalegangeviction"),
              PlanIs(Binds("ns/g-1"), Evicts(2, "ns/g")));
  EXPECT_THAT(RunStale(maker, kAsKaiCountsSubgroups, "allocate, stalegangeviction"),
              PlanIs(Binds("ns/g-1")));
}

// ---- time stamps (spec 2 W5)

TEST(StaleGangTest, AGangWithAWaitingReplacementKeepsItsTimeStamp) {
  ClusterMaker maker =
      MakeCluster().Node("n").Running("ns/g", {.node = "n", .min_member = 3}).Pending("ns/g");
  const Plan fixed = RunStale(maker);
  EXPECT_THAT(fixed, HasVerdict("ns/g", Verdict::kNotReady));
  EXPECT_EQ(StaleSince(fixed), StampWrite::kNow);
  EXPECT_EQ(StaleSince(RunStale(maker, R"("not_ready_writes": "kai")")), StampWrite::kNone);
}

TEST(StaleGangTest, WithoutTheActionNothingIsWritten) {
  ClusterMaker maker = BrokenGang({.seconds = 1000});
  const Plan plan = RunStale(maker, "", "allocate");
  EXPECT_EQ(StaleSince(plan), StampWrite::kNone);
  EXPECT_THAT(plan, Reasons("ns/g", "stale"));
}

}  // namespace
}  // namespace kai::stale_gang_eviction_test
