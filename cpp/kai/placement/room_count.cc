#include "kai/placement/room_count.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kai {
namespace {

constexpr double kTolerance = 1e-9;

}  // namespace

namespace {

// `room_of(i)`: of a slot.
template <typename RoomOf>
double Count(NodeSearch* search, std::span<const double> request, PodClassId pod_class, NodeId node,
             const RoomOf& room_of) {
  // What most nodes lack is asked first, without dividing.
  constexpr size_t kGpus = kGpuSlot.index();
  const double gpus = request[kGpus] - search->MostSharedGpus(pod_class);
  if (room_of(kGpus) < gpus * (1 - 3 * kTolerance) - kTolerance) return 0;
  if (!search->MayRunOn(pod_class, node)) return 0;
  double fit = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < request.size(); ++i) {
    const double room = room_of(i);
    if (room < 0) {
      if (room < -kTolerance * std::max(1.0, request[i])) return 0;
      if (request[i] > 0) return 0;
      continue;
    }
    const double asked = i == kGpus ? gpus : request[i];
    if (asked <= 0) continue;
    fit = std::min(fit, std::floor(room / asked * (1 + kTolerance) + kTolerance));
    if (fit < 1) return 0;
  }
  return fit;
}

}  // namespace

double PodsThatFit(NodeSearch* search, std::span<const double> request, PodClassId pod_class,
                   NodeId node, std::span<const double> room) {
  return Count(search, request, pod_class, node, [&](size_t i) { return room[i]; });
}

double PodsThatFit(NodeSearch* search, const Cluster& cluster, PodClassId pod_class, NodeId node) {
  const std::span<const double> idle = cluster.nodes().idle[node];
  const std::span<const double> releasing = cluster.nodes().releasing[node];
  return Count(search, cluster.pod_classes().request[pod_class], pod_class, node,
               [&](size_t i) { return idle[i] + releasing[i]; });
}

double RoomCount::HeldOf(PodClassId pod_class) {
  double& held = held_[pod_class];
  if (held != kUnknown) return held;
  held = 0;
  for (const NodeId node : cluster_.nodes().name.ids())
    held += PodsThatFit(search_, cluster_, pod_class, node);
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
           (info[a].constraint == info[b].constraint && info[a].claims == info[b].claims &&
            std::ranges::equal(request[a], request[b]));
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
