// Stale gang eviction: if a gang lost pods and does not get them back, it evicts the others, which
// only hold resources that other groups could use (spec 2 D4-D7).
//
//   if (name == "stalegangeviction") return [] { return MakeStaleGangEviction(); };
//
// A pod group is stale while it runs with fewer pods than its gang needs and none of its pods has
// succeeded. The start time is written on the group; after its grace period, all its pods are
// evicted.
//
// Invariants: only pods of stale groups are evicted. Cost: a check of the pod groups that are
// notable or changed in this cycle (candidates.h). Threads: those of action.h.
#ifndef KAI_ACTIONS_STALE_GANG_EVICTION_H_
#define KAI_ACTIONS_STALE_GANG_EVICTION_H_

#include <memory>

#include "kai/actions/action.h"

namespace kai {

inline constexpr std::string_view kStaleGangEviction = "stalegangeviction";

std::unique_ptr<Action> MakeStaleGangEviction();

}  // namespace kai

#endif  // KAI_ACTIONS_STALE_GANG_EVICTION_H_
