#include "kai/dra/cel_errors.h"

#include <string_view>

#include "kai/base/text.h"
#include "kai/dra/cel_lexer.h"
#include "kai/dra/cel_operators.h"

namespace kai {
namespace {

std::string_view NameOf(CelOp op) {
  switch (op) {
    case CelOp::kSelect:
      return "a field access";
    case CelOp::kHas:
      return "has()";
    case CelOp::kIndex:
      return "[]";
    case CelOp::kNot:
      return "!";
    case CelOp::kNegate:
      return "-";
    case CelOp::kConditional:
      return "?:";
    default:
      break;
  }
  for (const CelOperator& candidate : kCelOperators) {
    if (candidate.op == op) return candidate.sign;
  }
  return "a macro";
}

}  // namespace

absl::Status CelWrongKind(const CelNode& node, const CelValue& value) {
  return CelError(node.position, StrCat(NameOf(node.op), " does not take ", CelKindName(value)));
}

absl::Status CelWrongKinds(const CelNode& node, const CelValue& a, const CelValue& b) {
  return CelError(node.position, StrCat(NameOf(node.op), " does not take ", CelKindName(a), " and ",
                                        CelKindName(b)));
}

absl::StatusOr<CelValue> CelPlaced(const CelNode& node, absl::StatusOr<CelValue> result) {
  if (result.ok()) return result;
  return CelError(node.position, result.status());
}

}  // namespace kai
