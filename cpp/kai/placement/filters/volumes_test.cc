#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/base/text.h"
#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/rooms_for_test.h"

namespace kai::volumes_test {
namespace {

constexpr int64_t kGigabyte = 1'000'000'000;
constexpr char kOutOfReach[] = "node(s) didn't match PersistentVolume's node affinity";
constexpr char kNoVolume[] = "node(s) didn't find available persistent volumes to bind";
constexpr char kNoSpace[] = "node(s) did not have enough free storage";
constexpr char kGone[] =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

NodeSelectorTerm Zone(std::string zone) {
  return {.expressions = {{.key = "zone", .op = SelectorOp::kIn, .values = {std::move(zone)}}},
          .fields = {}};
}

PersistentVolumeRow Volume(std::string name, std::string zone = "", int64_t bytes = kGigabyte) {
  PersistentVolumeRow row;
  row.name = std::move(name);
  row.storage_class = "local";
  row.bytes = bytes;
  row.access_modes = {"ReadWriteOnce"};
  row.is_available = true;
  row.has_node_affinity = !zone.empty();
  if (!zone.empty()) row.node_affinity = {Zone(std::move(zone))};
  return row;
}

PersistentVolumeClaimRow Claim(std::string name, std::string storage_class = "local") {
  PersistentVolumeClaimRow row;
  row.namespace_name = "ns";
  row.name = std::move(name);
  row.storage_class = std::move(storage_class);
  row.bytes = kGigabyte;
  row.access_modes = {"ReadWriteOnce"};
  return row;
}

PersistentVolumeClaimRow BoundClaim(std::string name, std::string volume) {
  PersistentVolumeClaimRow row = Claim(std::move(name));
  row.volume = std::move(volume);
  row.bind_completed = true;
  return row;
}

// Two zones; "local" has manually created volumes, "cloud" creates them when a pod has a node.
class VolumeFilterTest : public testing::Test {
 protected:
  VolumeFilterTest() {
    maker_.Node("a1", {.labels = {{"zone", "a"}}}).Node("b1", {.labels = {{"zone", "b"}}});
    storage().classes = {{.name = "local",
                          .provisioner = "kubernetes.io/no-provisioner",
                          .waits_for_consumer = true,
                          .allowed_topologies = {}},
                         {.name = "cloud",
                          .provisioner = "cloud.example.com",
                          .waits_for_consumer = true,
                          .allowed_topologies = {}},
                         {.name = "at-once",
                          .provisioner = "cloud.example.com",
                          .waits_for_consumer = false,
                          .allowed_topologies = {}}};
  }

  StorageRows& storage() { return maker_.rows().storage; }
  void Claims(std::vector<PersistentVolumeClaimRow> claims) {
    PodsSpec spec;
    for (const PersistentVolumeClaimRow& claim : claims)
      spec.volumes.push_back({.claim = claim.name, .ephemeral = false});
    storage().claims = std::move(claims);
    maker_.Pending("ns/p", std::move(spec));
  }
  std::string Answer(std::string_view node) {
    const auto cluster = maker_.Build();
    return AnswerOf(*MakeVolumeFilter(*cluster), *cluster, "ns/p-0", node);
  }
  std::string Explanation() { return Rooms(maker_.Build()).Explain("ns/p-0"); }

