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
  if (LacksGpus(request[kGpuSlot.index()], room[kGpuSlot.index()])) return 0;
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
  constexpr size_t kGpus = kGpuSlot.index();
  for (const NodeId node : nodes.name.ids()) {
    if (LacksGpus(request[kGpus], nodes.idle[node][kGpus] + nodes.releasing[node][kGpus])) continue;
    for (size_t i = 0; i < room.size(); ++i)
      room[i] = nodes.idle[node][i] + nodes.releasing[node][i];
    held += PodsThatFit(search_, request, pod_class, node, room);
  }
  return held;
}

bool RoomCount::MayHold(std::span<const PodId> pods) {
  // Pods that ask for the same and may run on the same nodes are counted together, whatever else
  // tells them apart.
  struct Alike {
    PodClassId pod_class;
    double wanted = 0;
  };
  std::vector<Alike> kinds;
  const auto& request = cluster_.pod_classes().request;
  const auto& info = cluster_.pod_classes().info;
  const auto is_alike = [&](PodClassId a, PodClassId b) {
    return a == b ||
           (info[a].constraint == info[b].constraint && std::ranges::equal(request[a], request[b]));
  };
  for (const PodId pod : pods) {
    const PodClassId pod_class = cluster_.pods().pod_class[pod];
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Alike& each) {
      return is_alike(each.pod_class, pod_class);
    });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {.pod_class = pod_class});
    ++kind->wanted;
  }
  return std::all_of(kinds.begin(), kinds.end(),
                     [&](const Alike& kind) { return HeldOf(kind.pod_class) >= kind.wanted; });
}

}  // namespace kai
