#include "kai/model/building/affinity_terms.h"

#include <algorithm>
#include <limits>

#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

int32_t Count(int64_t written) {
  return static_cast<int32_t>(std::clamp<int64_t>(written, 1, std::numeric_limits<int32_t>::max()));
}

template <typename Visit>
void ForEachTerm(const PodAffinityRow& row, const Visit& visit) {
  for (const auto* terms : {&row.required, &row.required_anti}) {
    for (const PodAffinityTerm& term : *terms) visit(term);
  }
  for (const auto* terms : {&row.preferred, &row.preferred_anti}) {
    for (const WeightedPodAffinityTerm& each : *terms) visit(each.term);
  }
}

}  // namespace

std::vector<Requirement> AffinityTerms::RequirementsOf(
    const std::optional<LabelSelector>& selector) {
  std::vector<Requirement> requirements;
  if (!selector) return requirements;
  for (const SelectorRequirement& each : *selector)
    requirements.push_back(InternRequirement(each, &names_));
  std::sort(requirements.begin(), requirements.end());
  return requirements;
}

PodSelector AffinityTerms::SelectorOf(const PodAffinityTerm& row, const CompactPod& pod) {
  std::vector<NameId> namespaces;
  for (const std::string& name : row.namespaces) namespaces.push_back(names_.Intern(name));
  if (!row.namespace_selector.empty()) {
    for (const NameId name : namespaces_.Matching(row.namespace_selector))
      namespaces.push_back(name);
  } else if (row.namespaces.empty() && !row.all_namespaces) {
    namespaces.push_back(names_.Intern(pod.namespace_name));
  }
  std::sort(namespaces.begin(), namespaces.end());
  namespaces.erase(std::unique(namespaces.begin(), namespaces.end()), namespaces.end());
  return {.matches_none = !row.selector.has_value(),
          .requirements = RequirementsOf(row.selector),
          .all_namespaces = row.all_namespaces,
          .namespaces = std::move(namespaces)};
}

AffinityTermId AffinityTerms::TermOf(std::vector<PodSelector> selectors,
                                     const std::string& topology_key) {
  return terms_.Add(
      {.selectors = std::move(selectors), .key = topology_keys_.Add(names_.Intern(topology_key))});
}

std::vector<Spread> AffinityTerms::SpreadOf(const CompactPod& row) {
  std::vector<Spread> all;
  for (const SpreadConstraintRow& each : row.spec->spread) {
    if (!each.required) continue;  // the engine has no score for preferred spread
    PodSelector selector{.matches_none = !each.selector.has_value(),
                         .requirements = RequirementsOf(each.selector),
                         .namespaces = {names_.Intern(row.namespace_name)}};
    all.push_back({.term = TermOf({std::move(selector)}, each.topology_key),
                   .max_skew = Count(each.max_skew),
                   .min_domains = Count(each.min_domains),
                   .honor_node_affinity = each.honor_node_affinity,
                   .honor_taints = each.honor_taints});
  }
  std::sort(all.begin(), all.end());
  return all;
}

PodAffinity AffinityTerms::AffinityOf(const CompactPod& pod) {
  const PodAffinityRow& row = pod.spec->affinity;
  PodAffinity affinity;
  std::vector<PodSelector> all_required;
  for (const PodAffinityTerm& term : row.required) all_required.push_back(SelectorOf(term, pod));
  std::sort(all_required.begin(), all_required.end());
  for (const PodAffinityTerm& term : row.required) {
    affinity.required.push_back(TermOf(all_required, term.topology_key));
    // As in kube-scheduler, the required affinity of a placed pod scores later pods with weight 1.
    affinity.as_owner.push_back(
        {.term = TermOf({SelectorOf(term, pod)}, term.topology_key), .weight = 1});
  }
  for (const PodAffinityTerm& term : row.required_anti)
    affinity.required_anti.push_back(TermOf({SelectorOf(term, pod)}, term.topology_key));
  AddPreferred(row.preferred, 1, pod, &affinity);
  AddPreferred(row.preferred_anti, -1, pod, &affinity);
  return affinity;
}

void AffinityTerms::AddPreferred(const std::vector<WeightedPodAffinityTerm>& terms, int32_t sign,
                                 const CompactPod& pod, PodAffinity* affinity) {
  for (const WeightedPodAffinityTerm& each : terms) {
    const ScoringTerm scoring{.term = TermOf({SelectorOf(each.term, pod)}, each.term.topology_key),
                              .weight = sign * each.weight};
    affinity->preferred.push_back(scoring);
    affinity->as_owner.push_back(scoring);
  }
}

bool AffinityTerms::NeedsNamespaces(const CompactPod& row) const {
  bool needs = false;
  ForEachTerm(row.spec->affinity, [&](const PodAffinityTerm& term) {
    needs = needs || !namespaces_.CanEvaluate(term.namespace_selector);
  });
  return needs;
}

const std::vector<AffinityTermId>& AffinityTerms::TermsMatching(const CompactPod& row) {
  StringPairs sorted = *row.labels;
  std::sort(sorted.begin(), sorted.end());
  const auto [found, added] =
      that_select_.try_emplace(std::pair(row.namespace_name, std::move(sorted)));
  std::vector<AffinityTermId>& terms = found->second;
  if (!added) return terms;
  LabelSet labels;
  for (const auto& [key, value] : *row.labels)
    labels.push_back({names_.Intern(key), names_.Intern(value)});
  std::sort(labels.begin(), labels.end());
  const NameId namespace_name = names_.Intern(row.namespace_name);
  for (const AffinityTermId term : terms_.ids()) {
    if (Selects(terms_[term], namespace_name, labels, names_)) terms.push_back(term);
  }
  return terms;
}

IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> AffinityTerms::DomainsOf(
    const std::vector<const NodeRow*>& nodes) {
  IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domains;
  for (const TopologyKeyId key : topology_keys_.ids()) {
    if (domains_.size() <= key.index())
      domains_.push_back(std::make_unique<Interned<DomainId, std::string>>());
    IndexVector<NodeId, DomainId> domain_of;
    for (const NodeRow* node : nodes) {
      const std::string* value = FindLabelText(node->labels, names_.Text(topology_keys_[key]));
      domain_of.Add(value == nullptr ? DomainId() : domains_[key.index()]->Add(*value));
    }
    domains.Add(std::move(domain_of));
  }
  return domains;
}

}  // namespace kai
