#include "kai/session/holdings.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "kai/session/device_sum.h"
#include "kai/session/overdue.h"

namespace kai {

std::vector<Holding> HoldingsOf(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  const PodColumns& pods = cluster.pods();
  absl::flat_hash_set<PodId> evicted;
  for (const Plan::Eviction& each : plan.evictions) evicted.insert(each.pod);
  std::vector<std::tuple<PodGroupId, NodeId, PodId>> places;
  for (const PodId pod : pods.name.ids()) {
    if (pods.name[pod].valid() && pods.node[pod].valid() && IsActiveAllocated(pods.status[pod]) &&
        !evicted.contains(pod))
      places.emplace_back(pods.group[pod], pods.node[pod], pod);
  }
  std::ranges::sort(places);
  std::vector<Holding> all;
  std::optional<DeviceSum> devices;  // of the last row
  for (const auto& [group, node, pod] : places) {
    if (all.empty() || all.back().group != group || all.back().node != node) {
      all.push_back({.group = group, .node = node, .first = pod});
      all.back().amounts.resize(cluster.slots().size());
      devices.emplace(cluster);
    }
    Holding& held = all.back();
    ++held.pods;
    if (cluster.IsNamedBefore(pod, held.first)) held.first = pod;
    const std::span<const double> request = cluster.RequestOf(pod);
    for (size_t slot = 0; slot < request.size(); ++slot) {
      if (slot != kGpuSlot.index()) held.amounts[slot] += request[slot];
    }
    const bool by_memory = cluster.ClassOf(pod).gpu.kind == GpuRequestKind::kMemory;
    held.amounts[kGpuSlot.index()] +=
        by_memory ? NanoGpus(cluster.AcceptedOn(pods.pod_class[pod], node)[kQuotaGpu])
                  : devices->Add(pod);
  }
  return all;
}

FreeAmounts FreeAfter(const Plan& plan, const GpuAccount& account) {
  const Cluster& cluster = *plan.cluster;
  const NodeColumns& nodes = cluster.nodes();
  FreeAmounts made{.free = nodes.idle, .leaving = nodes.releasing};
  for (const PodId pod : cluster.pods().leaving) {
    if (!IsOverdue(cluster, pod, plan.now_ns)) continue;
    const std::span<const double> request = cluster.RequestOf(pod);
    const NodeId node = cluster.pods().node[pod];
    for (size_t slot = 0; slot < request.size(); ++slot) made.leaving[node][slot] -= request[slot];
  }
  absl::flat_hash_set<PodId> evicted;
  for (const CycleLog::Decision& each : plan.decisions) {
    const std::span<const double> request = cluster.RequestOf(each.pod);
    NodeId node = each.node;
    double by = -1;
    if (each.kind == CycleLog::Decision::Kind::kEvict) {
      node = cluster.pods().node[each.pod];
      by = 1;
      if (!node.valid() || !evicted.insert(each.pod).second) continue;
    }
    ResourceTable<NodeId>& table =
        each.kind == CycleLog::Decision::Kind::kBind ? made.free : made.leaving;
    for (size_t slot = 0; slot < request.size(); ++slot) table[node][slot] += by * request[slot];
  }
  for (const NodeId node : nodes.name.ids()) {
    if (!nodes.name[node].valid()) continue;
    for (size_t slot = 0; slot < cluster.slots().size(); ++slot) {
      double& free = made.free[node][slot];
      double& leaving = made.leaving[node][slot];
      free = std::max(0.0, free + std::min(0.0, leaving));
      leaving = std::max(0.0, leaving);
    }
    made.free[node][kGpuSlot.index()] = static_cast<double>(account.free_on[node]);
    made.leaving[node][kGpuSlot.index()] = static_cast<double>(account.leaving_on[node]);
  }
  return made;
}

}  // namespace kai
