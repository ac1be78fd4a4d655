#include "kai/fairshare/min_runtime.h"

#include <algorithm>
#include <limits>

#include "kai/fairshare/reclaim_rule.h"

namespace kai {

int64_t MinRuntime::ForPreempt(QueueId victim) const {  // spec 1 F105
  return Inherited(queues_.preempt_min_runtime_ns, victim, options_.preempt_ns);
}

int64_t MinRuntime::ForReclaim(QueueId reclaimer, QueueId victim) const {  // spec 1 F105
  if (!reclaimer.valid() || !victim.valid()) return options_.reclaim_ns;
  QueueId from = victim;
  if (options_.method == Method::kLowestCommonAncestor) {
    // In another tree this is the top of the victim's path, which has no ancestor.
    const QueueFork fork = ForkOf(queues_, reclaimer, victim);
    if (fork.second.valid()) from = fork.second;
  }
  return Inherited(queues_.reclaim_min_runtime_ns, from, options_.reclaim_ns);
}

// The value of the first queue on the path up that has one.
int64_t MinRuntime::Inherited(const Column& runtime_ns, QueueId from, int64_t otherwise_ns) const {
  for (QueueId queue = from; queue.valid(); queue = queues_.parent[queue]) {
    if (runtime_ns[queue]) return *runtime_ns[queue];
  }
  return otherwise_ns;
}

bool MinRuntime::MayLose(bool elastic, bool is_protected, std::span<const PodSetLoss> pod_sets) {
  if (!elastic || !is_protected) return true;  // spec 1 F106
  return std::all_of(pod_sets.begin(), pod_sets.end(), [](const PodSetLoss& loss) {
    return loss.victims == 0 || loss.active - loss.victims >= loss.min_available;
  });
}

}  // namespace kai
