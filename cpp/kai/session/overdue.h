// When a pod that is being deleted should be gone: from then on, what it holds does not count as
// being released (spec 2 S2).
//
//   time->EndOf(OverdueNs(cluster, pod), OverdueAfterNs(cluster));
//
//   if (!IsOverdue(cluster, pod, plan.now_ns)) continue;
//
// Invariants: times that are too large are the largest time; only a pod that ran can be overdue.
// Cost: O(1). Threads: pure functions.
#ifndef KAI_SESSION_OVERDUE_H_
#define KAI_SESSION_OVERDUE_H_

#include <cstdint>
#include <limits>

#include "kai/base/saturating.h"
#include "kai/model/columns/cluster.h"

namespace kai {

// How long after its time of deletion.
inline int64_t OverdueAfterNs(const Cluster& cluster) {
  return AddSaturating(cluster.params().stuck_in_releasing_threshold_ns, 1);
}

inline int64_t OverdueNs(const Cluster& cluster, PodId pod) {
  return AddSaturating(cluster.pods().deletion_ns[pod], OverdueAfterNs(cluster));
}

inline bool IsOverdue(const Cluster& cluster, PodId pod, int64_t now_ns) {
  const bool has_deadline = cluster.pods().deletion_ns[pod] != std::numeric_limits<int64_t>::min();
  return has_deadline && OverdueNs(cluster, pod) <= now_ns;
}

}  // namespace kai

#endif  // KAI_SESSION_OVERDUE_H_
