#include "kai/session/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/session/config.h"
#include "kai/session/plans_for_test.h"
#include "kai/session/session.h"
#include "kai/testing/makers/claim_rows.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/matchers/matchers.h"

namespace kai::outcome_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Plan RunPlan(const ClusterMaker& maker,
             std::string_view config_json = R"({"actions": "allocate"})") {
  return kai::RunPlan(Session(ParseConfig(config_json)), maker.Build());
}

// (code, pod) of every reason of a pod group; "" for the group as a whole.
std::vector<std::pair<std::string, std::string>> ReasonsOf(const Plan& plan,
                                                           std::string_view group) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const ReportedReason& reason : OutcomeOf(plan, group).reasons) {
    EXPECT_NE(reason.message, "") << reason.code;
    reasons.emplace_back(reason.code, reason.pod.valid() ? plan.cluster->PodName(reason.pod) : "");
  }
  return reasons;
}

// The text of the pod's event; "" if it has none.
std::string TextOfPod(const Plan& plan, std::string_view name) {
  const PodId pod = PodNamed(*plan.cluster, name);
  std::string text;
  for (const auto& [id, message] : ConditionsOf(plan)) {
    if (id == pod) text = message;
  }
  return text;
}

constexpr char kNoGpus[] =
    "no nodes with enough resources were found: 1 node(s) didn't have enough resources: GPUs.";

// ---- verdicts -----------------------------------------------------------------------------------

TEST(VerdictTest, AGroupWithNodesForAllWaitingPodsIsPlaced) {
  const Plan plan = RunPlan(MakeCluster().Node("n").Pending("ns/g", {.pods = 2, .min_member = 2}));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kPlaced));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), IsEmpty());
  EXPECT_THAT(OutcomeOf(plan, "ns/g").events, IsEmpty());
  EXPECT_THAT(ConditionsOf(plan), IsEmpty());
}

TEST(VerdictTest, AGroupWithOnlyPipelinedPodsIsPipelined) {
  const Plan plan = RunPlan(MakeCluster()
                                .Node("n", {.gpus = 1})
                                .Releasing("ns/old", {.gpus = 1, .node = "n"})
                                .Pending("ns/g", {.gpus = 1}));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kPipelined));
  EXPECT_THAT(OutcomeOf(plan, "ns/g").events, IsEmpty());
}

TEST(VerdictTest, AGroupWithSomePlacedPodsIsPartlyPlaced) {
  EXPECT_THAT(RunPlan(MakeCluster()
                          .Node("n", {.gpus = 1})
                          .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 1})),
              HasVerdict("ns/g", Verdict::kPartlyPlaced))
      << "one pod got nothing";
  EXPECT_THAT(RunPlan(MakeCluster()
                          .Node("n", {.gpus = 2})
                          .Releasing("ns/old", {.gpus = 1, .node = "n"})
                          .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 1})),
              HasVerdict("ns/g", Verdict::kPartlyPlaced))
      << "one pod got a promise";
  EXPECT_THAT(RunPlan(MakeCluster().Node("n").Pending("ns/g", {.min_member = 1}).Gated("ns/g")),
              HasVerdict("ns/g", Verdict::kPartlyPlaced))
      << "one pod is gated";
}

TEST(VerdictTest, AGroupWithoutWaitingPodsIsRunning) {
  EXPECT_THAT(RunPlan(MakeCluster().Node("n").Running("ns/g", {.node = "n"})),
              AllOf(HasVerdict("ns/g", Verdict::kRunning), PlanIs()));
  EXPECT_THAT(RunPlan(MakeCluster().Node("n").Releasing("ns/g", {.node = "n"})),
              HasVerdict("ns/g", Verdict::kRunning));
}

TEST(VerdictTest, ACompletedGroupHasItsOwnReason) {
  const Plan plan = RunPlan(MakeCluster().Succeeded("ns/g"));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kRunning));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("completed", "")));
}

TEST(VerdictTest, AGroupWithoutPodsIsNotReady) {
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "g";
  const Plan plan = RunPlan(MakeCluster().Add(group));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kNotReady));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("no_pods", "")));
}

