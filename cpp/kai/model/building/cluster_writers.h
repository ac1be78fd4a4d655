// ClusterWriters: all writers of the columns of one cluster. They are created once and kept for as
// long as objects are added, changed and removed.
//
//   ClusterWriters writers(built.get());
//   ClusterAssembler(&writers).Assemble(*this, std::move(many));
//
// ClusterAssembler fills them while it builds a cluster; ClusterUpdater continues from there.
//
// Invariants: they belong to one cluster. The cluster and the rows must live longer. Cost: that of
// the parts. Not thread-safe.
#ifndef KAI_MODEL_BUILDING_CLUSTER_WRITERS_H_
#define KAI_MODEL_BUILDING_CLUSTER_WRITERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/building/affinity_terms.h"
#include "kai/model/building/constraint_writer.h"
#include "kai/model/building/directory.h"
#include "kai/model/building/node_facts.h"
#include "kai/model/building/node_labels.h"
#include "kai/model/building/numa_writer.h"
#include "kai/model/building/pod_class_writer.h"
#include "kai/model/building/pod_facts.h"
#include "kai/model/building/pod_group_writer.h"
#include "kai/model/building/topology_writer.h"
#include "kai/model/claims/extended_claims.h"
#include "kai/model/claims/storage_desk.h"
#include "kai/model/claims/volume_desk.h"
#include "kai/model/columns/cluster.h"

namespace kai {

class ClusterWriters {
 public:
  explicit ClusterWriters(Cluster* cluster);

  // The data of the pod that follow from its own row; nothing: the cluster does not use the pod.
  std::optional<PodDraft> DraftOf(const CompactPod& row) const;

  // Writes what a node offers. The node's row in the columns must exist.
  void OfferNode(NodeId node, const NodeRow& row, const NodeFacts& facts);
  // Writes the class of a node, after OfferNode() and after all used labels are known.
  void ClassifyNode(NodeId node, const NodeRow& row, const NodeFacts& facts);

  // Computes the largest offers over all nodes.
  void FindExtremes();

  // True: the group belongs to the shard and should be scheduled.
  bool IsKept(const CompactPodGroup& row) const;

  // True: the pod belongs to another scheduler and is not a helper pod of this one. Such pods
  // reduce the resources that are divided among queues (spec 1 F30).
  bool IsForeign(const CompactPod& row) const;

  Cluster& cluster;
  uint64_t seed = 0;                  // ClusterRows::numbering_seed
  std::vector<Rejection> rejections;  // objects that contradict other objects
  Directory directory;
  std::vector<const NodeRow*> node_rows;    // by NodeId, as the cluster was built
  std::vector<const CompactPod*> pod_rows;  // by PodId
  std::vector<uint8_t> is_foreign;          // by PodId
  BindRequests requests;
  absl::flat_hash_map<std::string, int64_t> dra_gpus;     // from resource slices, by node
  absl::flat_hash_map<std::string, QueueRow> queue_rows;  // also of queues that were left out
  bool any_zones = false;                                 // also of unknown nodes
  NumaWriter numa;
  TopologyWriter topologies;
  std::unique_ptr<PriorityClasses> priorities;
  std::unique_ptr<PodGroupWriter> pod_groups;
  CreationOrder creation;
  std::unique_ptr<GpusOfClaims> gpus_of_claims;
  ExtendedResources extended;
  // Of resource claims. May be one that outlives the cluster.
  std::shared_ptr<SelectorCache> selectors = std::make_shared<SelectorCache>();
  std::unique_ptr<Namespaces> namespaces;
  std::unique_ptr<AffinityTerms> affinity;
  std::unique_ptr<VolumeDesk> volumes;
  std::unique_ptr<StorageDesk> storage;  // null: neither storage nor its volumes are counted
  ConstraintWriter constraints;
  NodeLabels labels;
  GpuMemoryRange gpu_memory;
  std::unique_ptr<ConfigMaps> config_maps;
  std::unique_ptr<PodClassWriter> classes;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_WRITERS_H_
