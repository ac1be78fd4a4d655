// AffinityIndex: counts the pods that inter-pod affinity terms select, per term and topology
// domain.
//
//   index.Matching(term, index.DomainOf(term, NodeNamed(*cluster, node)))
//   index.TotalMatching(term)
//
// Every (anti-)affinity term in the input is interned with its namespaces resolved. For each term
// and each domain of its topology key, the index keeps three numbers: how many pods the term
// selects (Matching), how many pods have it as required anti-affinity (AntiOwners), and the sum of
// the weights of the pods that have it as a preference (OwnerWeight; required affinity counts 1).
// Leaving pods are part of these numbers, and are also counted separately. Filters and scores look
// up the numbers and do not walk over pods.
//
// Invariants: a pod counts as long as it occupies its node, also while it is leaving; only
// Occupancy changes the index of a Cluster. Cost: O(terms of the pod) to count it, O(1) to look up.
// Threads: many readers, or one that counts.
#ifndef KAI_MODEL_COLUMNS_AFFINITY_H_
#define KAI_MODEL_COLUMNS_AFFINITY_H_

#include <memory>
#include <utility>
#include <vector>

#include "kai/base/index_vector.h"
#include "kai/model/columns/labels.h"
#include "kai/model/columns/pod.h"

namespace kai {

// One part of a term that selects pods.
struct PodSelector {
  bool matches_none = false;  // the term had no label selector
  std::vector<Requirement> requirements;
  bool all_namespaces = false;
  std::vector<NameId> namespaces;  // sorted

  friend auto operator<=>(const PodSelector&, const PodSelector&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PodSelector& each) {
    return H::combine(std::move(h), each.requirements, each.namespaces, each.all_namespaces);
  }
};

// Selects the pods that match every selector. Several selectors: kube-scheduler counts, for the
// required affinity of a pod, only pods that match all of its terms.
struct AffinityTerm {
  std::vector<PodSelector> selectors;
  TopologyKeyId key;

  friend auto operator<=>(const AffinityTerm&, const AffinityTerm&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AffinityTerm& term) {
    return H::combine(std::move(h), term.selectors, term.key);
  }
};

bool Selects(const AffinityTerm& term, NameId namespace_name, std::span<const Label> labels,
             const Interner& names);

class AffinityIndex {
 public:
  AffinityIndex() = default;
  // `domain`: for each topology key, the domain of each node; invalid if the node lacks the key.
  AffinityIndex(std::vector<AffinityTerm> terms,
                IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domain);

  // For nodes that are added, removed or moved to another domain. No pods may be counted on these
  // nodes. Domains keep their ids.
  void SetDomains(IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domain);

  bool empty() const { return terms_.empty(); }
  size_t size() const { return terms_.size(); }
  DomainId DomainOf(AffinityTermId term, NodeId node) const {
    return (*domain_)[terms_[term].key][node];
  }

  int32_t Matching(AffinityTermId term, DomainId domain) const {
    return counts_[term][domain].matching;
  }
  int32_t AntiOwners(AffinityTermId term, DomainId domain) const {
    return counts_[term][domain].anti_owners;
  }
  int64_t OwnerWeight(AffinityTermId term, DomainId domain) const {
    return counts_[term][domain].owner_weight;
  }
  // The leaving pods among them.
  int32_t LeavingMatching(AffinityTermId term, DomainId domain) const {
    return counts_[term][domain].leaving_matching;
  }
  int32_t LeavingAntiOwners(AffinityTermId term, DomainId domain) const {
    return counts_[term][domain].leaving_anti_owners;
  }

  // Totals over all domains. Zero: no node is affected.
  int64_t TotalMatching(AffinityTermId term) const { return totals_[term].matching; }
  int64_t TotalLeavingMatching(AffinityTermId term) const { return totals_[term].leaving_matching; }
  int64_t TotalAntiOwners(AffinityTermId term) const { return totals_[term].anti_owners; }
  // The number of preferences, with weights of either sign.
  int64_t TotalScoringOwners(AffinityTermId term) const { return totals_[term].scoring_owners; }

  // Adds a pod of this class to a node (sign 1) or removes it (sign -1).
  void Count(const PodClass& pod_class, NodeId node, int32_t sign);
  // A pod of this class that is on the node begins to leave (sign 1), or does not leave after all
  // (sign -1).
  void CountLeaving(const PodClass& pod_class, NodeId node, int32_t sign);
  size_t HeapBytes() const;

  friend bool operator==(const AffinityIndex& a, const AffinityIndex& b) {
    return a.counts_ == b.counts_ && a.totals_ == b.totals_;
  }

 private:
  struct Counts {
    int32_t matching = 0;
    int32_t anti_owners = 0;
    int32_t leaving_matching = 0;
    int32_t leaving_anti_owners = 0;
    int64_t owner_weight = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  struct Totals {
    int64_t matching = 0;
    int64_t anti_owners = 0;
    int64_t leaving_matching = 0;
    int64_t scoring_owners = 0;
    friend bool operator==(const Totals&, const Totals&) = default;
  };

  IndexVector<AffinityTermId, AffinityTerm> terms_;
  std::shared_ptr<const IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>>> domain_;
  IndexVector<AffinityTermId, IndexVector<DomainId, Counts>> counts_;
  IndexVector<AffinityTermId, Totals> totals_;
};

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_AFFINITY_H_