TEST(VerdictTest, EveryVerdictHasAName) {
  std::vector<std::string_view> names;
  for (const Verdict verdict :
       {Verdict::kPlaced, Verdict::kPipelined, Verdict::kPartlyPlaced, Verdict::kUnschedulable,
        Verdict::kNotReady, Verdict::kRunning, Verdict::kInvalid}) {
    names.push_back(VerdictName(verdict));
  }
  EXPECT_THAT(names, ElementsAre("placed", "pipelined", "partly_placed", "unschedulable",
                                 "not_ready", "running", "invalid"));
}

// ---- not ready (spec 2 M4) ----------------------------------------------------------------------

TEST(NotReadyTest, AGangWithMissingPodsReportsTheirNumber) {
  const Plan plan =
      RunPlan(MakeCluster().Node("n").Pending("ns/g", {.pods = 2, .min_member = 4}).Gated("ns/g"));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kNotReady));
  EXPECT_THAT(plan, HasMessage("ns/g",
                               "Job is not ready for scheduling. Waiting for 4 pods, currently 3 "
                               "exist, 1 are gated"));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("not_ready", "")));
  EXPECT_THAT(ConditionsOf(plan), IsEmpty()) << "its pods get no condition";
}

TEST(NotReadyTest, TheMessageNamesEverySubGroupThatIsNotReady) {
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "g";
  for (const auto& [name, minimum] : {std::pair("lead", 1), std::pair("work", 3)}) {
    SubGroupRow row;
    row.name = name;
    row.min_member = minimum;
    group.sub_groups.push_back(std::move(row));
  }
  const Plan plan =
      RunPlan(MakeCluster().Add(std::move(group)).Pending("ns/g", {.pods = 2, .subgroup = "work"}));
  EXPECT_THAT(plan,
              HasMessage("ns/g",
                         "Job is not ready for scheduling. Waiting for 1 pods for SubGroup lead, "
                         "currently 0 exist, 0 are gated. Waiting for 3 pods for SubGroup work, "
                         "currently 2 exist, 0 are gated."));
}

TEST(NotReadyTest, PodsOfASubGroupThatIsNotNeededWaitForTheOthersOfIt) {  // spec 2 W3
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "g";
  group.min_sub_group = 1;
  for (const auto& [name, minimum] : {std::pair("lead", 1), std::pair("work", 2)}) {
    SubGroupRow row;
    row.name = name;
    row.min_member = minimum;
    group.sub_groups.push_back(std::move(row));
  }
  ClusterMaker maker = MakeCluster().Add(std::move(group)).Node("n", {.gpus = 4});
  maker.Pending("ns/g", {.gpus = 1, .subgroup = "work"});
  ClusterMaker later = maker;
  maker.Pending("ns/g", {.gpus = 1, .subgroup = "lead"});
  later.Running("ns/g", {.gpus = 1, .node = "n", .subgroup = "lead"});
  const Plan starts = RunPlan(maker);
  EXPECT_THAT(starts, HasVerdict("ns/g", Verdict::kPartlyPlaced));
  EXPECT_THAT(starts,
              HasMessage("ns/g",
                         "Job is not ready for scheduling. Waiting for 2 pods for SubGroup work, "
                         "currently 1 exist, 0 are gated."));
  EXPECT_TRUE(OutcomeOf(starts, "ns/g").writes.last_start);
  EXPECT_THAT(RunPlan(later), HasVerdict("ns/g", Verdict::kNotReady));
  EXPECT_THAT(RunPlan(later, R"({"compat": {"optional_members": "kai"}})"),
              HasVerdict("ns/g", Verdict::kPlaced));
}

TEST(NotReadyTest, OnlyGatedPodsAreNotReady) {
  EXPECT_THAT(RunPlan(MakeCluster().Node("n").Gated("ns/g")),
              HasMessage("ns/g",
                         "Job is not ready for scheduling. Waiting for 1 pods, currently 1 exist, "
                         "1 are gated"));
}

// ---- queues -------------------------------------------------------------------------------------

TEST(InvalidTest, TheMessageNamesAMissingQueue) {  // spec 2 G3
  const Plan plan = RunPlan(MakeCluster().Queue("team").Node("n").Pending("ns/g"));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kInvalid));
  EXPECT_THAT(plan, HasMessage("ns/g", "QueueDoesNotExist: Queue 'ns' does not exist."));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("queue_does_not_exist", "")));
  EXPECT_EQ(TextOfPod(plan, "ns/g-0"), "QueueDoesNotExist: Queue 'ns' does not exist.");
}

