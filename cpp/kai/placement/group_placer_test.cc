#include "kai/placement/group_placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kai/placement/rooms_for_test.h"
#include "kai/texts/reason_text.h"

namespace kai::group_placer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Mode = GroupPlacer::Mode;

GroupPlacer::Result Place(Rooms* rooms, std::string_view group, Mode mode = Mode::kReal) {
  return rooms->placer().Place(rooms->Group(group), mode, &rooms->statement());
}

// The last reason in KAI's event for a failed attempt, and its subject.
struct ReportedError {
  std::string_view code;
  std::string_view name;
  std::string message;
  PodId pod;
  std::string pod_message;
  bool below_minimum = false;
  QueueId queue;
};
ReportedError LastOf(Rooms& rooms, const GroupPlacer::Result& result) {
  const Cluster& cluster = rooms.cluster();
  const std::vector<Reason>& reasons = result.reasons;
  EXPECT_FALSE(reasons.empty());
  const bool is_gang =
      reasons.size() > 1 && std::holds_alternative<GangIncomplete>(reasons[reasons.size() - 2]);
  const PodId first(0);  // any pod: the reasons here do not contain its group
  const EventError event = EventErrorOf(is_gang ? reasons[reasons.size() - 2] : reasons.back(),
                                        cluster.pods().group[first], cluster);
  ReportedError error{.code = CodeOf(reasons.back()),
                      .name = event.name,
                      .message = event.message,
                      .pod = PodOf(reasons.back()),
                      .pod_message = {},
                      .below_minimum = is_gang,
                      .queue = {}};
  if (const auto* no_node = std::get_if<NoNode>(&reasons.back()))
    error.pod_message = TextOf(*no_node->cause, no_node->pod, cluster);
  if (const auto* over = std::get_if<OverLimit>(&reasons.back())) error.queue = over->queue;
  if (const auto* over = std::get_if<OverQuota>(&reasons.back())) error.queue = over->queue;
  return error;
}

// ---- placing

TEST(GroupPlacerTest, APodIsPlacedOnOneNodeOrNowhere) {
  Rooms rooms(MakeCluster()
                  .Queue("q", {.limit_gpus = 2})
                  .Node("full", {.gpus = 1})
                  .Node("leaving", {.gpus = 1})
                  .Node("idle", {.gpus = 3})
                  .Running("q/a", {.gpus = 1, .node = "full"})
                  .Releasing("q/b", {.gpus = 1, .node = "leaving"})
                  .Pending("q/g", {.pods = 2, .gpus = 1})
                  .Build());
  GroupPlacer& placer = rooms.placer();
  const Cluster& cluster = rooms.cluster();
  const PodId pod = rooms.Pod("q/g-0");
  EXPECT_FALSE(placer.PlaceOn(pod, rooms.Node("full"), &rooms.statement()));
  EXPECT_EQ(rooms.statement().Mark(), 0);
  EXPECT_TRUE(placer.PlaceOn(pod, rooms.Node("leaving"), &rooms.statement()));
  EXPECT_EQ(cluster.pods().status[pod], PodStatus::kPipelined);
  rooms.statement().RollBackTo(0);
  EXPECT_TRUE(placer.PlaceOn(pod, rooms.Node("idle"), &rooms.statement()));
  EXPECT_EQ(cluster.pods().status[pod], PodStatus::kAllocated);
  EXPECT_FALSE(placer.PlaceOn(rooms.Pod("q/g-1"), rooms.Node("idle"), &rooms.statement()))
      << "the limit of the queue";
  EXPECT_TRUE(Place(&rooms, "q/g").reasons.size() > 0) << "the next search uses all nodes";
}

