#include "kai/actions/allocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kai/session/config.h"
#include "kai/session/session.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/matchers/matchers.h"

namespace kai::allocate_test {
namespace {

// The plan of allocate alone, with KAI's default plugins.
Plan RunAllocate(const ClusterMaker& maker, std::string_view more_config = "") {
  const std::string json = R"({"actions": "allocate")" + std::string(more_config) + "}";
  absl::StatusOr<Config> config = Config::Parse(json, {});
  EXPECT_TRUE(config.ok()) << config.status().message();
  absl::StatusOr<Plan> plan =
      Session(*std::move(config)).Run(maker.Build(), kTestNowNs, /*stopwatch=*/nullptr);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

bool WritesLastStart(const Plan& plan, std::string_view group) {
  return OutcomeOf(plan, group).writes.last_start;
}

// ---- which group goes first

TEST(AllocateTest, TheOlderOfTwoEqualGroupsGoesFirst) {  // spec 2 E16
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 1})
                              .Pending("ns/b", {.gpus = 1})
                              .Pending("ns/a", {.gpus = 1})),
              PlanIs(Binds("ns/b-0", "n")));
}

TEST(AllocateTest, AHigherPriorityGoesFirst) {  // spec 2 E11
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 8})
                              .Pending("ns/c", {.gpus = 1, .priority = 150})
                              .Pending("ns/a", {.gpus = 1, .priority = 255})
                              .Pending("ns/d", {.gpus = 1, .priority = 160})
                              .Pending("ns/b", {.gpus = 1, .priority = 200})),
              PlanIs(Binds("ns/a-0"), Binds("ns/b-0"), Binds("ns/d-0"), Binds("ns/c-0")));
}

TEST(AllocateTest, TheOlderOfTwoEqualQueuesGoesFirst) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Queue("young", {.created_s = 20})
                              .Queue("old", {.created_s = 10})
                              .Node("n", {.gpus = 1})
                              .Pending("young/g", {.gpus = 1})
                              .Pending("old/g", {.gpus = 1})),
              PlanIs(Binds("old/g-0")));
}

TEST(AllocateTest, TheQueueThatRequestsLessGoesFirstAmongEqualQueues) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Queue("large", {.deserved_gpus = 4, .created_s = 10})
                              .Queue("small", {.deserved_gpus = 4, .created_s = 20})
                              .Node("n", {.gpus = 8})
                              .Pending("large/g", {.gpus = 2})
                              .Pending("small/g", {.gpus = 1})),
              PlanIs(Binds("small/g-0"), Binds("large/g-0")));
}

TEST(AllocateTest, EveryGroupThatWaitsHasAReasonInAFullCluster) {
  ClusterMaker maker = MakeCluster();
  maker.Node("n", {.gpus = 2});
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    const std::string queue = absl::StrCat("q", i);
    maker.Queue(queue, {.created_s = 10 + i})
        .Pending(names.emplace_back(queue + "/g"), {.gpus = 1});
  }
  const Plan plan = RunAllocate(maker);
  EXPECT_THAT(plan, PlanIs(Binds("q0/g-0"), Binds("q1/g-0")));
  for (size_t i = 2; i < names.size(); ++i)
    EXPECT_EQ(OutcomeOf(plan, names[i]).reasons.size(), 1) << names[i];
}

TEST(AllocateTest, QueuesTakeTurnsByTheirAllocation) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Queue("a", {.deserved_gpus = 2, .created_s = 10})
                              .Queue("b", {.deserved_gpus = 2, .created_s = 20})
                              .Node("n", {.gpus = 3})
                              .Pending("a/one", {.gpus = 1})
                              .Pending("a/two", {.gpus = 1})
                              .Pending("b/one", {.gpus = 1})
                              .Pending("b/two", {.gpus = 1})),
              PlanIs(Binds("a/one-0"), Binds("b/one-0"), Binds("a/two-0")));
}

TEST(AllocateTest, AGroupWithoutRoomBlocksNoOtherGroup) {
  const Plan plan = RunAllocate(MakeCluster()
                                    .Node("n", {.gpus = 2})
                                    .Pending("ns/large", {.pods = 3, .gpus = 1, .min_member = 3})
                                    .Pending("ns/small", {.gpus = 2}));
  EXPECT_THAT(plan, PlanIs(Binds("ns/small-0", "n")));
  EXPECT_THAT(plan, HasVerdict("ns/large", Verdict::kUnschedulable));
}

