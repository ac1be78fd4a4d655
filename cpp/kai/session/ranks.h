// Where pods of one group stand in the order of topology domains, so that a launcher can make
// neighbours of those that are near each other.
//
//   RankPods(cycle, &plan);
//
// Invariants: no pod that starts gets a rank that another pod of its group has; pods that run keep
// theirs. Call it before the statement rolls back. Cost: O(pods of groups that ask for a topology),
// sorted. Threads: those of the cycle: one thread.
#ifndef KAI_SESSION_RANKS_H_
#define KAI_SESSION_RANKS_H_

#include "kai/actions/action.h"
#include "kai/session/plan.h"

namespace kai {

// Fills plan->ranks: pods that the cycle starts, of groups that ask for a topology. Ranks count
// from 0, domain by domain, node by node; the master of a Kubeflow job and the head of a Ray
// cluster come first. Pods that run keep theirs, and new ones get the lowest that are free.
void RankPods(const CycleView& cycle, Plan* plan);

}  // namespace kai

#endif  // KAI_SESSION_RANKS_H_
