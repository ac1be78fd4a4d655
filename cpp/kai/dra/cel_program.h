// A compiled CEL expression: a tree in a vector.
//
//   KAI_ASSIGN_OR_RETURN(CelProgram program, ParseCel(expression));
//
// Invariants: a node comes after its parts, and no node is nested deeper than
// CelSelector::kDeepestNesting. Cost: linear in the expression. Threads: immutable after parsing:
// many readers.
#ifndef KAI_DRA_CEL_PROGRAM_H_
#define KAI_DRA_CEL_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/dra/cel_functions.h"
#include "kai/dra/cel_value.h"
#include "kai/dra/regex.h"

namespace kai {

enum class CelOp : uint8_t {
  kLiteral,      // value
  kText,         // text
  kDevice,       // the variable device
  kVariable,     // slot: the variable of a macro or of cel.bind
  kSelect,       // parts[0].text
  kHas,          // has(parts[0].text)
  kIndex,        // parts[0][parts[1]]
  kList,         // [parts...]
  kNot,          // !parts[0]
  kNegate,       // -parts[0]
  kAnd,          // all parts; a long chain is one node, so that it does not nest
  kOr,           //
  kConditional,  // parts[0] ? parts[1] : parts[2]
  kEqual,        // parts[0] == parts[1]; the next ones are alike
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIn,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kCall,  // function(parts...); a method's receiver is the first part
  kAll,   // parts[0].all(slot, parts[1]); the next ones are alike
  kExists,
  kExistsOne,
  kFilter,
  kMap,   // parts[0].map(slot, parts[1]), or map(slot, parts[1], parts[2]): [1] filters
  kBind,  // cel.bind(slot, parts[0], parts[1])
};

struct CelNode {
  CelOp op = CelOp::kLiteral;
  CelFunction function = CelFunction::kSize;
  int32_t slot = 0;
  int32_t depth = 1;
  size_t position = 0;  // byte offset in the expression
  std::vector<int32_t> parts = {};
  std::string text = {};
  CelValue value = false;
  std::shared_ptr<const Regex> regex = nullptr;  // of matches() with a literal as pattern
};

struct CelProgram {
  std::vector<CelNode> nodes;
  int32_t root = 0;
  int32_t slots = 0;
};

// InvalidArgument for anything that cel.h does not list. No node is nested deeper than
// CelSelector::kDeepestNesting.
absl::StatusOr<CelProgram> ParseCel(std::string_view expression);

}  // namespace kai

#endif  // KAI_DRA_CEL_PROGRAM_H_