TEST(InvalidTest, AQueueWithAMissingParentDoesNotExistEither) {
  const Plan plan =
      RunPlan(MakeCluster().Queue("ns", {.parent = "gone"}).Node("n").Pending("ns/g"));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kInvalid));
  EXPECT_THAT(plan, Reasons("ns/g", reason_codes::kQueueDoesNotExist));
}

TEST(InvalidTest, GroupsThatRunOrAreNotReadyReportAMissingQueueToo) {
  const Plan runs = RunPlan(MakeCluster().Queue("team").Node("n").Running("ns/g", {.node = "n"}));
  EXPECT_THAT(runs, HasVerdict("ns/g", Verdict::kInvalid));
  EXPECT_THAT(ReasonsOf(runs, "ns/g"), ElementsAre(Pair("queue_does_not_exist", "")));
  const Plan waits =
      RunPlan(MakeCluster().Queue("team").Node("n").Pending("ns/g", {.min_member = 2}));
  EXPECT_THAT(waits, HasVerdict("ns/g", Verdict::kInvalid));
  EXPECT_THAT(waits, Reasons("ns/g", reason_codes::kQueueDoesNotExist));
  EXPECT_THAT(waits, Reasons("ns/g", reason_codes::kNotReady));
}

TEST(UnschedulableTest, AQueueWithChildrenAcceptsNoGroup) {  // spec 1 F8, W16: KAI gives no reason
  const Plan plan =
      RunPlan(MakeCluster().Queue("ns").Queue("team", {.parent = "ns"}).Node("n").Pending("ns/g"));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kUnschedulable));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("queue_not_leaf", "")));
  EXPECT_THAT(plan, HasMessage("ns/g", "Unable to schedule podgroup"));
}

// ---- gates --------------------------------------------------------------------------------------

TEST(UnschedulableTest, OverTheLimit) {  // spec 2 M5
  const Plan plan = RunPlan(MakeCluster()
                                .Queue("team-a", {.limit_gpus = 4})
                                .Node("n", {.gpus = 8})
                                .Running("team-a/old", {.gpus = 4, .node = "n"})
                                .Pending("team-a/g", {.gpus = 1}));
  EXPECT_THAT(plan, HasVerdict("team-a/g", Verdict::kUnschedulable));
  EXPECT_THAT(ReasonsOf(plan, "team-a/g"), ElementsAre(Pair("over_limit", "")));
  EXPECT_THAT(
      plan, HasMessage("team-a/g",
                       "OverLimit: team-a quota has reached the allowable limit of GPUs. Limit is "
                       "4 GPUs, currently 4 GPUs allocated and workload requested 1 GPUs."));
  EXPECT_THAT(TextOfPod(plan, "team-a/g-0"), HasSubstr("OverLimit: team-a quota"));
}

TEST(UnschedulableTest, NonPreemptibleOverTheQuota) {
  const Plan plan =
      RunPlan(MakeCluster()
                  .Queue("team", {.deserved_gpus = 0})
                  .Node("n", {.gpus = 8})
                  .Pending("team/g", {.gpus = 1, .preemptibility = "non-preemptible"}));
  EXPECT_THAT(ReasonsOf(plan, "team/g"), ElementsAre(Pair("non_preemptible_over_quota", "")));
  EXPECT_THAT(plan,
              HasMessage("team/g", HasSubstr("NonPreemptibleOverQuota: Non-preemptible workload is "
                                             "over quota. Workload requested 1 GPUs")));
}

// ---- no node ------------------------------------------------------------------------------------

TEST(UnschedulableTest, NotEnoughGpus) {
  const Plan plan = RunPlan(MakeCluster()
                                .Node("n", {.gpus = 1})
                                .Running("ns/old", {.gpus = 1, .node = "n"})
                                .Pending("ns/g", {.gpus = 1}));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kUnschedulable));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("not_enough_gpus", "ns/g-0")));
  EXPECT_THAT(
      plan, HasMessage("ns/g", std::string("PodSchedulingErrors: Resources were not found for pod "
                                           "ns/g-0 due to: ") +
                                   kNoGpus + "."));
  EXPECT_EQ(TextOfPod(plan, "ns/g-0"), kNoGpus);
}

TEST(UnschedulableTest, NotEnoughOfSomethingElse) {
  const Plan plan = RunPlan(MakeCluster()
                                .Node("n", {.millicpu = 1000})
                                .Running("ns/old", {.millicpu = 500, .node = "n"})
                                .Pending("ns/g", {.millicpu = 1000}));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("not_enough_resources", "ns/g-0")));
}