TEST(AllocateTest, GroupsThatAreNotReadyOrInNoLeafQueueAreNotConsidered) {  // spec 2 O1
  const Plan plan = RunAllocate(MakeCluster()
                                    .Queue("org")
                                    .Queue("team", {.parent = "org"})
                                    .Node("n")
                                    .Pending("org/inner")
                                    .Pending("unknown/lost")
                                    .Pending("team/early", {.min_member = 2})
                                    .Gated("team/gated")
                                    .Pending("team/fine"));
  EXPECT_THAT(plan, PlanIs(Binds("team/fine-0")));
}

TEST(AllocateTest, GroupsThatNeedUnknownNamespacesAreNotConsidered) {
  const Plan plan =
      RunAllocate(MakeCluster()
                      .Node("n", {.gpus = 8})
                      .Pending("ns/whole", {.gpus = 1})
                      .Pending("ns/strange", {.gpus = 1, .affinity = NeedsNamespaces()}));
  EXPECT_THAT(plan, PlanIs(Binds("ns/whole-0")));
  EXPECT_THAT(plan, Reasons("ns/strange", reason_codes::kNotBuilt));
}

// ---- gangs

TEST(AllocateTest, NoPodOfAGangIsBoundIfOneDoesNotFit) {  // spec 2 E14
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n1", {.gpus = 2})
                              .Node("n2", {.gpus = 1})
                              .Pending("ns/g", {.pods = 4, .gpus = 1, .min_member = 4})),
              PlanIs());
}

TEST(AllocateTest, AGangIsPipelinedWholeIfOneOfItsPodsHasToWait) {  // spec 2 T6
  // The first pod could start now, but the second must wait, and one of two pods is not a complete
  // gang.
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 2})
                              .Releasing("ns/old", {.gpus = 1, .node = "n"})
                              .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 2})),
              PlanIs(Pipelines("ns/g-1", "n"), Pipelines("ns/g-0", "n")));
}

TEST(AllocateTest, OtherGroupsDoNotGetTheResourcesOfAPipelinedGang) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 2})
                              .Releasing("ns/old", {.gpus = 1, .node = "n"})
                              .Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2})
                              .Pending("ns/next", {.gpus = 1})),
              PlanIs(Pipelines(2, "ns/gang")));
}

TEST(AllocateTest, AGangThatRunsAlreadyMayGetOnePodNowAndOneLater) {  // spec 2 T6
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 3})
                              .Releasing("ns/old", {.gpus = 1, .node = "n"})
                              .Running("ns/g", {.gpus = 1, .node = "n", .min_member = 1})
                              .Pending("ns/g", {.pods = 2, .gpus = 1})),
              PlanIs(Binds("ns/g-1", "n"), Pipelines("ns/g-2", "n")));
}

TEST(AllocateTest, PipelinedPodsDoNotCountForTheMinimumOfAGang) {
  // One pod of a gang of three runs. The attempt is about the other two, and one of them must wait:
  // 1 + 1 < 3.
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 3})
                              .Releasing("ns/old", {.gpus = 1, .node = "n"})
                              .Running("ns/g", {.gpus = 1, .node = "n", .min_member = 3})
                              .Pending("ns/g", {.pods = 2, .gpus = 1})),
              PlanIs(Pipelines("ns/g-2", "n"), Pipelines("ns/g-1", "n")));
}

TEST(AllocateTest, AGroupWithoutAMinimumIsNotPipelinedWhole) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 2})
                              .Releasing("ns/old", {.gpus = 1, .node = "n"})
                              .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 0})),
              PlanIs(Binds("ns/g-0", "n"), Pipelines("ns/g-1", "n")));
}

TEST(AllocateTest, AGangBelowItsMinimumGetsAllMissingPodsTogether) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 4})
                              .Running("ns/g", {.pods = 2, .gpus = 1, .node = "n", .min_member = 4})
                              .Pending("ns/g", {.pods = 2, .gpus = 1})),
              PlanIs(Binds("ns/g-2"), Binds("ns/g-3")));
}

// ---- waiting for what is being freed

TEST(AllocateTest, APodIsPipelinedToResourcesThatAreBeingFreed) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 1})
                              .Releasing("ns/old", {.gpus = 1, .node = "n"})
                              .Pending("ns/g", {.gpus = 1})
                              .Pending("ns/late", {.gpus = 1})),
              PlanIs(Pipelines("ns/g-0", "n")));
}

