// Stale gang eviction: a gang that lost pods and does not get them back gives up the rest, which
// would only hold what others could use (spec 2 D4-D7).
//
//   if (name == "stalegangeviction") return [] { return MakeStaleGangEviction(); };
//
// A pod group is stale while it runs with fewer pods than its gang needs and none of them has
// succeeded. Since when is written on the group; once its grace period is over, all its pods go.
//
// Invariants: no pod of a group that is not stale goes. Cost: a look at the pod groups that are
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
