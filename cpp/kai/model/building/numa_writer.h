// NumaWriter: NUMA zones of nodes, what pods ask of them, and what pods on nodes have of them, into
// the columns.
//
//   w_.numa.AddNode(*row, node, c_.nodes_.size(), &w_.rejections);    // of every node with zones
//   w_.numa.NotePlacement(*draft.row, draft.bind_request, pod, draft.node, ...
//
// Invariants: while no node reports zones, pods ask for nothing. Cost: O(what the row says); a
// placement of a pod that is not the last one: O(placements). Not thread-safe.
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

  // `nodes`: how many there are.
  void AddNode(const NodeZonesRow& row, NodeId node, size_t nodes,
               std::vector<Rejection>* rejections);
  // The node reports other amounts of the same. False: the cluster has to be built anew.
  bool ChangeNode(const NodeZonesRow& row, NodeId node);
  // Invalid: it makes no difference to the pod which zones it gets.
  NumaNeedsId NeedsOf(const CompactPod& row, const GpuRequest& gpu);
  // Of a pod that has needs: where it is known to have its place. `at` may be invalid.
  // `bind_request`: that is being carried out; null: none.
  void NotePlacement(const CompactPod& row, const BindRequestRow* bind_request, PodId pod,
                     NodeId at, std::vector<Rejection>* rejections);
  void ForgetPlacement(PodId pod);

 private:
  // Where it is in the list of placements, or would be.
  std::vector<std::pair<PodId, ZonePlacement>>::iterator PlaceOf(PodId pod);

  const ResourceSlots& slots_;
  NumaColumns& numa_;
  std::set<ResourceSlot> aligned_devices_;  // by some node, for every pod
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NUMA_WRITER_H_
