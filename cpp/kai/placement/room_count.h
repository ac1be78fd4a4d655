// How many pods of one class nodes could hold at most, by room and by what never changes about a
// node: the count that proofs of "cannot work" rest on.
//
//   fit = PodsThatFit(&cycle.search->plans(), cluster, each.pod_class, node);
//
//   RoomCount room(rooms.cluster(), &rooms.search().plans(), &rooms.search().touched());
//
// It can be kept from one cycle to the next.
//
// Invariants: a count is never too small. Cost: O(slots) per node; MayHold() looks at each node at
// most once per class of pods, and stops where it is enough; later at nodes that were touched
// since, until it is enough. Not thread-safe: it makes plans.
#ifndef KAI_PLACEMENT_ROOM_COUNT_H_
#define KAI_PLACEMENT_ROOM_COUNT_H_

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/class_plans.h"
#include "kai/placement/touched_nodes.h"

namespace kai {

// Whole pods; a node in debt holds none (spec 3 R26). Never too few: sums of parts of devices are
// not exact, and a bound must not fail for the last bit. Of GPUs the room counts parts and all.
double PodsThatFit(ClassPlans* plans, const Cluster& cluster, PodClassId pod_class, NodeId node,
                   std::span<const double> room);
// The room that the node has as the cluster stands: idle and releasing.
void FillRoom(const Cluster& cluster, NodeId node, std::span<double> room);
// With that room; of pods that want whole GPUs only those that are whole.
double PodsThatFit(ClassPlans* plans, const Cluster& cluster, PodClassId pod_class, NodeId node);

class RoomCount {
 public:
  RoomCount(const Cluster& cluster, ClassPlans* plans, const TouchedNodes* touched)
      : cluster_(cluster),
        plans_(plans),
        touched_(*touched),
        counted_(cluster.pod_classes().size()) {}

  // False: as the cluster stands there is not room enough for all of them, in whatever order others
  // come.
  bool MayHold(std::span<const PodId> pods);

  // The cluster has more classes of pods.
  void Grow() { counted_.Resize(cluster_.pod_classes().size()); }
  size_t HeapBytes() const;

 private:
  // What the first so many nodes hold: counting stops where it is enough.
  struct Counted {
    size_t nodes = 0;
    double held = 0;
    absl::flat_hash_map<NodeId, double> on;  // those of them that hold any
    std::vector<NodeId> uncounted;           // of them, touched since: as if they held none
    TouchedNodes::Version version = TouchedNodes::kNone;
  };

  bool Holds(PodClassId pod_class, double wanted);
  void Refresh(Counted* counted) const;
  void CountOn(PodClassId pod_class, NodeId node, double gpus, Counted* counted);

  const Cluster& cluster_;
  ClassPlans* plans_;
  const TouchedNodes& touched_;
  IndexVector<PodClassId, Counted> counted_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_ROOM_COUNT_H_
