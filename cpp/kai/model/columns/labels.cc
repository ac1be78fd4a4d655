#include "kai/model/columns/labels.h"

#include <algorithm>

#include "kai/base/parse.h"

namespace kai {

bool MatchesTerm(const NodeTerm& term, std::span<const Label> labels, NameId node_name,
                 const Interner& names) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  for (const Requirement& field : term.fields) {
    if (!Matches(field, node_name, names)) return false;
  }
  return MatchesAll(term.expressions, labels, names);
}

bool MatchesAny(std::span<const NodeTerm> terms, std::span<const Label> labels, NameId node_name,
                const Interner& names) {
  return std::any_of(terms.begin(), terms.end(), [&](const NodeTerm& term) {
    return MatchesTerm(term, labels, node_name, names);
  });
}

NameId FindLabel(std::span<const Label> labels, NameId key) {
  const auto found =
      std::lower_bound(labels.begin(), labels.end(), key,
                       [](const Label& label, NameId wanted) { return label.key < wanted; });
  return found != labels.end() && found->key == key ? found->value : NameId();
}

Requirement InternRequirement(const SelectorRequirement& row, Interner* names) {
  Requirement requirement{
      .key = names->Intern(row.key), .op = row.op, .values = {}, .bound = std::nullopt};
  if (row.op == SelectorOp::kGt || row.op == SelectorOp::kLt) {
    if (row.values.size() == 1) requirement.bound = ParseInteger(row.values[0]);
    return requirement;
  }
  for (const std::string& value : row.values) requirement.values.push_back(names->Intern(value));
  std::sort(requirement.values.begin(), requirement.values.end());
  return requirement;
}

bool Matches(const Requirement& requirement, NameId value, const Interner& names) {
  switch (requirement.op) {
    case SelectorOp::kExists:
      return value.valid();
    case SelectorOp::kDoesNotExist:
      return !value.valid();
    case SelectorOp::kIn:
      return value.valid() &&
             std::binary_search(requirement.values.begin(), requirement.values.end(), value);
    case SelectorOp::kNotIn:  // a missing key also matches
      return !value.valid() ||
             !std::binary_search(requirement.values.begin(), requirement.values.end(), value);
    case SelectorOp::kGt:
    case SelectorOp::kLt: {
      if (!value.valid() || !requirement.bound) return false;
      const std::optional<int64_t> number = ParseInteger(names.Text(value));
      if (!number) return false;
      return requirement.op == SelectorOp::kGt ? *number > *requirement.bound
                                               : *number < *requirement.bound;
    }
  }
  return false;
}

bool MatchesAll(std::span<const Requirement> requirements, std::span<const Label> labels,
                const Interner& names) {
  return std::all_of(requirements.begin(), requirements.end(), [&](const Requirement& requirement) {
    return Matches(requirement, FindLabel(labels, requirement.key), names);
  });
}

bool Tolerates(std::span<const InternedToleration> tolerations, const InternedTaint& taint) {
  return std::any_of(
      tolerations.begin(), tolerations.end(), [&](const InternedToleration& toleration) {
        if (toleration.effect != TaintEffect::kNone && toleration.effect != taint.effect)
          return false;
        if (toleration.key.valid() && toleration.key != taint.key) return false;
        if (toleration.exists) return true;
        return toleration.key.valid() && toleration.value == taint.value;
      });
}

bool MatchesNode(const NodeConstraint& constraint, std::span<const Label> labels, NameId node_name,
                 const Interner& names) {
  if (!MatchesAll(constraint.selector, labels, names)) return false;
  return !constraint.has_affinity || MatchesAny(constraint.affinity, labels, node_name, names);
}

}  // namespace kai
