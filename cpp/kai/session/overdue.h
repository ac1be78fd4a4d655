// When a pod that is being deleted should be gone: from then on, what it holds does not count as
// being released (spec 2 S2).
//
//   time->EndOf(OverdueNs(cluster, pod), OverdueAfterNs(cluster));
//
// Invariants: times that are too large are the largest time. Cost: O(1). Threads: pure functions.
#ifndef KAI_SESSION_OVERDUE_H_
#define KAI_SESSION_OVERDUE_H_

#include <cstdint>

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

}  // namespace kai

#endif  // KAI_SESSION_OVERDUE_H_
