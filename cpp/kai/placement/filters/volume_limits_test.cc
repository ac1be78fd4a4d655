#include <gtest/gtest.h>

#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/rooms_for_test.h"

namespace kai::volume_limits_test {
namespace {

constexpr char kTooMany[] = "node(s) exceed max volume count";

// Node n attaches two volumes of "disk" and any number of other volumes.
class VolumeLimitFilterTest : public testing::Test {
 protected:
  VolumeLimitFilterTest() {
    maker_.Node("n");
    storage().nodes = {{.name = "n", .most_volumes = {{"disk", 2}}}};
    storage().classes = {{.name = "made-later",
                          .provisioner = "disk",
                          .waits_for_consumer = true,
                          .allowed_topologies = {}}};
  }

  StorageRows& storage() { return maker_.rows().storage; }
  // A claim with a volume of that driver.
  VolumeClaimRow Claim(const std::string& name, std::string driver = "disk") {
    PersistentVolumeRow volume;
    volume.name = name;
    volume.csi_driver = std::move(driver);
    volume.csi_handle = name;
    storage().volumes.push_back(std::move(volume));
    PersistentVolumeClaimRow claim;
    claim.namespace_name = "ns";
    claim.name = name;
    claim.volume = name;
    claim.is_bound = true;
    claim.bind_completed = true;
    storage().claims.push_back(std::move(claim));
    return {.claim = name, .ephemeral = false};
  }
  // A claim with a volume that is made when its pod has a node.
  VolumeClaimRow NewClaim(const std::string& name) {
    const VolumeClaimRow volume = Claim(name);
    storage().volumes.pop_back();
    PersistentVolumeClaimRow& claim = storage().claims.back();
    claim.volume.clear();
    claim.is_bound = claim.bind_completed = false;
    claim.storage_class = "made-later";
    return volume;
  }
  std::string Answer() {
    const auto cluster = maker_.Build();
    return AnswerOf(*MakeVolumeLimitFilter(*cluster), *cluster, "ns/p-0", "n");
  }
  Rooms MakeRooms() { return Rooms(maker_.Build(), {.volume_limits = true}); }

  ClusterMaker maker_;
};

TEST_F(VolumeLimitFilterTest, ANodeAttachesVolumesUpToTheLimitOfTheDriver) {
  maker_.Running("ns/r", {.node = "n", .volumes = {Claim("r1")}});
  maker_.Pending("ns/p", {.volumes = {Claim("p1")}});
  EXPECT_EQ(Answer(), "");
  maker_.rows().pods.back().volumes.push_back(Claim("p2"));
  EXPECT_EQ(Answer(), kTooMany);
}

TEST_F(VolumeLimitFilterTest, AVolumeThatIsYetToBeProvisionedCounts) {
  maker_.Running("ns/r", {.node = "n", .volumes = {Claim("r1"), NewClaim("r2")}});
  maker_.Pending("ns/p", {.volumes = {NewClaim("p1")}});
  EXPECT_EQ(Answer(), kTooMany);
}

TEST_F(VolumeLimitFilterTest, PodsWithVolumesOfTheirOwnAreAlike) {
  const VolumeClaimRow shared = Claim("shared");
  maker_.Pending("ns/p", {.volumes = {Claim("p1")}}).Pending("ns/q", {.volumes = {Claim("q1")}});
  maker_.Pending("ns/s", {.pods = 2, .volumes = {shared}});
  const auto cluster = maker_.Build();
  const auto class_of = [&](const char* pod) {
    return cluster->pods().pod_class[PodNamed(*cluster, pod)];
  };
  EXPECT_EQ(class_of("ns/p-0"), class_of("ns/q-0"));
  EXPECT_NE(class_of("ns/p-0"), class_of("ns/s-0")) << "a shared volume counts once";
}

TEST_F(VolumeLimitFilterTest, AnAttachedVolumeIsNotCountedAgain) {
  const VolumeClaimRow shared = Claim("shared");
  maker_.Running("ns/r", {.pods = 2, .node = "n", .volumes = {shared}});
  maker_.Running("ns/s", {.node = "n", .volumes = {Claim("s1")}});
  maker_.Pending("ns/p", {.volumes = {shared}});
  EXPECT_EQ(Answer(), "");
  maker_.rows().pods.back().volumes.push_back(Claim("p1"));
  EXPECT_EQ(Answer(), kTooMany);
}

TEST_F(VolumeLimitFilterTest, DriversWithoutALimitAndNodesWithoutLimitsAreSkipped) {
  maker_.Pending("ns/p", {.volumes = {Claim("a", "other"), Claim("b", "other"), Claim("c", "")}});
  const auto cluster = maker_.Build();
  EXPECT_EQ(ScopeOf(*MakeVolumeLimitFilter(*cluster), *cluster, "ns/p-0"), Filter::Scope::kNothing);
  maker_.Node("unlimited").Pending("ns/q", {.volumes = {Claim("d"), Claim("e"), Claim("f")}});
  EXPECT_EQ(MakeRooms().Find("ns/q-0"), "unlimited");
}

TEST_F(VolumeLimitFilterTest, PodsOfThisCycleCountUntilTheyAreRolledBack) {
  maker_.Pending("ns/p", {.volumes = {Claim("p1"), Claim("p2")}});
  maker_.Pending("ns/q", {.volumes = {Claim("q1")}});
  Rooms rooms = MakeRooms();
  const Statement::Checkpoint start = rooms.statement().Mark();
  rooms.Place("ns/p-0", "n");
  EXPECT_EQ(rooms.Find("ns/q-0"), "nowhere");
  rooms.statement().RollBackTo(start);
  EXPECT_EQ(rooms.Find("ns/q-0"), "n");
}

TEST_F(VolumeLimitFilterTest, PodsWaitForTheVolumesOfTerminatingPods) {
  const VolumeClaimRow shared = Claim("shared");
  maker_.Running("ns/r", {.node = "n", .volumes = {shared, Claim("r1")}});
  maker_.Running("ns/s", {.node = "n", .volumes = {shared}});
  maker_.Pending("ns/p", {.volumes = {Claim("p1")}});
  maker_.Pending("ns/q", {.volumes = {Claim("q1"), Claim("q2")}});
  Rooms rooms = MakeRooms();
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  const Statement::Checkpoint start = rooms.statement().Mark();
  rooms.Evict("ns/r-0");
  EXPECT_EQ(rooms.Find("ns/p-0"), "n later");
  EXPECT_EQ(rooms.Find("ns/q-0"), "nowhere") << "the other user of the shared volume stays";
  rooms.Evict("ns/s-0");
  EXPECT_EQ(rooms.Find("ns/q-0"), "n later");
  rooms.statement().RollBackTo(start);
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
}

}  // namespace
}  // namespace kai::volume_limits_test