TEST(UnschedulableTest, NoMatchingNode) {
  const Plan plan =
      RunPlan(MakeCluster().Node("n").Pending("ns/g", {.node_selector = {{"gpu", "h100"}}}));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("no_matching_node", "ns/g-0")));
}

TEST(UnschedulableTest, LargerThanAnyNode) {
  const Plan plan = RunPlan(MakeCluster().Node("n", {.gpus = 4}).Pending("ns/g", {.gpus = 5}));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("larger_than_any_node", "ns/g-0")));
}

TEST(UnschedulableTest, AGangReportsThatItIsIncompleteAndThePodThatFailed) {
  const Plan plan = RunPlan(MakeCluster()
                                .Node("n", {.gpus = 2})
                                .Pending("ns/g", {.pods = 3, .gpus = 1, .min_member = 3}));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"),
              ElementsAre(Pair("gang_incomplete", ""), Pair("not_enough_gpus", "ns/g-2")));
  const std::string text =
      std::string(
          "PodSchedulingErrors: Resources were found for 2 pods while 3 are required for "
          "gang scheduling. Additional pods cannot be scheduled due to: ") +
      kNoGpus + ".";
  EXPECT_THAT(plan, HasMessage("ns/g", text));
  EXPECT_EQ(TextOfPod(plan, "ns/g-2"), kNoGpus) << "the pod that failed has its own reason";
  EXPECT_EQ(TextOfPod(plan, "ns/g-0"), text) << "the others repeat their group (spec 2 M2)";
}

TEST(UnschedulableTest, ExtrasOfARunningGangAreNotReportedAsAnIncompleteGang) {
  const Plan plan =
      RunPlan(MakeCluster()
                  .Node("n", {.gpus = 2})
                  .Running("ns/g", {.pods = 2, .gpus = 1, .node = "n", .min_member = 2})
                  .Pending("ns/g", {.gpus = 1}));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kUnschedulable));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("not_enough_gpus", "ns/g-2")));
}

// ---- cases that are not built, or not considered ------------------------------------------------

TEST(UnschedulableTest, AWaitingGroupReportsAFeatureThatIsNotBuilt) {
  const Plan plan = RunPlan(MakeCluster()
                                .Node("n", {.gpus = 8})
                                .Pending("ns/waits", {.pods = 2, .affinity = NeedsNamespaces()})
                                .Running("ns/runs", {.node = "n", .affinity = NeedsNamespaces()}));
  EXPECT_THAT(plan, HasVerdict("ns/waits", Verdict::kUnschedulable));
  EXPECT_THAT(OutcomeOf(plan, "ns/waits").reasons.at(0).message,
              "needs namespace-selector, which is not built yet");
  EXPECT_THAT(ReasonsOf(plan, "ns/waits"), ElementsAre(Pair("not_built", "")));
  EXPECT_THAT(plan, HasMessage("ns/waits", "Unable to schedule podgroup"));
  EXPECT_EQ(TextOfPod(plan, "ns/waits-0"), "Unable to schedule pod");
  EXPECT_THAT(plan, HasVerdict("ns/runs", Verdict::kRunning));
  EXPECT_THAT(ReasonsOf(plan, "ns/runs"), IsEmpty());
}

TEST(UnschedulableTest, TheBestDomainIsAReasonIfKaiNamesNone) {
  ClusterMaker maker =
      MakeCluster()
          .Add(TopologyRow{.name = "t", .levels = {{.node_label = "rack", .alias = ""}}})
          .Node("n1", {.gpus = 3, .labels = {{"rack", "r1"}}})
          .Node("n2", {.gpus = 5, .labels = {{"rack", "r2"}}})
          .Pending("ns/g", {.pods = 4, .gpus = 2, .min_member = 4});
  maker.rows().pod_groups.back().topology = {
      .topology = "t", .required_level = "rack", .preferred_level = ""};
  const Plan plan = RunPlan(std::move(maker));
  EXPECT_EQ(OutcomeOf(plan, "ns/g").reasons.at(0).message,
            "node-group r2 can allocate only 2 of 4 required pods");
  ASSERT_EQ(OutcomeOf(plan, "ns/g").events.size(), size_t{1});
  EXPECT_THAT(OutcomeOf(plan, "ns/g").events.front(), Not(HasSubstr("node-group")));
}

