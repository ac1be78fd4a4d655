#include "kai/placement/node_room.h"

#include <algorithm>

namespace kai {

bool NodeRoom::HasPodSlots(PodClassId pod_class, NodeId node) const {
  return !counts_slots_ || RoomOf(cluster_, node, kPodsSlot) >= 2 ||
         !picker_.Pick(pod_class, node, true).needs_pod_slot;
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
