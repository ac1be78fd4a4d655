// Resource claims of pods that were there from the start of a simulation (first_moment.h).
//
//   std::optional<BindRequestRow> request = RequestOf(plan, decision);
//   ReleaseClaims(group.pods[At(number)].row, &store_);
//
// What a pod's claims hold stands in its BindRequest, which stays for as long as the pod is on its
// node.
//
// Invariants: a claim that no pod holds has no devices. Cost: that of a row of the store for each
// claim. Threads: those of the store's writer.
#ifndef KAI_SIM_GIVEN_CLAIMS_H_
#define KAI_SIM_GIVEN_CLAIMS_H_

#include <optional>

#include "kai/session/plan.h"
#include "kai/store/store.h"

namespace kai {

// A BindRequest for a pod that the plan binds and gives claims; nothing: it gives none.
std::optional<BindRequestRow> RequestOf(const Plan& plan, const CycleLog::Decision& decision);

// The pod has left its node: what its claims hold for it alone is free.
void ReleaseClaims(const PodRow& pod, Store* store);

}  // namespace kai

#endif  // KAI_SIM_GIVEN_CLAIMS_H_
