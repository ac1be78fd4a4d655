// What became of every pod group and waiting pod, and why, as data (spec 2 M1-M10).
//
//   DescribeOutcomes(cycle, &plan);
//
// Invariants: every pod group has an outcome; reasons come in KAI's order. Call it before the
// statement rolls back. Cost: O(pod groups that wait, have changed or are notable, and their pods).
// Threads: those of the cycle: one thread.
#ifndef KAI_SESSION_OUTCOME_H_
#define KAI_SESSION_OUTCOME_H_

#include "kai/actions/action.h"
#include "kai/session/plan.h"

namespace kai {

// Fills plan->outcomes, plan->evictions and plan->stamped from the cycle as its actions left it;
// the outcomes only where the cycle explains.
void DescribeOutcomes(const CycleView& cycle, Plan* plan);

}  // namespace kai

#endif  // KAI_SESSION_OUTCOME_H_