TEST(GroupPlacerTest, AGroupThatCannotBePlacedLeavesNoTrace) {
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 3})
                  .Pending("ns/fits", {.pods = 2, .gpus = 1, .min_member = 2})
                  .Pending("ns/large", {.pods = 2, .gpus = 1, .min_member = 2})
                  .Build());
  GroupPlacer placer(rooms.cluster(), &rooms.order(), &rooms.shares(), &rooms.search(), {});
  const auto places = [&](PodGroupId group) {
    const GroupPlacer::Result result = placer.Place(group, Mode::kReal, &rooms.statement());
    EXPECT_EQ(result.reasons.empty(), result.placed);
    return result.placed;
  };
  EXPECT_TRUE(places(rooms.Group("ns/fits")));
  EXPECT_EQ(rooms.statement().ChangesSince(0).size(), size_t{2});
  EXPECT_FALSE(places(rooms.Group("ns/large"))) << "one GPU is left";
  EXPECT_EQ(rooms.statement().ChangesSince(0).size(), size_t{2});
}

TEST(GroupPlacerTest, AllPodsOfAGangArePlacedTogether) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2})
                  .Node("n2", {.gpus = 2})
                  .Pending("ns/g", {.pods = 3, .gpus = 1, .min_member = 3})
                  .Build());
  EXPECT_TRUE(Place(&rooms, "ns/g").placed);
  EXPECT_THAT(rooms.Placements(), ElementsAre("ns/g-0 n1", "ns/g-1 n1", "ns/g-2 n2"));
}

TEST(GroupPlacerTest, AGangThatDoesNotFitWholeLeavesNoTrace) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2})
                  .Pending("ns/g", {.pods = 3, .gpus = 1, .min_member = 3})
                  .Build());
  const ResourceTable<NodeId> idle = rooms.cluster().nodes().idle;
  const auto status = rooms.cluster().pods().status;
  const GroupPlacer::Result result = Place(&rooms, "ns/g");
  EXPECT_FALSE(result.placed);
  EXPECT_TRUE(result.had_pods);
  EXPECT_THAT(rooms.Placements(), IsEmpty());
  EXPECT_EQ(rooms.cluster().nodes().idle, idle);
  EXPECT_EQ(rooms.cluster().pods().status, status);
}

TEST(GroupPlacerTest, EarlierChangesOfTheStatementStay) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2})
                  .Pending("ns/first", {.gpus = 1})
                  .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 2})
                  .Build());
  EXPECT_TRUE(Place(&rooms, "ns/first").placed);
  EXPECT_FALSE(Place(&rooms, "ns/g").placed);
  EXPECT_THAT(rooms.Placements(), ElementsAre("ns/first-0 n1"));
}

TEST(GroupPlacerTest, PodsThatHaveToWaitArePipelined) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2})
                  .Releasing("ns/old", {.gpus = 1, .node = "n1"})
                  .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 2})
                  .Build());
  EXPECT_TRUE(Place(&rooms, "ns/g").placed);
  EXPECT_THAT(rooms.Placements(), ElementsAre("ns/g-0 n1", "ns/g-1 n1 later"));
}

TEST(GroupPlacerTest, InSimulationAllPodsArePipelinedEvenToIdleResources) {  // spec 2 P4
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2})
                  .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 2})
                  .Build());
  EXPECT_TRUE(Place(&rooms, "ns/g", Mode::kSimulate).placed);
  EXPECT_THAT(rooms.Placements(), ElementsAre("ns/g-0 n1 later", "ns/g-1 n1 later"));
}

