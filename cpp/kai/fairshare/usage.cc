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
  CountPods();
  DivideTree(options.k_value);
}

void QueueUsage::CountPods() {
  const PodColumns& pods = cluster_.pods();
  const PodGroupColumns& groups = cluster_.pod_groups();
  for (const PodId pod : pods.name.ids()) {
    const PodGroupId group = pods.group[pod];
    // A pod of a sub-group that does not exist is not counted (spec 1 F32).
    if (!group.valid() || !pods.pod_set[pod].valid()) continue;
    const QueueId queue = groups.queue[group];
    if (!queue.valid()) continue;
    const bool allocated = IsAllocated(pods.status[pod]);
    if (!allocated && pods.status[pod] != PodStatus::kPending) continue;
    const QuotaVector& amounts = allocated ? pods.accepted[pod] : cluster_.ClassOf(pod).requested;
    for (size_t i = 0; i < kQuotaResources; ++i) {
      Share& share = shares_[queue][i];
      share.request += amounts[i];
      if (!allocated) continue;
      share.allocated += amounts[i];
      if (groups.preemptible[group] == 0) share.allocated_non_preemptible += amounts[i];
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
  const PodGroupId group = cluster_.pods().group[change.pod];
  // As at the start of the cycle: pods of a sub-group that does not exist are not counted.
  if (!group.valid() || !cluster_.pods().pod_set[change.pod].valid()) return 0;
  if (!cluster_.pod_groups().queue[group].valid()) return 0;
  return static_cast<double>(IsActiveAllocated(change.to)) -
         static_cast<double>(IsActiveAllocated(change.from));
}

void QueueUsage::Applied(const Change& change, UndoStack* undo) {
  const double sign = SignOf(change);
  if (sign == 0) return;
  const PodGroupId group = cluster_.pods().group[change.pod];
  const bool non_preemptible = cluster_.pod_groups().preemptible[group] == 0;
  const QuotaVector amounts =
      cluster_.AcceptedOn(cluster_.pods().pod_class[change.pod], change.to_node);
  for (QueueId queue = cluster_.pod_groups().queue[group]; queue.valid();
       queue = cluster_.queues().parent[queue]) {
    for (size_t i = 0; i < kQuotaResources; ++i) {
      Share& share = shares_[queue][i];
      undo->push_back(share.allocated);
      undo->push_back(share.allocated_non_preemptible);
      share.allocated += sign * amounts[i];
      if (non_preemptible) share.allocated_non_preemptible += sign * amounts[i];
    }
  }
}

void QueueUsage::Undone(const Change& change, UndoStack* undo) {
  if (SignOf(change) == 0) return;
  const QueueId own = cluster_.pod_groups().queue[cluster_.pods().group[change.pod]];
  if (!own.valid()) return;  // a queue that was deleted has no usage to restore
  const size_t saved = path(own).size() * kQuotaResources * 2;
  size_t at = undo->size() - saved;
  for (QueueId queue = own; queue.valid(); queue = cluster_.queues().parent[queue]) {
    for (size_t i = 0; i < kQuotaResources; ++i) {
      shares_[queue][i].allocated = (*undo)[at++];
      shares_[queue][i].allocated_non_preemptible = (*undo)[at++];
    }
  }
  undo->resize(undo->size() - saved);
}

}  // namespace kai
