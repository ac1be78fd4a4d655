#include "kai/actions/candidates.h"

#include <algorithm>

#include "kai/base/saturating.h"

namespace kai {

int64_t EndOfPreemptionDelay(const Cluster& cluster, PodGroupId group, int64_t last_eviction_ns) {
  const PodGroupColumns& groups = cluster.pod_groups();
  const int64_t delay_ns = groups.preemption_delay_ns[group];
  if (delay_ns <= 0) return CycleTime::kAlways;
  return AddSaturating(std::max(groups.created_ns[group], last_eviction_ns), delay_ns);
}

bool IsCandidate(const Cluster& cluster, const PodOrder& order, PodGroupId group,
                 const CandidateFilter& filter) {
  const QueueId queue = cluster.pod_groups().queue[group];
  if (!queue.valid() || !cluster.queues().IsLeaf(queue)) return false;
  if (filter.ready && !order.IsReady(group)) return false;
  if (filter.pending && order.CountOf(group, PodStatus::kPending) == 0) return false;
  if (filter.preemptible && cluster.pod_groups().preemptible[group] == 0) return false;
  return !filter.active || order.ActiveAllocated(group) > 0;
}

bool MayFindRoom(const CycleView& cycle, PodGroupId group, std::span<const PodId> pods,
                 RoomCount* room) {
  return cycle.order->HasChoice(group) ||
         (!pods.empty() && room->MayHold(pods) && cycle.placer->IsWithinLimits(group, pods));
}

std::vector<PodGroupId> MergeByCreation(const Cluster& cluster, std::span<const PodGroupId> a,
                                        std::span<const PodGroupId> b) {
  const IndexVector<PodGroupId, int64_t>& rank = cluster.pod_groups().creation_rank;
  std::vector<PodGroupId> merged;
  merged.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged),
                 [&](PodGroupId x, PodGroupId y) { return rank[x] < rank[y]; });
  return merged;
}

std::vector<PodGroupId> SinglesAndChanged(const CycleView& cycle) {
  const Cluster& cluster = *cycle.cluster;
  const PodGroupColumns& groups = cluster.pod_groups();
  std::vector<std::pair<int64_t, PodGroupId>> ranks;
  for (const Change& change : cycle.statement->ChangesSince(0)) {
    const PodGroupId group = cluster.pods().group[change.pod];
    if (!group.valid()) continue;
    if (ranks.empty() || ranks.back().second != group)
      ranks.emplace_back(groups.creation_rank[group], group);
  }
  if (std::is_sorted(ranks.rbegin(), ranks.rend())) std::reverse(ranks.begin(), ranks.end());
  if (!std::is_sorted(ranks.begin(), ranks.end())) std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<PodGroupId> changed;
  changed.reserve(ranks.size());
  for (const auto& [rank, group] : ranks) changed.push_back(group);
  return MergeByCreation(cluster, cycle.classes->singles(), changed);
}

}  // namespace kai
