// KAI's check before it simulates a scenario for a pod group that has to be in one domain: have the
// domains of that level enough GPUs, with what the victims give back (spec 4 F4)? It can say no
// where the group would fit, as it counts pods that run already and nested sets twice. It serves
// only to decide as KAI does (mend scenario_filters).
//
//   domains_.emplace(cluster, *cycle.order, cluster.pods().group[pods_.front()], pods_);
//   domains_->Free(victim.node, ...
//   domains_->MayHold()
//
// Invariants: the capacity only grows. Cost: a look at every node to make one, O(levels) for a
// victim, O(sets * domains) for an answer. Not thread-safe.
#ifndef KAI_ACTIONS_DOMAIN_FILTER_H_
#define KAI_ACTIONS_DOMAIN_FILTER_H_

#include <map>
#include <span>
#include <vector>

#include "kai/placement/pod_order.h"

namespace kai {

class DomainFilter {
 public:
  // `pods`: of the group, that are to be placed.
  DomainFilter(const Cluster& cluster, const PodOrder& order, PodGroupId group,
               std::span<const PodId> pods);

  void Free(NodeId node, double gpus);
  bool MayHold() const;

 private:
  // The domains of one level, by their label's value alone.
  struct Level {
    TopologyId tree;
    int32_t depth = 0;
    std::vector<double> demands;  // of sets that have to be in one of them, largest first
    std::map<NameId, double> capacity;
  };

  const Cluster& cluster_;
  std::map<std::pair<NameId, NameId>, Level> levels_;  // by topology and label
};

}  // namespace kai

#endif  // KAI_ACTIONS_DOMAIN_FILTER_H_
