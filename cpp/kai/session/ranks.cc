#include "kai/session/ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace kai {
namespace {

// The topology of the whole group or, if it has none, of the first sub-group that has one.
TopologyId TopologyOf(const Cluster& cluster, PodGroupId group, const PodOrder& order) {
  const SubGroupColumns& sets = cluster.sub_groups();
  for (const SubGroupId pod_set : order.PodSetsOf(group)) {
    TopologyId widest;
    for (SubGroupId set = pod_set; set.valid(); set = sets.parent[set]) {
      if (!sets.topology[set].valid()) continue;
      const TopologyId tree = cluster.topology_constraints()[sets.topology[set]].tree;
      if (tree.valid()) widest = tree;
    }
    if (widest.valid()) return widest;
  }
  return TopologyId();
}

}  // namespace

void RankPods(const CycleView& cycle, Plan* plan) {
  const Cluster& cluster = *cycle.cluster;
  if (cluster.topology_constraints().empty()) return;
  const PodColumns& pods = cluster.pods();
  std::set<PodGroupId> groups;
  for (const CycleLog::Decision& decision : cycle.log->decisions) {
    if (decision.kind == CycleLog::Decision::Kind::kBind && pods.group[decision.pod].valid())
      groups.insert(pods.group[decision.pod]);
  }
  const std::map<PodId, int32_t> kept(pods.kept_ranks.begin(), pods.kept_ranks.end());
  for (const PodGroupId group : groups) {
    const TopologyId topology = TopologyOf(cluster, group, *cycle.order);
    if (!topology.valid()) continue;
    const DomainTree& tree = cluster.topologies()[topology];
    std::set<int32_t> taken;
    // Sorted by: leaders, domains, nodes, the order in which pods are placed.
    std::vector<std::tuple<bool, int32_t, int32_t, size_t, PodId>> fresh;
    for (const SubGroupId pod_set : cycle.order->PodSetsOf(group)) {
      for (const PodId pod : cycle.order->PodsOf(pod_set)) {
        const auto known = kept.find(pod);
        if (pods.status[pod] == PodStatus::kAllocated) {
          const bool leads = pods.is_kubeflow_lead[pod] != 0 || pods.is_ray_head[pod] != 0;
          const TopologyDomainId domain = tree.DomainOf(pods.node[pod]);
          const auto at = domain.valid() ? domain.value() : static_cast<int32_t>(tree.size());
          fresh.emplace_back(!leads, at, cluster.nodes().name_rank[pods.node[pod]], fresh.size(),
                             pod);
        } else if (IsActiveAllocated(pods.status[pod]) && known != kept.end()) {
          taken.insert(known->second);
        }
      }
    }
    std::sort(fresh.begin(), fresh.end());
    int32_t rank = 0;
    for (const auto& [follows, at, node, place, pod] : fresh) {
      while (taken.contains(rank)) ++rank;
      plan->ranks.push_back({.pod = pod,
                             .rank = rank++,
                             .topology = topology,
                             .domain = tree.DomainOf(pods.node[pod])});
    }
  }
}

}  // namespace kai