TEST(AllocateTest, APipelinedPodCountsInTheQueue) {
  const Plan plan = RunAllocate(MakeCluster()
                                    .Queue("team", {.limit_gpus = 1})
                                    .Node("n", {.gpus = 2})
                                    .Releasing("team/old", {.gpus = 2, .node = "n"})
                                    .Pending("team/a", {.gpus = 1})
                                    .Pending("team/b", {.gpus = 1}));
  EXPECT_THAT(plan, PlanIs(Pipelines("team/a-0", "n")));
  EXPECT_THAT(plan, Reasons("team/b", reason_codes::kOverLimit));
}

// ---- elastic groups

TEST(AllocateTest, AnElasticGroupGrowsPodByPodAsFarAsThereIsRoom) {  // spec 2 G13 (a)
  const Plan plan = RunAllocate(MakeCluster()
                                    .Node("n", {.gpus = 3})
                                    .Pending("ns/g", {.pods = 5, .gpus = 1, .min_member = 2}));
  EXPECT_THAT(plan, PlanIs(Binds("ns/g-0"), Binds("ns/g-1"), Binds("ns/g-2")));
  EXPECT_THAT(plan, HasVerdict("ns/g", Verdict::kPartlyPlaced));
}

TEST(AllocateTest, GroupsBelowTheirMinimumGoBeforeExtras) {  // spec 2 A2
  EXPECT_THAT(
      RunAllocate(MakeCluster()
                      .Node("n", {.gpus = 5})
                      .Pending("ns/first", {.pods = 4, .gpus = 1, .min_member = 1})
                      .Pending("ns/second", {.pods = 2, .gpus = 1, .min_member = 2})),
      PlanIs(Binds("ns/first-0"), Binds(2, "ns/second"), Binds("ns/first-1"), Binds("ns/first-2")));
}

TEST(AllocateTest, TheElasticGroupAtItsMinimumGrowsFirst) {  // spec 2 E15
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 5})
                              .Pending("ns/a", {.pods = 3, .gpus = 1, .min_member = 1})
                              .Pending("ns/b", {.pods = 3, .gpus = 1, .min_member = 1})),
              PlanIs(Binds("ns/a-0"), Binds("ns/b-0"),  // both get their minimum
                     Binds("ns/a-1"), Binds("ns/b-1"),  // then b is at its minimum, and a above
                     Binds("ns/a-2")));                 // both above: the older one
}

TEST(AllocateTest, PriorityComesBeforeElasticState) {
  EXPECT_THAT(
      RunAllocate(MakeCluster()
                      .Node("n", {.gpus = 3})
                      .Pending("ns/low", {.pods = 1, .gpus = 1, .priority = 40})
                      .Pending("ns/high", {.pods = 3, .gpus = 1, .min_member = 1, .priority = 60})),
      PlanIs(Binds("ns/high-0"), Binds("ns/high-1"), Binds("ns/high-2")));
}

TEST(AllocateTest, PodsOfAHigherTaskPriorityGoFirst) {  // spec 2 E15
  EXPECT_THAT(
      RunAllocate(
          MakeCluster()
              .Node("n", {.gpus = 2})
              .Pending("ns/g", {.gpus = 1, .labels = {{"kai.scheduler/task-priority", "1"}}})
              .Pending("ns/g", {.gpus = 1, .labels = {{"kai.scheduler/task-priority", "9"}}})
              .Pending("ns/g", {.gpus = 1, .labels = {{"kai.scheduler/task-priority", "5"}}})),
      PlanIs(Binds("ns/g-1"), Binds("ns/g-2")));
}

TEST(AllocateTest, ExtrasWithoutRoomDoNotAffectTheGang) {
  const Plan plan = RunAllocate(MakeCluster()
                                    .Node("n", {.gpus = 2})
                                    .Pending("ns/g", {.pods = 3, .gpus = 1, .min_member = 2}));
  EXPECT_THAT(plan, PlanIs(Binds(2, "ns/g")));
  EXPECT_THAT(plan, HasMessage("ns/g",
                               "PodSchedulingErrors: Resources were not found for pod ns/g-2 due "
                               "to: no nodes with enough resources were found: 1 node(s) didn't "
                               "have enough resources: GPUs.."));
}

