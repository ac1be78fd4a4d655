// What became of every pod group and waiting pod, and why, as data (spec 2 §13).
#ifndef KAI_SESSION_OUTCOME_H_
#define KAI_SESSION_OUTCOME_H_

#include "kai/actions/action.h"
#include "kai/session/plan.h"

namespace kai {

// Fills plan->groups and plan->waiting_pods from the cycle as its actions left it.
void DescribeOutcomes(const CycleView& cycle, Plan* plan);

}  // namespace kai

#endif  // KAI_SESSION_OUTCOME_H_
