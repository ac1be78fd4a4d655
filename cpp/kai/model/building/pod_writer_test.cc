// Pods in a cluster: their status, what they hold, and what is left to divide among queues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kai/api/units.h"
#include "kai/base/clock.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::pod_writer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A pod of ns/g in phase Pending that requests a core, after `change`.
PodRow Pod(const std::function<void(PodRow*)>& change = nullptr) {
  PodRow row;
  row.namespace_name = "ns";
  row.name = "p";
  row.pod_group = "g";
  row.scheduler_name = "kai-scheduler";
  row.phase = Phase::kPending;
  row.requests = {{"cpu", 1000}};
  if (change) change(&row);
  return row;
}

// What the pod counts on its node.
QuotaCount AcceptedOf(const Cluster& cluster, PodId pod) {
  return cluster.AcceptedOn(cluster.pods().pod_class[pod], cluster.pods().node[pod]);
}

PodGroupRow Group() {
  PodGroupRow row;
  row.namespace_name = "ns";
  row.name = "g";
  row.queue = "q";
  return row;
}

// A cluster of one queue, one pod group, one node "n1" and that pod.
ClusterMaker ClusterWith(PodRow pod) {
  return MakeCluster().Queue("q").Add(Group()).Node("n1").Add(std::move(pod));
}

PodStatus StatusOf(ClusterMaker maker) {
  const auto cluster = maker.Build();
  return cluster->pods().status[PodNamed(*cluster, "ns/p")];
}

BindRequestRow BindRequest(std::string node = "n1") {
  return {.namespace_name = "ns",
          .pod = "p",
          .node = std::move(node),
          .received_type = {},
          .gpu_groups = {},
          .phase = {},
          .backoff_limit = {}};
}

// ---- status (spec 2 S2, S3)

TEST(PodStatusOfRowTest, FollowsPhaseDeletionNodeAndGates) {
  struct Case {
    const char* says;
    std::function<void(PodRow*)> change;
    PodStatus status;
  };
  const std::vector<Case> cases = {
      {"waits", nullptr, PodStatus::kPending},
      {"is gated", [](PodRow* p) { p->gated = true; }, PodStatus::kGated},
      {"has a node but does not run yet", [](PodRow* p) { p->node_name = "n1"; },
       PodStatus::kBound},
      {"has a node, gates or not",
       [](PodRow* p) {
         p->node_name = "n1";
         p->gated = true;
       },
       PodStatus::kBound},
      {"waits and is deleted", [](PodRow* p) { p->deletion_ns = 1; }, PodStatus::kReleasing},
      {"is bound and deleted",
       [](PodRow* p) {
         p->node_name = "n1";
         p->deletion_ns = 1;
       },
       PodStatus::kReleasing},
      {"runs",
       [](PodRow* p) {
         p->phase = Phase::kRunning;
         p->node_name = "n1";
       },
       PodStatus::kRunning},
      {"runs and is deleted",
       [](PodRow* p) {
         p->phase = Phase::kRunning;
         p->node_name = "n1";
         p->deletion_ns = 1;
       },
       PodStatus::kReleasing},
      {"succeeded", [](PodRow* p) { p->phase = Phase::kSucceeded; }, PodStatus::kSucceeded},
      {"failed", [](PodRow* p) { p->phase = Phase::kFailed; }, PodStatus::kFailed},
      {"is lost", [](PodRow* p) { p->phase = Phase::kUnknown; }, PodStatus::kUnknown},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(StatusOf(ClusterWith(Pod(each.change))), each.status) << "a pod that " << each.says;
  }
}

