// Errors of the evaluation of a CEL expression, with their position.
//
//   return CelWrongKind(node, holder);    // "byte 12: . does not take string"
//
// Invariants: each error begins with the position. Cost: a string. Threads: pure functions.
#ifndef KAI_DRA_CEL_ERRORS_H_
#define KAI_DRA_CEL_ERRORS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kai/dra/cel_program.h"
#include "kai/dra/cel_value.h"

namespace kai {

// "byte 12: < does not take string and int"
absl::Status CelWrongKind(const CelNode& node, const CelValue& value);
absl::Status CelWrongKinds(const CelNode& node, const CelValue& a, const CelValue& b);

// Puts the position in front of an error.
absl::StatusOr<CelValue> CelPlaced(const CelNode& node, absl::StatusOr<CelValue> result);

}  // namespace kai

#endif  // KAI_DRA_CEL_ERRORS_H_
