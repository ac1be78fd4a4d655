// CEL's + - * / % and the unary minus.
//
//   std::optional<Result> result = CelCalculate(node.op, a, b, &arena_, &steps_);
//
// Invariants: an integer overflow is an error. Cost: O(1); + of texts and lists costs their length.
// Threads: pure functions, except for the caller's arena and steps.
#ifndef KAI_DRA_CEL_ARITHMETIC_H_
#define KAI_DRA_CEL_ARITHMETIC_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "kai/dra/cel_program.h"
#include "kai/dra/cel_value.h"

namespace kai {

// kAdd to kModulo, for two numbers of one kind; + also for two strings or lists, whose length is
// subtracted from `*steps`. Empty for other kinds of values. Errors: overflow, division by zero.
std::optional<absl::StatusOr<CelValue>> CelCalculate(CelOp op, const CelValue& a, const CelValue& b,
                                                     CelArena* arena, int64_t* steps);

std::optional<absl::StatusOr<CelValue>> CelNegate(const CelValue& value);

}  // namespace kai

#endif  // KAI_DRA_CEL_ARITHMETIC_H_
