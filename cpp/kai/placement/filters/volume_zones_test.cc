#include <gtest/gtest.h>

#include "kai/api/keys.h"
#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"

namespace kai::volume_zones_test {
namespace {

constexpr char kOther[] = "node(s) had no available volume zone";

// The answer for a pod with a claim that is bound to a volume with that label.
std::string Answer(std::string_view key, const std::string& zones, StringPairs node_labels) {
  ClusterMaker maker = MakeCluster().Node("n", {.labels = std::move(node_labels)});
  PersistentVolumeRow volume;
  volume.name = "v";
  volume.labels = {{std::string(key), zones}};
  maker.rows().storage.volumes = {volume};
  PersistentVolumeClaimRow claim;
  claim.namespace_name = "ns";
  claim.name = "data";
  claim.volume = "v";
  claim.bind_completed = true;
  maker.rows().storage.claims = {claim};
  maker.Pending("ns/p", {.volumes = {{.claim = "data", .ephemeral = false}}});
  const auto cluster = maker.Build();
  return AnswerOf(*MakeVolumeZoneFilter(*cluster), *cluster, "ns/p-0", "n");
}

StringPairs Label(std::string_view key, std::string value) {
  return {{std::string(key), std::move(value)}};
}

TEST(VolumeZoneFilterTest, APodIsPlacedInTheZoneOfItsVolume) {
  EXPECT_EQ(Answer(keys::kZone, "east", Label(keys::kZone, "east")), "");
  EXPECT_EQ(Answer(keys::kZone, "east", Label(keys::kZone, "west")), kOther);
  EXPECT_EQ(Answer(keys::kRegion, "r1", Label(keys::kRegion, "r2")), kOther);
}

TEST(VolumeZoneFilterTest, AVolumeMayBeInSeveralZones) {
  EXPECT_EQ(Answer(keys::kZone, "east__west", Label(keys::kZone, "west")), "");
  EXPECT_EQ(Answer(keys::kZone, "east__west", Label(keys::kZone, "north")), kOther);
  EXPECT_EQ(Answer(keys::kZone, "east____", Label(keys::kZone, "north")), "")
      << "an empty zone is invalid: the label is ignored";
}

TEST(VolumeZoneFilterTest, ANodeWithoutAnyZoneLabelIsAccepted) {
  EXPECT_EQ(Answer(keys::kZone, "east", {}), "");
  EXPECT_EQ(Answer(keys::kZone, "east", Label("disk", "ssd")), "");
  EXPECT_EQ(Answer(keys::kZone, "east", Label(keys::kRegion, "r1")), kOther);
}

TEST(VolumeZoneFilterTest, TheOldLabelOfAVolumeMatchesTheNewOneOfANode) {
  EXPECT_EQ(Answer(keys::kOldZone, "east", Label(keys::kOldZone, "east")), "");
  EXPECT_EQ(Answer(keys::kOldZone, "east", Label(keys::kZone, "east")), "");
  EXPECT_EQ(Answer(keys::kOldRegion, "r1", Label(keys::kRegion, "r2")), kOther);
  EXPECT_EQ(Answer(keys::kZone, "east", Label(keys::kOldZone, "east")), kOther)
      << "as in kube-scheduler; the reverse does not match";
}

TEST(VolumeZoneFilterTest, VolumesWithoutAZoneAreAccepted) {
  EXPECT_EQ(Answer("disk", "ssd", Label(keys::kZone, "east")), "");
}

}  // namespace
}  // namespace kai::volume_zones_test
