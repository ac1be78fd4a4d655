#include "kai/fairshare/usage.h"

namespace kai {

int QueueUsage::SignOf(const Change& change) const {
  const int sign = change.IsSecondEviction()
                       ? -1
                       : int{IsActiveAllocated(change.to)} - int{IsActiveAllocated(change.from)};
  if (sign == 0) return 0;
  const PodGroupId group = cluster_.pods().group[change.pod];
  // As at the start of the cycle: pods of a sub-group that does not exist are not counted.
  if (!group.valid() || !cluster_.pods().pod_set[change.pod].valid()) return 0;
  return sign;
}

void QueueUsage::Count(const Change& change, int sign) {
  if (sign == 0) return;
  const PodGroupId group = cluster_.pods().group[change.pod];
  const bool non_preemptible = cluster_.pod_groups().preemptible[group] == 0;
  const QuotaCount amount =
      cluster_.AcceptedOn(cluster_.pods().pod_class[change.pod], change.to_node);
  const auto count = [&](QuotaCount* sum) { sign > 0 ? * sum += amount : * sum -= amount; };
  for (QueueId queue = cluster_.pod_groups().queue[group]; queue.valid();
       queue = cluster_.queues().parent[queue]) {
    count(&sums_[queue].allocated);
    if (non_preemptible) count(&sums_[queue].allocated_non_preemptible);
  }
}

}  // namespace kai