TEST(UnschedulableTest, AGroupThatNoActionConsideredHasAReason) {
  const Plan plan = RunPlan(MakeCluster().Node("n").Pending("ns/g"), R"({"actions": "reclaim"})");
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kUnschedulable));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), Contains(Pair("not_considered", "")));
}

// ---- pods whose sub-group does not exist (spec 2 G6, M9) ----------------------------------------

TEST(MisfitTest, APodOfAMissingSubGroupHasAMessage) {
  const Plan plan =
      RunPlan(MakeCluster().Node("n").Pending("ns/g").Pending("ns/g", {.subgroup = "typo"}));
  constexpr char kText[] =
      "Pod references subgroup \"typo\", which does not exist in PodGroup ns/g";
  EXPECT_THAT(plan, PlanIs(Binds("ns/g-0")));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"), ElementsAre(Pair("subgroup_does_not_exist", "ns/g-1")));
  EXPECT_EQ(TextOfPod(plan, "ns/g-1"), kText);
}

TEST(MisfitTest, AGroupWithAMisfitIsPartlyPlaced) {
  EXPECT_THAT(
      RunPlan(MakeCluster().Node("n").Pending("ns/g").Pending("ns/g", {.subgroup = "typo"})),
      HasVerdict("ns/g", Verdict::kPartlyPlaced));
}

// ---- texts that begin with the node pool (spec 2 M2) --------------------------------------------

TEST(NodePoolTextTest, MessagesOfGroupsWithABackoffNameTheNodePool) {
  ClusterMaker maker = MakeCluster().Node("n", {.gpus = 1}).Pending("ns/g", {.gpus = 2});
  maker.Pending("ns/plain", {.gpus = 2});
  maker.rows().pod_groups[0].scheduling_backoff = 1;
  const Plan plan = RunPlan(maker);
  EXPECT_THAT(plan, HasMessage("ns/g", HasSubstr("Node-Pool 'default': PodSchedulingErrors: ")));
  EXPECT_THAT(TextOfPod(plan, "ns/g-0"), HasSubstr("Node-Pool 'default': Scheduling conditions"));
  EXPECT_THAT(plan, HasMessage("ns/plain", testing::Not(HasSubstr("Node-Pool"))));
}

TEST(NodePoolTextTest, TheNodePoolOfTheGroupIsUsed) {
  ClusterMaker maker = MakeCluster().Pending("ns/g");
  const StringPairs pool = {{"kai.scheduler/node-pool", "h100"}};
  maker.params().node_pool_label_value = "h100";
  maker.rows().pod_groups[0].labels = pool;
  maker.rows().pod_groups[0].scheduling_backoff = 1;
  QueueRow queue = MakeQueueRow("ns");
  queue.labels = pool;
  const Plan plan = RunPlan(maker.Add(std::move(queue)));
  EXPECT_THAT(plan, HasMessage("ns/g", HasSubstr("Node-Pool 'h100': ")));
}

TEST(NodePoolTextTest, NotReadyMessagesDoNotNameTheNodePool) {
  ClusterMaker maker = MakeCluster().Pending("ns/g", {.min_member = 2});
  maker.rows().pod_groups[0].scheduling_backoff = 1;
  EXPECT_THAT(RunPlan(maker), HasMessage("ns/g", HasSubstr("Job is not ready for scheduling.")));
}

// ---- evictions ----------------------------------------------------------------------------------

constexpr char kReclaim[] = R"({"actions": "allocate, reclaim"})";

// Queue rich has two GPUs more than it deserves, and poor requests one of the two that it deserves.
ClusterMaker RichAndPoor() {
  return MakeCluster()
      .Queue("rich", {.deserved_gpus = 2})
      .Queue("poor", {.deserved_gpus = 2})
      .Node("n", {.gpus = 4})
      .Running("rich/old", {.gpus = 2, .node = "n"})
      .Running("rich/young", {.pods = 2, .gpus = 1, .node = "n", .min_member = 1})
      .Pending("poor/new", {.gpus = 1});
}

