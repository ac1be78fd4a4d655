#include "kai/model/claims/claim_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/model/changes/statement.h"
#include "kai/model/claims/claim_answers.h"
#include "kai/testing/makers/claim_rows.h"

namespace kai::claims_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Everything that statements change in claims, and the GPUs of the nodes.
std::string StateOf(const Cluster& cluster) {
  const ClaimBook& claims = cluster.claims();
  std::string state;
  for (const ClaimId claim : claims.ids()) {
    StrAppend(&state, cluster.Text(claims.NameOf(claim)), ":", claims.ConsumersOf(claim), "[");
    if (const ClaimAllocationPtr& allocation = claims.AllocationOf(claim); allocation != nullptr) {
      for (const auto& given : allocation->devices)
        StrAppend(&state, given.device.pool, "/", given.device.device, " ");
    }
    StrAppend(&state, "] ");
  }
  StrAppend(&state, "in use ", claims.devices_in_use().devices.size());
  for (const NodeId node : cluster.nodes().name.ids()) {
    constexpr size_t kGpu = kGpuSlot.index();
    for (const auto* table :
         {&cluster.nodes().idle, &cluster.nodes().releasing, &cluster.nodes().used}) {
      StrAppend(&state, table == &cluster.nodes().idle ? " " : "/",
                static_cast<int64_t>((*table)[node][kGpu]));
    }
  }
  return state;
}

class ClaimsTest : public ::testing::Test {
 protected:
  void Build(const ClusterMaker& maker) {
    cluster_ = maker.Build();
    ASSERT_THAT(cluster_->rejections(), IsEmpty());
    statement_ = Statement::Open(cluster_.get(), {});
    answers_ = std::make_unique<ClaimAnswers>(&cluster_->claims(), ClaimBudgets::kSmall);
  }
  PodId Pod(std::string_view name) const { return PodNamed(*cluster_, name); }
  NodeId Node(std::string_view name) const { return NodeNamed(*cluster_, name); }
  std::vector<std::string> DevicesOf(std::string_view pod) const {
    std::vector<std::string> devices;
    for (const GivenClaim& claim : cluster_->claims().GivenTo(Pod(pod))) {
      for (const auto& given : claim.allocation->devices)
        devices.push_back(StrCat(given.device.pool, "/", given.device.device));
    }
    return devices;
  }
  // Whether the node has the devices that the pod's claims request.
  bool CanAllocate(std::string_view pod, std::string_view node) const {
    return answers_->AnswerFor(cluster_->ClassOf(Pod(pod)).claims, Node(node)).kind ==
           ClaimAnswer::Kind::kYes;
  }

  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Statement> statement_;
  std::unique_ptr<ClaimAnswers> answers_;
};

ClusterMaker OneNode(int gpus) {
  return MakeCluster().Node("n1").Add(GpuClass()).Add(GpusOn("n1", gpus));
}

TEST_F(ClaimsTest, APlacedPodUsesDevicesAndUndoReleasesThem) {  // spec 3 D8, T28
  ClusterMaker maker = OneNode(3).Pending("ns/p", {.pods = 2});
  maker.Add(GpuClaim("ns/a", 2)).Add(GpuClaim("ns/b", 2));
  Claims(&maker, "ns/p-0", {"a"});
  Claims(&maker, "ns/p-1", {"b"});
  Build(maker);
  const std::string before = StateOf(*cluster_);
  EXPECT_EQ(before, "a:0[] b:0[] in use 0 3/0/0");

  EXPECT_TRUE(CanAllocate("ns/p-1", "n1"));
  statement_->Place(Pod("ns/p-0"), Node("n1"));
  EXPECT_EQ(StateOf(*cluster_), "a:1[n1/0 n1/1 ] b:0[] in use 2 1/0/2");
  EXPECT_THAT(DevicesOf("ns/p-0"), ElementsAre("n1/0", "n1/1"));
  EXPECT_FALSE(CanAllocate("ns/p-1", "n1"));

  statement_->RollBackTo(0);
  EXPECT_EQ(StateOf(*cluster_), before);
  EXPECT_TRUE(CanAllocate("ns/p-1", "n1"));
}