TEST(PodStatusOfRowTest, APodWithALiveBindRequestIsBinding) {  // spec 2 S3
  const auto cluster = ClusterWith(Pod()).Add(BindRequest()).Build();
  EXPECT_EQ(cluster->pods().status[PodId(0)], PodStatus::kBinding);
  EXPECT_EQ(cluster->pods().node[PodId(0)], NodeNamed(*cluster, "n1"));
  EXPECT_EQ(cluster->nodes().idle[NodeId(0)][kCpuSlot.index()], 63'000);
}

TEST(PodStatusOfRowTest, ADeadBindRequestIsIgnored) {  // spec 2 S3
  const auto with = [](const std::function<void(BindRequestRow*)>& change) {
    BindRequestRow request = BindRequest();
    change(&request);
    return StatusOf(ClusterWith(Pod()).Add(request));
  };
  EXPECT_EQ(with([](BindRequestRow* r) { r->node = "gone"; }), PodStatus::kPending);
  EXPECT_EQ(with([](BindRequestRow* r) { r->phase = "Failed"; }), PodStatus::kPending);
  EXPECT_EQ(with([](BindRequestRow* r) { r->pod = "other"; }), PodStatus::kPending);
  EXPECT_EQ(with([](BindRequestRow* r) { r->namespace_name = "elsewhere"; }), PodStatus::kPending);
  const auto failed = [&](int64_t limit, int64_t attempts) {
    return with([&](BindRequestRow* r) {
      r->phase = "Failed";
      r->backoff_limit = limit;
      r->failed_attempts = attempts;
    });
  };
  EXPECT_EQ(failed(3, 3), PodStatus::kPending);
  EXPECT_EQ(failed(3, 2), PodStatus::kBinding);
  EXPECT_EQ(with([](BindRequestRow* r) { r->phase = "Pending"; }), PodStatus::kBinding);
}

TEST(PodStatusOfRowTest, TheNodeOfThePodOverridesTheBindRequest) {
  const auto cluster = ClusterWith(Pod([](PodRow* p) { p->node_name = "n2"; }))
                           .Node("n2")
                           .Add(BindRequest("n1"))
                           .Build();
  EXPECT_EQ(cluster->pods().node[PodId(0)], NodeNamed(*cluster, "n2"));
  EXPECT_EQ(cluster->pods().status[PodId(0)], PodStatus::kBound);
}

TEST(PodStatusOfRowTest, TheLowerNodeOfTwoBindRequestsIsUsed) {
  for (const auto& [first, second] : {std::pair("n1", "n2"), std::pair("n2", "n1")}) {
    const auto cluster =
        ClusterWith(Pod()).Node("n2").Add(BindRequest(first)).Add(BindRequest(second)).Build();
    EXPECT_EQ(cluster->pods().node[PodId(0)], NodeNamed(*cluster, "n1"));
  }
}

TEST(PodStatusOfRowTest, OnlyAPodThatRanCanBeOverdue) {
  const auto cluster = ClusterWith(Pod([](PodRow* p) { p->deletion_ns = 5; })).Build();
  EXPECT_LT(cluster->pods().deletion_ns[PodId(0)], 0);
  const auto running = ClusterWith(Pod([](PodRow* p) {
                         p->deletion_ns = 5;
                         p->phase = Phase::kRunning;
                       })).Build();
  EXPECT_EQ(running->pods().deletion_ns[PodId(0)], 5);
}

TEST(PodStatusOfRowTest, AThresholdOfZeroIsReplacedByTwoMinutes) {  // spec 2 S2
  ClusterMaker maker = MakeCluster();
  maker.params().stuck_in_releasing_threshold_ns = 0;
  EXPECT_EQ(maker.Build()->params().stuck_in_releasing_threshold_ns, 120 * kSecondNs);
  maker.params().stuck_in_releasing_threshold_ns = -1;
  EXPECT_EQ(maker.Build()->params().stuck_in_releasing_threshold_ns, 120 * kSecondNs);
  maker.params().stuck_in_releasing_threshold_ns = 1;
  EXPECT_EQ(maker.Build()->params().stuck_in_releasing_threshold_ns, 1);
}

// ---- which pods are in the cluster

TEST(PodsTest, AreNumberedByNamespaceAndName) {
  const auto cluster =
      MakeCluster().Pending("b/x").Pending("a-z/y", {.pods = 2}).Pending("a/x").Build();
  std::vector<std::string> names;
  for (const PodId pod : cluster->pods().name.ids()) names.push_back(cluster->PodName(pod));
  EXPECT_THAT(names, ElementsAre("a/x-0", "a-z/y-0", "a-z/y-1", "b/x-0"));
}

TEST(PodsTest, WithEqualNamesAreAllRejected) {
  const auto cluster = ClusterWith(Pod()).Add(Pod()).Build();
  EXPECT_EQ(cluster->pods().size(), size_t{0});
  EXPECT_THAT(
      cluster->rejections(),
      ElementsAre(Rejection{"Pod", "ns/p", "metadata.name",
                            "occurs 2 times, and it is unknown which one is valid: all are left "
                            "out"}));
}

TEST(PodsTest, OfAnUnknownGroupAreKeptOnlyOnNodes) {
  const auto is_kept = [](const std::function<void(PodRow*)>& change) {
    PodRow pod = Pod(change);
    pod.pod_group = "missing";
    return MakeCluster().Node("n1").Add(pod).Build()->pods().size() == 1;
  };
  EXPECT_FALSE(is_kept(nullptr));
  EXPECT_FALSE(is_kept([](PodRow* p) { p->phase = Phase::kSucceeded; }));
  EXPECT_TRUE(is_kept([](PodRow* p) { p->node_name = "n1"; }));
}

TEST(PodsTest, BelongToTheGroupOfTheirOwnNamespace) {
  PodRow pod = Pod();
  pod.namespace_name = "elsewhere";
  const auto cluster = ClusterWith(pod).Build();
  EXPECT_EQ(cluster->pods().size(), size_t{0});
}

TEST(PodsTest, AreCountedInTheirPodSetByStatus) {
  const auto cluster = MakeCluster()
                           .Node("n1")
                           .Running("ns/g", {.pods = 2, .node = "n1"})
                           .Pending("ns/g", {.pods = 3})
                           .Gated("ns/g")
                           .Succeeded("ns/g")
                           .Build();
  const SubGroupId set = PodSetNamed(*cluster, "ns/g", "default");
  const StatusCounts& counts = cluster->sub_groups().counts[set];
  EXPECT_EQ(counts[PodStatus::kRunning], 2);
  EXPECT_EQ(counts[PodStatus::kPending], 3);
  EXPECT_EQ(counts[PodStatus::kGated], 1);
  EXPECT_EQ(counts[PodStatus::kSucceeded], 1);
  EXPECT_EQ(cluster->sub_groups().pods[set].size(), 7);
}

TEST(PodsTest, OfAnUnknownSubGroupAreMisfitsOfTheirGroup) {  // spec 2 G6
  const auto cluster = ClusterWith(Pod([](PodRow* p) { p->subgroup = "missing"; })).Build();
  EXPECT_FALSE(cluster->pods().pod_set[PodId(0)].valid());
  EXPECT_EQ(cluster->pods().group[PodId(0)], PodGroupId(0));
  EXPECT_THAT(cluster->pod_groups().misfits[PodGroupId(0)], ElementsAre(PodId(0)));
  EXPECT_EQ(cluster->Text(cluster->pods().subgroup[PodId(0)]), "missing");
  EXPECT_EQ(cluster->sub_groups().pods[PodSetNamed(*cluster, "ns/g", "default")].size(), 0);
}

TEST(PodsTest, AreSortedByUidOrByName) {  // spec 2 O3
  PodRow first = Pod([](PodRow* p) { p->uid = "zz"; });
  PodRow second = Pod([](PodRow* p) { p->name = "p2"; });
  PodRow third = Pod([](PodRow* p) {
    p->name = "p3";
    p->uid = "aa";
  });
  const auto cluster = ClusterWith(first).Add(second).Add(third).Build();
  const SubGroupId pod_set = PodSetNamed(*cluster, "ns/g", "default");
  EXPECT_THAT(cluster->sub_groups().PodsOf(pod_set),
              ElementsAre(PodNamed(*cluster, "ns/p3"), PodNamed(*cluster, "ns/p2"),  // "ns/p2"
                          PodNamed(*cluster, "ns/p")));
}

TEST(PodsTest, HaveTheirRoleInAJob) {  // spec 2 G12
  const auto labelled = [](std::string key, std::string value) {
    return ClusterWith(Pod([&](PodRow* p) { p->labels = {{key, value}}; })).Build();
  };
  const std::string role = "training.kubeflow.org/job-role";
  EXPECT_TRUE(labelled(role, "master")->pods().is_kubeflow_lead[PodId(0)]);
  EXPECT_TRUE(labelled(role, "launcher")->pods().is_kubeflow_lead[PodId(0)]);
  EXPECT_FALSE(labelled(role, "worker")->pods().is_kubeflow_lead[PodId(0)]);
  EXPECT_TRUE(labelled("ray.io/node-type", "head")->pods().is_ray_head[PodId(0)]);
  EXPECT_FALSE(labelled("ray.io/node-type", "worker")->pods().is_ray_head[PodId(0)]);
  const auto priority = labelled("kai.scheduler/task-priority", "7");
  EXPECT_EQ(priority->Text(priority->pods().task_priority[PodId(0)]), "7");
  EXPECT_FALSE(labelled("other", "7")->pods().task_priority[PodId(0)].valid());
}

// ---- what they hold

struct Room {
  double idle = 0;
  double releasing = 0;
  double used = 0;
  friend bool operator==(const Room&, const Room&) = default;
};
void PrintTo(const Room& room, std::ostream* out) {
  *out << "idle " << room.idle << ", releasing " << room.releasing << ", used " << room.used;
}
Room RoomOn(const Cluster& cluster, std::string_view node, ResourceSlot slot) {
  const NodeId id = NodeNamed(cluster, node);
  return {cluster.nodes().idle[id][slot.index()], cluster.nodes().releasing[id][slot.index()],
          cluster.nodes().used[id][slot.index()]};
}

TEST(NodeLedgerTest, CountsEveryPodThatOccupiesTheNode) {
  const auto cluster = MakeCluster()
                           .Node("n1", {.gpus = 8})
                           .Running("ns/a", {.pods = 2, .gpus = 1, .node = "n1"})
                           .Releasing("ns/b", {.gpus = 3, .node = "n1"})
                           .Foreign("kube-system/c", {.gpus = 1, .node = "n1"})
                           .Succeeded("ns/d", {.gpus = 1, .node = "n1"})
                           .Build();
  EXPECT_EQ(RoomOn(*cluster, "n1", kGpuSlot), (Room{2, 3, 6}));
  EXPECT_EQ(RoomOn(*cluster, "n1", kPodsSlot), (Room{106, 1, 4}));
}

TEST(NodeLedgerTest, APodOnAForeignNodeHoldsNothing) {  // spec 1 F25
  const auto cluster = MakeCluster()
                           .Node("n1", {.gpus = 8})
                           .Running("ns/a", {.gpus = 1, .node = "elsewhere"})
                           .Build();
  EXPECT_FALSE(cluster->pods().node[PodId(0)].valid());
  EXPECT_EQ(cluster->pods().status[PodId(0)], PodStatus::kRunning);
  EXPECT_EQ(AcceptedOf(*cluster, PodId(0)), QuotaCount());
  EXPECT_EQ(RoomOn(*cluster, "n1", kGpuSlot), (Room{8, 0, 0}));
}

TEST(NodeLedgerTest, AReservationPodHoldsNoGpu) {  // spec 3 N3, N15
  const auto cluster =
      MakeCluster()
          .Node("n1", {.gpus = 8})
          .Foreign("kai-resource-reservation/r",
                   {.gpus = 1, .node = "n1", .labels = {{"app", "kai-resource-reservation"}}})
          .Build();
  EXPECT_EQ(RoomOn(*cluster, "n1", kGpuSlot), (Room{8, 0, 0}));
  EXPECT_EQ(RoomOn(*cluster, "n1", kCpuSlot), (Room{63'000, 0, 1000}));
}

TEST(NodeLedgerTest, SharersUseTheirPartsOfTheDevicesThatTheyName) {
  ClusterMaker maker =
      MakeCluster().Node("n1", {.gpus = 8, .labels = {{"nvidia.com/gpu.memory", "40960"}}});
  maker.Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"});
  maker.Running("ns/b", {.gpu_fraction = 0.25, .gpu_devices = 2, .node = "n1"});
  for (PodRow& pod : maker.rows().pods) {
    pod.gpu_groups = pod.pod_group == "a" ? std::vector<std::string>{"y"}
                                          : std::vector<std::string>{"y", "x", "y"};
  }
  const auto cluster = maker.Build();
  EXPECT_EQ(RoomOn(*cluster, "n1", kGpuSlot), (Room{6, 0, 0}));
  const std::vector<SharedGpu>& shared = cluster->nodes().shared_gpus[NodeId(0)];
  ASSERT_EQ(shared.size(), 2U);  // by name
  EXPECT_EQ(cluster->Text(shared[0].name), "x");
  EXPECT_EQ(shared[0].allocated, 10'225);
  EXPECT_EQ(cluster->Text(shared[1].name), "y");
  EXPECT_EQ(shared[1].allocated, 30'675);
  EXPECT_THAT(cluster->pods().gpus[PodId(0)], ElementsAre(1));
  EXPECT_THAT(cluster->pods().gpus[PodId(1)], ElementsAre(1, 0));
  // With unknown devices, a pod holds as many whole ones as it uses.
  for (PodRow& pod : maker.rows().pods) pod.gpu_groups.clear();
  EXPECT_EQ(RoomOn(*maker.Build(), "n1", kGpuSlot), (Room{5, 0, 3}));
}

TEST(NodeLedgerTest, ASharedDeviceIsBeingFreedWithItsLastPod) {
  ClusterMaker maker = MakeCluster().Node("n1", {.gpus = 8});
  maker.Releasing("ns/a", {.gpu_fraction = 0.5, .node = "n1"});
  maker.Running("ns/b", {.gpu_fraction = 0.5, .node = "n1"});
  for (PodRow& pod : maker.rows().pods) pod.gpu_groups = {"x"};
  EXPECT_EQ(RoomOn(*maker.Build(), "n1", kGpuSlot), (Room{7, 0, 0}));
  for (PodRow& pod : maker.rows().pods) pod.deletion_ns = kTestNowNs;
  EXPECT_EQ(RoomOn(*maker.Build(), "n1", kGpuSlot), (Room{7, 1, 0}));
}

// A label with more devices than the kubelet offers makes no room (spec 3 N17).
TEST(NodeLedgerTest, AnUnhealthyDeviceCannotBeShared) {
  ClusterMaker maker =
      MakeCluster().Node("n1", {.gpus = 7, .labels = {{"nvidia.com/gpu.count", "8"}}});
  maker.Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"});
  maker.rows().pods[0].gpu_groups = {"x"};
  EXPECT_EQ(RoomOn(*maker.Build(), "n1", kGpuSlot), (Room{6, 0, 0}));
}

TEST(NodeLedgerTest, ABindRequestNamesTheDevices) {  // spec 3 R20
  BindRequestRow request = BindRequest();
  request.gpu_groups = {"x", "y", "z"};
  const auto cluster =
      ClusterWith(Pod([](PodRow* p) {
        p->gpu = {.kind = GpuRequestKind::kFraction, .count = 1, .portion = 0.5, .mig = {}};
        p->gpu_groups = {"stale"};
      }))
          .Node("n0", {.gpus = 8})
          .Add(request)
          .Build();
  const NodeId node = cluster->pods().node[PodId(0)];
  EXPECT_EQ(cluster->nodes().shared_gpus[node].size(), 3U);
  EXPECT_THAT(cluster->pods().gpus[PodId(0)], ElementsAre(0, 1, 2));
}

// ---- what queues count (spec 1 F20-F25)

QuotaCount Requested(const Cluster& cluster, std::string_view pod) {
  return cluster.ClassOf(PodNamed(cluster, pod)).requested;
}

TEST(QuotaAmountsTest, AreCpuMemoryAndGpus) {  // spec 1 F20
  const auto cluster =
      MakeCluster()
          .Node("n1")
          .Pending("ns/g",
                   {.gpus = 2, .millicpu = 1500, .mb = 3, .more = {{"ephemeral-storage", 7}}})
          .Build();
  EXPECT_THAT(Requested(*cluster, "ns/g-0").values(), ElementsAre(1500, 3e6, 2));
}

TEST(QuotaAmountsTest, RoundFractionsPerDevice) {  // spec 1 F23
  const auto cluster = MakeCluster()
                           .Pending("ns/a", {.gpu_fraction = 0.125})
                           .Pending("ns/b", {.gpu_fraction = 0.333, .gpu_devices = 3})
                           .Build();
  EXPECT_EQ(Requested(*cluster, "ns/a-0")[kQuotaGpu], 0.13);
  EXPECT_EQ(Requested(*cluster, "ns/b-0")[kQuotaGpu], 0.99);
}

TEST(QuotaAmountsTest, CountMigInstancesByTheirSlices) {  // spec 1 F21
  const auto cluster =
      MakeCluster()
          .Pending("ns/a", {.more = {{"nvidia.com/mig-1g.5gb", 2}, {"nvidia.com/mig-3g.20gb", 1}}})
          .Pending("ns/b", {.more = {{"nvidia.com/mig-1g.5gb.me", 4}}})
          .Build();
  EXPECT_EQ(Requested(*cluster, "ns/a-0")[kQuotaGpu], 5);
  EXPECT_EQ(Requested(*cluster, "ns/b-0")[kQuotaGpu], 0);
}

// The example of spec 1 F24: 2 x 10000 MiB; the smallest device has 40500 MiB, the largest 81500.
TEST(QuotaAmountsTest, TurnGpuMemoryIntoGpusInThreeWays) {
  const auto cluster =
      MakeCluster()
          .Node("small", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "40536"}}})
          .Node("large", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "81559"}}})
          .Node("unknown", {.gpus = 2})
          .Pending("ns/g", {.gpu_memory_mib = 10'000, .gpu_devices = 2})
          .Build();
  const PodClass& pod = cluster->ClassOf(PodId(0));
  EXPECT_EQ(pod.requested[kQuotaGpu], 20'000.0 / 40'500);
  EXPECT_NEAR(pod.requested[kQuotaGpu], 0.4938, 1e-4);
  EXPECT_EQ(pod.gate_requested[kQuotaGpu], 20'000.0 / 81'500);
  EXPECT_NEAR(pod.gate_requested[kQuotaGpu], 0.2454, 1e-4);
  const PodClassId id = cluster->pods().pod_class[PodId(0)];
  EXPECT_EQ(cluster->AcceptedOn(id, NodeNamed(*cluster, "large"))[kQuotaGpu], 0.26);
  EXPECT_EQ(cluster->AcceptedOn(id, NodeNamed(*cluster, "small"))[kQuotaGpu], 0.50);
  EXPECT_EQ(cluster->AcceptedOn(id, NodeId()), QuotaCount());
}

TEST(QuotaAmountsTest, CountNoGpuMemoryIfTheMemoryOfADeviceIsUnknown) {  // spec 1 F24
  const auto cluster =
      MakeCluster().Node("n1", {.gpus = 2}).Pending("ns/g", {.gpu_memory_mib = 10'000}).Build();
  EXPECT_EQ(cluster->ClassOf(PodId(0)).requested[kQuotaGpu], 0);
  EXPECT_EQ(cluster->ClassOf(PodId(0)).gate_requested[kQuotaGpu], 0);
}

TEST(QuotaAmountsTest, TheAcceptedAmountOfWholeGpusIsTheRequest) {  // spec 1 F25
  const auto cluster = MakeCluster()
                           .Node("n1", {.gpus = 8})
                           .Running("ns/g", {.gpus = 2, .mb = 5, .node = "n1"})
                           .Build();
  EXPECT_THAT(AcceptedOf(*cluster, PodId(0)).values(), ElementsAre(1000, 5e6, 2));
}

TEST(QuotaAmountsTest, AddTheGpusOfClaims) {  // spec 1 F22, spec 3 R18
  PodRow pod = Pod([](PodRow* p) {
    p->gpu = {.count = 1, .portion = 1, .mig = {}};
    p->claims = {{.name = "mine", .resource_claim = "c1", .from_template = false},
                 {.name = "again", .resource_claim = "c1", .from_template = false},
                 {.name = "missing", .resource_claim = "c9", .from_template = false}};
  });
  const auto cluster =
      ClusterWith(pod)
          .Add(ResourceClaimRow{.namespace_name = "ns", .name = "c1", .gpus = 2, .owner_pod = {}})
          .Add(ResourceClaimRow{.namespace_name = "ns", .name = "own", .gpus = 4, .owner_pod = "p"})
          .Add(ResourceClaimRow{
              .namespace_name = "else", .name = "own", .gpus = 8, .owner_pod = "p"})
          .Build();
  EXPECT_EQ(Requested(*cluster, "ns/p")[kQuotaGpu], 7);
  EXPECT_EQ(cluster->RequestOf(PodId(0))[kGpuSlot.index()], 7);
}

// ---- what is divided among queues (spec 1 F30)

TEST(ClusterTotalTest, SumsTheReadyNodes) {
  ClusterMaker maker = MakeCluster()
                           .Node("a", {.gpus = 8, .millicpu = 4000, .mb = 10})
                           .Node("b", {.gpus = 1, .millicpu = 2000, .mb = 5})
                           .Node("cordoned", {.gpus = 16, .cordoned = true})
                           .Node("not-ready", {.gpus = 16, .ready = false});
  EXPECT_THAT(maker.Build()->total().values(), ElementsAre(6000, 15e6, 9));
}

TEST(ClusterTotalTest, ExcludesNodesUnderPressureOrOfUnknownState) {
  const auto gpus = [](const std::function<void(NodeRow*)>& change) {
    NodeRow row = MakeNodeRow("n", {.gpus = 8});
    change(&row);
    return MakeCluster().Add(row).Build()->total()[kQuotaGpu];
  };
  EXPECT_EQ(gpus([](NodeRow* n) { n->memory_pressure = ConditionStatus::kFalse; }), 8);
  EXPECT_EQ(gpus([](NodeRow* n) { n->memory_pressure = ConditionStatus::kTrue; }), 0);
  EXPECT_EQ(gpus([](NodeRow* n) { n->disk_pressure = ConditionStatus::kUnknown; }), 0);
  EXPECT_EQ(gpus([](NodeRow* n) { n->pid_pressure = ConditionStatus::kTrue; }), 0);
  EXPECT_EQ(gpus([](NodeRow* n) { n->network_unavailable = ConditionStatus::kTrue; }), 0);
  EXPECT_EQ(gpus([](NodeRow* n) { n->ready = ConditionStatus::kUnknown; }), 0);
  EXPECT_EQ(gpus([](NodeRow* n) { n->ready = ConditionStatus::kAbsent; }), 0);
}

TEST(ClusterTotalTest, CountsMigSlicesAsGpus) {  // spec 1 F21
  const auto cluster = MakeCluster()
                           .Node("a", {.more = {{"nvidia.com/mig-1g.5gb", 7}}})
                           .Node("b", {.gpus = 1, .more = {{"nvidia.com/mig-3g.20gb", 2}}})
                           .Build();
  EXPECT_EQ(cluster->total()[kQuotaGpu], 7 + 1 + 6);
}

TEST(ClusterTotalTest, SubtractsPodsOfOtherSchedulers) {
  const auto cluster = MakeCluster()
                           .Node("n1", {.gpus = 8, .millicpu = 8000, .mb = 100})
                           .Node("closed", {.gpus = 8, .cordoned = true})
                           .Foreign("x/a", {.gpus = 1, .millicpu = 1000, .mb = 10, .node = "n1"})
                           .Foreign("x/b", {.gpus = 4, .node = "closed"})
                           .Foreign("x/c", {.gpus = 4, .node = "elsewhere"})
                           .Running("ns/ours", {.gpus = 2, .node = "n1"})
                           .Build();
  EXPECT_THAT(cluster->total().values(), ElementsAre(7000, 90e6, 7));
}

TEST(ClusterTotalTest, DoesNotSubtractPodsWithoutResourcesOrHelperPodsOfKai) {  // spec 1 F30
  const auto total = [](const std::function<void(PodRow*)>& change) {
    PodRow pod = Pod([](PodRow* p) {
      p->scheduler_name = "default-scheduler";
      p->pod_group = "";
      p->node_name = "n1";
      p->phase = Phase::kRunning;
    });
    change(&pod);
    return MakeCluster().Node("n1", {.millicpu = 8000}).Add(pod).Build()->total()[kQuotaCpu];
  };
  EXPECT_EQ(total([](PodRow*) {}), 7000);
  EXPECT_EQ(total([](PodRow* p) { p->phase = Phase::kSucceeded; }), 8000);
  EXPECT_EQ(total([](PodRow* p) {
              p->phase = Phase::kPending;
              p->node_name = "";
            }),
            8000);
  EXPECT_EQ(total([](PodRow* p) { p->labels = {{"app", "kai-resource-reservation"}}; }), 8000);
  EXPECT_EQ(total([](PodRow* p) { p->labels = {{"app", "scaling-pod"}}; }), 8000);
  EXPECT_EQ(total([](PodRow* p) { p->labels = {{"app", "web"}}; }), 7000);
  EXPECT_EQ(total([](PodRow* p) { p->deletion_ns = 5; }), 7000) << "still on its node";
}

TEST(ClusterTotalTest, SubtractsAForeignPodInAGroupOfOursToo) {
  // Only the scheduler name decides whether a pod is foreign.
  PodRow pod = Pod([](PodRow* p) {
    p->scheduler_name = "default-scheduler";
    p->node_name = "n1";
    p->phase = Phase::kRunning;
  });
  EXPECT_EQ(ClusterWith(pod).Build()->total()[kQuotaCpu], 63'000);
}

TEST(ClusterTotalTest, CountsGpusOfGpuWorkersOnlyWhenNodesAreRestricted) {
  ClusterMaker maker =
      MakeCluster()
          .Node("gpu", {.gpus = 8, .labels = {{"node-role.kubernetes.io/gpu-worker", "x"}}})
          .Node("cpu", {.gpus = 8, .labels = {{"node-role.kubernetes.io/cpu-worker", "x"}}});
  EXPECT_EQ(maker.Build()->total()[kQuotaGpu], 16);
  maker.params().restrict_node_scheduling = true;
  const auto cluster = maker.Build();
  EXPECT_EQ(cluster->total()[kQuotaGpu], 8);
  EXPECT_EQ(cluster->total()[kQuotaCpu], 128'000);
}

}  // namespace
}  // namespace kai::pod_writer_test
