// KAI's check before it simulates a scenario for a pod group that must be in one domain: whether
// the domains of that level have enough GPUs, including those that the victims free (spec 4 F4). It
// can refuse although the group would fit, because it counts running pods and nested sets twice. It
// is used only to decide as KAI does (switch scenario_filters).
//
//   domains_.emplace(cluster, *cycle.order, cluster.pods().group[pods_.front()], pods_);
//   domains_->Free(victim.node, ...
//   domains_->MayHold()
//
// Invariants: the capacity only grows. Cost: a walk over all nodes to make one, O(levels) for a
// victim, O(sets * domains) for a check. Not thread-safe.
#ifndef KAI_ACTIONS_DOMAIN_FILTER_H_
#define KAI_ACTIONS_DOMAIN_FILTER_H_

#include <map>
#include <span>
#include <vector>

#include "kai/placement/pod_order.h"

namespace kai {

class DomainFilter {
 public:
  // `pods`: the pods of the group that will be placed.
  DomainFilter(const Cluster& cluster, const PodOrder& order, PodGroupId group,
               std::span<const PodId> pods);

  void Free(NodeId node, double gpus);
  bool MayHold() const;

 private:
  // The domains of one level, only by the value of their label.
  struct Level {
    TopologyId tree;
    int32_t depth = 0;
    std::vector<double> demands;  // of sets that must be in one domain, largest first
    std::map<NameId, double> capacity;
  };

  const Cluster& cluster_;
  std::map<std::pair<NameId, NameId>, Level> levels_;  // by topology and label
};

}  // namespace kai

#endif  // KAI_ACTIONS_DOMAIN_FILTER_H_
