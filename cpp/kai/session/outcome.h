// The outcome of every pod group and waiting pod, and its reasons, as data (spec 2 M1-M10).
//
//   DescribeOutcomes(cycle, &plan);
//
// Invariants: every pod group has an outcome; reasons are in KAI's order. Call it before the
// statement rolls back. Cost: O(pod groups that wait, have changed or are notable, and their pods).
// Threads: those of the cycle: one thread.
#ifndef KAI_SESSION_OUTCOME_H_
#define KAI_SESSION_OUTCOME_H_

#include "kai/actions/action.h"
#include "kai/session/plan.h"

namespace kai {

// Fills plan->outcomes, plan->evictions and plan->stamped from the state of the cycle after its
// actions; the outcomes only if the cycle explains.
void DescribeOutcomes(const CycleView& cycle, Plan* plan);

}  // namespace kai

#endif  // KAI_SESSION_OUTCOME_H_
