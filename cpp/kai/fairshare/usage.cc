#include "kai/fairshare/usage.h"

namespace kai {

int QueueUsage::SignOf(const Change& change) const {
  const int sign = change.IsSecondEviction()
                       ? -1
                       : int{IsActiveAllocated(change.to)} - int{IsActiveAllocated(change.from)};
  if (sign == 0) return 0;
  const PodGroupId group = cluster_.pods().group[change.pod];
  // As at the start of the cycle: pods of unknown sub-groups are not counted.
  if (!group.valid() || !cluster_.pods().pod_set[change.pod].valid()) return 0;
  return sign;
}

template <typename Apply>
void QueueUsage::ForSumsOf(PodGroupId group, const Apply& apply) {
  const bool non_preemptible = cluster_.pod_groups().preemptible[group] == 0;
  for (QueueId queue = cluster_.pod_groups().queue[group]; queue.valid();
       queue = cluster_.queues().parent[queue]) {
    apply(&sums_[queue].allocated);
    if (non_preemptible) apply(&sums_[queue].allocated_non_preemptible);
  }
}

void QueueUsage::Count(const Change& change, int sign) {
  ++version_;
  if (sign == 0) return;
  const QuotaCount amount =
      cluster_.AcceptedOn(cluster_.pods().pod_class[change.pod], change.to_node);
  ForSumsOf(cluster_.pods().group[change.pod],
            [&](QuotaCount* sum) { sign > 0 ? * sum += amount : * sum -= amount; });
}

void QueueUsage::Add(PodGroupId group, const QuotaCount& amount) {
  ++version_;
  ForSumsOf(group, [&](QuotaCount* sum) { *sum += amount; });
}

void QueueUsage::LeaveOutWaiting(PodGroupId group) {
  ++version_;
  const SubGroupColumns& sets = cluster_.sub_groups();
  for (const SubGroupId set : cluster_.pod_groups().PodSetsOf(group)) {
    for (const PodId pod : sets.PodsOf(set)) {
      if (cluster_.pods().status[pod] != PodStatus::kPending) continue;
      const QuotaCount amount = cluster_.ClassOf(pod).requested;
      for (QueueId queue = cluster_.pod_groups().queue[group]; queue.valid();
           queue = cluster_.queues().parent[queue]) {
        sums_[queue].requested -= amount;
      }
    }
  }
}

}  // namespace kai
