// Reclaim: a queue takes back what it deserves from queues that hold more than their share (spec 2
// R3, spec 1 F84-F95).
//
//   return MakeReclaim(
//
// Invariants: victims are in other queues, and ReclaimRule accepts each scenario. Cost: a search
// for victims (victim_search.h) for each waiting group. Threads: those of action.h.
#ifndef KAI_ACTIONS_RECLAIM_H_
#define KAI_ACTIONS_RECLAIM_H_

#include <memory>
#include <optional>

#include "kai/actions/action.h"
#include "kai/fairshare/min_runtime.h"
#include "kai/fairshare/reclaim_rule.h"

namespace kai {

struct ReclaimOptions {
  int64_t depth = -1;  // the most pod groups per leaf queue; -1: all
  // Nothing without their plugins: without fair shares no group may reclaim, and without minimum
  // run times no group is protected (spec 2 X1).
  std::optional<ReclaimRule::Options> rule;
  std::optional<MinRuntime::Options> min_runtime;
};

std::unique_ptr<Action> MakeReclaim(const ReclaimOptions& options);

}  // namespace kai

#endif  // KAI_ACTIONS_RECLAIM_H_