TEST_F(ClaimsTest, AnEvictedPodReleasesItsDevicesAndUndoRestoresThem) {  // spec 3 T28
  ClusterMaker maker = OneNode(2).Running("ns/r", {.node = "n1"}).Pending("ns/p");
  maker.Add(GpuClaim("ns/c", 2)).Add(GpuClaim("ns/d", 1));
  Claims(&maker, "ns/r-0", {"c"});
  Claims(&maker, "ns/p-0", {"d"});
  Hold(&maker, "ns/c", "ns/r-0", "n1", {"0", "1"});
  Build(maker);
  const std::string before = StateOf(*cluster_);
  EXPECT_EQ(before, "c:1[n1/0 n1/1 ] d:0[] in use 2 0/0/2");

  statement_->Evict(Pod("ns/r-0"));
  EXPECT_EQ(StateOf(*cluster_), "c:0[] d:0[] in use 0 0/2/2");
  statement_->Pipeline(Pod("ns/p-0"), Node("n1"));
  EXPECT_THAT(DevicesOf("ns/p-0"), ElementsAre("n1/0"));
  const std::string promised = StateOf(*cluster_);

  // It returns: it has never left its devices, even though one was promised.
  const Statement::Checkpoint checkpoint = statement_->Mark();
  statement_->Pipeline(Pod("ns/r-0"), Node("n1"));
  EXPECT_EQ(cluster_->pods().status[Pod("ns/r-0")], PodStatus::kRunning);
  EXPECT_THAT(DevicesOf("ns/r-0"), ElementsAre("n1/0", "n1/1"));
  EXPECT_THAT(DevicesOf("ns/p-0"), ElementsAre("n1/0"));
  statement_->RollBackTo(checkpoint);
  EXPECT_EQ(StateOf(*cluster_), promised);

  statement_->RollBackTo(0);
  EXPECT_EQ(StateOf(*cluster_), before);
}

TEST_F(ClaimsTest, APodThatMovesGetsDevicesOfItsNewNode) {
  ClusterMaker maker = OneNode(1)
                           .Node("n2")
                           .Add(GpusOn("n2", 1))
                           .Running("ns/r", {.node = "n1"})
                           .Add(GpuClaim("ns/c", 1));
  Claims(&maker, "ns/r-0", {"c"});
  Hold(&maker, "ns/c", "ns/r-0", "n1", {"0"});
  Build(maker);
  const std::string before = StateOf(*cluster_);
  statement_->Evict(Pod("ns/r-0"));
  EXPECT_TRUE(CanAllocate("ns/r-0", "n2"));
  statement_->Pipeline(Pod("ns/r-0"), Node("n2"));
  EXPECT_THAT(DevicesOf("ns/r-0"), ElementsAre("n2/0"));
  statement_->RollBackTo(0);
  EXPECT_EQ(StateOf(*cluster_), before);
}

TEST_F(ClaimsTest, ReservationsOfOtherPodsStay) {  // spec 3 T28
  ClusterMaker maker = OneNode(1).Running("ns/r", {.pods = 2, .node = "n1"});
  maker.Add(GpuClaim("ns/c", 1));
  Claims(&maker, "ns/r-0", {"c"});
  Claims(&maker, "ns/r-1", {"c"});
  Hold(&maker, "ns/c", "ns/r-0", "n1", {"0"});
  Hold(&maker, "ns/c", "ns/r-1", "n1", {"0"});
  maker.rows().claims[0].consumers.push_back({.pod = "unknown", .uid = "u"});
  Build(maker);
  const std::string before = StateOf(*cluster_);
  EXPECT_EQ(before, "c:3[n1/0 ] in use 1 0/0/1");
  statement_->Evict(Pod("ns/r-0"));
  statement_->Evict(Pod("ns/r-1"));
  EXPECT_EQ(StateOf(*cluster_), "c:1[n1/0 ] in use 1 0/1/1") << "a third consumer still has it";
  statement_->RollBackTo(0);
  EXPECT_EQ(StateOf(*cluster_), before);
}

