// NumaWriter: writes the columns of NUMA zones: the zones of nodes, the needs of pods, and the
// zones that pods on nodes use.
//
//   w_.numa.AddNode(*row, node, c_.nodes_.size(), &w_.rejections);    // of every node with zones
//   w_.numa.NotePlacement(*draft.row, draft.bind_request, pod, draft.node, ...
//
// Invariants: if no node reports zones, no pod has needs. Cost: O(fields of the row); a placement
// of a pod that is not the last one: O(placements). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_NUMA_WRITER_H_
#define KAI_MODEL_BUILDING_NUMA_WRITER_H_

#include <set>
#include <utility>
#include <vector>

#include "kai/model/columns/numa.h"
#include "kai/model/columns/resources.h"
#include "kai/model/rows/rows.h"

namespace kai {

class NumaWriter {
 public:
  NumaWriter(const ResourceSlots& slots, NumaColumns* numa) : slots_(slots), numa_(*numa) {}

  // `nodes`: the number of nodes.
  void AddNode(const NodeZonesRow& row, NodeId node, size_t nodes,
               std::vector<Rejection>* rejections);
  // The node reports other amounts of the same resources. False: the cluster must be built again.
  bool ChangeNode(const NodeZonesRow& row, NodeId node);
  // Invalid: the pod's zones do not matter.
  NumaNeedsId NeedsOf(const CompactPod& row, const GpuRequest& gpu);
  // Notes the known zones of a pod with needs. `at` may be invalid. `bind_request`: the one that is
  // being carried out; null: none.
  void NotePlacement(const CompactPod& row, const BindRequestRow* bind_request, PodId pod,
                     NodeId at, std::vector<Rejection>* rejections);
  void ForgetPlacement(PodId pod);

 private:
  // The position of the pod in the list of placements, or the position to insert it.
  std::vector<std::pair<PodId, ZonePlacement>>::iterator PlaceOf(PodId pod);

  const ResourceSlots& slots_;
  NumaColumns& numa_;
  std::set<ResourceSlot> aligned_devices_;  // devices that some node aligns for every pod
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NUMA_WRITER_H_
