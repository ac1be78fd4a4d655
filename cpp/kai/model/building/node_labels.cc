#include "kai/model/building/node_labels.h"

#include <algorithm>

namespace kai {

void NodeLabels::Mention(const NodeTerm& term) {
  for (const Requirement& requirement : term.expressions) values_[requirement.key];
}

void NodeLabels::Mention(const NodeConstraint& constraint) {
  for (const Requirement& requirement : constraint.selector) values_[requirement.key];
  for (const NodeTerm& term : constraint.affinity) Mention(term);
  for (const PreferredNodes& each : constraint.preferred) Mention(each.term);
}

void NodeLabels::Mention(const VolumeNeeds& needs) {
  ForEachTerm(needs, [&](const NodeTerm& term) { Mention(term); });
}

bool NodeLabels::Contains(const NodeConstraint& constraint) const {
  const auto is_listed = [&](const Requirement& each) { return values_.contains(each.key); };
  const auto contains_all = [&](const NodeTerm& term) {
    return std::ranges::all_of(term.expressions, is_listed);
  };
  return std::ranges::all_of(constraint.selector, is_listed) &&
         std::ranges::all_of(constraint.affinity, contains_all) &&
         std::ranges::all_of(constraint.preferred, contains_all, &PreferredNodes::term);
}

LabelSet NodeLabels::Pick(const NodeRow& row, Interner* names) {
  LabelSet labels;
  for (const auto& [key, value] : row.labels) {
    const auto mentioned = values_.find(names->Find(key));
    if (mentioned == values_.end()) continue;
    labels.push_back({mentioned->first, names->Intern(value)});
    mentioned->second.insert(labels.back().value);
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

void NodeLabels::FindDistinguishingKeys(size_t nodes) {
  for (const auto& [key, values] : values_) {
    if (values.size() > 16 && values.size() * 4 > nodes) distinguishing_.insert(key);
  }
}

LabelSet NodeLabels::OfClass(const LabelSet& picked) const {
  LabelSet labels;
  for (const Label& label : picked) {
    if (!distinguishing_.contains(label.key)) labels.push_back(label);
  }
  return labels;
}

bool NodeLabels::IsCheckedPerNode(const NodeTerm& term) const {
  return !term.fields.empty() ||
         std::any_of(term.expressions.begin(), term.expressions.end(),
                     [&](const Requirement& each) { return IsDistinguishing(each); });
}

bool NodeLabels::IsCheckedPerNode(const NodeConstraint& constraint) const {
  return std::any_of(constraint.selector.begin(), constraint.selector.end(),
                     [&](const Requirement& each) { return IsDistinguishing(each); }) ||
         std::any_of(constraint.affinity.begin(), constraint.affinity.end(),
                     [&](const NodeTerm& term) { return IsCheckedPerNode(term); });
}

bool NodeLabels::IsCheckedPerNode(const VolumeNeeds& needs) const {
  bool per_node = std::any_of(needs.delayed.begin(), needs.delayed.end(),
                              [](const auto& claim) { return claim.selected_node.valid(); });
  ForEachTerm(needs, [&](const NodeTerm& term) { per_node = per_node || IsCheckedPerNode(term); });
  return per_node;
}

}  // namespace kai