TEST_F(ClaimsTest, PodsThatShareADeviceUseItOnce) {  // spec 3 D6, T16
  ClusterMaker maker = OneNode(2).Pending("ns/p", {.pods = 3});
  maker.Add(GpuClaim("ns/c", 1)).Add(GpuClaim("ns/d", 1));
  Claims(&maker, "ns/p-0", {"c"});
  Claims(&maker, "ns/p-1", {"c"});
  Claims(&maker, "ns/p-2", {"c", "d"});
  Build(maker);
  const std::string before = StateOf(*cluster_);
  statement_->Place(Pod("ns/p-0"), Node("n1"));
  statement_->Place(Pod("ns/p-1"), Node("n1"));
  EXPECT_EQ(StateOf(*cluster_), "c:2[n1/0 ] d:0[] in use 1 1/0/1");
  EXPECT_EQ(cluster_->claims().SharedGpus(cluster_->ClassOf(Pod("ns/p-2")).claims, Node("n1")), 1);
  statement_->Place(Pod("ns/p-2"), Node("n1"));
  EXPECT_EQ(StateOf(*cluster_), "c:3[n1/0 ] d:1[n1/1 ] in use 2 0/0/2") << "one more, not two";

  // The device becomes free when the last of the pods leaves.
  const Statement::Checkpoint all = statement_->Mark();
  for (const char* pod : {"ns/p-1", "ns/p-0"}) statement_->Evict(Pod(pod));
  EXPECT_EQ(StateOf(*cluster_), "c:1[n1/0 ] d:1[n1/1 ] in use 2 0/0/2");
  statement_->Evict(Pod("ns/p-2"));
  EXPECT_EQ(StateOf(*cluster_), "c:0[] d:0[] in use 0 0/2/2");
  statement_->RollBackTo(all);
  EXPECT_EQ(StateOf(*cluster_), "c:3[n1/0 ] d:1[n1/1 ] in use 2 0/0/2");
  statement_->RollBackTo(0);
  EXPECT_EQ(StateOf(*cluster_), before);
}

// Binds ns/p-0 to n1, with device 0 for that claim of the pod.
BindRequestRow RequestThatGives(const std::string& claim) {
  BindRequestRow request;
  request.namespace_name = "ns";
  request.pod = "p-0";
  request.node = "n1";
  ClaimAllocationRow allocation;
  allocation.devices.push_back({.request = "gpu", .device = {std::string(kGpuDriver), "n1", "0"}});
  request.claims.emplace_back(claim, allocation);
  return request;
}

TEST_F(ClaimsTest, DevicesInABindRequestAreInUse) {  // spec 3 D8
  ClusterMaker maker = OneNode(2).Pending("ns/p", {.pods = 2});
  maker.Add(GpuClaim("ns/c", 1)).Add(GpuClaim("ns/d", 1));
  Claims(&maker, "ns/p-0", {"c"});
  Claims(&maker, "ns/p-1", {"d"});
  maker.Add(RequestThatGives("c"));
  Build(maker);
  EXPECT_EQ(StateOf(*cluster_), "c:1[n1/0 ] d:0[] in use 1 1/0/1");
  statement_->Place(Pod("ns/p-1"), Node("n1"));
  EXPECT_THAT(DevicesOf("ns/p-1"), ElementsAre("n1/1"));
}

TEST_F(ClaimsTest, ABindRequestReservesTheClaimsThatItNames) {
  ClusterMaker maker = OneNode(2).Pending("ns/p", {.pods = 1});
  maker.Add(GpuClaim("ns/c", 1)).Add(GpuClaim("ns/d", 1));
  Claims(&maker, "ns/p-0", {"c", "d"});
  maker.Add(RequestThatGives("d"));
  Build(maker);
  EXPECT_EQ(StateOf(*cluster_), "c:0[] d:1[n1/0 ] in use 1 0/0/2");
}

