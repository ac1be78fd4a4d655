// CheckWorkload: checks a workload for errors.
//
//   KAI_RETURN_IF_ERROR(CheckWorkload(workload_));
//
// Invariants: the first error is one sentence with kind, name and field. Cost: linear. Threads:
// pure.
#ifndef KAI_SIM_WORKLOAD_CHECK_H_
#define KAI_SIM_WORKLOAD_CHECK_H_

#include "absl/status/status.h"
#include "kai/sim/workload.h"

namespace kai {

// InvalidArgument: "job a: min_pods is 3, and pods 2".
absl::Status CheckWorkload(const SimWorkload& workload);

}  // namespace kai

#endif  // KAI_SIM_WORKLOAD_CHECK_H_
