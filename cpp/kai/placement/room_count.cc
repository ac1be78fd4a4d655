#include "kai/placement/room_count.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kai {
namespace {

constexpr double kTolerance = 1e-9;

}  // namespace

double PodsThatFit(NodeSearch* search, std::span<const double> request, PodClassId pod_class,
                   NodeId node, std::span<const double> room) {
  if (!search->MayRunOn(pod_class, node)) return 0;
  double fit = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < request.size(); ++i) {
    if (room[i] < 0) {
      if (room[i] < -kTolerance * std::max(1.0, request[i])) return 0;
      if (request[i] > 0) return 0;
      continue;
    }
    if (request[i] <= 0) continue;
    fit = std::min(fit, std::floor(room[i] / request[i] * (1 + kTolerance) + kTolerance));
    if (fit < 1) return 0;
  }
  return fit;
}

double RoomCount::HeldOf(PodClassId pod_class) {
  double& held = held_[pod_class];
  if (held != kUnknown) return held;
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  std::vector<double> room(request.size());
  held = 0;
  for (const NodeId node : nodes.name.ids()) {
    for (size_t i = 0; i < room.size(); ++i)
      room[i] = nodes.idle[node][i] + nodes.releasing[node][i];
    held += PodsThatFit(search_, request, pod_class, node, room);
  }
  return held;
}

bool RoomCount::MayHold(std::span<const PodId> pods) {
  // Pods come by pod set, and those mostly in one class: runs are counted, and not even all of a
  // class, as fewer prove less and never too much.
  size_t begin = 0;
  while (begin < pods.size()) {
    const PodClassId pod_class = cluster_.pods().pod_class[pods[begin]];
    size_t end = begin + 1;
    while (end < pods.size() && cluster_.pods().pod_class[pods[end]] == pod_class) ++end;
    if (HeldOf(pod_class) < static_cast<double>(end - begin)) return false;
    begin = end;
  }
  return true;
}

}  // namespace kai
