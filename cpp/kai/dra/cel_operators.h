// CEL's operators with two operands.
//
//   for (const CelOperator& candidate : kCelOperators) {
//
// Invariant: each sign is listed once. Cost: none. Threads: constants.
#ifndef KAI_DRA_CEL_OPERATORS_H_
#define KAI_DRA_CEL_OPERATORS_H_

#include <string_view>

#include "kai/dra/cel_program.h"

namespace kai {

struct CelOperator {
  std::string_view sign;
  CelOp op;
  int level;  // of precedence; 0 binds loosest
};

inline constexpr CelOperator kCelOperators[] = {
    {"||", CelOp::kOr, 0},      {"&&", CelOp::kAnd, 1},
    {"==", CelOp::kEqual, 2},   {"!=", CelOp::kNotEqual, 2},
    {"<", CelOp::kLess, 2},     {"<=", CelOp::kLessOrEqual, 2},
    {">", CelOp::kGreater, 2},  {">=", CelOp::kGreaterOrEqual, 2},
    {"in", CelOp::kIn, 2},      {"+", CelOp::kAdd, 3},
    {"-", CelOp::kSubtract, 3}, {"*", CelOp::kMultiply, 4},
    {"/", CelOp::kDivide, 4},   {"%", CelOp::kModulo, 4},
};
inline constexpr int kCelUnaryLevel = 5;  // binds tighter than all operators above

}  // namespace kai

#endif  // KAI_DRA_CEL_OPERATORS_H_
