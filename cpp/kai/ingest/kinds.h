// The kinds of objects that the engine reads, one line per kind in kKindTable: its name in
// Kubernetes, its list in a snapshot, its reader, and where its rows are.
//
//   AnyKind([&](const auto& each) {
//     EXPECT_EQ(KindNamed(each.name), each.kind);
//   KindNamed("Deployment")        // nothing: the engine does not read such objects
//
// Invariants: the table is in the order of Kind. Cost: a walk over the table. Threads: pure
// functions.
#ifndef KAI_INGEST_KINDS_H_
#define KAI_INGEST_KINDS_H_

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "kai/ingest/bind_request_reader.h"
#include "kai/ingest/claim_reader.h"
#include "kai/ingest/device_reader.h"
#include "kai/ingest/named_reader.h"
#include "kai/ingest/node_reader.h"
#include "kai/ingest/pod_group_reader.h"
#include "kai/ingest/pod_reader.h"
#include "kai/ingest/priority_class_reader.h"
#include "kai/ingest/queue_reader.h"
#include "kai/ingest/storage_reader.h"
#include "kai/ingest/topology_reader.h"
#include "kai/ingest/zone_reader.h"
#include "kai/model/rows/cluster_rows.h"

namespace kai {

enum class Kind : uint8_t {
  kNode,
  kPod,
  kPodGroup,
  kQueue,
  kPriorityClass,
  kBindRequest,
  kResourceClaim,
  kResourceSlice,
  kDeviceClass,
  kNodeResourceTopology,
  kTopology,
  kConfigMap,
  kNamespace,
  kPersistentVolumeClaim,
  kPersistentVolume,
  kStorageClass,
  kCsiDriver,
  kCsiNode,
  kCsiStorageCapacity,
};

template <typename RowT>
struct KindEntry {
  using Row = RowT;
  Kind kind;
  std::string_view name;
  std::string_view list;  // its key in a snapshot's rawObjects
  std::optional<Rejection> (*read)(JsonObject, Row*);
  std::vector<Row>& (*in)(ClusterRows*);  // its rows; marks ConfigMaps as known
};

inline constexpr std::tuple kKindTable{
    KindEntry<NodeRow>{Kind::kNode, "Node", "nodes", &ReadNode,
                       [](ClusterRows* rows) -> auto& { return rows->nodes; }},
    KindEntry<PodRow>{Kind::kPod, "Pod", "pods", &ReadPod,
                      [](ClusterRows* rows) -> auto& { return rows->pods; }},
    KindEntry<PodGroupRow>{Kind::kPodGroup, "PodGroup", "podGroups", &ReadPodGroup,
                           [](ClusterRows* rows) -> auto& { return rows->pod_groups; }},
    KindEntry<QueueRow>{Kind::kQueue, "Queue", "queues", &ReadQueue,
                        [](ClusterRows* rows) -> auto& { return rows->queues; }},
    KindEntry<PriorityClassRow>{Kind::kPriorityClass, "PriorityClass", "priorityClasses",
                                &ReadPriorityClass,
                                [](ClusterRows* rows) -> auto& { return rows->priority_classes; }},
    KindEntry<BindRequestRow>{Kind::kBindRequest, "BindRequest", "bindRequests", &ReadBindRequest,
                              [](ClusterRows* rows) -> auto& { return rows->bind_requests; }},
    KindEntry<ResourceClaimRow>{Kind::kResourceClaim, "ResourceClaim", "resourceClaims",
                                &ReadResourceClaim,
                                [](ClusterRows* rows) -> auto& { return rows->claims; }},
    KindEntry<ResourceSliceRow>{Kind::kResourceSlice, "ResourceSlice", "resourceSlices",
                                &ReadResourceSlice,
                                [](ClusterRows* rows) -> auto& { return rows->slices; }},
    KindEntry<DeviceClassRow>{Kind::kDeviceClass, "DeviceClass", "deviceClasses", &ReadDeviceClass,
                              [](ClusterRows* rows) -> auto& { return rows->device_classes; }},
    KindEntry<NodeZonesRow>{Kind::kNodeResourceTopology, "NodeResourceTopology",
                            "nodeResourceTopologies", &ReadNodeZones,
                            [](ClusterRows* rows) -> auto& { return rows->zones; }},
    KindEntry<TopologyRow>{Kind::kTopology, "Topology", "topologies", &ReadTopology,
                           [](ClusterRows* rows) -> auto& { return rows->topologies; }},
    KindEntry<ConfigMapRow>{Kind::kConfigMap, "ConfigMap", "configMaps", &ReadConfigMap,
                            [](ClusterRows* rows) -> auto& {
                              if (!rows->config_maps) rows->config_maps.emplace();
                              return *rows->config_maps;
                            }},
    KindEntry<NamespaceRow>{Kind::kNamespace, "Namespace", "namespaces", &ReadNamespace,
                            [](ClusterRows* rows) -> auto& { return rows->namespaces; }},
    KindEntry<PersistentVolumeClaimRow>{
        Kind::kPersistentVolumeClaim, "PersistentVolumeClaim", "persistentVolumeClaims",
        &ReadPersistentVolumeClaim,
        [](ClusterRows* rows) -> auto& { return rows->storage.claims; }},
    KindEntry<PersistentVolumeRow>{
        Kind::kPersistentVolume, "PersistentVolume", "persistentVolumes", &ReadPersistentVolume,
        [](ClusterRows* rows) -> auto& { return rows->storage.volumes; }},
    KindEntry<StorageClassRow>{Kind::kStorageClass, "StorageClass", "storageClasses",
                               &ReadStorageClass,
                               [](ClusterRows* rows) -> auto& { return rows->storage.classes; }},
    KindEntry<CsiDriverRow>{Kind::kCsiDriver, "CSIDriver", "csiDrivers", &ReadCsiDriver,
                            [](ClusterRows* rows) -> auto& { return rows->storage.drivers; }},
    KindEntry<CsiNodeRow>{Kind::kCsiNode, "CSINode", "csiNodes", &ReadCsiNode,
                          [](ClusterRows* rows) -> auto& { return rows->storage.nodes; }},
    KindEntry<CsiStorageCapacityRow>{
        Kind::kCsiStorageCapacity, "CSIStorageCapacity", "csiStorageCapacities",
        &ReadCsiStorageCapacity,
        [](ClusterRows* rows) -> auto& { return rows->storage.capacities; }},
};
inline constexpr size_t kKinds = std::tuple_size_v<decltype(kKindTable)>;

// Calls visit(entry) for each kind until one call returns true; returns whether one did.
template <typename Visit>
bool AnyKind(const Visit& visit) {
  return std::apply([&](const auto&... each) { return (visit(each) || ...); }, kKindTable);
}

template <typename Visit>
void WithKind(Kind kind, const Visit& visit) {
  AnyKind([&](const auto& each) {
    if (each.kind != kind) return false;
    visit(each);
    return true;
  });
}

std::string_view NameOf(Kind kind);
std::optional<Kind> KindNamed(std::string_view name);

}  // namespace kai

#endif  // KAI_INGEST_KINDS_H_
