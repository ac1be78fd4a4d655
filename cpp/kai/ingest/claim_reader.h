// ResourceClaim -> its row: requests, allocation, the pod that owns it, the pods that use it, and
// how many GPUs it counts as (spec 3 D2).
//
//   return ReadForTest(&ReadResourceClaim, ...
//
// Reads resource.k8s.io v1 and v1beta2 (`exactly`) as well as v1beta1, where the same fields are
// directly in the request.
//
// Invariants: it expects a fresh row; after a rejection, the row is incomplete and unusable.
// Unknown members are skipped. Cost: one walk over the object. Threads: functions of their own
// document and row.
#ifndef KAI_INGEST_CLAIM_READER_H_
#define KAI_INGEST_CLAIM_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

std::optional<Rejection> ReadResourceClaim(JsonObject object, ResourceClaimRow* row);

// An AllocationResult, as in claims and BindRequests.
FieldStatus ReadClaimAllocation(JsonValue& value, ClaimAllocationRow* out);

}  // namespace kai

#endif  // KAI_INGEST_CLAIM_READER_H_
