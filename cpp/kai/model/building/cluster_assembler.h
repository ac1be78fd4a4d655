// ClusterAssembler: rows in, a Cluster's columns out. Each kind of object has functions of its own
// that take one object (node_writer.h, pod_group_writer.h, pod_writer.h, ...); this calls them for
// all, kinds that others refer to first. Its one caller is ClusterRows::Build().
//
//   const auto cluster = std::move(rows).Build();
//
// Invariants: ids follow the order of names. Cost: O(objects · log). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_
#define KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_

#include <memory>
#include <vector>

#include "kai/model/building/affinity_terms.h"
#include "kai/model/building/directory.h"
#include "kai/model/building/node_facts.h"
#include "kai/model/building/numa_writer.h"
#include "kai/model/building/pod_class_writer.h"
#include "kai/model/claims/storage_desk.h"
#include "kai/model/claims/volume_desk.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/rows/cluster_rows.h"

namespace kai {

class ClusterAssembler {
 public:
  explicit ClusterAssembler(Cluster* cluster);
  void Assemble(ClusterRows* rows);

 private:
  void AddNodes(std::vector<NodeRow>* rows, const std::vector<ResourceSliceRow>& slices);
  void AddQueues(std::vector<QueueRow>* rows);
  void AddPodGroups(ClusterRows* rows);
  void DraftPods(const std::vector<PodRow*>& rows, const std::vector<BindRequestRow>& bind_requests,
                 const std::vector<ResourceClaimRow*>& claims);
  void NameResources();
  void OfferResources();
  void AddZones(std::vector<NodeZonesRow>* rows);
  void AddConstraints(const ClusterRows& rows);
  VolumeNeedsId VolumesOf(const PodDraft& draft);
  void AddClaims(ClusterRows* rows, const std::vector<ResourceClaimRow*>& claims);
  void ClassifyNodes();
  void AddPods(const ClusterRows& rows);
  void Summarize();

  struct NodeDraft {
    NodeFacts facts;
    int64_t dra_gpus = 0;
  };

  Cluster& c_;
  uint64_t seed_ = 0;  // ClusterRows::numbering_seed
  Directory directory_;
  IndexVector<NodeId, NodeDraft> nodes_;
  std::vector<const NodeRow*> node_rows_;  // by NodeId
  std::vector<PodDraft> pods_;             // by PodId
  NumaWriter numa_;
  std::unique_ptr<Namespaces> namespaces_;
  std::unique_ptr<AffinityTerms> affinity_;
  std::unique_ptr<VolumeDesk> volumes_;
  std::unique_ptr<StorageDesk> storage_;  // null: neither storage nor its volumes are counted
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_
