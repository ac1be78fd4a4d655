#include "kai/placement/room_count.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "kai/base/heap_bytes.h"
#include "kai/model/columns/gpu_sums.h"
#include "kai/placement/node_room.h"

namespace kai {
namespace {

constexpr double kTolerance = 1e-9;

// `room_of(i)`: the room of a slot; `gpus`: the GPUs that the pod takes there.
template <typename RoomOf>
double Count(ClassPlans* plans, std::span<const double> request, double gpus, PodClassId pod_class,
             NodeId node, const RoomOf& room_of) {
  // Checks the most frequently missing resource first, without a division.
  constexpr size_t kGpus = kGpuSlot.index();
  if (room_of(kGpus) < gpus * (1 - kTolerance) - kTolerance) return 0;
  if (!plans->MayRunOn(pod_class, node)) return 0;
  double fit = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < request.size(); ++i) {
    const double room = room_of(i);
    const double wanted = i == kGpus ? gpus : request[i];
    if (wanted > 0) {
      fit = std::min(fit, std::floor(room / wanted * (1 + kTolerance)));
      if (fit < 1) return 0;
    } else if (room < -kTolerance) {
      return 0;
    }
  }
  return fit;
}

double GpusTakenOn(const Cluster& cluster, PodClassId pod_class, NodeId node) {
  return GpusHeldOn(cluster, pod_class, node) - MostSharedGpus(cluster, pod_class);
}

// With the current room; `gpus`: the GPUs that a pod takes on this node.
double CountOn(ClassPlans* plans, const Cluster& cluster, PodClassId pod_class, NodeId node,
               double gpus) {
  const std::span<const double> idle = cluster.nodes().idle[node];
  const std::span<const double> releasing = cluster.nodes().releasing[node];
  const auto room_of = [&](size_t i) { return idle[i] + releasing[i]; };
  const std::span<const double> request = cluster.pod_classes().request[pod_class];
  if (!cluster.pod_classes().info[pod_class].gpu.IsShared())
    return Count(plans, request, gpus, pod_class, node, room_of);
  const double most_gpus = MostGpusOf(cluster, node);
  return Count(plans, request, gpus, pod_class, node,
               [&](size_t i) { return i == kGpuSlot.index() ? most_gpus : room_of(i); });
}

}  // namespace

double PodsThatFit(ClassPlans* plans, const Cluster& cluster, PodClassId pod_class, NodeId node,
                   std::span<const double> room) {
  return Count(plans, cluster.pod_classes().request[pod_class],
               GpusTakenOn(cluster, pod_class, node), pod_class, node,
               [&](size_t i) { return room[i]; });
}

void FillRoom(const Cluster& cluster, NodeId node, std::span<double> room) {
  const std::span<const double> idle = cluster.nodes().idle[node];
  const std::span<const double> releasing = cluster.nodes().releasing[node];
  for (size_t i = 0; i < room.size(); ++i) room[i] = idle[i] + releasing[i];
  if (cluster.shares_gpus()) room[kGpuSlot.index()] = MostGpusOf(cluster, node);
}

double PodsThatFit(ClassPlans* plans, const Cluster& cluster, PodClassId pod_class, NodeId node) {
  return CountOn(plans, cluster, pod_class, node, GpusTakenOn(cluster, pod_class, node));
}

void RoomCount::CountOn(PodClassId pod_class, NodeId node, double gpus, Counted* counted) {
  const double held = kai::CountOn(plans_, cluster_, pod_class, node, gpus);
  if (held == 0) return;
  counted->on.emplace(node, held);
  counted->held += held;
}

void RoomCount::Refresh(Counted* counted) const {
  if (counted->version == touched_.version()) return;
  const auto forget = [&](NodeId node) {
    if (node.index() >= counted->nodes) return;
    counted->uncounted.push_back(node);
    const auto known = counted->on.find(node);
    if (known == counted->on.end()) return;
    counted->held -= known->second;
    counted->on.erase(known);
  };
  const bool is_known = touched_.VisitSince(counted->version, counted->nodes, forget);
  if (!is_known || counted->uncounted.size() > counted->nodes) *counted = {};
  counted->nodes = std::min(counted->nodes, cluster_.nodes().size());
  counted->version = touched_.version();
}

bool RoomCount::Holds(PodClassId pod_class, double wanted) {
  Counted& counted = counted_[pod_class];
  Refresh(&counted);
  const size_t nodes = cluster_.nodes().size();
  // Pods that share no device take the same number of GPUs on every node.
  const bool shares = cluster_.pod_classes().info[pod_class].gpu.IsShared();
  const double gpus = shares ? 0 : GpusTakenOn(cluster_, pod_class, NodeId());
  const auto count = [&](NodeId node) {
    CountOn(pod_class, node, shares ? GpusTakenOn(cluster_, pod_class, node) : gpus, &counted);
  };
  while (counted.held < wanted && !counted.uncounted.empty()) {
    const NodeId node = counted.uncounted.back();
    counted.uncounted.pop_back();
    // The node may be listed twice, or may have been removed.
    if (node.index() < counted.nodes && !counted.on.contains(node)) count(node);
  }
  for (; counted.held < wanted && counted.nodes < nodes; ++counted.nodes)
    count(NodeId(counted.nodes));
  return counted.held >= wanted;
}

bool RoomCount::MayHold(std::span<const PodId> pods) {
  // Pods with the same requests that may run on the same nodes are counted together, even if they
  // differ otherwise.
  struct Alike {
    PodClassId pod_class;
    double wanted = 0;
  };
  absl::InlinedVector<Alike, 4> kinds;
  const auto& request = cluster_.pod_classes().request;
  const auto& info = cluster_.pod_classes().info;
  const auto is_alike = [&](PodClassId a, PodClassId b) {
    return a == b ||
           (info[a].constraint == info[b].constraint && info[a].claims == info[b].claims &&
            info[a].gpu == info[b].gpu && std::ranges::equal(request[a], request[b]));
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
                     [&](const Alike& kind) { return Holds(kind.pod_class, kind.wanted); });
}

size_t RoomCount::HeapBytes() const { return HeapBytesOfAll(counted_); }

}  // namespace kai
