// ResourceClaim -> its row: what it asks for, what it has, which pod owns it and which pods use it;
// and how many GPUs it stands for (spec 3 D2).
//
//   return ReadForTest(&ReadResourceClaim, ...
//
// Understands resource.k8s.io v1 and v1beta2 (`exactly`) as well as v1beta1, where the same fields
// lie directly in the request.
//
// Invariants: it expects a fresh row; with a rejection the row is half filled and of no use.
// Unknown members are skipped. Cost: one walk over the object. Threads: functions of their own
// document and row.
#ifndef KAI_INGEST_CLAIM_READER_H_
#define KAI_INGEST_CLAIM_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

std::optional<Rejection> ReadResourceClaim(JsonObject object, ResourceClaimRow* row);

// An AllocationResult, as claims and BindRequests carry it.
FieldStatus ReadClaimAllocation(JsonValue& value, ClaimAllocationRow* out);

}  // namespace kai

#endif  // KAI_INGEST_CLAIM_READER_H_
