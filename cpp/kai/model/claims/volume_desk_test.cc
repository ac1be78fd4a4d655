#include "kai/model/claims/volume_desk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kai::volume_desk_test {
namespace {

using Kind = VolumeRefusal::Kind;

struct Uids {
  std::string of_pod;
  std::string of_owner;  // the owner of the claim
};

// The refusal of ns/p for its only claim, which exists and is not bound.
Kind RefusalOf(const Uids& uids, bool ephemeral = true) {
  StorageRows storage;
  PersistentVolumeClaimRow& claim = storage.claims.emplace_back();
  claim.namespace_name = "ns";
  claim.name = "p-data";
  claim.owner_pod_uid = uids.of_owner;
  PodRow pod;
  pod.namespace_name = "ns";
  pod.uid = uids.of_pod;
  pod.volumes = {{.claim = "p-data", .ephemeral = ephemeral}};
  Interner names;
  std::vector<Rejection> rejections;
  const VolumeDesk desk(storage, /*ignores_space=*/false, &names, &rejections);
  return desk.NeedsOf(RowParts().Compact(pod)).refusal.kind;
}

TEST(VolumeDeskTest, AClaimOwnedByAnotherPodRefusesTheEphemeralVolume) {
  EXPECT_EQ(RefusalOf({.of_pod = "u1", .of_owner = "u2"}), Kind::kNotOwner);
  EXPECT_EQ(RefusalOf({.of_pod = "u1", .of_owner = "u1"}), Kind::kUnbound);
  EXPECT_EQ(RefusalOf({.of_pod = "u1", .of_owner = "u2"}, /*ephemeral=*/false), Kind::kUnbound);
}

TEST(VolumeDeskTest, AMissingUidMatchesAnyUid) {
  EXPECT_EQ(RefusalOf({.of_pod = "", .of_owner = "u2"}), Kind::kUnbound);
  EXPECT_EQ(RefusalOf({.of_pod = "u1", .of_owner = ""}), Kind::kUnbound);
}

}  // namespace
}  // namespace kai::volume_desk_test