TEST(GroupPlacerTest, InSimulationNoReasonsAreRecorded) {
  Rooms rooms(MakeCluster().Node("n1").Pending("ns/g", {.millicpu = 64'001}).Build());
  const GroupPlacer::Result result = Place(&rooms, "ns/g", Mode::kSimulate);
  EXPECT_FALSE(result.placed);
  EXPECT_TRUE(result.reasons.empty());
}

TEST(GroupPlacerTest, AGroupWithoutPodsToPlaceIsNeitherPlacedNorFailed) {
  Rooms rooms(MakeCluster().Node("n1").Running("ns/g", {.node = "n1"}).Build());
  const GroupPlacer::Result result = Place(&rooms, "ns/g");
  EXPECT_FALSE(result.placed);
  EXPECT_FALSE(result.had_pods);
}

ClusterMaker TwoSubGroups() {
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "g";
  for (const auto& [name, minimum] : {std::pair("leaders", 1), std::pair("workers", 2)}) {
    SubGroupRow row;
    row.name = name;
    row.min_member = minimum;
    group.sub_groups.push_back(std::move(row));
  }
  return MakeCluster()
      .Add(std::move(group))
      .Pending("ns/g", {.pods = 2, .gpus = 1, .subgroup = "workers"})
      .Pending("ns/g", {.pods = 1, .gpus = 1, .subgroup = "leaders"});
}

TEST(GroupPlacerTest, SubGroupsArePlacedInTheirOrder) {
  Rooms rooms(TwoSubGroups().Node("n1", {.gpus = 3}).Build());
  EXPECT_TRUE(Place(&rooms, "ns/g").placed);
  EXPECT_THAT(rooms.Placements(), ElementsAre("ns/g-2 n1", "ns/g-0 n1", "ns/g-1 n1"));
}

TEST(GroupPlacerTest, ASubGroupThatFailsUndoesItsSiblings) {
  Rooms rooms(TwoSubGroups().Node("n1", {.gpus = 2}).Build());
  EXPECT_FALSE(Place(&rooms, "ns/g").placed);
  EXPECT_THAT(rooms.Placements(), IsEmpty());
}

// ---- sets that do not need all sub-groups (switch optional_members, spec 4 W5)

TEST(GroupPlacerTest, IfOneSubGroupFindsNoPlaceAnotherIsTried) {
  ClusterMaker maker = GroupOf({Leaf("a", 1), Leaf("b", 1)}, 1)
                           .Node("n1", {.gpus = 2})
                           .Pending("ns/g", {.gpus = 4, .subgroup = "a"})
                           .Pending("ns/g", {.gpus = 1, .subgroup = "b"});
  Rooms rooms(maker.Build());
  EXPECT_TRUE(Place(&rooms, "ns/g").placed);
  EXPECT_THAT(rooms.Placements(), ElementsAre("ns/g-1 n1"));
  Rooms simulated(maker.Build());
  EXPECT_FALSE(Place(&simulated, "ns/g", Mode::kSimulate).placed);
}

TEST(GroupPlacerTest, ExtrasThatFindNoPlaceAreTriedOnce) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 1})
                  .Running("ns/g", {.gpus = 1, .node = "n1", .min_member = 1})
                  .Pending("ns/g", {.gpus = 1})
                  .Build());
  EXPECT_FALSE(Place(&rooms, "ns/g").placed);
}

// ---- gates (spec 1 F77, F78)

TEST(GroupPlacerGateTest, ALimitAppliesToAllPodsOfTheAttemptTogether) {
  Rooms rooms(MakeCluster()
                  .Queue("team", {.limit_gpus = 4})
                  .Node("n1", {.gpus = 8})
                  .Running("team/old", {.gpus = 2, .node = "n1"})
                  .Pending("team/fits", {.pods = 2, .gpus = 1, .min_member = 2})
                  .Pending("team/more", {.pods = 3, .gpus = 1, .min_member = 3})
                  .Build());
  const GroupPlacer::Result result = Place(&rooms, "team/more");
  EXPECT_FALSE(result.placed);
  const ReportedError error = LastOf(rooms, result);
  EXPECT_EQ(error.code, reason_codes::kOverLimit);
  EXPECT_EQ(error.name, "OverLimit");
  EXPECT_EQ(error.queue, QueueNamed(rooms.cluster(), "team"));
  EXPECT_EQ(error.message,
            "team quota has reached the allowable limit of GPUs. Limit is 4 GPUs, currently 2 GPUs "
            "allocated and workload requested 3 GPUs");
  EXPECT_TRUE(Place(&rooms, "team/fits").placed) << "exactly the limit is allowed";
}

