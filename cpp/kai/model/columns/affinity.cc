#include "kai/model/columns/affinity.h"

#include <algorithm>

#include "kai/base/heap_bytes.h"

namespace kai {

bool Selects(const AffinityTerm& term, NameId namespace_name, std::span<const Label> labels,
             const Interner& names) {
  return std::all_of(term.selectors.begin(), term.selectors.end(),
                     [&](const PodSelector& selector) {
                       if (selector.matches_none) return false;
                       if (!selector.all_namespaces &&
                           !std::binary_search(selector.namespaces.begin(),
                                               selector.namespaces.end(), namespace_name)) {
                         return false;
                       }
                       return MatchesAll(selector.requirements, labels, names);
                     });
}

AffinityIndex::AffinityIndex(std::vector<AffinityTerm> terms,
                             IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domain) {
  for (AffinityTerm& term : terms) terms_.Add(std::move(term));
  counts_.Resize(terms_.size());
  totals_.Resize(terms_.size());
  SetDomains(std::move(domain));
}

void AffinityIndex::SetDomains(IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domain) {
  domain_ = std::make_shared<const IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>>>(
      std::move(domain));
  IndexVector<TopologyKeyId, size_t> domains(domain_->size());
  for (const TopologyKeyId key : domain_->ids()) {
    for (const NodeId node : (*domain_)[key].ids()) {
      const DomainId at = (*domain_)[key][node];
      if (at.valid()) domains[key] = std::max(domains[key], at.index() + 1);
    }
  }
  for (const AffinityTermId term : terms_.ids()) {
    const size_t size = domains[terms_[term].key];
    if (counts_[term].size() < size) counts_[term].Resize(size);
  }
}

void AffinityIndex::Count(const PodClass& pod_class, NodeId node, int32_t sign) {
  for (const AffinityTermId term : pod_class.matched_terms) {
    const DomainId domain = DomainOf(term, node);
    if (!domain.valid()) continue;
    counts_[term][domain].matching += sign;
    totals_[term].matching += sign;
  }
  for (const AffinityTermId term : pod_class.affinity.required_anti) {
    const DomainId domain = DomainOf(term, node);
    if (!domain.valid()) continue;
    counts_[term][domain].anti_owners += sign;
    totals_[term].anti_owners += sign;
  }
  for (const ScoringTerm& scoring : pod_class.affinity.as_owner) {
    const DomainId domain = DomainOf(scoring.term, node);
    if (!domain.valid()) continue;
    counts_[scoring.term][domain].owner_weight += static_cast<int64_t>(sign) * scoring.weight;
    totals_[scoring.term].scoring_owners += sign;
  }
}

void AffinityIndex::CountLeaving(const PodClass& pod_class, NodeId node, int32_t sign) {
  for (const AffinityTermId term : pod_class.matched_terms) {
    const DomainId domain = DomainOf(term, node);
    if (!domain.valid()) continue;
    counts_[term][domain].leaving_matching += sign;
    totals_[term].leaving_matching += sign;
  }
  for (const AffinityTermId term : pod_class.affinity.required_anti) {
    const DomainId domain = DomainOf(term, node);
    if (domain.valid()) counts_[term][domain].leaving_anti_owners += sign;
  }
}

size_t AffinityIndex::HeapBytes() const {
  return (domain_ == nullptr ? 0 : kai::HeapBytes(*domain_)) +
         HeapBytesOfAll(terms_, counts_, totals_);
}

}  // namespace kai
