#include "kai/model/building/namespaces.h"

#include <algorithm>
#include <utility>

#include "kai/api/keys.h"

namespace kai {

Namespaces::Namespaces(const std::vector<NamespaceRow>& rows, Interner* names) : names_(*names) {
  for (const NamespaceRow& row : rows) Change(row.name, &row);
}

LabelSet Namespaces::LabelsOf(NameId name, const NamespaceRow* row) {
  LabelSet labels = {{names_.Intern(keys::kNamespaceName), name}};
  if (row == nullptr) return labels;
  for (const auto& [key, value] : row->labels) {
    if (key != keys::kNamespaceName) labels.push_back({names_.Intern(key), names_.Intern(value)});
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

bool Namespaces::Add(std::string_view name) {
  const NameId id = names_.Intern(name);
  const auto [labels, added] = labels_.try_emplace(id);
  if (!added) return true;
  labels->second = LabelsOf(id, nullptr);
  return std::none_of(selectors_.begin(), selectors_.end(), [&](const auto& selector) {
    return MatchesAll(selector, labels->second, names_);
  });
}

bool Namespaces::Change(std::string_view name, const NamespaceRow* row) {
  const NameId id = names_.Intern(name);
  if (row == nullptr && !labels_.contains(id)) return true;
  const auto [labels, is_new] = labels_.try_emplace(id);
  const LabelSet before = std::exchange(labels->second, LabelsOf(id, row));
  const bool had_labels = !described_.empty();
  if (row != nullptr) {
    described_.insert(id);
  } else {
    described_.erase(id);
  }
  if (needs_labels_ && described_.empty() == had_labels) return false;
  return std::none_of(selectors_.begin(), selectors_.end(), [&](const auto& selector) {
    const bool matched = !is_new && MatchesAll(selector, before, names_);
    return matched != MatchesAll(selector, labels->second, names_);
  });
}

bool Namespaces::CanEvaluate(const LabelSelector& selector) {
  const bool is_by_name =
      std::all_of(selector.begin(), selector.end(),
                  [](const SelectorRequirement& each) { return each.key == keys::kNamespaceName; });
  needs_labels_ = needs_labels_ || !is_by_name;
  return is_by_name || !described_.empty();
}

std::vector<NameId> Namespaces::Matching(const LabelSelector& selector) {
  std::vector<Requirement> requirements;
  for (const SelectorRequirement& each : selector)
    requirements.push_back(InternRequirement(each, &names_));
  std::vector<NameId> names;
  for (const auto& [name, labels] : labels_) {
    if (MatchesAll(requirements, labels, names_)) names.push_back(name);
  }
  selectors_.insert(std::move(requirements));
  return names;
}

}  // namespace kai