TEST(EvictionOutcomeTest, AGroupThatLosesPodsReportsThemAndTheReason) {
  const Plan plan = RunPlan(RichAndPoor(), kReclaim);
  ASSERT_THAT(plan, PlanIs(Evicts("rich/young-1"), Pipelines("poor/new-0", "n")));
  EXPECT_THAT(plan, HasVerdict("rich/young", Verdict::kRunning));
  EXPECT_THAT(ReasonsOf(plan, "rich/young"), ElementsAre(Pair("evicted", "rich/young-1")));
  EXPECT_THAT(OutcomeOf(plan, "rich/young").reasons[0].message,
              AllOf(HasSubstr("Pod rich/young-1 was preempted by workload poor/new.\nrich uses "),
                    HasSubstr("\npoor uses ")));
  EXPECT_THAT(OutcomeOf(plan, "rich/young").events, IsEmpty()) << "KAI's text is in the decision";
  EXPECT_TRUE(OutcomeOf(plan, "rich/young").writes.last_eviction);
  EXPECT_FALSE(OutcomeOf(plan, "rich/old").writes.last_eviction);
  EXPECT_FALSE(OutcomeOf(plan, "poor/new").writes.last_eviction);
}

TEST(EvictionOutcomeTest, AGroupThatGetsTheirResourcesIsPipelined) {
  const Plan plan = RunPlan(RichAndPoor(), kReclaim);
  EXPECT_THAT(plan, HasVerdict("poor/new", Verdict::kPipelined));
  EXPECT_THAT(ReasonsOf(plan, "poor/new"), IsEmpty());
  EXPECT_THAT(OutcomeOf(plan, "poor/new").events, IsEmpty())
      << "the failure in allocate no longer matters";
  EXPECT_FALSE(OutcomeOf(plan, "poor/new").writes.last_start);
}

TEST(EvictionOutcomeTest, AGroupThatMovesIsPipelinedAndLosesNothing) {
  const Plan plan = RunPlan(MakeCluster()
                                .Node("n1", {.gpus = 2})
                                .Node("n2", {.gpus = 2})
                                .Running("ns/a", {.gpus = 1, .node = "n1"})
                                .Running("ns/b", {.gpus = 1, .node = "n2"})
                                .Pending("ns/new", {.gpus = 2}),
                            R"({"actions": "allocate, consolidation"})");
  ASSERT_THAT(plan.decisions, testing::SizeIs(3));
  const PodGroupId moved = plan.cluster->pods().group[plan.decisions[0].pod];
  EXPECT_EQ(plan.OutcomeOf(moved).verdict, Verdict::kPipelined);
  EXPECT_THAT(ReasonsOf(plan, moved), IsEmpty());
  EXPECT_TRUE(plan.OutcomeOf(moved).writes.last_eviction);
  EXPECT_THAT(plan, HasVerdict("ns/new", Verdict::kPipelined));
}

TEST(EvictionOutcomeTest, ADelayedGroupReportsTheEndOfItsDelay) {  // spec 2 D2
  ClusterMaker maker = RichAndPoor();
  maker.rows().pod_groups.back().preemption_delay_ns = 2 * kTestNowNs;
  const Plan plan = RunPlan(maker, R"({"actions": "allocate, consolidation, reclaim, preempt"})");
  EXPECT_THAT(plan, AllOf(PlanIs(), HasVerdict("poor/new", Verdict::kUnschedulable)));
  EXPECT_THAT(ReasonsOf(plan, "poor/new"),
              ElementsAre(Pair("not_enough_gpus", "poor/new-0"), Pair("preemption_delay", "")))
      << "listed once, though three actions could evict for it";
  EXPECT_THAT(plan,
              HasMessage("poor/new", HasSubstr("Workload is within its preemption delay window")));
}

TEST(EvictionOutcomeTest, AStaleGangReportsStalenessAfterItsReasons) {
  ClusterMaker maker = MakeCluster()
                           .Node("n", {.gpus = 1})
                           .Running("ns/g", {.gpus = 1, .node = "n", .min_member = 2})
                           .Pending("ns/g", {.gpus = 1});
  maker.rows().pod_groups[0].stale_since_ns = kTestNowNs - 1;
  const Plan plan = RunPlan(maker, R"({"actions": "allocate, stalegangeviction"})");
  EXPECT_THAT(OutcomeOf(plan, "ns/g").events,
              ElementsAre("Job is stale. 1 pods are active, minMember is 2",
                          HasSubstr("Resources were found for 0 pods while 2 are required")));
  EXPECT_THAT(ReasonsOf(plan, "ns/g"),
              ElementsAre(Pair("gang_incomplete", ""), Pair("not_enough_gpus", "ns/g-1"),
                          Pair("stale", "")));
}

