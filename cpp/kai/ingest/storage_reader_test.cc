#include "kai/ingest/storage_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/ingest/read_for_test.h"

namespace kai::storage_reader_test {
namespace {

using testing::ElementsAre;

TEST(StorageReaderTest, ReadsAClaimThatIsBound) {
  const PersistentVolumeClaimRow row = ReadForTest(&ReadPersistentVolumeClaim, R"({
      "metadata": {"namespace": "ns", "name": "c", "uid": "u",
                   "annotations": {"pv.kubernetes.io/bind-completed": "yes", "other": "x",
                                   "volume.kubernetes.io/selected-node": "n1"},
                   "ownerReferences": [{"kind": "Pod", "uid": "pod-uid"}]},
      "spec": {"volumeName": "v", "storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
               "volumeMode": "Block", "selector": {"matchLabels": {"a": "b"}},
               "resources": {"requests": {"storage": "1Gi"}}},
      "status": {"phase": "Bound"}})");
  EXPECT_EQ(row.namespace_name, "ns");
  EXPECT_EQ(row.name, "c");
  EXPECT_EQ(row.uid, "u");
  EXPECT_EQ(row.volume, "v");
  EXPECT_TRUE(row.bind_completed);
  EXPECT_TRUE(row.is_bound);
  EXPECT_FALSE(row.is_lost);
  EXPECT_TRUE(row.is_block);
  EXPECT_EQ(row.selected_node, "n1");
  EXPECT_EQ(row.storage_class, "fast");
  EXPECT_EQ(row.bytes, int64_t{1} << 30);
  EXPECT_EQ(row.selector.size(), 1);
  EXPECT_THAT(row.access_modes, ElementsAre("ReadWriteOnce"));
  EXPECT_EQ(row.owner_pod_uid, "pod-uid");
  EXPECT_FALSE(row.has_other_owners);
}

TEST(StorageReaderTest, AClaimMayHaveOwnersBesideAPod) {
  const PersistentVolumeClaimRow row = ReadForTest(&ReadPersistentVolumeClaim, R"({
      "metadata": {"name": "c", "ownerReferences": [{"kind": "Pod", "uid": "pod-uid"},
                                                    {"kind": "Notebook", "uid": "u"}]}})");
  EXPECT_EQ(row.owner_pod_uid, "pod-uid");
  EXPECT_TRUE(row.has_other_owners);
}

TEST(StorageReaderTest, TheOldAnnotationOverridesTheStorageClassName) {
  EXPECT_EQ(ReadForTest(&ReadPersistentVolumeClaim, R"({"metadata": {"name": "c", "annotations":
      {"volume.beta.kubernetes.io/storage-class": "old"}}, "spec": {"storageClassName": "new"}})")
                .storage_class,
            "old");
}

TEST(StorageReaderTest, ReadsAVolumeAndItsNodeAffinity) {
  const PersistentVolumeRow row = ReadForTest(&ReadPersistentVolume, R"({
      "metadata": {"name": "v", "labels": {"a": "b"}},
      "spec": {"storageClassName": "local", "capacity": {"storage": "10G"},
               "csi": {"driver": "disk", "volumeHandle": "vol-1", "fsType": "ext4"},
               "accessModes": ["ReadWriteOnce"], "claimRef": {"namespace": "ns", "name": "c",
               "uid": "u"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [
               {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}},
      "status": {"phase": "Available"}})");
  EXPECT_EQ(row.bytes, 10'000'000'000);
  EXPECT_TRUE(row.is_available);
  EXPECT_FALSE(row.is_block);
  EXPECT_EQ(row.claim_namespace, "ns");
  EXPECT_EQ(row.claim_name, "c");
  EXPECT_EQ(row.claim_uid, "u");
  EXPECT_TRUE(row.has_node_affinity);
  EXPECT_EQ(row.csi_driver, "disk");
  EXPECT_EQ(row.csi_handle, "vol-1");
  ASSERT_EQ(row.node_affinity.size(), 1);
  EXPECT_EQ(row.node_affinity[0].expressions.at(0).key, "zone");
}

TEST(StorageReaderTest, ReadsAStorageClassAndItsAllowedTopologies) {
  const StorageClassRow row = ReadForTest(&ReadStorageClass, R"({"metadata": {"name": "fast"},
      "provisioner": "csi", "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [
      {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]})");
  EXPECT_EQ(row.provisioner, "csi");
  EXPECT_TRUE(row.waits_for_consumer);
  ASSERT_EQ(row.allowed_topologies.size(), 1);
  EXPECT_EQ(row.allowed_topologies[0].expressions.at(0),
            (SelectorRequirement{.key = "zone", .op = SelectorOp::kIn, .values = {"a", "b"}}));
  EXPECT_FALSE(ReadForTest(&ReadStorageClass, R"({"metadata": {"name": "s"},
      "volumeBindingMode": "Immediate"})")
                   .waits_for_consumer);
}

TEST(StorageReaderTest, ReadsDriversAndTheirCapacity) {
  EXPECT_TRUE(ReadForTest(&ReadCsiDriver, R"({"metadata": {"name": "csi"},
      "spec": {"storageCapacity": true}})")
                  .reports_capacity);
  const CsiStorageCapacityRow row = ReadForTest(&ReadCsiStorageCapacity, R"({
      "metadata": {"namespace": "kube-system", "name": "c"}, "storageClassName": "fast",
      "capacity": "5Gi", "maximumVolumeSize": "1Gi", "nodeTopology": {"matchLabels": {"z": "a"}}})");
  EXPECT_EQ(row.storage_class, "fast");
  EXPECT_EQ(row.bytes, int64_t{5} << 30);
  EXPECT_EQ(row.largest_volume_bytes, int64_t{1} << 30);
  EXPECT_TRUE(row.nodes.has_value());
}

TEST(StorageReaderTest, ReadsTheVolumeLimitsOfANode) {
  const CsiNodeRow row = ReadForTest(&ReadCsiNode, R"({"metadata": {"name": "n"}, "spec": {
      "drivers": [{"name": "disk", "nodeID": "i-1", "allocatable": {"count": 25}},
                  {"name": "files", "allocatable": null}]}})");
  EXPECT_EQ(row.name, "n");
  EXPECT_THAT(row.most_volumes, ElementsAre(testing::Pair("disk", 25)));
  EXPECT_EQ(Complaint(&ReadCsiNode, R"({"metadata": {"name": "n"}, "spec": {"drivers": [
      {"name": "disk", "allocatable": {"count": -1}}]}})"),
            "CSINode n: spec.drivers[0].allocatable.count: -1 is negative");
}

TEST(StorageReaderTest, NamesTheInvalidField) {
  EXPECT_EQ(Complaint(&ReadPersistentVolumeClaim, R"({"metadata": {"namespace": "ns", "name": "c"},
      "spec": {"resources": {"requests": {"storage": "1Gx"}}}})"),
            "PersistentVolumeClaim ns/c: spec.resources.requests[\"storage\"]: quantity \"1Gx\" is "
            "not valid");
  EXPECT_EQ(Complaint(&ReadStorageClass, R"({"metadata": {"name": "s"}, "provisioner": 5})"),
            "StorageClass s: provisioner: expected a string, found a number");
  EXPECT_EQ(Complaint(&ReadCsiStorageCapacity, R"({"metadata": {}})"),
            "CSIStorageCapacity : metadata.name: is missing");
}

}  // namespace
}  // namespace kai::storage_reader_test
