#include "kai/placement/node_room.h"

#include <algorithm>

namespace kai {

bool NodeRoom::HasPodSlots(PodClassId pod_class, NodeId node) const {
  if (!counts_slots_) return true;
  const double room = RoomOf(cluster_, node, kPodsSlot);
  const auto devices = static_cast<double>(cluster_.pod_classes().info[pod_class].gpu.count);
  return room >= 1 + devices || room >= 1 + picker_.Pick(pod_class, node, true).pod_slots;
}

GpuPicker::Choice NodeRoom::PickDevices(PodClassId pod_class, NodeId node, bool fits_now,
                                        PodId pod) const {
  GpuPicker::Choice choice = picker_.Pick(pod_class, node, fits_now, pod);
  choice.waits = choice.waits || !HasSlotsNow(node, choice.pod_slots);
  return choice;
}

std::optional<GpuPicker::Choice> NodeRoom::CheckDevices(PodClassId pod_class, NodeId node,
                                                        bool fits_now, const GpuList& gpus) const {
  std::optional<GpuPicker::Choice> choice = picker_.Check(pod_class, node, fits_now, gpus);
  if (!choice) return choice;
  if (counts_slots_ && RoomOf(cluster_, node, kPodsSlot) < 1 + choice->pod_slots)
    return std::nullopt;
  choice->waits = choice->waits || !HasSlotsNow(node, choice->pod_slots);
  return choice;
}

std::span<const double> NodeRoom::RequestOn(PodClassId pod_class, NodeId node) const {
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  const ClaimNeedsId claims = cluster_.pod_classes().info[pod_class].claims;
  if (!claims.valid()) return request;
  const double shared = cluster_.claims().SharedGpus(claims, node);
  if (shared == 0) return request;
  request_.assign(request.begin(), request.end());
  double& gpus = request_[kGpuSlot.index()];
  gpus = std::max(gpus - shared, 0.0);
  return request_;
}

}  // namespace kai
