// Ranks of a group's pods in the order of topology domains, so that a launcher can give
// neighbouring ranks to pods that are near each other.
//
//   RankPods(cycle, &plan);
//
// Invariants: a pod that starts never gets the rank of another pod of its group; running pods keep
// theirs. Call it before the statement rolls back. Cost: O(pods of groups with a topology
// constraint), sorted. Threads: those of the cycle: one thread.
#ifndef KAI_SESSION_RANKS_H_
#define KAI_SESSION_RANKS_H_

#include "kai/actions/action.h"
#include "kai/session/plan.h"

namespace kai {

// Fills plan->ranks for the pods that the cycle starts, in groups with a topology constraint. Ranks
// count from 0, by domain and node; the master of a Kubeflow job and the head of a Ray cluster come
// first. Running pods keep their ranks, and new pods get the lowest free ones.
void RankPods(const CycleView& cycle, Plan* plan);

}  // namespace kai

#endif  // KAI_SESSION_RANKS_H_
