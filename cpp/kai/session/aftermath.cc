#include "kai/session/aftermath.h"

#include <algorithm>
#include <utility>

#include "kai/actions/candidates.h"
#include "kai/actions/worklist.h"
#include "kai/model/building/numbering.h"

namespace kai {
namespace {

Aftermath::Turn TurnOf(const CycleView& cycle, const FairShares& shares, PodGroupId group) {
  const QueueColumns& queues = cycle.cluster->queues();
  Aftermath::Turn turn{.group = group,
                       .elastic_state = cycle.order->ElasticStateOf(group),
                       .request = cycle.order->NextRequest(group),
                       .queues = {}};
  for (QueueId queue = cycle.cluster->pod_groups().queue[group]; queue.valid();
       queue = queues.parent[queue]) {
    const QueueContender contender{.queue = shares[queue],
                                   .priority = queues.priority[queue],
                                   .created_ns = queues.created_ns[queue],
                                   .candidate = turn.request,
                                   .victims = {}};
    turn.queues.push_back({.queue = queue, .standing = QueueStanding(contender, shares.total())});
  }
  std::ranges::reverse(turn.queues);
  return turn;
}

std::vector<Aftermath::Turn> OrderOf(const CycleView& cycle) {
  QueueUsage usage = cycle.shares->usage();
  const FairShares shares(*cycle.shares, usage);
  Worklist worklist(*cycle.cluster, &shares, cycle.order, cycle.worklist);
  for (const PodGroupId group : cycle.lists().waiting) {
    if (cycle.MayRun(group) && IsCandidate(*cycle.cluster, *cycle.order, group, {}))
      worklist.Push(group);
  }
  std::vector<Aftermath::Turn> order;
  while (!worklist.empty()) {
    order.push_back(TurnOf(cycle, shares, worklist.Pop()));
    usage.Add(order.back().group, order.back().request);
  }
  return order;
}

Aftermath::NodeRoom RoomOf(const Cluster& cluster, NodeId node) {
  const NodeColumns& nodes = cluster.nodes();
  const std::span<const double> idle = nodes.idle[node];
  const std::span<const double> releasing = nodes.releasing[node];
  // Promises first use what is being released, and then what is free if that is not enough.
  const auto free = [&](ResourceSlot slot) {
    return std::max(0.0, idle[slot.index()] + std::min(0.0, releasing[slot.index()]));
  };
  Aftermath::NodeRoom room{.node = node,
                           .free_gpus = free(kGpuSlot),
                           .leaving_gpus = std::max(0.0, releasing[kGpuSlot.index()]),
                           .parts = {},
                           .free_millicpu = free(kCpuSlot),
                           .free_bytes = free(kMemorySlot)};
  const auto capacity_mib = static_cast<double>(cluster.GpuCapacityMib(node));
  for (const SharedGpu& gpu : nodes.shared_gpus[node]) {
    const auto taken_mib = static_cast<double>(std::max(gpu.used, gpu.allocated));
    if (taken_mib > 0 && taken_mib < capacity_mib)
      room.parts.push_back((capacity_mib - taken_mib) / capacity_mib);
  }
  return room;
}

}  // namespace

Aftermath AftermathOf(const CycleView& cycle) {
  Aftermath after{
      .order = OrderOf(cycle), .nodes = {}, .measured = MeasuredShapesOf(*cycle.cluster)};
  for (const NodeId node : InOrderOfNames(cycle.cluster->names(), cycle.cluster->nodes()))
    after.nodes.push_back(RoomOf(*cycle.cluster, node));
  return after;
}

}  // namespace kai
