#include "kai/dra/cel_evaluator.h"

#include <array>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "kai/base/status_macros.h"
#include "kai/dra/cel.h"
#include "kai/dra/cel_access.h"
#include "kai/dra/cel_arithmetic.h"
#include "kai/dra/cel_errors.h"
#include "kai/dra/cel_lexer.h"

namespace kai {
namespace {

using Result = absl::StatusOr<CelValue>;

// Joins bools as && does, where false decides, or as || does, where true decides. A side that
// decides hides the errors of all other sides, earlier and later ones.
class Junction {
 public:
  explicit Junction(const CelNode& node)
      : node_(node), deciding_(node.op == CelOp::kOr || node.op == CelOp::kExists) {}

  // True if this side decides.
  bool Add(const Result& side) {
    const bool* value = side.ok() ? std::get_if<bool>(&*side) : nullptr;
    decided_ = value != nullptr && *value == deciding_;
    if (value == nullptr && error_.ok()) {
      error_ = side.ok() ? CelWrongKind(node_, *side) : side.status();
    }
    return decided_;
  }

  Result Take() const {
    if (decided_) return CelValue(deciding_);
    if (!error_.ok()) return error_;
    return CelValue(!deciding_);
  }

 private:
  const CelNode& node_;
  const bool deciding_;
  bool decided_ = false;
  absl::Status error_;
};

bool Decides(CelOp op, std::partial_ordering order) {
  switch (op) {
    case CelOp::kLess:
      return order < 0;
    case CelOp::kLessOrEqual:
      return order <= 0;
    case CelOp::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

// True for kinds that Kubernetes adds to the language.
bool IsExtension(const CelValue& value) {
  return std::holds_alternative<Quantity>(value) || std::holds_alternative<const Semver*>(value);
}

}  // namespace

Result CelEvaluator::Evaluate(int32_t index) {
  Result result = --steps_ < 0 ? CelValue(false) : Work(program_.nodes[static_cast<size_t>(index)]);
  if (steps_ >= 0) return result;
  // The result may be made up, so it becomes an error, here and at every node above.
  return CelSelector::TooManySteps(budget_);
}

Result CelEvaluator::Work(const CelNode& node) {
  switch (node.op) {
    case CelOp::kLiteral:
      return node.value;
    case CelOp::kText:
      return CelValue(std::string_view(node.text));
    case CelOp::kDevice:
      return CelValue(&device_);
    case CelOp::kVariable:
      return slots_[static_cast<size_t>(node.slot)];
    case CelOp::kSelect: {
      KAI_ASSIGN_OR_RETURN(const CelValue holder, Part(node, 0));
      return CelSelect(node, holder);
    }
    case CelOp::kHas: {
      KAI_ASSIGN_OR_RETURN(const CelValue holder, Part(node, 0));
      return CelHas(node, holder);
    }
    case CelOp::kList:
      return MakeList(node);
    case CelOp::kNot: {
      KAI_ASSIGN_OR_RETURN(const CelValue value, Part(node, 0));
      const bool* truth = std::get_if<bool>(&value);
      return truth != nullptr ? Result(CelValue(!*truth)) : CelWrongKind(node, value);
    }
    case CelOp::kNegate: {
      KAI_ASSIGN_OR_RETURN(const CelValue value, Part(node, 0));
      std::optional<Result> result = CelNegate(value);
      return result.has_value() ? CelPlaced(node, *std::move(result)) : CelWrongKind(node, value);
    }
    case CelOp::kAnd:
    case CelOp::kOr:
      return Join(node);
    case CelOp::kConditional:
      return Choose(node);
    case CelOp::kCall:
      return Call(node);
    case CelOp::kAll:
    case CelOp::kExists:
    case CelOp::kExistsOne:
    case CelOp::kFilter:
    case CelOp::kMap:
      return Loop(node);
    case CelOp::kBind:
      slots_[static_cast<size_t>(node.slot)] = Part(node, 0);
      return Part(node, 1);
    default:
      return Compute(node);
  }
}

Result CelEvaluator::MakeList(const CelNode& node) {
  CelList list;
  list.items.reserve(node.parts.size());
  for (size_t i = 0; i < node.parts.size(); ++i) {
    KAI_ASSIGN_OR_RETURN(const CelValue item, Part(node, i));
    list.items.push_back(item);
  }
  return CelValue(&std::as_const(arena_.lists.emplace_back(std::move(list))));
}

Result CelEvaluator::Choose(const CelNode& node) {
  KAI_ASSIGN_OR_RETURN(const CelValue condition, Part(node, 0));
  const bool* truth = std::get_if<bool>(&condition);
  if (truth == nullptr) return CelWrongKind(node, condition);
  return Part(node, *truth ? 1 : 2);
}

Result CelEvaluator::Join(const CelNode& node) {
  Junction junction(node);
  for (size_t i = 0; i < node.parts.size(); ++i) {
    if (junction.Add(Part(node, i))) break;
  }
  return junction.Take();
}

// The operators with two operands.
Result CelEvaluator::Compute(const CelNode& node) {
  KAI_ASSIGN_OR_RETURN(const CelValue a, Part(node, 0));
  KAI_ASSIGN_OR_RETURN(const CelValue b, Part(node, 1));
  switch (node.op) {
    case CelOp::kIndex:
      return CelIndex(node, a, b);
    case CelOp::kIn:
      return CelContains(node, a, b, &steps_);
    case CelOp::kEqual:
      // As in Kubernetes: == between a version or quantity and another kind is an error, but != is
      // true, and lists with such items are unequal.
      if (IsExtension(a) && a.index() != b.index()) return CelWrongKinds(node, a, b);
      return CelValue(CelEqual(a, b, &steps_));
    case CelOp::kNotEqual:
      return CelValue(!CelEqual(a, b, &steps_));
    case CelOp::kLess:
    case CelOp::kLessOrEqual:
    case CelOp::kGreater:
    case CelOp::kGreaterOrEqual: {
      const CelOrder compared = CelCompare(a, b);
      if (!compared.exists) return CelWrongKinds(node, a, b);
      if (compared.order == std::partial_ordering::unordered) {
        return CelError(node.position, "NaN cannot be compared");
      }
      return CelValue(Decides(node.op, compared.order));
    }
    default: {
      std::optional<Result> result = CelCalculate(node.op, a, b, &arena_, &steps_);
      return result.has_value() ? CelPlaced(node, *std::move(result)) : CelWrongKinds(node, a, b);
    }
  }
}

Result CelEvaluator::Call(const CelNode& node) {
  std::array<CelValue, kMostCelArguments> arguments;
  for (size_t i = 0; i < node.parts.size(); ++i) {
    KAI_ASSIGN_OR_RETURN(arguments[i], Part(node, i));
  }
  return CelPlaced(node,
                   CallCelFunction(node.function, std::span(arguments).first(node.parts.size()),
                                   node.regex.get(), &arena_, &steps_));
}

Result CelEvaluator::Loop(const CelNode& node) {
  KAI_ASSIGN_OR_RETURN(const CelValue range, Part(node, 0));
  const CelList* const items = CelRange(range, &arena_, &steps_);
  if (items == nullptr) return CelWrongKind(node, range);
  Junction junction(node);
  CelList kept;
  const bool filters = node.op == CelOp::kFilter || node.parts.size() == 3;
  for (const CelValue& item : items->items) {
    slots_[static_cast<size_t>(node.slot)] = item;
    if (node.op == CelOp::kAll || node.op == CelOp::kExists) {
      if (junction.Add(Part(node, 1))) break;
      continue;
    }
    CelValue value = item;
    if (filters || node.op == CelOp::kExistsOne) {
      KAI_ASSIGN_OR_RETURN(const CelValue wanted, Part(node, 1));
      const bool* truth = std::get_if<bool>(&wanted);
      if (truth == nullptr) return CelWrongKind(node, wanted);
      if (!*truth) continue;
    }
    if (node.op == CelOp::kMap) {
      KAI_ASSIGN_OR_RETURN(value, Part(node, node.parts.size() - 1));
    }
    kept.items.push_back(value);
  }
  if (node.op == CelOp::kAll || node.op == CelOp::kExists) return junction.Take();
  if (node.op == CelOp::kExistsOne) return CelValue(kept.items.size() == 1);
  return CelValue(&std::as_const(arena_.lists.emplace_back(std::move(kept))));
}

}  // namespace kai
