// NodeRoom: whether a node has room for a class of pods in the current state, and the devices that
// a pod that shares GPUs gets there.
//
//   const NodeRoom room(rooms.cluster(), {});
//   room.Holds(pods, rooms.search().plans().Of(pods), rooms.Node("n"), when)
//
// Invariants: it reads the cluster and keeps nothing between calls. Cost: one comparison per
// resource; for pods that share GPUs also a check of the node's shared devices. Threads: one,
// because of a scratch vector.
#ifndef KAI_PLACEMENT_NODE_ROOM_H_
#define KAI_PLACEMENT_NODE_ROOM_H_

#include <optional>
#include <span>
#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/placement/class_plans.h"
#include "kai/placement/gpu_picker.h"
#include "kai/placement/node_index.h"

namespace kai {

// The most GPUs that the class can use on a node without taking a device of its own (spec 3 D6).
inline double MostSharedGpus(const Cluster& cluster, PodClassId pod_class) {
  const ClaimNeedsId claims = cluster.pod_classes().info[pod_class].claims;
  return claims.valid() ? cluster.claims().MostSharedGpus(claims) : 0;
}

class NodeRoom {
 public:
  struct Options {
    GpuPicker::Options devices;
    bool pod_slots = true;  // counts reservation pods (spec 3 P6); a rule of `predicates`
  };

  NodeRoom(const Cluster& cluster, const Options& options)
      : cluster_(cluster), picker_(cluster, options.devices), counts_slots_(options.pod_slots) {}

  // Whether the node has everything that the class requests, including shared devices.
  bool Holds(PodClassId pod_class, const ClassPlan& plan, NodeId node, Room room) const {
    const NodeColumns& nodes = cluster_.nodes();
    const std::span<const double> request =
        plan.claims ? RequestOn(pod_class, node) : std::span<const double>(plan.request);
    if (!FitsSum(request, nodes.idle[node], nodes.releasing[node]) ||
        (room == Room::kNow && !Fits(request, nodes.idle[node])))
      return false;
    return !plan.shares || (HasDevices(pod_class, node, Room::kLater) &&
                            (room == Room::kLater || HasDevices(pod_class, node, room)));
  }
  bool HasDevices(PodClassId pod_class, NodeId node, Room room) const {
    return picker_.HasEnough(pod_class, node, room);
  }
  // Whether the node has, now or later, a slot for the pod and the slots for reservation pods of
  // its devices.
  bool HasPodSlots(PodClassId pod_class, NodeId node) const;
  // True: some shared device has room for the pod, and this matters.
  bool MayJoin(PodClassId pod_class, const ClassPlan& plan, NodeId node) const {
    return plan.may_join && picker_.Joins(pod_class, node);
  }
  GpuPicker::Choice PickDevices(PodClassId pod_class, NodeId node, bool fits_now, PodId pod) const;
  // The same for these devices; empty if they have no room.
  std::optional<GpuPicker::Choice> CheckDevices(PodClassId pod_class, NodeId node, bool fits_now,
                                                const GpuList& gpus) const;

  // What the class takes of the node, without GPUs that its claims share with pods already on the
  // node (spec 3 D6). Valid until the next call.
  std::span<const double> RequestOn(PodClassId pod_class, NodeId node) const;

 private:
  // True: the slots for the pod and for reservation pods of new devices are idle. KAI does not
  // check this (spec 3 P6).
  bool HasSlotsNow(NodeId node, int32_t more) const {
    return !counts_slots_ || picker_.options().slot_to_join ||
           cluster_.nodes().idle[node][kPodsSlot.index()] >= 1 + static_cast<double>(more);
  }

  const Cluster& cluster_;
  GpuPicker picker_;
  bool counts_slots_;
  mutable std::vector<double> request_;  // scratch
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_ROOM_H_
