#include "kai/fairshare/usage.h"

#include "kai/fairshare/division.h"

namespace kai {

QueueUsage::QueueUsage(const Cluster& cluster, const Options& options) : cluster_(cluster) {
  const QueueColumns& queues = cluster.queues();
  shares_.Resize(queues.size());
  for (const QueueId queue : queues.name.ids()) {
    const auto begin = static_cast<int32_t>(paths_.size());
    for (QueueId at = queue; at.valid(); at = queues.parent[at]) paths_.push_back(&shares_[at]);
    path_range_.Add({begin, static_cast<int32_t>(paths_.size())});
  }
  if (!options.divide) return;
  for (const QueueId queue : queues.name.ids()) {
    for (size_t i = 0; i < kQuotaResources; ++i) {
      shares_[queue][i].deserved = queues.deserved[queue][i];
      shares_[queue][i].limit = queues.limit[queue][i];
      shares_[queue][i].over_quota_weight = queues.over_quota_weight[queue][i];
    }
  }
  SumTree();
  DivideTree(options.k_value);
}

void QueueUsage::SumTree() {
  for (const QueueId queue : shares_.ids()) {
    const QueueSums& sums = cluster_.queues().sums[queue];
    for (size_t i = 0; i < kQuotaResources; ++i) {
      shares_[queue][i].request = sums.requested[i];
      shares_[queue][i].allocated = sums.allocated[i];
      shares_[queue][i].allocated_non_preemptible = sums.allocated_non_preemptible[i];
    }
  }
  // Children before parents: every amount counts in each ancestor (spec 1 F33).
  const std::vector<QueueId>& order = cluster_.queues().parents_first;
  for (size_t i = order.size(); i-- > 0;) {
    const QueueId parent = cluster_.queues().parent[order[i]];
    if (!parent.valid()) continue;
    for (size_t r = 0; r < kQuotaResources; ++r) {
      const Share& share = shares_[order[i]][r];
      Share& above = shares_[parent][r];
      above.request += share.request;
      above.allocated += share.allocated;
      above.allocated_non_preemptible += share.allocated_non_preemptible;
    }
  }
}

void QueueUsage::DivideTree(double k_value) {
  const QueueColumns& queues = cluster_.queues();
  const auto divide = [&](const QuotaVector& total, std::span<const QueueId> siblings) {
    std::vector<Sibling> contenders(siblings.size());
    for (size_t r = 0; r < kQuotaResources; ++r) {
      for (size_t i = 0; i < siblings.size(); ++i) {
        contenders[i] = {.share = &shares_[siblings[i]][r],
                         .priority = queues.priority[siblings[i]],
                         .created_ns = queues.created_ns[siblings[i]],
                         .name = cluster_.Text(queues.name[siblings[i]])};
      }
      Divide(total[r], k_value, contenders);
    }
  };
  divide(cluster_.total(), queues.top_level);
  for (const QueueId queue : queues.parents_first) {  // spec 1 F40
    const Span32 range = queues.children[queue];
    if (range.size() == 0) continue;
    const QueueShare& share = shares_[queue];
    divide({share[0].fair_share, share[1].fair_share, share[2].fair_share},
           std::span(queues.child_list)
               .subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size())));
  }
}

double QueueUsage::SignOf(const Change& change) const {
  const int sign = change.IsSecondEviction()
                       ? -1
                       : int{IsActiveAllocated(change.to)} - int{IsActiveAllocated(change.from)};
  if (sign == 0) return 0;
  const PodGroupId group = cluster_.pods().group[change.pod];
  // As at the start of the cycle: pods of a sub-group that does not exist are not counted.
  if (!group.valid() || !cluster_.pods().pod_set[change.pod].valid()) return 0;
  return cluster_.pod_groups().queue[group].valid() ? sign : 0;
}

void QueueUsage::Applied(const Change& change, UndoStack* undo) {
  const double sign = SignOf(change);
  if (sign == 0) return;
  const PodGroupId group = cluster_.pods().group[change.pod];
  const bool non_preemptible = cluster_.pod_groups().preemptible[group] == 0;
  const QuotaVector amounts =
      cluster_.AcceptedOn(cluster_.pods().pod_class[change.pod], change.to_node);
  const Span32 range = path_range_[cluster_.pod_groups().queue[group]];
  double* saved = undo->Push(static_cast<size_t>(range.size()) * kSavedPerQueue);
  for (int32_t at = range.begin; at < range.end; ++at) {
    for (size_t i = 0; i < kQuotaResources; ++i) {
      Share& share = (*paths_[static_cast<size_t>(at)])[i];
      *saved++ = share.allocated;
      *saved++ = share.allocated_non_preemptible;
      share.allocated += sign * amounts[i];
      if (non_preemptible) share.allocated_non_preemptible += sign * amounts[i];
    }
  }
}

void QueueUsage::Undone(const Change& change, UndoStack* undo) {
  if (SignOf(change) == 0) return;
  const PodGroupId group = cluster_.pods().group[change.pod];
  const Span32 range = path_range_[cluster_.pod_groups().queue[group]];
  const double* saved = undo->Pop(static_cast<size_t>(range.size()) * kSavedPerQueue);
  for (int32_t at = range.begin; at < range.end; ++at) {
    for (Share& share : *paths_[static_cast<size_t>(at)]) {
      share.allocated = *saved++;
      share.allocated_non_preemptible = *saved++;
    }
  }
}

}  // namespace kai