TEST(GroupPlacerGateTest, TheLimitOfAnyAncestorAppliesAndIsNamed) {
  Rooms rooms(MakeCluster()
                  .Queue("org", {.limit_gpus = 1, .display_name = "The Organisation"})
                  .Queue("team", {.parent = "org"})
                  .Node("n1", {.gpus = 8})
                  .Pending("team/g", {.gpus = 2})
                  .Build());
  const ReportedError error = LastOf(rooms, Place(&rooms, "team/g"));
  EXPECT_EQ(error.queue, QueueNamed(rooms.cluster(), "org"));
  EXPECT_EQ(error.message,
            "The Organisation quota has reached the allowable limit of GPUs. Limit is 1 GPUs, "
            "currently 0 GPUs allocated and workload requested 2 GPUs");
}

TEST(GroupPlacerGateTest, CpuAndMemoryAreReportedInCoresAndGigabytes) {
  Rooms rooms(MakeCluster()
                  .Queue("cpu", {.limit_millicpu = 1500})
                  .Queue("memory", {.limit_mb = 2500})
                  .Node("n1")
                  .Pending("cpu/g", {.millicpu = 2250})
                  .Pending("memory/g", {.mb = 3000})
                  .Build());
  EXPECT_EQ(LastOf(rooms, Place(&rooms, "cpu/g")).message,
            "cpu quota has reached the allowable limit of CPU cores. Limit is 1.5 cores, currently "
            "0 cores allocated and workload requested 2.25 cores");
  EXPECT_EQ(LastOf(rooms, Place(&rooms, "memory/g")).message,
            "memory quota has reached the allowable limit of memory. Limit is 2.5 GB, currently 0 "
            "GB allocated and workload requested 3 GB");
}

TEST(GroupPlacerGateTest, AResourceThatIsNotRequestedIsNotChecked) {
  Rooms rooms(MakeCluster()
                  .Queue("team", {.limit_gpus = 1})
                  .Node("n1", {.gpus = 8})
                  .Running("team/old", {.gpus = 2, .node = "n1"})
                  .Pending("team/g")
                  .Build());
  EXPECT_TRUE(Place(&rooms, "team/g").placed);
}

TEST(GroupPlacerGateTest, ANonPreemptibleGroupStaysWithinTheQuota) {
  Rooms rooms(
      MakeCluster()
          .Queue("team", {.deserved_gpus = 2})
          .Node("n1", {.gpus = 8})
          .Running("team/old", {.gpus = 1, .node = "n1", .preemptibility = "non-preemptible"})
          .Running("team/soft", {.gpus = 3, .node = "n1"})
          .Pending("team/hard", {.gpus = 2, .preemptibility = "non-preemptible"})
          .Pending("team/exact", {.gpus = 1, .preemptibility = "non-preemptible"})
          .Pending("team/softer", {.gpus = 2})
          .Build());
  const GroupPlacer::Result result = Place(&rooms, "team/hard");
  const ReportedError error = LastOf(rooms, result);
  EXPECT_EQ(error.code, reason_codes::kNonPreemptibleOverQuota);
  EXPECT_EQ(error.name, "NonPreemptibleOverQuota");
  EXPECT_EQ(
      error.message,
      "Non-preemptible workload is over quota. Workload requested 2 GPUs, but team quota is 2 "
      "GPUs, while 1 GPUs are already allocated for non-preemptible pods. Use a preemptible "
      "workload to go over quota.");
  EXPECT_TRUE(Place(&rooms, "team/exact").placed) << "exactly the quota is allowed";
  EXPECT_TRUE(Place(&rooms, "team/softer").placed) << "preemptible pods may exceed it";
}

