#include "kai/model/building/namespaces.h"

#include <algorithm>

#include "kai/api/keys.h"

namespace kai {

Namespaces::Namespaces(const std::vector<NamespaceRow>& rows, Interner* names)
    : names_(*names), know_labels_(!rows.empty()) {
  for (const NamespaceRow& row : rows) {
    Add(row.name);
    LabelSet& labels = labels_[names_.Intern(row.name)];
    for (const auto& [key, value] : row.labels) {
      if (key != keys::kNamespaceName) labels.push_back({names_.Intern(key), names_.Intern(value)});
    }
    std::sort(labels.begin(), labels.end());
  }
}

void Namespaces::Add(std::string_view name) {
  const NameId id = names_.Intern(name);
  const auto [labels, added] = labels_.try_emplace(id);
  if (added) labels->second.push_back({names_.Intern(keys::kNamespaceName), id});
}

bool Namespaces::Know(const LabelSelector& selector) const {
  return know_labels_ ||
         std::all_of(selector.begin(), selector.end(), [](const SelectorRequirement& each) {
           return each.key == keys::kNamespaceName;
         });
}

std::vector<NameId> Namespaces::That(const LabelSelector& selector) const {
  std::vector<Requirement> requirements;
  for (const SelectorRequirement& each : selector)
    requirements.push_back(InternRequirement(each, &names_));
  std::vector<NameId> names;
  for (const auto& [name, labels] : labels_) {
    if (MatchesAll(requirements, labels, names_)) names.push_back(name);
  }
  return names;
}

}  // namespace kai
