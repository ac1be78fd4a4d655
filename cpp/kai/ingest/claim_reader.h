// ResourceClaim -> its row: what it asks for, what it has, whose it is and who uses it; and how
// many GPUs it stands for (spec 3 D2).
//
// Understands resource.k8s.io v1 and v1beta2 (`exactly`) as well as v1beta1, where the same fields
// lie directly in the request. Expects fresh rows; with a rejection the row is half filled and of
// no use.
#ifndef KAI_INGEST_CLAIM_READER_H_
#define KAI_INGEST_CLAIM_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows.h"

namespace kai {

std::optional<Rejection> ReadResourceClaim(JsonObject object, ResourceClaimRow* row);

// An AllocationResult, as claims and BindRequests carry it.
FieldStatus ReadClaimAllocation(JsonValue& value, ClaimAllocationRow* out);

}  // namespace kai

#endif  // KAI_INGEST_CLAIM_READER_H_
