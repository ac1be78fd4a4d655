// KAI's question before it simulates a scenario for a pod group that has to be in one domain: have
// the domains of that level enough GPUs, with what the victims give back (spec 4 F4)? It can say no
// where the group would fit, as it counts pods that run already and nested sets twice, and is asked
// only to decide as KAI does (mend scenario_filters).
//
//   DomainFilter filter(cluster, order, group, pods);
//   filter.Free(node, gpus);        // of a victim
//   if (!filter.MayHold()) ...
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
