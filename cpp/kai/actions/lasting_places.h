// LastingPlaces: whether the places that a cycle gives will be valid once the leaving pods are
// gone (spec 2 W11). A pod with required affinity may be placed beside a pod that a scenario evicts
// because that pod may still return; at the end of the scenario this is checked.
//
//   places_(cycle),         // before the first scenario
//   places_.Last(start);    // while the changes since `start` are in place
//
// A place lasts if the pods that stay, and those that got their places earlier in the cycle,
// satisfy the required affinity of its pod, or if no other pod that it selects remains elsewhere.
//
// Invariants: a scenario breaks no place that an earlier action gave in the same cycle; places that
// would not last anyway are not held against it. Cost: O(changes of the cycle), and nothing if no
// pod has affinity terms. Threads: those of the Statement.
#ifndef KAI_ACTIONS_LASTING_PLACES_H_
#define KAI_ACTIONS_LASTING_PLACES_H_

#include "absl/container/flat_hash_set.h"
#include "kai/actions/action.h"

namespace kai {

class LastingPlaces {
 public:
  explicit LastingPlaces(const CycleView& cycle);

  bool Last(Statement::Checkpoint start) const;

 private:
  const CycleView& cycle_;
  bool counts_ = false;  // some pod has terms that filters check, and leaving pods make room
  absl::flat_hash_set<PodId> short_lived_now_;  // before the scenarios
};

}  // namespace kai

#endif  // KAI_ACTIONS_LASTING_PLACES_H_
