#include "kai/model/claims/storage_desk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kai::storage_desk_test {
namespace {

PodRow PodWith(const std::string& claim) {
  PodRow pod;
  pod.namespace_name = "ns";
  pod.volumes = {{.claim = claim, .ephemeral = false}};
  return pod;
}

// The volumes that the first of these pods attaches; node n has a limit for volumes.
std::vector<AttachedVolumes> AttachedBy(const std::vector<PodRow>& pods, Interner* names) {
  StorageRows storage;
  storage.classes = {{.name = "disks",
                      .provisioner = "disk",
                      .waits_for_consumer = true,
                      .allowed_topologies = {}}};
  storage.nodes = {{.name = "n", .most_volumes = {{"disk", 2}}}};
  for (const char* name : {"a", "b"}) {
    PersistentVolumeClaimRow& claim = storage.claims.emplace_back();
    claim.namespace_name = "ns";
    claim.name = name;
    claim.storage_class = "disks";
  }
  std::vector<Rejection> rejections;
  const VolumeDesk volumes(storage, /*ignores_space=*/false, names, &rejections);
  StorageDesk desk(volumes, /*counts_capacity=*/false, names);
  NodeRow node;
  node.name = "n";
  const std::vector<const NodeRow*> nodes = {&node};
  StorageMap map;
  desk.Describe(nodes, &map);
  std::vector<CompactPod> compact;
  for (const PodRow& pod : pods) desk.CountUses(compact.emplace_back(RowParts().Compact(pod)));
  VolumeNeeds needs;
  desk.AddNeeds(compact[0], /*holds_node=*/false, &needs);
  return needs.attached;
}

TEST(StorageDeskTest, AVolumeIsSharedWhenASecondPodUsesIt) {
  Interner names;
  const auto own = AttachedBy({PodWith("a"), PodWith("b")}, &names);
  ASSERT_EQ(own.size(), size_t{1});
  EXPECT_EQ(own[0].own, 1);
  EXPECT_TRUE(own[0].shared.empty());
  const auto shared = AttachedBy({PodWith("a"), PodWith("a")}, &names);
  ASSERT_EQ(shared.size(), size_t{1});
  EXPECT_EQ(shared[0].own, 0);
  EXPECT_EQ(shared[0].shared.size(), size_t{1});
}

TEST(StorageDeskTest, PodsWithVolumesOfTheirOwnAreAlike) {
  Interner names;
  EXPECT_EQ(AttachedBy({PodWith("a"), PodWith("b")}, &names),
            AttachedBy({PodWith("b"), PodWith("a")}, &names));
}

}  // namespace
}  // namespace kai::storage_desk_test
