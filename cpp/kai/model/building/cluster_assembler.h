// ClusterAssembler: fills the columns of a Cluster from rows. Every kind of object has functions
// that write one object (node_writer.h, pod_group_writer.h, pod_writer.h, ...). The assembler calls
// them for all objects; kinds that others refer to come first.
//
//   ClusterWriters writers(built.get());
//   ClusterAssembler(&writers).Assemble(*this, std::move(many));
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

// Rows that stay in their place. The writers read them for as long as the writers live.
struct RowsInPlace {
  std::vector<const NodeRow*> nodes;
  std::vector<const CompactPodGroup*> pod_groups;  // only while a cluster is assembled
  std::vector<const CompactPod*> pods;
};

class ClusterAssembler {
 public:
  // The cluster must be empty.
  explicit ClusterAssembler(ClusterWriters* writers) : c_(writers->cluster), w_(*writers) {}

  // `many`: the rows of the kinds with many objects; `rows` need not contain them.
  void Assemble(const ClusterRows& rows, RowsInPlace many);

 private:
  void AddNodes(std::vector<const NodeRow*> rows, const std::vector<ResourceSliceRow>& slices);
  void AddQueues(const std::vector<QueueRow>& rows);
  void AddPodGroups(const ClusterRows& rows, std::vector<const CompactPodGroup*> groups);
  void DraftPods(const std::vector<const CompactPod*>& rows);
  void NameResources();
  void OfferResources();
  void AddZones(const std::vector<NodeZonesRow>& rows);
  void AddConstraints(const ClusterRows& rows);
  VolumeNeedsId VolumesOf(const PodDraft& draft);
  void AddClaims(const ClusterRows& rows, const std::vector<const ResourceClaimRow*>& claims);
  void ClassifyNodes();
  void AddPods(const ClusterRows& rows);
  void Summarize();

  Cluster& c_;
  ClusterWriters& w_;
  IndexVector<NodeId, NodeFacts> nodes_;
  std::vector<PodDraft> pods_;  // by PodId
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_
