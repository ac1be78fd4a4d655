// Consolidation: moves running pods so that a waiting group finds enough room; no group loses
// anything (spec 2 R2).
//
//   return MakeConsolidation(depth);
//
// Invariants: every pod that it evicts is promised another place in the same cycle. Cost: a search
// for victims (victim_search.h) for each waiting group. Threads: those of action.h.
#ifndef KAI_ACTIONS_CONSOLIDATION_H_
#define KAI_ACTIONS_CONSOLIDATION_H_

#include <memory>

#include "kai/actions/action.h"

namespace kai {

// `depth`: the most pod groups per leaf queue; -1: all.
std::unique_ptr<Action> MakeConsolidation(int64_t depth);

}  // namespace kai

#endif  // KAI_ACTIONS_CONSOLIDATION_H_