TEST(GroupPlacerGateTest, TheQuotaOfAnyAncestorApplies) {
  Rooms rooms(MakeCluster()
                  .Queue("org", {.deserved_gpus = 1})
                  .Queue("team", {.parent = "org", .deserved_gpus = 8})
                  .Node("n1", {.gpus = 8})
                  .Pending("team/g", {.gpus = 2, .preemptibility = "non-preemptible"})
                  .Build());
  EXPECT_EQ(LastOf(rooms, Place(&rooms, "team/g")).queue, QueueNamed(rooms.cluster(), "org"));
}

TEST(GroupPlacerGateTest, TheLimitIsCheckedBeforeTheQuota) {
  Rooms rooms(MakeCluster()
                  .Queue("team", {.deserved_gpus = 1, .limit_gpus = 1})
                  .Node("n1", {.gpus = 8})
                  .Pending("team/g", {.gpus = 2, .preemptibility = "non-preemptible"})
                  .Build());
  EXPECT_EQ(LastOf(rooms, Place(&rooms, "team/g")).code, reason_codes::kOverLimit);
}

TEST(GroupPlacerGateTest, WithoutThePluginNothingIsChecked) {
  Rooms rooms(MakeCluster()
                  .Queue("team", {.limit_gpus = 1})
                  .Node("n1", {.gpus = 8})
                  .Pending("team/g", {.gpus = 2})
                  .Build(),
              {.check_capacity = false});
  EXPECT_TRUE(Place(&rooms, "team/g").placed);
}

TEST(GroupPlacerGateTest, ALimitForbidsNodesOnWhichThePodCountsForMore) {  // spec 1 F79
  Rooms rooms(MakeCluster()
                  .Queue("team", {.limit_gpus = 0.2})
                  .Node("n1", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "1000"}}})
                  .Node("n2", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "4000"}}})
                  .Pending("team/g", {.gpu_memory_mib = 500})
                  .Build());
  const Statement::Checkpoint start = rooms.statement().Mark();
  EXPECT_TRUE(Place(&rooms, "team/g").placed);
  EXPECT_THAT(rooms.Placements(), ElementsAre("team/g-0 n2")) << "half a device on n1";
  rooms.statement().RollBackTo(start);
  GroupPlacer placer(rooms.cluster(), &rooms.order(), &rooms.shares(), &rooms.search(),
                     {.check_nodes = false});
  placer.Place(rooms.Group("team/g"), Mode::kReal, &rooms.statement());
  EXPECT_THAT(rooms.Placements(), ElementsAre("team/g-0 n1")) << "nodes are not checked";
}

TEST(GroupPlacerGateTest, EarlierPlacementsCount) {
  Rooms rooms(MakeCluster()
                  .Queue("team", {.limit_gpus = 2})
                  .Node("n1", {.gpus = 8})
                  .Pending("team/a", {.gpus = 1})
                  .Pending("team/b", {.gpus = 2})
                  .Build());
  const Statement::Checkpoint start = rooms.statement().Mark();
  EXPECT_TRUE(Place(&rooms, "team/a").placed);
  EXPECT_FALSE(Place(&rooms, "team/b").placed);
  rooms.statement().RollBackTo(start);
  EXPECT_TRUE(Place(&rooms, "team/b").placed);
}

// ---- why a pod found no node (spec 2 P6)

constexpr char kNoGpus[] =
    "no nodes with enough resources were found: 1 node(s) didn't have enough resources: GPUs.";

TEST(GroupPlacerErrorTest, TheMessageOfASinglePodNamesThePod) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 1})
                  .Running("ns/old", {.gpus = 1, .node = "n1"})
                  .Pending("ns/g", {.gpus = 1})
                  .Build());
  const ReportedError error = LastOf(rooms, Place(&rooms, "ns/g"));
  EXPECT_EQ(error.code, reason_codes::kNotEnoughGpus);
  EXPECT_EQ(error.name, "PodSchedulingErrors");
  EXPECT_EQ(error.pod, rooms.Pod("ns/g-0"));
  EXPECT_EQ(error.pod_message, kNoGpus);
  EXPECT_EQ(error.message,
            std::string("Resources were not found for pod ns/g-0 due to: ") + kNoGpus);
}

