// Parses the tokens of an expression into a tree, by recursive descent with one level per
// precedence.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "kai/base/quote.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/dra/cel.h"
#include "kai/dra/cel_lexer.h"
#include "kai/dra/cel_operators.h"
#include "kai/dra/cel_program.h"

namespace kai {
namespace {

using Kind = CelToken::Kind;
using NodeOr = absl::StatusOr<int32_t>;

constexpr int kChainLevels = 2;  // a chain of || or of && becomes one node

struct Macro {
  std::string_view name;
  CelOp op;
  size_t most_bodies;
};

constexpr Macro kMacros[] = {{"all", CelOp::kAll, 1},
                             {"exists", CelOp::kExists, 1},
                             {"exists_one", CelOp::kExistsOne, 1},
                             {"filter", CelOp::kFilter, 1},
                             {"map", CelOp::kMap, 2}};

constexpr std::string_view kDeviceFields[] = {"driver", "attributes", "capacity",
                                              "allowMultipleAllocations"};

class Parser : private CelCursor {
 public:
  explicit Parser(std::vector<CelToken> tokens) : CelCursor(std::move(tokens)) {}

  absl::StatusOr<CelProgram> Run() {
    KAI_ASSIGN_OR_RETURN(program_.root, ParseExpression());
    if (Now().kind != Kind::kEnd) return Unexpected();
    return std::move(program_);
  }

 private:
  // Counts the depth of the recursion. Every cycle of the recursion passes here, brackets twice.
  class Descent {
   public:
    explicit Descent(Parser* parser) : parser_(parser) { ++parser_->descent_; }
    ~Descent() { --parser_->descent_; }
    bool too_deep() const { return parser_->descent_ > 2 * CelSelector::kDeepestNesting; }

   private:
    Parser* parser_;
  };

  absl::Status TooDeep(size_t position) const {
    return CelError(position, "the expression is nested too deeply");
  }

  CelNode& At(int32_t node) { return program_.nodes[static_cast<size_t>(node)]; }

  NodeOr AddNode(CelNode node) {
    for (const int32_t part : node.parts) node.depth = std::max(node.depth, At(part).depth + 1);
    if (node.depth > CelSelector::kDeepestNesting) return TooDeep(node.position);
    program_.nodes.push_back(std::move(node));
    return static_cast<int32_t>(program_.nodes.size() - 1);
  }

  NodeOr ParseExpression() {
    const Descent descent(this);
    if (descent.too_deep()) return TooDeep(Now().position);
    KAI_ASSIGN_OR_RETURN(const int32_t condition, ParseBinary(0));
    const size_t position = Now().position;
    if (!Take("?")) return condition;
    KAI_ASSIGN_OR_RETURN(const int32_t yes, ParseBinary(0));
    KAI_RETURN_IF_ERROR(Expect(":"));
    KAI_ASSIGN_OR_RETURN(const int32_t no, ParseExpression());
    return AddNode(
        {.op = CelOp::kConditional, .position = position, .parts = {condition, yes, no}});
  }

  const CelOperator* OperatorHere(int level) const {
    if (Now().kind != Kind::kSign && Now().kind != Kind::kName) return nullptr;
    const auto* found = std::find_if(
        std::begin(kCelOperators), std::end(kCelOperators), [&](const CelOperator& candidate) {
          return candidate.level == level && candidate.sign == Now().text;
        });
    return found == std::end(kCelOperators) ? nullptr : found;
  }

  NodeOr ParseBinary(int level) {
    if (level == kCelUnaryLevel) return ParseUnary();
    KAI_ASSIGN_OR_RETURN(int32_t left, ParseBinary(level + 1));
    while (const CelOperator* found = OperatorHere(level)) {
      CelNode node{.op = found->op, .position = Now().position, .parts = {left}};
      do {
        Advance();
        KAI_ASSIGN_OR_RETURN(const int32_t right, ParseBinary(level + 1));
        node.parts.push_back(right);
      } while (level < kChainLevels && OperatorHere(level) != nullptr);
      KAI_ASSIGN_OR_RETURN(left, AddNode(std::move(node)));
    }
    return left;
  }

