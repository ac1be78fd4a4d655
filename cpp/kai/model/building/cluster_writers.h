// ClusterWriters: what writes the columns of one cluster: built once, and kept for as long as
// objects come, change and go.
//
//   ClusterWriters writers(built.get());
//   ClusterAssembler(&writers).Assemble(*this, std::move(many));
//
// ClusterAssembler fills it while it builds a cluster; ClusterUpdater goes on from there.
//
// Invariants: it is of one cluster, which has to outlive it, as have the rows. Cost: that of the
// parts. Not thread-safe.
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

  // What can be said of the pod before others are looked at; nothing: the cluster has no use for
  // it.
  std::optional<PodDraft> DraftOf(const CompactPod& row) const;

  // What a node has to give; its row of the columns is there.
  void OfferNode(NodeId node, const NodeRow& row, const NodeFacts& facts);
  // Once that is known, and the labels that are mentioned.
  void ClassifyNode(NodeId node, const NodeRow& row, const NodeFacts& facts);

  // Over all nodes, of what they offer.
  void FindExtremes();

  // The group belongs to the shard, and is to be tried.
  bool IsKept(const CompactPodGroup& row) const;

  // The pods that are of another scheduler, and no helpers of this one, take from what queues
  // divide (spec 1 F30).
  bool IsForeign(const CompactPod& row) const;

  Cluster& cluster;
  uint64_t seed = 0;                  // ClusterRows::numbering_seed
  std::vector<Rejection> rejections;  // of objects that make no sense beside others
  Directory directory;
  std::vector<const NodeRow*> node_rows;    // by NodeId, as the cluster was built
  std::vector<const CompactPod*> pod_rows;  // by PodId
  std::vector<uint8_t> is_foreign;          // by PodId
  BindRequests requests;
  absl::flat_hash_map<std::string, int64_t> dra_gpus;  // of resource slices, by node
  bool any_zones = false;                              // of nodes that are here, or of others
  NumaWriter numa;
  TopologyWriter topologies;
  std::unique_ptr<PriorityClasses> priorities;
  std::unique_ptr<PodGroupWriter> pod_groups;
  CreationOrder creation;
  std::unique_ptr<GpusOfClaims> gpus_of_claims;
  ExtendedResources extended;
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