TEST_F(ClaimsTest, PodsWithEqualClaimsOfTheirOwnAreAlike) {
  ClusterMaker maker = OneNode(4).Pending("ns/p", {.pods = 4});
  maker.Add(GpuClaim("ns/a", 1)).Add(GpuClaim("ns/b", 1)).Add(GpuClaim("ns/c", 2));
  for (const auto& [pod, claim] :
       {std::pair("ns/p-0", "a"), {"ns/p-1", "b"}, {"ns/p-2", "c"}, {"ns/p-3", "c"}}) {
    RowNamed(maker.rows().pods, pod)
        .claims.push_back({.name = "gpus", .resource_claim = claim, .from_template = false});
  }
  Build(maker);
  const auto& pod_class = cluster_->pods().pod_class;
  EXPECT_EQ(pod_class[Pod("ns/p-0")], pod_class[Pod("ns/p-1")]);
  EXPECT_NE(pod_class[Pod("ns/p-0")], pod_class[Pod("ns/p-2")]);
  EXPECT_EQ(pod_class[Pod("ns/p-2")], pod_class[Pod("ns/p-3")]) << "both mean the same claim";
}

TEST_F(ClaimsTest, TheNodesThatASliceNamesReachIt) {
  ClusterMaker maker = MakeCluster()
                           .Node("n1", {.labels = {{"rack", "r1"}}})
                           .Node("n2", {.labels = {{"rack", "r2"}}})
                           .Add(GpuClass())
                           .Pending("ns/p");
  ResourceSliceRow slice = GpusOn("", 1);
  slice.name = slice.slice.name = "by-rack";
  slice.has_node_selector = true;
  slice.node_selector = {
      {.expressions = {{.key = "rack", .op = SelectorOp::kIn, .values = {"r2"}}}, .fields = {}}};
  maker.Add(std::move(slice)).Add(GpuClaim("ns/c", 1));
  Claims(&maker, "ns/p-0", {"c"});
  Build(maker);
  EXPECT_FALSE(CanAllocate("ns/p-0", "n1"));
  EXPECT_TRUE(CanAllocate("ns/p-0", "n2"));
  statement_->Place(Pod("ns/p-0"), Node("n2"));
  const ClaimAllocation& allocation = *cluster_->claims().GivenTo(Pod("ns/p-0"))[0].allocation;
  EXPECT_FALSE(allocation.anywhere);
  ASSERT_EQ(allocation.nodes.size(), 1U);
  EXPECT_EQ(cluster_->Text(allocation.nodes[0].expressions[0].key), "rack");
}

// ---- extended resources that device classes provide (spec 3 D10)

ClusterMaker OneNodeWithoutPlugin(int gpus) {
  return MakeCluster().Node("n1").Add(GpuClass("nvidia.com/gpu")).Add(GpusOn("n1", gpus));
}

TEST_F(ClaimsTest, APodThatRequestsANumberOfGpusGetsDevicesWithoutADevicePlugin) {
  ClusterMaker maker = OneNodeWithoutPlugin(2).Pending("ns/p", {.gpus = 1});
  AddExtendedRequests(&maker, "ns/p-0", {{.place = 1, .count = 1}});
  Build(maker);
  const std::string before = StateOf(*cluster_);
  EXPECT_EQ(before, "<extended-resources>:0[] in use 0 2/0/0");
  statement_->Place(Pod("ns/p-0"), Node("n1"));
  EXPECT_EQ(StateOf(*cluster_), "<extended-resources>:1[n1/0 ] in use 1 1/0/1")
      << "one GPU, not two (spec 3 D2)";
  const std::vector<GivenClaim> given = cluster_->claims().GivenTo(Pod("ns/p-0"));
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].allocation->devices[0].request, "container-0-request-1");
  EXPECT_THAT(given[0].extended.requests,
              ElementsAre(ExtendedClaim::Request{"container-0-request-1", "nvidia.com/gpu",
                                                 std::string(kGpuDriver), 1}));
  EXPECT_THAT(given[0].extended.containers, ElementsAre(ExtendedClaim::Container{
                                                "c0", "nvidia.com/gpu", "container-0-request-1"}));
  statement_->RollBackTo(0);
  EXPECT_EQ(StateOf(*cluster_), before);
}