TEST(EvictionOutcomeTest, ASearchThatEndedEarlyIsReported) {  // spec 2 W25
  const Plan plan = RunPlan(RichAndPoor(), R"({"actions": "allocate, reclaim",
      "scenarioSearchBudgets": {"maxScenarios": {"job": 0}}})");
  EXPECT_THAT(plan, PlanIs());
  EXPECT_THAT(ReasonsOf(plan, "poor/new"),
              ElementsAre(Pair("not_enough_gpus", "poor/new-0"), Pair("search_budget_spent", "")));
}

TEST(EvictionOutcomeTest, AGangWithPodsThatSucceededNeedsOnlyTheOthers) {  // spec 2 W21
  ClusterMaker maker =
      MakeCluster().Succeeded("ns/g", {.min_member = 4}).Pending("ns/g", {.pods = 2});
  EXPECT_THAT(RunPlan(maker),
              HasMessage("ns/g", HasSubstr("Waiting for 3 pods, currently 2 exist")));
  EXPECT_THAT(RunPlan(maker, R"({"actions": "allocate", "compat": {"completed_pods": "kai"}})"),
              HasMessage("ns/g", HasSubstr("Waiting for 4 pods, currently 2 exist")));
}

TEST(OutcomeTest, EveryPodOfAGroupWithoutADomainHasAMessage) {
  ClusterMaker maker = MakeCluster()
                           .Add(TopologyRow{.name = "net", .levels = {{"rack", ""}}})
                           .Node("n", {.gpus = 1, .labels = {{"rack", "r1"}}})
                           .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 2});
  maker.rows().pod_groups[0].topology = {
      .topology = "net", .required_level = "rack", .preferred_level = ""};
  const Plan plan = RunPlan(maker);
  EXPECT_THAT(TextOfPod(plan, "ns/g-0"), HasSubstr("requirement rack couldn't be satisfied"));
  EXPECT_EQ(TextOfPod(plan, "ns/g-0"), TextOfPod(plan, "ns/g-1"));
}

// ---- order --------------------------------------------------------------------------------------

TEST(OutcomeTest, MessagesOfPodsAreInTheOrderOfPods) {
  const Plan plan = RunPlan(MakeCluster()
                                .Node("n", {.gpus = 1})
                                .Pending("z/g", {.pods = 2, .gpus = 2})
                                .Pending("a/g", {.pods = 2, .gpus = 2}));
  std::vector<std::string> pods;
  for (const auto& [pod, text] : ConditionsOf(plan)) pods.push_back(plan.cluster->PodName(pod));
  EXPECT_THAT(pods, ElementsAre("a/g-0", "a/g-1", "z/g-0", "z/g-1"));
}

// ---- resource claims ----------------------------------------------------------------------------

TEST(ClaimOutcomeTest, NamesTheClaimsThatAreTheReason) {
  ClusterMaker maker = MakeCluster().Node("n", {.gpus = 0}).Add(GpuClass()).Add(GpusOn("n", 1));
  for (const char* group : {"ns/missing", "ns/picky", "ns/first", "ns/second", "ns/without"})
    maker.Pending(group);
  ResourceClaimRow picky = GpuClaim("ns/picky", 1);
  picky.spec.requests[0].exactly.selectors = {"false"};
  maker.Add(picky).Add(GpuClaim("ns/first", 1)).Add(GpuClaim("ns/second", 1));
  for (const char* claim : {"missing", "picky", "first", "second"})
    Claims(&maker, StrCat("ns/", claim, "-0"), {claim});
  const Plan plan = RunPlan(maker);
  EXPECT_THAT(ReasonsOf(plan, "ns/missing"),
              ElementsAre(Pair("resource_claim_not_ready", "ns/missing-0")));
  EXPECT_THAT(ReasonsOf(plan, "ns/picky"), ElementsAre(Pair("no_free_devices", "ns/picky-0")));
  EXPECT_THAT(ReasonsOf(plan, "ns/second"), ElementsAre(Pair("not_enough_gpus", "ns/second-0")))
      << "a node gives no reason of its own here (spec 3 E5)";
  ASSERT_EQ(plan.claims.size(), 1U) << "ns/without is bound, too";
  EXPECT_EQ(plan.cluster->PodName(plan.claims[0].first), "ns/first-0");
}

}  // namespace
}  // namespace kai::outcome_test