TEST(AllocateTest, AGroupThatCanStartWithOtherSubGroupsIsTried) {  // spec 4 W5
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "old";
  group.min_sub_group = 1;
  group.sub_groups.resize(2);
  group.sub_groups[0].name = "large";
  group.sub_groups[1].name = "small";
  for (SubGroupRow& row : group.sub_groups) row.min_member = 1;
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Add(group)
                              .Node("n", {.gpus = 1})
                              .Pending("ns/old", {.gpus = 4, .subgroup = "large"})
                              .Pending("ns/old", {.gpus = 1, .subgroup = "small"})
                              .Pending("ns/young", {.gpus = 1})),
              PlanIs(Binds("ns/old-1")));
}

// ---- when a group starts (spec 2 A1)

TEST(AllocateTest, TheFirstBindSetsTheStartOfAGroup) {
  EXPECT_TRUE(WritesLastStart(
      RunAllocate(MakeCluster().Node("n").Pending("ns/g", {.pods = 2, .min_member = 1})), "ns/g"));
}

TEST(AllocateTest, ExtrasAndPipelinedPodsDoNotSetTheStart) {
  const Plan extras = RunAllocate(
      MakeCluster().Node("n").Running("ns/g", {.node = "n", .min_member = 1}).Pending("ns/g"));
  EXPECT_THAT(extras, PlanIs(Binds("ns/g-1")));
  EXPECT_FALSE(WritesLastStart(extras, "ns/g"));
  const Plan promised = RunAllocate(MakeCluster()
                                        .Node("n", {.gpus = 1})
                                        .Releasing("ns/old", {.gpus = 1, .node = "n"})
                                        .Pending("ns/g", {.gpus = 1}));
  EXPECT_THAT(promised, PlanIs(Pipelines("ns/g-0")));
  EXPECT_FALSE(WritesLastStart(promised, "ns/g"));
}

TEST(AllocateTest, APipelinedGangHasNotStarted) {
  EXPECT_FALSE(
      WritesLastStart(RunAllocate(MakeCluster()
                                      .Node("n", {.gpus = 2})
                                      .Releasing("ns/old", {.gpus = 1, .node = "n"})
                                      .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 2})),
                      "ns/g"));
}

// ---- queueDepthPerAction (spec 2 C9)

TEST(AllocateTest, TheDepthLimitsTheGroupsPerLeafQueue) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Queue("a", {.created_s = 1})
                              .Queue("b", {.created_s = 2})
                              .Node("n", {.gpus = 8})
                              .Pending("a/one", {.gpus = 1})
                              .Pending("a/two", {.gpus = 1})
                              .Pending("b/one", {.gpus = 1}),
                          R"(, "queueDepthPerAction": {"allocate": 1})"),
              PlanIs(Binds("a/one-0"), Binds("b/one-0")));
}

ClusterMaker SecondThirdFirst() {
  return MakeCluster()
      .Node("n", {.gpus = 8})
      .Pending("ns/second", {.gpus = 1, .priority = 80})
      .Pending("ns/third", {.gpus = 1, .priority = 70})
      .Pending("ns/first", {.gpus = 1, .priority = 90});
}

TEST(AllocateTest, TheDepthKeepsTheFirstGroupsOfAQueue) {  // switch queue_depth
  const Plan plan = RunAllocate(SecondThirdFirst(), R"(, "queueDepthPerAction": {"allocate": 2})");
  EXPECT_THAT(plan, PlanIs(Binds("ns/first-0"), Binds("ns/second-0")));
  EXPECT_THAT(plan, Reasons("ns/third", reason_codes::kNotConsidered));
}

TEST(AllocateTest, AsKaiTheDepthDropsTheLastGroupOfTheHeap) {  // spec 2 W9
  // The heap contains second and third; first is added and moves to the top, so second is last.
  const Plan plan =
      RunAllocate(SecondThirdFirst(),
                  R"(, "queueDepthPerAction": {"allocate": 2}, "compat": {"queue_depth": "kai"})");
  EXPECT_THAT(plan, PlanIs(Binds("ns/first-0"), Binds("ns/third-0")));
  EXPECT_THAT(plan, Reasons("ns/second", reason_codes::kNotConsidered));
}

TEST(AllocateTest, ADepthOfAnotherActionIsIgnored) {
  EXPECT_THAT(RunAllocate(MakeCluster()
                              .Node("n", {.gpus = 8})
                              .Pending("ns/a", {.gpus = 1})
                              .Pending("ns/b", {.gpus = 1}),
                          R"(, "queueDepthPerAction": {"preempt": 1, "allocate": -1})"),
              PlanIs(Binds("ns/a-0"), Binds("ns/b-0")));
}

}  // namespace
}  // namespace kai::allocate_test