  NodeOr ParseUnary() {
    const Descent descent(this);
    const size_t position = Now().position;
    if (descent.too_deep()) return TooDeep(position);
    if (Take("!")) {
      KAI_ASSIGN_OR_RETURN(const int32_t part, ParseUnary());
      return AddNode({.op = CelOp::kNot, .position = position, .parts = {part}});
    }
    if (!Take("-")) return ParseMember();
    if (Now().kind == Kind::kInt) {  // the only way to write the lowest int
      const auto value = static_cast<int64_t>(0 - Advance().integer);
      KAI_ASSIGN_OR_RETURN(const int32_t literal, AddNode({.position = position, .value = value}));
      return ParseSuffixes(literal);
    }
    KAI_ASSIGN_OR_RETURN(const int32_t part, ParseUnary());
    return AddNode({.op = CelOp::kNegate, .position = position, .parts = {part}});
  }

  NodeOr ParseMember() {
    KAI_ASSIGN_OR_RETURN(const int32_t primary, ParsePrimary());
    return ParseSuffixes(primary);
  }

  NodeOr ParseSuffixes(int32_t node) {
    while (true) {
      const size_t position = Now().position;
      const bool dot = Take(".");
      if (!dot && !Take("[")) return node;
      if (Now().kind == Kind::kSign && Now().text == "?") {
        return CelError(Now().position, "optional values are not supported");
      }
      if (dot) {
        KAI_ASSIGN_OR_RETURN(node, ParseSelect(node));
        continue;
      }
      KAI_ASSIGN_OR_RETURN(const int32_t index, ParseExpression());
      KAI_RETURN_IF_ERROR(Expect("]"));
      KAI_ASSIGN_OR_RETURN(
          node, AddNode({.op = CelOp::kIndex, .position = position, .parts = {node, index}}));
    }
  }

  // After a dot: a field, a method or a macro.
  NodeOr ParseSelect(int32_t node) {
    if (Now().kind != Kind::kName || Now().text == "in") return Unexpected();
    const size_t position = Now().position;
    std::string name = std::move(Advance().text);
    if (Take("(")) {
      for (const Macro& macro : kMacros) {
        if (macro.name == name) return ParseMacro(macro, node, position);
      }
      return ParseCall(name, CelCallForm::kMethod, {node}, position);
    }
    if (At(node).op == CelOp::kDevice &&
        std::find(std::begin(kDeviceFields), std::end(kDeviceFields), name) ==
            std::end(kDeviceFields)) {
      return CelError(position, StrCat("a device has no field ", Quote(name)));
    }
    return AddNode(
        {.op = CelOp::kSelect, .position = position, .parts = {node}, .text = std::move(name)});
  }

  NodeOr ParseCall(std::string_view name, CelCallForm form, std::vector<int32_t> arguments,
                   size_t position) {
    KAI_RETURN_IF_ERROR(ParseList(")", &arguments));
    const std::optional<CelFunction> function = FindCelFunction(name, form, arguments.size());
    if (!function.has_value()) {
      return CelError(position, StrCat("there is no function or macro ", Quote(name),
                                       " here, or not with this number of arguments"));
    }
    CelNode node{.op = CelOp::kCall, .function = *function, .position = position};
    if (*function == CelFunction::kMatches && At(arguments[1]).op == CelOp::kText) {
      absl::StatusOr<Regex> regex = Regex::Compile(At(arguments[1]).text, &regex_steps_);
      if (!regex.ok()) return CelError(At(arguments[1]).position, regex.status());
      node.regex = std::make_shared<const Regex>(*std::move(regex));
    }
    node.parts = std::move(arguments);
    return AddNode(std::move(node));
  }

  // The items between brackets, and the closing bracket.
  absl::Status ParseList(std::string_view close, std::vector<int32_t>* parts) {
    while (!Take(close)) {
      KAI_ASSIGN_OR_RETURN(const int32_t part, ParseExpression());
      parts->push_back(part);
      if (Take(",")) continue;
      return Expect(close);
    }
    return absl::OkStatus();
  }

  NodeOr ParseMacro(const Macro& macro, int32_t range, size_t position) {
    CelNode node{.op = macro.op, .position = position, .parts = {range}};
    KAI_ASSIGN_OR_RETURN(const std::string variable, ParseVariable());
    KAI_RETURN_IF_ERROR(ParseBodies(variable, &node));
    if (node.parts.size() > 1 + macro.most_bodies) {
      return CelError(position, StrCat(macro.name, "() has too many arguments"));
    }
    return AddNode(std::move(node));
  }

  // The first argument of a macro, and the comma after it.
  absl::StatusOr<std::string> ParseVariable() {
    if (Now().kind != Kind::kName || Next().text != ",") {
      return CelError(Now().position, "expected a variable's name and a comma");
    }
    std::string name = std::move(Advance().text);
    Advance();
    return name;
  }

