#include "kai/actions/domain_filter.h"

#include <algorithm>
#include <functional>

#include "kai/model/columns/gpu_sums.h"

namespace kai {

DomainFilter::DomainFilter(const Cluster& cluster, const PodOrder& order, PodGroupId group,
                           std::span<const PodId> pods)
    : cluster_(cluster) {
  if (cluster.topology_constraints().empty()) return;
  const SubGroupColumns& sets = cluster.sub_groups();
  // Running pods and those of the part (spec 4 F2).
  std::vector<PodId> counted(pods.begin(), pods.end());
  for (const SubGroupId pod_set : order.PodSetsOf(group)) {
    for (const PodId pod : order.PodsOf(pod_set)) {
      if (IsActiveAllocated(cluster.pods().status[pod])) counted.push_back(pod);
    }
  }
  for (const SubGroupId set : sets.name.ids()) {
    if (sets.group[set] != group || sets.is_pod_set[set] != 0 || !sets.topology[set].valid())
      continue;
    const TopologyConstraint& constraint = cluster.topology_constraints()[sets.topology[set]];
    if (!constraint.required.valid()) continue;
    Level& level = levels_[{constraint.topology, constraint.required}];
    level.tree = constraint.tree;
    level.depth = constraint.required_depth;
    double demand = 0;
    for (const PodId pod : counted) {
      if (order.IsWithin(cluster.pods().pod_set[pod], set))
        demand += cluster.slots().TotalGpus(cluster.RequestOf(pod));
    }
    level.demands.push_back(demand);
  }
  for (auto& [key, level] : levels_) {
    std::sort(level.demands.begin(), level.demands.end(), std::greater<>());
  }
  if (levels_.empty()) return;
  for (const NodeId node : cluster.nodes().name.ids()) Free(node, AllGpusOf(cluster, node));
}

void DomainFilter::Free(NodeId node, double gpus) {
  if (!node.valid()) return;
  for (auto& [key, level] : levels_) {
    if (!level.tree.valid() || level.depth <= 0) continue;
    const NameId value = cluster_.topologies()[level.tree].ValueAt(node, level.depth);
    if (value.valid() && !cluster_.Text(value).empty()) level.capacity[value] += gpus;
  }
}

bool DomainFilter::MayHold() const {
  for (const auto& [key, level] : levels_) {
    struct Domain {
      double total = 0;
      double left = 0;
    };
    std::vector<Domain> domains;
    for (const auto& [value, capacity] : level.capacity) domains.push_back({capacity, capacity});
    std::stable_sort(domains.begin(), domains.end(),
                     [](const Domain& a, const Domain& b) { return a.total > b.total; });
    for (const double demand : level.demands) {
      if (demand <= 0) break;
      const auto holder = std::ranges::find_if(
          domains, [&](const Domain& domain) { return domain.left >= demand; });
      if (holder == domains.end()) return false;
      holder->left -= demand;
    }
  }
  return true;
}

}  // namespace kai
