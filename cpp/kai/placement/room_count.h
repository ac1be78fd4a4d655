// RoomCount: the most pods of one class that nodes could hold, from their room and from what never
// changes about a node. Proofs that a group cannot fit use this count.
//
//   fit = PodsThatFit(&cycle.search->plans(), cluster, each.pod_class, node);
//
//   RoomCount room(rooms.cluster(), &rooms.search().plans(), &rooms.search().touched());
//
// It can be kept from one cycle to the next.
//
// Invariants: a count is never too small. Cost: O(slots) per node; MayHold() checks each node at
// most once per class of pods, and stops when there is enough; later it checks only nodes that were
// touched since, until there is enough. Not thread-safe: it makes plans.
#ifndef KAI_PLACEMENT_ROOM_COUNT_H_
#define KAI_PLACEMENT_ROOM_COUNT_H_

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/class_plans.h"
#include "kai/placement/touched_nodes.h"

namespace kai {

// The number of whole pods; a node with negative room holds none (spec 3 R26). The result is never
// too small: sums of parts of devices are not exact, and a bound must not fail because of the last
// bit. The GPUs of `room` include parts.
double PodsThatFit(ClassPlans* plans, const Cluster& cluster, PodClassId pod_class, NodeId node,
                   std::span<const double> room);
// The current room of the node: idle and releasing.
void FillRoom(const Cluster& cluster, NodeId node, std::span<double> room);
// The same for the current room; for pods that request whole GPUs, only whole GPUs count.
double PodsThatFit(ClassPlans* plans, const Cluster& cluster, PodClassId pod_class, NodeId node);

class RoomCount {
 public:
  RoomCount(const Cluster& cluster, ClassPlans* plans, const TouchedNodes* touched)
      : cluster_(cluster),
        plans_(plans),
        touched_(*touched),
        counted_(cluster.pod_classes().size()) {}

  // False: the cluster does not have enough room for all of these pods now, in any order of
  // placing.
  bool MayHold(std::span<const PodId> pods);

  // The cluster has new classes of pods.
  void Grow() { counted_.Resize(cluster_.pod_classes().size()); }
  size_t HeapBytes() const;

 private:
  // The pods that the first `nodes` nodes hold: counting stops when there are enough.
  struct Counted {
    size_t nodes = 0;
    double held = 0;
    absl::flat_hash_map<NodeId, double> on;  // nodes that hold any
    std::vector<NodeId> uncounted;           // nodes touched since; they count as 0
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