TEST_F(ClaimsTest, ANodeWithADevicePluginNeedsNoClaimedDevicesForThem) {
  ClusterMaker maker = OneNodeWithoutPlugin(1).Node("n2", {.gpus = 1});
  maker.Pending("ns/p", {.gpus = 1});
  AddExtendedRequests(&maker, "ns/p-0", {{.count = 1}});
  Build(maker);
  EXPECT_TRUE(CanAllocate("ns/p-0", "n2"));
  statement_->Place(Pod("ns/p-0"), Node("n2"));
  EXPECT_THAT(DevicesOf("ns/p-0"), IsEmpty());
  EXPECT_EQ(cluster_->claims().devices_in_use().devices.size(), 0U);
}

TEST_F(ClaimsTest, OnlyResourcesWithoutADevicePluginAreClaimed) {
  ClusterMaker maker = OneNodeWithoutPlugin(2).Node("n2", {.more = {{"x/nic", 1000}}});
  maker.Add(GpusOn("n2", 2)).Pending("ns/p", {.gpus = 1});
  maker.Add(DeviceClassRow{.name = "nics", .selectors = {}, .extended_resource = "x/nic"});
  maker.rows().pods[0].extended_requests = {
      {.container_name = "c", .resource = "nvidia.com/gpu", .place = 0, .count = 1},
      {.container_name = "c", .resource = "x/nic", .place = 1, .count = 1}};
  Build(maker);
  statement_->Place(Pod("ns/p-0"), Node("n2"));
  const std::vector<GivenClaim> given = cluster_->claims().GivenTo(Pod("ns/p-0"));
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].extended.requests.size(), 1U);
  EXPECT_EQ(given[0].extended.containers.size(), 1U);
  statement_->RollBackTo(0);
  statement_->Place(Pod("ns/p-0"), Node("n1"));
  EXPECT_EQ(cluster_->claims().GivenTo(Pod("ns/p-0"))[0].extended.requests.size(), 2U);
}

TEST_F(ClaimsTest, NoTwoPodsGetOneDeviceByAnyKindOfRequest) {
  ClusterMaker maker = OneNodeWithoutPlugin(2).Pending("ns/p", {.gpus = 1}).Pending("ns/q");
  maker.Pending("ns/p", {.gpus = 1}).Add(GpuClaim("ns/c", 1));
  AddExtendedRequests(&maker, "ns/p-0", {{.count = 1}});
  AddExtendedRequests(&maker, "ns/p-1", {{.count = 1}});
  Claims(&maker, "ns/q-0", {"c"});
  Build(maker);
  EXPECT_EQ(cluster_->pods().pod_class[Pod("ns/p-0")], cluster_->pods().pod_class[Pod("ns/p-1")]);
  statement_->Place(Pod("ns/p-0"), Node("n1"));
  statement_->Place(Pod("ns/q-0"), Node("n1"));
  EXPECT_THAT(DevicesOf("ns/p-0"), ElementsAre("n1/0"));
  EXPECT_THAT(DevicesOf("ns/q-0"), ElementsAre("n1/1"));
  EXPECT_FALSE(CanAllocate("ns/p-1", "n1"));
}

TEST_F(ClaimsTest, DevicesOfARunningPodAreInUseUntilItEnds) {
  ClusterMaker maker =
      OneNodeWithoutPlugin(1).Running("ns/r", {.gpus = 1, .node = "n1"}).Pending("ns/p");
  maker.Node("n2").Add(GpusOn("n2", 1));
  ResourceClaimRow made = GpuClaim("ns/r-0-extended-resources-x7k", 1);
  made.gpus = 0;  // as the reader makes it (spec 3 D2)
  made.for_extended_resource = true;
  made.owner_pod = "r-0";
  maker.Add(std::move(made)).Add(GpuClaim("ns/c", 1));
  AddExtendedRequests(&maker, "ns/r-0", {{.count = 1}});
  Hold(&maker, "ns/r-0-extended-resources-x7k", "ns/r-0", "n1", {"0"});
  Claims(&maker, "ns/p-0", {"c"});
  for (const bool by_status : {false, true}) {
    if (by_status) {
      maker.rows().pods[0].extended_claim = "r-0-extended-resources-x7k";
      maker.rows().claims[0].owner_pod = "";
    }
    statement_.reset();
    Build(maker);
    const std::string before = StateOf(*cluster_);
    EXPECT_EQ(before, "c:0[] r-0-extended-resources-x7k:1[n1/0 ] in use 1 0/0/1 1/0/0");
    EXPECT_FALSE(CanAllocate("ns/p-0", "n1"));
    statement_->Evict(Pod("ns/r-0"));
    EXPECT_TRUE(CanAllocate("ns/p-0", "n1"));
    // It moves to another node and requests what that node lacks.
    statement_->Pipeline(Pod("ns/r-0"), Node("n2"));
    EXPECT_THAT(DevicesOf("ns/r-0"), ElementsAre("n2/0"));
    statement_->RollBackTo(0);
    EXPECT_EQ(StateOf(*cluster_), before);
  }
}

