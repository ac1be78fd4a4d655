// Whether a waiting group would start if no other group waited: then only the order is in its way.
// Computed on request, for explanations.
//
//   StartsAlone(plan, config, group)
//
// Invariants: it depends on plan and configuration alone, and not on promises of earlier cycles.
// Cost: that of a cycle with one waiting group, so O(nodes + pod groups + queues) without the
// searches for the others. Threads: one at a time, and none that plans the same cluster.
#ifndef KAI_SESSION_ALONE_H_
#define KAI_SESSION_ALONE_H_

#include "kai/session/config.h"
#include "kai/session/plan.h"

namespace kai {

// True if all pods that the group needs would have places or be promised some that others leave,
// and more of its pods than after the plan.
bool StartsAlone(const Plan& plan, const Config& config, PodGroupId group);

}  // namespace kai

#endif  // KAI_SESSION_ALONE_H_