  ClusterMaker maker_;
};

std::string Refused(std::string_view why) {
  return StrCat("Scheduling conditions were not met for pod ns/p-0:\nVolumeBinding: ", why, ".\n");
}

TEST_F(VolumeFilterTest, TheNodeHasToReachABoundVolume) {
  storage().volumes = {Volume("v", "a")};
  Claims({BoundClaim("data", "v")});
  EXPECT_EQ(Answer("a1"), "");
  EXPECT_EQ(Answer("b1"), kOutOfReach);
}

TEST_F(VolumeFilterTest, EveryNodeReachesAVolumeWithoutNodeAffinity) {
  storage().volumes = {Volume("v")};
  Claims({BoundClaim("data", "v")});
  const auto cluster = maker_.Build();
  EXPECT_EQ(ScopeOf(*MakeVolumeFilter(*cluster), *cluster, "ns/p-0"), Filter::Scope::kNothing);
}

TEST_F(VolumeFilterTest, NoNodeReachesADeletedVolume) {
  Claims({BoundClaim("data", "v")});
  EXPECT_EQ(Answer("a1"), kGone);
}

TEST_F(VolumeFilterTest, AWaitingClaimUsesAnAvailableVolumeOfItsClass) {
  storage().volumes = {Volume("v", "a")};
  Claims({Claim("data")});
  EXPECT_EQ(Answer("a1"), "");
  EXPECT_EQ(Answer("b1"), kNoVolume);
}

TEST_F(VolumeFilterTest, AVolumeIsUsedByOneClaim) {
  storage().volumes = {Volume("v", "a"), Volume("w", "b"), Volume("x", "b")};
  Claims({Claim("data"), Claim("logs")});
  EXPECT_EQ(Answer("a1"), kNoVolume);
  EXPECT_EQ(Answer("b1"), "");
}

TEST_F(VolumeFilterTest, TheSmallestClaimUsesTheSmallestVolume) {
  // In the reverse order the large claim would find no volume.
  storage().volumes = {Volume("large", "a", 2 * kGigabyte), Volume("small", "a")};
  PersistentVolumeClaimRow large = Claim("large");
  large.bytes = 2 * kGigabyte;
  Claims({large, Claim("small")});
  EXPECT_EQ(Answer("a1"), "");
}

TEST_F(VolumeFilterTest, AnUnsuitableVolumeIsNotUsed) {
  PersistentVolumeRow small = Volume("small", "", kGigabyte - 1);
  PersistentVolumeRow other_class = Volume("other-class");
  other_class.storage_class = "cloud";
  PersistentVolumeRow in_use = Volume("in-use");
  in_use.is_available = false;
  PersistentVolumeRow going = Volume("going");
  going.deletion_ns = 1;
  PersistentVolumeRow block = Volume("block");
  block.is_block = true;
  PersistentVolumeRow shared = Volume("shared");
  shared.access_modes = {"ReadOnlyMany"};
  PersistentVolumeRow kept = Volume("kept");
  kept.claim_namespace = "ns";
  kept.claim_name = "other";
  storage().volumes = {small, other_class, in_use, going, block, shared, kept};
  Claims({Claim("data")});
  EXPECT_EQ(Answer("a1"), kNoVolume);
}

TEST_F(VolumeFilterTest, AVolumeReservedForTheClaimIsTheOnlyChoice) {
  PersistentVolumeRow own = Volume("own", "a");
  own.claim_namespace = "ns";
  own.claim_name = "data";
  storage().volumes = {own, Volume("other", "b")};
  Claims({Claim("data")});
  EXPECT_EQ(Answer("a1"), "");
  EXPECT_EQ(Answer("b1"), kNoVolume);
}

TEST_F(VolumeFilterTest, AVolumeCanBeProvisionedWhereItsClassAllowsIt) {
  Claims({Claim("data", "cloud")});
  EXPECT_EQ(Answer("a1"), "");
  storage().classes[1].allowed_topologies = {Zone("b")};
  EXPECT_EQ(Answer("a1"), kNoVolume);
  EXPECT_EQ(Answer("b1"), "");
}

TEST_F(VolumeFilterTest, AVolumeBeingProvisionedRestrictsItsPodToItsNode) {
  PersistentVolumeClaimRow claim = Claim("data", "cloud");
  claim.selected_node = "b1";
  Claims({claim});
  EXPECT_EQ(Answer("a1"), kNoVolume);
  EXPECT_EQ(Answer("b1"), "");
  EXPECT_EQ(Rooms(maker_.Build()).Find("ns/p-0"), "b1");
}

TEST_F(VolumeFilterTest, ADriverThatReportsItsCapacityNeedsEnoughOfIt) {
  Claims({Claim("data", "cloud")});
  storage().drivers = {{.name = "cloud.example.com", .reports_capacity = true}};
  EXPECT_EQ(Answer("a1"), kNoSpace) << "no capacity is reported for the node";
  CsiStorageCapacityRow capacity;
  capacity.name = "c";
  capacity.storage_class = "cloud";
  capacity.nodes = Zone("a").expressions;
  capacity.bytes = kGigabyte;
  storage().capacities = {capacity};
  EXPECT_EQ(Answer("a1"), "");
  EXPECT_EQ(Answer("b1"), kNoSpace);
  storage().capacities[0].largest_volume_bytes = kGigabyte - 1;
  EXPECT_EQ(Answer("a1"), kNoSpace);
}

TEST_F(VolumeFilterTest, OneReasonMayNameBothKindsOfClaims) {
  storage().volumes = {Volume("v", "a")};
  Claims({BoundClaim("data", "v"), Claim("more")});
  EXPECT_EQ(Answer("b1"), StrCat(kOutOfReach, ", ", kNoVolume));
}

TEST_F(VolumeFilterTest, ProblemsOnEveryNodeAreReportedBeforeNodesAreChecked) {
  Claims({Claim("data", "at-once")});
  EXPECT_EQ(Explanation(), Refused("pod has unbound immediate PersistentVolumeClaims"));
  storage().claims.front() = Claim("data", "nowhere");
  EXPECT_EQ(Explanation(), Refused("pod has unbound immediate PersistentVolumeClaims"));
  storage().claims.front().is_lost = true;
  storage().claims.front().volume = "v";
  EXPECT_EQ(Explanation(), Refused("persistentvolumeclaim \"data\" bound to non-existent "
                                   "persistentvolume \"v\""));
  storage().claims.front() = Claim("data");
  storage().claims.front().deletion_ns = 1;
  EXPECT_EQ(Explanation(), Refused("persistentvolumeclaim \"data\" is being deleted"));
  storage().claims.clear();
  EXPECT_EQ(Explanation(), Refused("persistentvolumeclaim \"data\" not found"));
  maker_.rows().pods.back().volumes = {{.claim = "p-0-scratch", .ephemeral = true}};
  EXPECT_EQ(Explanation(), Refused("waiting for ephemeral volume controller to create the "
                                   "persistentvolumeclaim \"p-0-scratch\""));
}

TEST_F(VolumeFilterTest, AnInputWithoutAnyStorageHasNoClaims) {
  Claims({Claim("data")});
  storage() = StorageRows();
  EXPECT_EQ(Explanation(), Refused("persistentvolumeclaim \"data\" not found"));
}

TEST_F(VolumeFilterTest, AnEphemeralVolumeHasToBelongToThePod) {
  PersistentVolumeClaimRow claim = Claim("p-0-scratch");
  claim.owner_pod_uid = "another";
  Claims({claim});
  PodRow& pod = maker_.rows().pods.back();
  pod.uid = "this";
  pod.volumes = {{.claim = "p-0-scratch", .ephemeral = true}};
  EXPECT_EQ(Explanation(),
            Refused("PVC ns/p-0-scratch was not created for pod ns/p-0 (pod is not owner)"));
  const auto is_mine = testing::Not(testing::HasSubstr("not owner"));
  pod.volumes[0].ephemeral = false;
  EXPECT_THAT(Explanation(), is_mine);
  pod.volumes[0].ephemeral = true;
  pod.uid = "another";
  EXPECT_THAT(Explanation(), is_mine);
  pod.uid = "";
  EXPECT_THAT(Explanation(), is_mine) << "the UID is unknown";
}

TEST_F(VolumeFilterTest, ClaimsWithEqualNamesAreAllRejected) {
  Claims({Claim("data"), Claim("data")});
  const auto cluster = maker_.Build();
  ASSERT_EQ(cluster->rejections().size(), 1);
  EXPECT_EQ(cluster->rejections().front().kind, "PersistentVolumeClaim");
  EXPECT_EQ(cluster->rejections().front().name, "ns/data");
}

TEST_F(VolumeFilterTest, PodsWithEqualVolumesAreOfOneClass) {
  storage().volumes = {Volume("v", "a"), Volume("w", "a")};
  Claims({BoundClaim("data-0", "v"), BoundClaim("data-1", "w")});
  maker_.rows().pods.back().volumes.pop_back();
  maker_.Pending("ns/q", {.volumes = {{.claim = "data-1", .ephemeral = false}}});
  const auto cluster = maker_.Build();
  EXPECT_EQ(cluster->pods().pod_class[PodNamed(*cluster, "ns/p-0")],
            cluster->pods().pod_class[PodNamed(*cluster, "ns/q-0")]);
}

TEST_F(VolumeFilterTest, AVolumeOfOneHostIsCheckedPerNode) {
  for (int i = 0; i < 40; ++i) {
    const std::string name = StrCat("host-", i);
    maker_.Node(name, {.labels = {{"host", name}}});
  }
  PersistentVolumeRow volume = Volume("v", "a");
  volume.node_affinity[0].expressions[0] = {
      .key = "host", .op = SelectorOp::kIn, .values = {"host-17"}};
  storage().volumes = {volume};
  Claims({BoundClaim("data", "v")});
  const auto cluster = maker_.Build();
  EXPECT_EQ(ScopeOf(*MakeVolumeFilter(*cluster), *cluster, "ns/p-0"), Filter::Scope::kNode);
  EXPECT_EQ(Rooms(maker_.Build()).Find("ns/p-0"), "host-17");
}

}  // namespace
}  // namespace kai::volumes_test
