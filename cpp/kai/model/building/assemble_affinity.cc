// Inter-pod affinity: terms, whom they select, and the domains they spread over.
#include <algorithm>
#include <limits>
#include <map>

#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

// A snapshot of KAI's holds no namespaces, so that their labels are not known.
constexpr std::string_view kNeedsNamespaces = "namespace-selector";

}  // namespace

AffinityTermId ClusterAssembler::TermId(AffinityTerm term) {
  const auto [found, added] = term_ids_.try_emplace(term, AffinityTermId(terms_.size()));
  if (added) terms_.push_back(std::move(term));
  return found->second;
}

void ClusterAssembler::InternSpread(std::vector<PodDraft>* drafts) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (PodDraft& draft : *drafts) {
    for (const SpreadConstraintRow& row : draft.row->spread) {
      if (!row.required) continue;  // nobody scores by it
      PodSelector selector{.matches_none = !row.selector.has_value(),
                           .requirements = {},
                           .all_namespaces = false,
                           .namespaces = {Name(draft.row->namespace_name)}};
      if (row.selector) {
        for (const SelectorRequirement& each : *row.selector)
          selector.requirements.push_back(InternRequirement(each, &c_.names_));
      }
      std::sort(selector.requirements.begin(), selector.requirements.end());
      draft.spread.push_back(
          {.term = TermId({.selectors = {std::move(selector)}, .key = KeyId(row.topology_key)}),
           .max_skew = static_cast<int32_t>(std::clamp<int64_t>(row.max_skew, 1, kMost)),
           .min_domains = static_cast<int32_t>(std::clamp<int64_t>(row.min_domains, 1, kMost)),
           .honor_node_affinity = row.honor_node_affinity,
           .honor_taints = row.honor_taints});
    }
    std::sort(draft.spread.begin(), draft.spread.end());
  }
}

void ClusterAssembler::InternAffinity(std::vector<PodDraft>* drafts) {
  const auto key_id = [&](const std::string& key) { return KeyId(key); };
  const auto selector_of = [&](const PodAffinityTerm& row, PodRow& pod) {
    PodSelector selector{.matches_none = !row.selector.has_value(),
                         .requirements = {},
                         .all_namespaces = row.all_namespaces,
                         .namespaces = {}};
    if (row.selector) {
      for (const SelectorRequirement& each : *row.selector)
        selector.requirements.push_back(InternRequirement(each, &c_.names_));
    }
    std::sort(selector.requirements.begin(), selector.requirements.end());
    for (const std::string& name : row.namespaces) selector.namespaces.push_back(Name(name));
    if (!row.namespace_selector.empty()) {
      if (labels_of_namespace_.empty()) ListNamespaces(*drafts);
      for (const NameId name : NamespacesThat(row.namespace_selector))
        selector.namespaces.push_back(name);
      if (!KnowsNamespacesFor(row.namespace_selector)) pod.not_built.emplace_back(kNeedsNamespaces);
    } else if (row.namespaces.empty() && !row.all_namespaces) {
      selector.namespaces.push_back(Name(pod.namespace_name));
    }
    std::sort(selector.namespaces.begin(), selector.namespaces.end());
    selector.namespaces.erase(std::unique(selector.namespaces.begin(), selector.namespaces.end()),
                              selector.namespaces.end());
    return selector;
  };
  for (PodDraft& draft : *drafts) {
    const PodAffinityRow& row = draft.row->affinity;
    if (row.empty()) continue;
    PodAffinity& affinity = draft.affinity;
    std::vector<PodSelector> all_required;
    for (const PodAffinityTerm& term : row.required)
      all_required.push_back(selector_of(term, *draft.row));
    std::sort(all_required.begin(), all_required.end());
    for (const PodAffinityTerm& term : row.required) {
      affinity.required.push_back(
          TermId({.selectors = all_required, .key = key_id(term.topology_key)}));
      // kube-scheduler lets a placed pod's required affinity score later pods with weight 1.
      affinity.as_owner.push_back({.term = TermId({.selectors = {selector_of(term, *draft.row)},
                                                   .key = key_id(term.topology_key)}),
                                   .weight = 1});
    }
    for (const PodAffinityTerm& term : row.required_anti) {
      affinity.required_anti.push_back(
          TermId({.selectors = {selector_of(term, *draft.row)}, .key = key_id(term.topology_key)}));
    }
    const auto prefer = [&](const std::vector<WeightedPodAffinityTerm>& terms, int32_t sign) {
      for (const WeightedPodAffinityTerm& each : terms) {
        const ScoringTerm scoring{.term = TermId({.selectors = {selector_of(each.term, *draft.row)},
                                                  .key = key_id(each.term.topology_key)}),
                                  .weight = sign * each.weight};
        affinity.preferred.push_back(scoring);
        affinity.as_owner.push_back(scoring);
      }
    };
    prefer(row.preferred, 1);
    prefer(row.preferred_anti, -1);
  }
  if (terms_.empty()) return;

  // Which terms select which pods: asked once per (namespace, labels).
  std::map<std::pair<std::string, StringPairs>, int32_t> memo;
  for (PodDraft& draft : *drafts) {
    StringPairs labels = draft.row->labels;
    std::sort(labels.begin(), labels.end());
    const auto [found, added] = memo.try_emplace(std::pair(draft.row->namespace_name, labels), -1);
    if (added) {
      LabelSet interned;
      for (const auto& [key, value] : labels) interned.push_back({Name(key), Name(value)});
      std::sort(interned.begin(), interned.end());
      std::vector<AffinityTermId> matched;
      for (size_t i = 0; i < terms_.size(); ++i) {
        if (Selects(terms_[i], Name(draft.row->namespace_name), interned, c_.names_))
          matched.push_back(AffinityTermId(i));
      }
      const auto [set, is_new] =
          matched_set_ids_.try_emplace(matched, static_cast<int32_t>(matched_sets_.size()));
      if (is_new) matched_sets_.push_back(matched);
      found->second = set->second;
    }
    draft.matched_set = found->second;
    const std::vector<AffinityTermId>& matched =
        matched_sets_[static_cast<size_t>(draft.matched_set)];
    draft.matches_own_required = std::all_of(
        draft.affinity.required.begin(), draft.affinity.required.end(), [&](AffinityTermId term) {
          return std::binary_search(matched.begin(), matched.end(), term);
        });
  }

  // Domains of every node under every topology key, numbered in the order of node names.
  IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domains(topology_keys_.size());
  for (const auto& [key, id] : topology_keys_) {
    domains[id] = IndexVector<NodeId, DomainId>(node_rows_.size());
    std::map<std::string, DomainId> numbers;
    for (size_t i = 0; i < node_rows_.size(); ++i) {
      const std::string* value = FindLabelText(node_rows_[i]->labels, c_.Text(key));
      if (value == nullptr) continue;
      domains[id][NodeId(i)] = numbers.try_emplace(*value, DomainId(numbers.size())).first->second;
    }
  }
  c_.affinity_ = AffinityIndex(std::move(terms_), std::move(domains));
}

}  // namespace kai
