// + - * / % of CEL, and the minus in front of a number.
//
//   std::optional<Result> result = CelCalculate(node.op, a, b, &arena_, &steps_);
//
// Invariants: integers never wrap round: an overflow is an error. Cost: O(1), + of texts and lists
// their length. Threads: pure functions, but for the arena and the steps of the caller.
#ifndef KAI_DRA_CEL_ARITHMETIC_H_
#define KAI_DRA_CEL_ARITHMETIC_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "kai/dra/cel_program.h"
#include "kai/dra/cel_value.h"

namespace kai {

// kAdd to kModulo. Both numbers of one kind, or for + two strings or lists, whose length is taken
// from `*steps`. Nothing: not for values of these kinds. Errors: overflow, division by zero.
std::optional<absl::StatusOr<CelValue>> CelCalculate(CelOp op, const CelValue& a, const CelValue& b,
                                                     CelArena* arena, int64_t* steps);

std::optional<absl::StatusOr<CelValue>> CelNegate(const CelValue& value);

}  // namespace kai

#endif  // KAI_DRA_CEL_ARITHMETIC_H_