TEST_F(ClaimsTest, AClaimLeftByAFailedBindingKeepsItsDevicesAndIsNotReused) {
  ClusterMaker maker = OneNodeWithoutPlugin(2).Pending("ns/p", {.gpus = 1});
  ResourceClaimRow left = GpuClaim("ns/left", 1);
  left.gpus = 0;
  left.for_extended_resource = true;
  left.owner_pod = "p-0";
  maker.Add(std::move(left));
  Hold(&maker, "ns/left", "ns/p-0", "n1", {"0"});
  AddExtendedRequests(&maker, "ns/p-0", {{.count = 1}});
  Build(maker);
  statement_->Place(Pod("ns/p-0"), Node("n1"));
  EXPECT_THAT(DevicesOf("ns/p-0"), ElementsAre("n1/1"));
}

TEST_F(ClaimsTest, DevicesForGpusInABindRequestAreInUse) {  // spec 3 D8
  ClusterMaker maker = OneNodeWithoutPlugin(2).Pending("ns/p", {.pods = 2, .gpus = 1});
  AddExtendedRequests(&maker, "ns/p-0", {{.count = 1}});
  AddExtendedRequests(&maker, "ns/p-1", {{.count = 1}});
  BindRequestRow request;
  request.namespace_name = "ns";
  request.pod = "p-0";
  request.node = "n1";
  ClaimAllocationRow allocation;
  allocation.devices.push_back(
      {.request = "container-0-request-0", .device = {std::string(kGpuDriver), "n1", "0"}});
  request.claims.emplace_back(kExtendedClaim, allocation);
  maker.Add(std::move(request));
  Build(maker);
  EXPECT_THAT(DevicesOf("ns/p-0"), ElementsAre("n1/0"));
  statement_->Place(Pod("ns/p-1"), Node("n1"));
  EXPECT_THAT(DevicesOf("ns/p-1"), ElementsAre("n1/1"));
}

TEST_F(ClaimsTest, APodHasNoClaimsIfNoClassProvidesItsGpus) {
  ClusterMaker maker = OneNode(2).Pending("ns/p", {.gpus = 1});
  AddExtendedRequests(&maker, "ns/p-0", {{.count = 1}});
  Build(maker);
  EXPECT_TRUE(cluster_->claims().empty());
  EXPECT_FALSE(cluster_->ClassOf(Pod("ns/p-0")).claims.valid());
}

TEST(ClaimsBuilderTest, ObjectsWithEqualNamesAreAllRejected) {
  ClusterMaker maker = OneNode(1).Add(GpusOn("n1", 1)).Add(GpuClass()).Pending("ns/p");
  maker.Add(GpuClaim("ns/c", 1)).Add(GpuClaim("ns/c", 1));
  Claims(&maker, "ns/p-0", {"c"});
  const auto cluster = maker.Build();
  std::vector<std::string> kinds;
  for (const Rejection& rejection : cluster->rejections())
    kinds.push_back(StrCat(rejection.kind, " ", rejection.name));
  EXPECT_THAT(kinds, ElementsAre("DeviceClass gpu.nvidia.com", "ResourceClaim ns/c",
                                 "ResourceSlice n1-gpus"));
  EXPECT_EQ(cluster->claims().WhyNot(PodNamed(*cluster, "ns/p-0")).kind,
            ClaimRefusalKind::kMissing);
}

}  // namespace
}  // namespace kai::claims_test