TEST(GroupPlacerErrorTest, TheMessageOfAGangCountsItsPlacedPods) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2})
                  .Pending("ns/g", {.pods = 3, .gpus = 1, .min_member = 3})
                  .Build());
  const ReportedError error = LastOf(rooms, Place(&rooms, "ns/g"));
  EXPECT_TRUE(error.below_minimum);
  EXPECT_EQ(error.message,
            std::string("Resources were found for 2 pods while 3 are required for gang scheduling. "
                        "Additional pods cannot be scheduled due to: ") +
                kNoGpus);
}

TEST(GroupPlacerErrorTest, TheMessageOfAGangWithItsMinimumNamesThePod) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2})
                  .Running("ns/g", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 2})
                  .Pending("ns/g", {.gpus = 1})
                  .Build());
  const ReportedError error = LastOf(rooms, Place(&rooms, "ns/g"));
  EXPECT_FALSE(error.below_minimum);
  EXPECT_EQ(error.message,
            std::string("Resources were not found for pod ns/g-2 due to: ") + kNoGpus);
}

TEST(GroupPlacerErrorTest, TerminatingPodsStillCountTowardsTheMinimum) {
  // Counts active-used pods, not active-allocated ones: the attempt is about the missing pod, the
  // message is not.
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2})
                  .Running("ns/g", {.gpus = 1, .node = "n1", .min_member = 2})
                  .Releasing("ns/g", {.gpus = 1, .millicpu = 0, .node = "n1"})
                  .Pending("ns/g", {.gpus = 2})
                  .Build());
  EXPECT_EQ(LastOf(rooms, Place(&rooms, "ns/g")).message,
            std::string("Resources were not found for pod ns/g-2 due to: ") + kNoGpus);
}

TEST(GroupPlacerErrorTest, TheMessageNamesTheSubGroup) {
  Rooms rooms(TwoSubGroups().Node("n1", {.gpus = 2}).Build());
  const ReportedError error = LastOf(rooms, Place(&rooms, "ns/g"));
  EXPECT_TRUE(error.below_minimum);
  EXPECT_EQ(error.message,
            std::string("Resources were found for 1 pods from all sub-groups while sub-group "
                        "workers requires 2 pods for gang scheduling. Additional pods cannot be "
                        "scheduled in this sub-group due to: ") +
                kNoGpus);
}

TEST(GroupPlacerErrorTest, TheMessageNamesAnOnlySubGroupToo) {
  Rooms rooms(GroupOf({Leaf("workers", 2)})
                  .Pending("ns/g", {.pods = 2, .gpus = 1, .subgroup = "workers"})
                  .Node("n1", {.gpus = 1})
                  .Build());
  const ReportedError error = LastOf(rooms, Place(&rooms, "ns/g"));
  EXPECT_TRUE(error.below_minimum);
  EXPECT_THAT(error.message, testing::HasSubstr("while sub-group workers requires 2 pods"));
}

TEST(GroupPlacerErrorTest, APodLargerThanAnyNodeKeepsItsOwnMessage) {
  Rooms rooms(MakeCluster().Node("n1", {.gpus = 1}).Pending("ns/g", {.gpus = 2}).Build());
  const ReportedError error = LastOf(rooms, Place(&rooms, "ns/g"));
  EXPECT_EQ(error.pod_message,
            "Scheduling conditions were not met for pod ns/g-0:\nMaxNodePoolResources: The pod "
            "ns/g-0 requires GPU: 2, CPU: 1 (cores), memory: 0 (GB), pods: 1. Max GPU resources "
            "available in a single node in the default node-pool is topped at 1.\n");
  EXPECT_EQ(error.message, "Resources were not found for pod ns/g-0 due to: " + error.pod_message);
}

}  // namespace
}  // namespace kai::group_placer_test