  // The expressions in which the variable is visible, and the closing bracket.
  absl::Status ParseBodies(const std::string& variable, CelNode* node) {
    node->slot = static_cast<int32_t>(scope_.size());
    scope_.push_back(variable);
    program_.slots = std::max(program_.slots, static_cast<int32_t>(scope_.size()));
    const size_t before = node->parts.size();
    KAI_RETURN_IF_ERROR(ParseList(")", &node->parts));
    scope_.pop_back();
    return node->parts.size() > before
               ? absl::OkStatus()
               : CelError(node->position, "a macro needs an expression after its variable");
  }

  NodeOr ParseBind(size_t position) {
    KAI_RETURN_IF_ERROR(Expect("."));
    if (Now().text != "bind") return Unexpected();
    Advance();
    KAI_RETURN_IF_ERROR(Expect("("));
    KAI_ASSIGN_OR_RETURN(const std::string variable, ParseVariable());
    KAI_ASSIGN_OR_RETURN(const int32_t value, ParseExpression());
    KAI_RETURN_IF_ERROR(Expect(","));
    CelNode node{.op = CelOp::kBind, .position = position, .parts = {value}};
    KAI_RETURN_IF_ERROR(ParseBodies(variable, &node));
    if (node.parts.size() != 2) return CelError(position, "bind() has too many arguments");
    return AddNode(std::move(node));
  }

  NodeOr ParsePrimary() {
    const size_t position = Now().position;
    switch (Now().kind) {
      case Kind::kName:
        return ParseName();
      case Kind::kText:
        return AddNode(
            {.op = CelOp::kText, .position = position, .text = std::move(Advance().text)});
      case Kind::kInt: {
        const uint64_t value = Advance().integer;
        if (value > INT64_MAX) return CelError(position, "the number is out of range");
        return AddNode({.position = position, .value = static_cast<int64_t>(value)});
      }
      case Kind::kUint:
        return AddNode({.position = position, .value = Advance().integer});
      case Kind::kDouble:
        return AddNode({.position = position, .value = Advance().real});
      default:
        break;
    }
    if (Take("(")) {
      KAI_ASSIGN_OR_RETURN(const int32_t inside, ParseExpression());
      KAI_RETURN_IF_ERROR(Expect(")"));
      return inside;
    }
    if (Take("[")) {
      CelNode node{.op = CelOp::kList, .position = position};
      KAI_RETURN_IF_ERROR(ParseList("]", &node.parts));
      return AddNode(std::move(node));
    }
    if (Take("{")) return CelError(position, "map literals are not supported");
    return Unexpected();
  }

  NodeOr ParseName() {
    const size_t position = Now().position;
    const std::string name = Advance().text;
    if (name == "true" || name == "false") {
      return AddNode({.position = position, .value = name == "true"});
    }
    if (Take("(")) {
      if (name == "has") return ParseHas(position);
      return ParseCall(name, CelCallForm::kFunction, {}, position);
    }
    const auto variable = std::find(scope_.rbegin(), scope_.rend(), name);
    if (variable != scope_.rend()) {
      const auto slot = static_cast<int32_t>(scope_.rend() - variable) - 1;
      return AddNode({.op = CelOp::kVariable, .slot = slot, .position = position});
    }
    if (name == "device") return AddNode({.op = CelOp::kDevice, .position = position});
    if (name == "cel") return ParseBind(position);
    return CelError(position, StrCat("there is no variable ", Quote(name)));
  }

  NodeOr ParseHas(size_t position) {
    std::vector<int32_t> arguments;
    KAI_RETURN_IF_ERROR(ParseList(")", &arguments));
    if (arguments.size() != 1 || At(arguments[0]).op != CelOp::kSelect) {
      return CelError(position, "has() takes one argument of the form a.b");
    }
    At(arguments[0]).op = CelOp::kHas;
    return arguments[0];
  }

  int descent_ = 0;
  int64_t regex_steps_ =
      CelSelector::kCompileBudget;  // left for compiling all patterns of the expression
  std::vector<std::string> scope_;  // names of variables by slot, the innermost last
  CelProgram program_;
};

}  // namespace

absl::StatusOr<CelProgram> ParseCel(std::string_view expression) {
  if (expression.size() > CelSelector::kLongestExpression) {
    return absl::InvalidArgumentError(
        StrCat("the expression is longer than ", CelSelector::kLongestExpression, " bytes"));
  }
  KAI_ASSIGN_OR_RETURN(std::vector<CelToken> tokens, SplitCel(expression));
  KAI_ASSIGN_OR_RETURN(CelProgram program, Parser(std::move(tokens)).Run());
  return program;
}

}  // namespace kai
