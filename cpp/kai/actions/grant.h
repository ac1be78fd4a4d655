// What a pod group was given without an eviction becomes decisions: to bind, or to pipeline.
//
//   const BeforeGrant before = BeforeGrantTo(group, cycle);
//   Grant(cycle, group, before);
//
// Invariants: where pods of a gang have to wait, and the gang is below its minimum without them,
// all that were placed are pipelined; what is left is settled. Cost: O(changes since then).
// Threads: those of action.h.
#ifndef KAI_ACTIONS_GRANT_H_
#define KAI_ACTIONS_GRANT_H_

#include "kai/actions/action.h"

namespace kai {

// How it was before the group's pods were placed.
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
