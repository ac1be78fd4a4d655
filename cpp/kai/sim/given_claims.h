// Resource claims of pods that existed at the start of a simulation (first_moment.h).
//
//   std::optional<BindRequestRow> request = RequestOf(plan, decision);
//   ReleaseClaims(group.pods[At(number)].row, &store_);
//
// The devices of a pod's claims are recorded in its BindRequest, which exists while the pod is on
// its node.
//
// Invariants: a claim that no pod uses has no devices. Cost: that of a row of the store for each
// claim. Threads: those of the store's writer.
#ifndef KAI_SIM_GIVEN_CLAIMS_H_
#define KAI_SIM_GIVEN_CLAIMS_H_

#include <optional>

#include "kai/session/plan.h"
#include "kai/store/store.h"

namespace kai {

// The BindRequest for a pod that the plan binds with claims; empty if it has no claims.
std::optional<BindRequestRow> RequestOf(const Plan& plan, const CycleLog::Decision& decision);

// Called when the pod has left its node: frees the devices of claims that only this pod used.
void ReleaseClaims(const PodRow& pod, Store* store);

}  // namespace kai

#endif  // KAI_SIM_GIVEN_CLAIMS_H_
