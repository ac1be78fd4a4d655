// Compares every text with the wording in the specs.
#include "kai/texts/messages.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kai/texts/refusal_messages.h"

namespace kai::messages_test {
namespace {

using namespace kai::messages;

using Reasons = std::vector<std::pair<int64_t, std::string>>;
using Errors = std::vector<std::pair<std::string, std::string>>;

TEST(MessagesTest, OverLimitOfGpus) {  // spec 1 F77, the example of spec 2 M5
  EXPECT_EQ(OverLimit("team-a", kQuotaGpu, 4, 4, 1),
            "team-a quota has reached the allowable limit of GPUs. Limit is 4 GPUs, currently 4 "
            "GPUs allocated and workload requested 1 GPUs");
}

TEST(MessagesTest, OverLimitOfCpuIsInCores) {
  EXPECT_EQ(OverLimit("q", kQuotaCpu, 1500, 1000, 750),
            "q quota has reached the allowable limit of CPU cores. Limit is 1.5 cores, currently 1 "
            "cores allocated and workload requested 0.75 cores");
}

TEST(MessagesTest, OverLimitOfMemoryIsInGb) {
  EXPECT_EQ(OverLimit("q", kQuotaMemory, 4e9, 0, 4'000'500'000),
            "q quota has reached the allowable limit of memory. Limit is 4 GB, currently 0 GB "
            "allocated and workload requested 4 GB");
}

TEST(MessagesTest, NumbersAreCutAndUnlimitedIsWrittenAsAWord) {  // spec 1 F78
  EXPECT_EQ(OverLimit("q", kQuotaGpu, kUnlimited, 0.9999, 2.5),
            "q quota has reached the allowable limit of GPUs. Limit is Unlimited GPUs, currently "
            "0.999 GPUs allocated and workload requested 2.5 GPUs");
}

TEST(MessagesTest, NonPreemptibleOverQuota) {  // spec 1 F78, spec 2 M10
  EXPECT_EQ(NonPreemptibleOverQuota("team-a", kQuotaGpu, 4, 2, 3),
            "Non-preemptible workload is over quota. Workload requested 3 GPUs, but team-a quota "
            "is 4 GPUs, while 2 GPUs are already allocated for non-preemptible pods. Use a "
            "preemptible workload to go over quota.");
  EXPECT_EQ(NonPreemptibleOverQuota("q", kQuotaCpu, 8000, 4000, 6000),
            "Non-preemptible workload is over quota. Workload requested 6 CPU cores, but q quota "
            "is 8 cores, while 4 cores are already allocated for non-preemptible pods. Use a "
            "preemptible workload to go over quota.");
  EXPECT_EQ(NonPreemptibleOverQuota("q", kQuotaMemory, 1e9, 5e8, 2.5e9),
            "Non-preemptible workload is over quota. Workload requested 2.5 GB memory, but q quota "
            "is 1 GB, while 0.5 GB are already allocated for non-preemptible pods. Use a "
            "preemptible workload to go over quota.");
}

TEST(MessagesTest, RequestedGpusOverQuotaAreNotCut) {  // spec 1 F78
  EXPECT_NE(NonPreemptibleOverQuota("q", kQuotaGpu, 0.12345, 0.12345, 0.1 + 0.2)
                .find("requested 0.30000000000000004 GPUs, but q quota is 0.123 GPUs, while 0.123"),
            std::string::npos);
}

TEST(MessagesTest, NotReady) {  // spec 2 M4
  EXPECT_EQ(
      NotReady(std::vector<NotReadyPodSet>{{.subgroup = {}, .minimum = 3, .alive = 2, .gated = 1}}),
      "Job is not ready for scheduling. Waiting for 3 pods, currently 2 exist, 1 are gated");
  EXPECT_EQ(NotReady(std::vector<NotReadyPodSet>{
                {.subgroup = "a", .minimum = 3, .alive = 2, .gated = 0},
                {.subgroup = "b", .minimum = 1, .alive = 0, .gated = 0}}),
            "Job is not ready for scheduling. Waiting for 3 pods for SubGroup a, currently 2 "
            "exist, 0 are gated. Waiting for 1 pods for SubGroup b, currently 0 exist, 0 are "
            "gated.");
}

TEST(MessagesTest, StorageErrorsOfANode) {  // spec 3 P12
  EXPECT_EQ(NoStorageOfClass("fast"), "no allocatable storage from storageclass fast found");
  EXPECT_EQ(NotEnoughStorageOfClass("fast"),
            "node(s) did not have enough free storage for storageclass fast");
  EXPECT_EQ(ClaimsAreDeleted(std::vector<std::string_view>{"ns/a", "ns/b"}),
            "task has deleted storage claims: , , ns/a, ns/b");
}

TEST(MessagesTest, ErrorsOfAPodGroup) {  // spec 2 P6
  EXPECT_EQ(NoNodeForPod("ns/p", "E"), "Resources were not found for pod ns/p due to: E");
  EXPECT_EQ(GangIncomplete(1, 3, "E"),
            "Resources were found for 1 pods while 3 are required for gang scheduling. Additional "
            "pods cannot be scheduled due to: E");
  EXPECT_EQ(SubgroupGangIncomplete(2, "decode", 4, "E"),
            "Resources were found for 2 pods from all sub-groups while sub-group decode requires 4 "
            "pods for gang scheduling. Additional pods cannot be scheduled in this sub-group due "
            "to: E");
}

TEST(MessagesTest, ErrorsOfAPod) {  // the example of spec 2 M6
  EXPECT_EQ(PodFitError("", Reasons{{2, std::string(kNotEnoughGpus)},
                                    {1, std::string(kNodeAffinityMismatch)}}),
            "no nodes with enough resources were found: 1 node(s) didn't match Pod's node "
            "affinity/selector. \n2 node(s) didn't have enough resources: GPUs.");
}

TEST(MessagesTest, ReasonsAreSortedAsTexts) {  // spec 2 M6
  EXPECT_EQ(PodFitError("", Reasons{{2, "b"}, {10, "c"}, {1, "d"}}),
            "no nodes with enough resources were found: 1 d. \n10 c. \n2 b.");
}

TEST(MessagesTest, WithoutReasonsTheMessageIsThePrefix) {
  EXPECT_EQ(PodFitError("", {}), "no nodes with enough resources were found");
  EXPECT_EQ(PodFitError("because", {}), "because");
  EXPECT_EQ(PodFitError("because", Reasons{{1, "x"}}), "because: 1 x.");
}

TEST(MessagesTest, APodGroupWithOneErrorHasItsReason) {  // spec 2 M5
  EXPECT_EQ(PodGroupText(Errors{{"OverLimit", "too much"}}), "OverLimit: too much.");
}

TEST(MessagesTest, APodGroupWithSeveralErrorsCountsThem) {  // spec 2 M5
  EXPECT_EQ(PodGroupText(Errors{{"PodSchedulingErrors", "b"},
                                {"PodSchedulingErrors", "a"},
                                {"OverLimit", "b"},
                                {"PodSchedulingErrors", "b"}}),
            "Unable to schedule podgroup: 3 b. \na.");
  EXPECT_EQ(
      PodGroupText(Errors{{"x", "node-group(s) didn't have enough resources: CPU cores"},
                          {"x", "node-group(s) didn't have enough resources: CPU cores"}}),
      "Unable to schedule podgroup: 2 node-group(s) didn't have enough resources: CPU cores.");
}

TEST(MessagesTest, APodGroupWithoutErrorsHasADefaultText) {  // spec 2 M3
  EXPECT_EQ(PodGroupText({}), "Unable to schedule podgroup");
}

TEST(MessagesTest, AGroupWithOneTryNamesItsNodePool) {  // spec 2 M2
  EXPECT_EQ(WithNodePool("gold", "OverLimit: too much."), "Node-Pool 'gold': OverLimit: too much.");
}

TEST(MessagesTest, MissingQueueAndMissingSubgroup) {  // spec 1 F10, spec 2 G6
  EXPECT_EQ(QueueDoesNotExist("team-a"), "Queue 'team-a' does not exist");
  EXPECT_EQ(UnknownSubgroup("decode", "ns/pg"),
            "Pod references subgroup \"decode\", which does not exist in PodGroup ns/pg");
}

TEST(MessagesTest, ReasonsOfNodes) {  // spec 3 E2, P4, P7, P8, P10
  EXPECT_EQ(kNotEnoughGpus, "node(s) didn't have enough resources: GPUs");
  EXPECT_EQ(kNotEnoughCpu, "node(s) didn't have enough resources: CPU cores");
  EXPECT_EQ(kNotEnoughMemory, "node(s) didn't have enough resources: memory");
  EXPECT_EQ(NotEnoughOf("example.com/x"), "node(s) didn't have enough resources: example.com/x");
  EXPECT_EQ(kNodeUnschedulable, "node is unschedulable");
  EXPECT_EQ(kNodeNotReady, "node has NotReady condition");
  EXPECT_EQ(kNodeMemoryPressure, "node has MemoryPressure condition");
  EXPECT_EQ(kNodeDiskPressure, "node has DiskPressure condition");
  EXPECT_EQ(kNodePidPressure, "node has PIDPressure condition");
  EXPECT_EQ(kNodeNetworkUnavailable, "node has NetworkUnavailable condition");
  EXPECT_EQ(kUntoleratedTaints, "node(s) had untolerated taint(s)");
  EXPECT_EQ(kNodeAffinityMismatch, "node(s) didn't match Pod's node affinity/selector");
  EXPECT_EQ(kPodAffinityMismatch, "node(s) didn't match pod affinity rules");
  EXPECT_EQ(kPodAntiAffinityMismatch, "node(s) didn't match pod anti-affinity rules");
  EXPECT_EQ(kExistingAntiAffinity, "node(s) didn't satisfy existing pods anti-affinity rules");
  EXPECT_EQ(kMixedMigStrategy, "non MIG jobs cant run on a node with MigStrategy='mixed'");
  EXPECT_EQ(kSingleMigStrategy, "only whole gpu jobs can run on a node with MigStrategy='single'");
  EXPECT_EQ(kNoMigNode, "MIG job cannot be scheduled on non-MIG node");
  EXPECT_EQ(LegacyMig("n1"), "Legacy MIG jobs cannot be scheduled on node n1");
  EXPECT_EQ(LegacyMigPods("a/x b/y"),
            "MIG job cannot be scheduled on node with legacy MIG jobs: <[a/x b/y]>");
  EXPECT_EQ(NotEnoughOfMig("nvidia.com/mig-1g.5gb"),
            "node(s) didn't have enough of mig profile: nvidia.com/mig-1g.5gb");
}

TEST(MessagesTest, ReasonsOfJobErrors) {  // spec 2 M10
  EXPECT_EQ(kOverLimit, "OverLimit");
  EXPECT_EQ(kNonPreemptibleOverQuota, "NonPreemptibleOverQuota");
  EXPECT_EQ(kPodSchedulingErrors, "PodSchedulingErrors");
  EXPECT_EQ(kQueueDoesNotExist, "QueueDoesNotExist");
}

// ---- pods larger than any node (spec 3 P14, P15) ------------------------------------------------

TEST(LargerThanAnyNodeTest, TheSpecsExample) {
  EXPECT_EQ(LargerThanAnyNode({.pod = "n1/name1",
                               .gpus = 0,
                               .cpu_millicores = 1000,
                               .memory_bytes = 0,
                               .others = {{"pods", 1}},
                               .mig = {},
                               .node_pool = "default",
                               .resource = "CPU",
                               .largest = 500}),
            "The pod n1/name1 requires GPU: 0, CPU: 1 (cores), memory: 0 (GB), pods: 1. Max CPU "
            "resources available in a single node in the default node-pool is topped at 0.5 cores");
}

TEST(LargerThanAnyNodeTest, MemoryAndStorageAreInGb) {
  PoolLimit limit = {.pod = "ns/p",
                     .gpus = 1.5,
                     .cpu_millicores = 250,
                     .memory_bytes = 0.4196e9,
                     .others = {{"pods", 1}, {"ephemeral-storage", 3e9}},
                     .mig = {},
                     .node_pool = "gold",
                     .resource = "memory",
                     .largest = 0.419e9};
  EXPECT_EQ(LargerThanAnyNode(limit),
            "The pod ns/p requires GPU: 1.5, CPU: 0.25 (cores), memory: 0.419 (GB), pods: 1, "
            "ephemeral-storage: 3 (GB). Max memory resources available in a single node in the "
            "gold node-pool is topped at 0.419 GB");
  limit.resource = "ephemeral-storage";
  limit.largest = 2e9;
  EXPECT_NE(LargerThanAnyNode(limit).find("Max ephemeral-storage resources available in a single "
                                          "node in the gold node-pool is topped at 2 GB"),
            std::string::npos);
}

TEST(LargerThanAnyNodeTest, GpusHaveNoUnit) {
  EXPECT_EQ(LargerThanAnyNode({.pod = "ns/p",
                               .gpus = 16,
                               .cpu_millicores = 0,
                               .memory_bytes = 0,
                               .others = {{"pods", 1}},
                               .mig = {{"nvidia.com/mig-1g.5gb", 2}},
                               .node_pool = "default",
                               .resource = "GPU",
                               .largest = 8}),
            "The pod ns/p requires GPU: 16, CPU: 0 (cores), memory: 0 (GB), pods: 1, mig "
            "nvidia.com/mig-1g.5gb: 2. Max GPU resources available in a single node in the default "
            "node-pool is topped at 8");
}

TEST(LargerThanAnyNodeTest, AMaximumOfZeroHasItsOwnText) {
  EXPECT_NE(LargerThanAnyNode({.pod = "ns/p",
                               .gpus = 1,
                               .others = {},
                               .mig = {},
                               .node_pool = "default",
                               .resource = "GPU",
                               .largest = 0})
                .find(". No node in the default node-pool has GPU resources"),
            std::string::npos);
}

TEST(LargerThanAnyNodeTest, IsListedAmongTheConditionsThatWereNotMet) {  // spec 3 P15
  const std::pair<std::string_view, std::string> errors[] = {
      {"ConfigMap", MissingConfigMaps(std::vector<std::string_view>{"a", "b"})},
      {"MaxNodePoolResources", "too large"}};
  EXPECT_EQ(ConditionsNotMet("ns/p", errors),
            "Scheduling conditions were not met for pod ns/p:\n"
            "ConfigMap: Missing required configmaps: [a b].\n"
            "MaxNodePoolResources: too large.\n");
}

// ---- evictions ----------------------------------------------------------------------------------

TEST(EvictionTest, PreemptionAndConsolidation) {  // spec 2 R6
  EXPECT_EQ(Preempted("ns/p", "ns/build"),
            "Pod ns/p was preempted by higher priority workload ns/build");
  EXPECT_EQ(Consolidated("ns/p"),
            "Pod ns/p was preempted and rescheduled due to bin packing (resource consolidation) "
            "procedure");
}

TEST(EvictionTest, ReclaimNamesBothQueues) {  // KAI's text in a real cluster
  EXPECT_EQ(
      Reclaimed("elastic/e-1", "elastic/b-1",
                QueueUse({.name = "team-a",
                          .used = {400, 268'435'456, 4},
                          .quota = {kUnlimited, kUnlimited, 2},
                          .fair_share = {400, 268'435'456, 2},
                          .priority = 100}),
                QueueUse({.name = "team-b",
                          .used = {0, 0, 0},
                          .quota = {kUnlimited, kUnlimited, 2},
                          .fair_share = {100, 67'108'864, 2},
                          .priority = 100})),
      "Pod elastic/e-1 was preempted by workload elastic/b-1.\n"
      "team-a uses <GPU: 4, CPU: 0.4 (cores), memory: 0.268 (GB)> with a quota of <GPU: 2, CPU: "
      "Unlimited (cores), memory: Unlimited (GB)>, fair-share of <GPU: 2, CPU: 0.4 (cores), "
      "memory: 0.268 (GB)> and queue priority of <100>.\n"
      "team-b uses <GPU: 0, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 2, CPU: "
      "Unlimited (cores), memory: Unlimited (GB)>, fair-share of <GPU: 2, CPU: 0.1 (cores), "
      "memory: 0.067 (GB)> and queue priority of <100>.");
}

TEST(EvictionTest, ReclaimCutsGpusAsKaiDoes) {  // spec 1 F81, F95b
  const std::string text = Reclaimed("ns/p", "ns/g",
                                     QueueUse({.name = "q",
                                               .used = {0, 0, 2.5},
                                               .quota = {0, 0, kUnlimited},
                                               .fair_share = {0, 0, 0.333},
                                               .priority = -1}),
                                     QueueUse({.name = "r"}));
  EXPECT_NE(text.find("q uses <GPU: 2, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 0, "
                      "CPU: 0 (cores), memory: 0 (GB)>, fair-share of <GPU: 0.33, CPU: 0 (cores), "
                      "memory: 0 (GB)> and queue priority of <-1>."),
            std::string::npos)
      << text;
}

TEST(EvictionTest, StaleGangs) {  // spec 2 D7
  EXPECT_EQ(StaleEviction("ns/w-0", 3, ""),
            "Workload doesn't meet the minimum required number of pods (3), evicting remaining "
            "pod: ns/w-0");
  EXPECT_EQ(StaleEviction("ns/w-0", 3, "workers"),
            "Workload doesn't meet the minimum required number of pods (3) in sub-group workers, "
            "evicting remaining pod: ns/w-0");
}

TEST(EvictionTest, StaleJobsCountTheirPods) {  // spec 2 M4
  EXPECT_EQ(StaleJob(std::vector<StalePodSet>{{.subgroup = "", .minimum = 3, .active = 2}}),
            "Job is stale. 2 pods are active, minMember is 3");
  EXPECT_EQ(StaleJob(std::vector<StalePodSet>{{.subgroup = "leader", .minimum = 1, .active = 1},
                                              {.subgroup = "workers", .minimum = 2, .active = 0}}),
            "Job is stale. 1 pods are active, minMember is 3, subGroup workers minMember is 2 and "
            "0 pods are active");
}

TEST(EvictionTest, APreemptionDelayHasItsDurationAndItsEnd) {  // spec 2 D2
  constexpr int64_t kNewYear2024 = 1'704'067'200'000'000'000;
  EXPECT_EQ(PreemptionDelayNotElapsed(300'000'000'000, kNewYear2024 + 500'000'000),
            "Workload is within its preemption delay window (5m0s) and may not trigger evictions "
            "before 2024-01-01T00:00:00Z");
}

}  // namespace
}  // namespace kai::messages_test
