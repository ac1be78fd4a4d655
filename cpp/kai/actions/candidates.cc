#include "kai/actions/candidates.h"

#include <algorithm>

namespace kai {

bool InPreemptionDelay(const Cluster& cluster, PodGroupId group, int64_t now_ns) {
  const PodGroupColumns& groups = cluster.pod_groups();
  const int64_t delay_ns = groups.preemption_delay_ns[group];
  if (delay_ns <= 0) return false;
  const int64_t from_ns = std::max(groups.created_ns[group], groups.last_eviction_ns[group]);
  return from_ns >
         now_ns - delay_ns;  // not from + delay: an unknown time is the smallest number there is
}

bool IsCandidate(const Cluster& cluster, const PodOrder& order, PodGroupId group,
                 const CandidateFilter& filter, int64_t now_ns) {
  const QueueId queue = cluster.pod_groups().queue[group];
  if (!queue.valid() || !cluster.queues().IsLeaf(queue)) return false;
  if (filter.ready && !order.IsReady(group)) return false;
  if (filter.pending && order.CountOf(group, PodStatus::kPending) == 0) return false;
  if (filter.preemptible && cluster.pod_groups().preemptible[group] == 0) return false;
  if (filter.active && order.ActiveAllocated(group) == 0) return false;
  return !filter.may_evict_now || !InPreemptionDelay(cluster, group, now_ns);
}

std::vector<PodGroupId> InCreationOrder(const Cluster& cluster) {
  const PodGroupColumns& groups = cluster.pod_groups();
  std::vector<PodGroupId> order(groups.size());
  for (const PodGroupId group : groups.name.ids())
    order[static_cast<size_t>(groups.creation_rank[group])] = group;
  return order;
}

}  // namespace kai
