// Turns the placements of a pod group without evictions into decisions: bind or pipeline.
//
//   const BeforeGrant before = BeforeGrantTo(group, cycle);
//   Grant(cycle, group, before);
//
// Invariants: if pods of a gang must wait, and the gang is below its minimum without them, all
// placed pods are pipelined; the remaining changes are settled. Cost: O(changes since `before`).
// Threads: those of action.h.
#ifndef KAI_ACTIONS_GRANT_H_
#define KAI_ACTIONS_GRANT_H_

#include "kai/actions/action.h"

namespace kai {

// The state before the group's pods were placed.
struct BeforeGrant {
  Statement::Checkpoint changes = 0;
  bool had_started = false;
};
inline BeforeGrant BeforeGrantTo(PodGroupId group, const CycleView& cycle) {
  return {.changes = cycle.statement->Mark(), .had_started = cycle.order->HasStarted(group)};
}

void Grant(CycleView& cycle, PodGroupId group, const BeforeGrant& before);

}  // namespace kai

#endif  // KAI_ACTIONS_GRANT_H_
