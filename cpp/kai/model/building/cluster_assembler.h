// ClusterAssembler: rows in, a Cluster's columns out. Each kind of object has functions of its own
// that take one object (node_writer.h, pod_group_writer.h, pod_writer.h, ...); this calls them for
// all, kinds that others refer to first.
//
//   ClusterWriters writers(cluster.get());
//   ClusterAssembler(&writers).Assemble(this);
//
// Invariants: ids follow the order of names. Cost: O(objects · log). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_
#define KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_

#include <vector>

#include "kai/model/building/cluster_writers.h"
#include "kai/model/building/node_facts.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/rows/cluster_rows.h"

namespace kai {

class ClusterAssembler {
 public:
  // Of an empty cluster.
  explicit ClusterAssembler(ClusterWriters* writers) : c_(writers->cluster), w_(*writers) {}

  // The rows are left in a state that only the writers know.
  void Assemble(ClusterRows* rows);

 private:
  void AddNodes(std::vector<NodeRow>* rows, const std::vector<ResourceSliceRow>& slices);
  void AddQueues(std::vector<QueueRow>* rows);
  void AddPodGroups(ClusterRows* rows);
  void DraftPods(const std::vector<PodRow*>& rows);
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
  ClusterWriters& w_;
  IndexVector<NodeId, NodeDraft> nodes_;
  std::vector<PodDraft> pods_;  // by PodId
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_
