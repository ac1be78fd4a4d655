#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/placement/rooms_for_test.h"
#include "kai/testing/makers/claim_rows.h"

namespace kai::resource_claims_test {
namespace {

using ::testing::HasSubstr;

ClusterMaker TwoNodes() {
  return MakeCluster()
      .Node("n1")
      .Node("n2")
      .Add(GpuClass())
      .Add(GpusOn("n1", 1))
      .Add(GpusOn("n2", 2));
}

TEST(ResourceClaimFilterTest, APodIsPlacedOnANodeWithItsDevices) {  // spec 3 D7
  ClusterMaker maker = TwoNodes().Pending("ns/p", {.pods = 2}).Add(GpuClaim("ns/two", 2));
  maker.Add(GpuClaim("ns/one", 1));
  Claims(&maker, "ns/p-0", {"two"});
  Claims(&maker, "ns/p-1", {"one"});
  Rooms rooms(maker.Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n2");
  rooms.Place("ns/p-0", "n2");
  EXPECT_EQ(rooms.Find("ns/p-1"), "n1");
  rooms.Place("ns/p-1", "n1");
}

TEST(ResourceClaimFilterTest, DevicesThatNoSelectorMatchesAreIgnored) {
  ClusterMaker maker = TwoNodes().Pending("ns/p");
  ResourceClaimRow claim = GpuClaim("ns/c", 1);
  claim.spec.requests[0].exactly.selectors = {"device.attributes['gpu.nvidia.com'].model == 'x'"};
  for (ResourceSliceRow& row : maker.rows().slices)
    row.slice.devices[0].SetAttribute("model", std::string(row.node == "n2" ? "x" : "y"));
  maker.rows().slices[1].slice.devices.resize(1);
  maker.Add(claim);
  Claims(&maker, "ns/p-0", {"c"});
  EXPECT_EQ(Rooms(maker.Build()).Find("ns/p-0"), "n2");
  maker.rows().claims[0].spec.requests[0].exactly.selectors = {
      "device.attributes['gpu.nvidia.com'].model == 'z'"};
  Rooms none(maker.Build());
  EXPECT_EQ(none.Find("ns/p-0"), "nowhere");
  EXPECT_EQ(none.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 cannot allocate all DRA claims on node "
            "n1. \n1 cannot allocate all DRA claims on node n2.");
}

TEST(ResourceClaimFilterTest, AnInvalidClaimIsReportedWithItsReason) {
  ClusterMaker maker = TwoNodes().Pending("ns/p");
  ResourceClaimRow claim = GpuClaim("ns/c", 1);
  claim.spec.requests[0].exactly.selectors = {"device."};
  maker.Add(claim);
  Claims(&maker, "ns/p-0", {"c"});
  Rooms rooms(maker.Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  EXPECT_THAT(rooms.Explain("ns/p-0"),
              HasSubstr("1 cannot allocate DRA claims on node n1: claim c, request gpu, device "));
}

// spec 3 E5
TEST(ResourceClaimFilterTest, ANodeWithAllGpusClaimedHasNoReasonInTheMessage) {
  ClusterMaker maker = MakeCluster()
                           .Node("n1")
                           .Add(GpuClass())
                           .Add(GpusOn("n1", 1))
                           .Running("ns/r", {.node = "n1"})
                           .Pending("ns/p")
                           .Add(GpuClaim("ns/c", 1));
  maker.Add(GpuClaim("ns/d", 1));
  Claims(&maker, "ns/r-0", {"c"});
  Hold(&maker, "ns/c", "ns/r-0", "n1", {"0"});
  Claims(&maker, "ns/p-0", {"d"});
  Rooms rooms(maker.Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  EXPECT_EQ(rooms.Explain("ns/p-0"), "no nodes with enough resources were found");
  rooms.Evict("ns/r-0");
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1 later");
}

TEST(ResourceClaimFilterTest, AnAllocatedClaimRestrictsItsPodsToItsNode) {
  ClusterMaker maker = TwoNodes()
                           .Running("ns/r", {.node = "n1"})
                           .Pending("ns/p", {.millicpu = 64'000})
                           .Add(GpuClaim("ns/c", 1));
  Claims(&maker, "ns/r-0", {"c"});
  Claims(&maker, "ns/p-0", {"c"});
  Hold(&maker, "ns/c", "ns/r-0", "n1", {"0"});
  Rooms full(maker.Build());
  EXPECT_EQ(full.Find("ns/p-0"), "nowhere") << "n1 lacks the cores";
  EXPECT_THAT(full.Explain("ns/p-0"),
              HasSubstr("1 claim ns/c node selector does not match node n2"));
  maker.rows().pods[1].requests = {{"cpu", 1000}};
  Rooms rooms(maker.Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1") << "the pods share its only GPU (spec 3 D6)";
}

TEST(ResourceClaimFilterTest, ASharedClaimIsAllocatedWithItsFirstPod) {
  ClusterMaker maker = TwoNodes().Pending("ns/p", {.pods = 3}).Add(GpuClaim("ns/c", 2));
  for (const char* pod : {"ns/p-0", "ns/p-1", "ns/p-2"}) Claims(&maker, pod, {"c"});
  Rooms rooms(maker.Build());
  for (const char* pod : {"ns/p-0", "ns/p-1", "ns/p-2"}) {
    EXPECT_EQ(rooms.Find(pod), "n2") << pod;
    rooms.Place(pod, "n2");
  }
  EXPECT_EQ(rooms.cluster().nodes().used[rooms.Node("n2")][kGpuSlot.index()], 2);
}

TEST(ResourceClaimFilterTest, APodThatSharesAClaimWithAPipelinedPodWaits) {
  ClusterMaker maker = MakeCluster()
                           .Node("n1")
                           .Add(GpuClass())
                           .Add(GpusOn("n1", 1))
                           .Running("ns/r", {.node = "n1"})
                           .Pending("ns/p", {.pods = 2})
                           .Add(GpuClaim("ns/c", 1));
  maker.Add(GpuClaim("ns/d", 1));
  Claims(&maker, "ns/r-0", {"c"});
  Hold(&maker, "ns/c", "ns/r-0", "n1", {"0"});
  Claims(&maker, "ns/p-0", {"d"});
  Claims(&maker, "ns/p-1", {"d"});
  Rooms rooms(maker.Build());
  rooms.Evict("ns/r-0");
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1 later");
  rooms.Pipeline("ns/p-0", "n1");
  EXPECT_EQ(rooms.Find("ns/p-1"), "n1 later");
}

// spec 3 D10
TEST(ResourceClaimFilterTest, ANumberOfGpusIsRequestedAsDevicesWithoutADevicePlugin) {
  ClusterMaker maker = MakeCluster()
                           .Node("n1", {.more = {{"nvidia.com/gpu", 0}}})
                           .Node("n2", {.gpus = 1})
                           .Add(GpuClass("nvidia.com/gpu"))
                           .Add(GpusOn("n1", 2))
                           .Pending("ns/p", {.gpus = 1})
                           .Pending("ns/q", {.gpus = 2});
  AddExtendedRequests(&maker, "ns/p-0", {{.count = 1}});
  AddExtendedRequests(&maker, "ns/q-0",
                      {{.kind = ContainerRow::Kind::kInit, .count = 2}, {.count = 1}});
  Rooms rooms(maker.Build());
  EXPECT_EQ(rooms.Find("ns/q-0"), "n1");
  rooms.Place("ns/q-0", "n1");
  EXPECT_EQ(rooms.Find("ns/p-0"), "n2") << "its device plugin chooses";
  // A partly replaced slice gives no devices, despite its numbers.
  maker.rows().slices[0].slice.slices_in_pool = 2;
  Rooms none(maker.Build());
  EXPECT_EQ(none.Find("ns/q-0"), "nowhere");
  EXPECT_THAT(none.Explain("ns/q-0"), HasSubstr("1 cannot allocate all DRA claims on node n1"));
}

// Reasons for a pod before nodes are checked.
class ResourceClaimCheckTest : public ::testing::Test {
 protected:
  ClusterMaker maker_ = MakeCluster()
                            .Node("n1")
                            .Add(GpuClass())
                            .Add(GpusOn("n1", 1))
                            .Pending("ns/p")
                            .Add(GpuClaim("ns/c", 1));

  std::string Why() {
    Rooms rooms(maker_.Build());
    const std::string found = rooms.Find("ns/p-0");
    return found == "nowhere" ? rooms.Explain("ns/p-0") : found;
  }
  ResourceClaimRow& claim() { return maker_.rows().claims[0]; }
  PodRow& pod() { return maker_.rows().pods[0]; }
};

TEST_F(ResourceClaimCheckTest, AValidClaimPasses) {  // spec 3 D5
  EXPECT_EQ(Why(), "n1") << "no claims";
  Claims(&maker_, "ns/p-0", {"c"});
  EXPECT_EQ(Why(), "n1");
}

TEST_F(ResourceClaimCheckTest, AClusterWithoutClaims) {
  pod().claims = {{.name = "a", .resource_claim = "c", .from_template = false},
                  {.name = "b", .resource_claim = "d", .from_template = false}};
  maker_.rows().serves_claims = false;
  EXPECT_EQ(Why(),
            "pod ns/p-0 cannot be scheduled, it references resource claims <a, b> while dynamic "
            "resource allocation is not available in the cluster");
}

TEST_F(ResourceClaimCheckTest, AClaimFromATemplateThatIsNotYetCreated) {
  pod().claims = {{.name = "gpu", .resource_claim = "", .from_template = true}};
  EXPECT_EQ(Why(), "no resource claim name found for pod ns/p-0 and claim reference gpu");
}

TEST_F(ResourceClaimCheckTest, AMissingClaim) {
  Claims(&maker_, "ns/p-0", {"c", "d"});
  EXPECT_THAT(Why(), ::testing::StartsWith("failed to get resource claim ns/d: "));
}

TEST_F(ResourceClaimCheckTest, AClaimWithTooManyConsumers) {
  Claims(&maker_, "ns/p-0", {"c"});
  claim().consumers.assign(255, {.pod = "other", .uid = "u"});
  EXPECT_EQ(Why(), "n1");
  claim().consumers.push_back({.pod = "", .uid = ""});
  EXPECT_EQ(Why(), "resource claim ns/c has reached its maximum number of consumers (256)");
}

TEST_F(ResourceClaimCheckTest, TheFirstPodUsesTheLastReservationOfAClaim) {
  maker_.Pending("ns/p");
  Claims(&maker_, "ns/p-0", {"c"});
  Claims(&maker_, "ns/p-1", {"c"});
  claim().consumers.assign(255, {.pod = "other", .uid = "u"});
  Rooms rooms(maker_.Build());
  const Statement::Checkpoint start = rooms.statement().Mark();
  rooms.Place("ns/p-0", "n1");
  EXPECT_EQ(rooms.Find("ns/p-1"), "nowhere");
  EXPECT_FALSE(
      rooms.search().plans().CanNeverRun(rooms.cluster().pods().pod_class[rooms.Pod("ns/p-1")]))
      << "another pod may leave";
  rooms.statement().RollBackTo(start);
  EXPECT_EQ(rooms.Find("ns/p-1"), "n1");
}

TEST_F(ResourceClaimCheckTest, AClaimForSharedGpusNeedsAQueueLabel) {
  Claims(&maker_, "ns/p-0", {"c"});
  claim().labels = {};
  EXPECT_EQ(Why(),
            "pod ns/p-0 cannot be scheduled: DRA claim c is a shared GPU claim but does not have a "
            "queue label (kai.scheduler/queue)");
  claim().labels = {{"kai.scheduler/queue", "other"}};
  EXPECT_EQ(Why(),
            "pod ns/p-0 cannot be scheduled: DRA claim c is a shared GPU claim with wrong queue "
            "label (expected queue: default, claim queue label: other)");
  pod().claims[0].from_template = true;
  EXPECT_EQ(Why(), "n1") << "made for this pod only";
}

TEST_F(ResourceClaimCheckTest, OtherClaimsNeedNoLabel) {
  claim().labels = {};
  claim().gpus = 0;
  claim().spec.requests[0].exactly.class_name = "network";
  maker_.Add(DeviceClassRow{.name = "network", .selectors = {}, .extended_resource = {}});
  Claims(&maker_, "ns/p-0", {"c"});
  EXPECT_EQ(Why(), "n1");
}

TEST_F(ResourceClaimCheckTest, AClassThatDoesNotExistMattersUntilTheClaimIsAllocated) {
  Claims(&maker_, "ns/p-0", {"c"});
  claim().spec.requests[0].exactly.class_name = "gpu.other";
  EXPECT_EQ(Why(), "device class gpu.other does not exist for claim ns/c request gpu");
  Hold(&maker_, "ns/c", "ns/p-0", "n1", {"0"});
  EXPECT_EQ(Why(), "n1");
}

TEST_F(ResourceClaimCheckTest, RefusalsOfPredicatesComeFirst) {  // spec 3 P1
  pod().requests = {{"cpu", 1'000'000'000}};
  Claims(&maker_, "ns/p-0", {"missing"});
  EXPECT_THAT(Why(), ::testing::StartsWith("Scheduling conditions were not met for pod ns/p-0:\n"
                                           "MaxNodePoolResources: "));
  EXPECT_THAT(Why(), ::testing::Not(HasSubstr("resource claim")));
}

}  // namespace
}  // namespace kai::resource_claims_test
