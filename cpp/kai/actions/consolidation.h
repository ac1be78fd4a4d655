// Consolidation: moves running pods so that a waiting group finds room in one piece; nobody loses
// anything (spec 2 R2).
#ifndef KAI_ACTIONS_CONSOLIDATION_H_
#define KAI_ACTIONS_CONSOLIDATION_H_

#include <memory>

#include "kai/actions/action.h"

namespace kai {

// `depth`: pod groups looked at per leaf queue, -1 for all.
std::unique_ptr<Action> MakeConsolidation(int64_t depth);

}  // namespace kai

#endif  // KAI_ACTIONS_CONSOLIDATION_H_
