// Allocate: gives waiting pod groups, in order, idle resources, or promises them resources that are
// being freed (spec 2 A1, A2).
//
//   return MakeAllocate(depth);
//
// Invariants: it evicts nothing; a group is placed completely or not at all. Cost: one attempt of
// the group placer for each waiting group, and one more for each elastic pod. Threads: those of
// action.h.
#ifndef KAI_ACTIONS_ALLOCATE_H_
#define KAI_ACTIONS_ALLOCATE_H_

#include <memory>

#include "kai/actions/action.h"

namespace kai {

// `depth`: the most pod groups per leaf queue; -1: all.
std::unique_ptr<Action> MakeAllocate(int64_t depth);

}  // namespace kai

#endif  // KAI_ACTIONS_ALLOCATE_H_
