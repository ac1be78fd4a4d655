// AffinityIndex: which pods stand where, as far as inter-pod affinity can see it.
//
//   index.Matching(term, index.DomainOf(term, NodeNamed(*cluster, node)))
//   index.TotalMatching(term)
//
// Every (anti-)affinity term in the input is interned with its namespaces resolved. Per term and
// domain of its topology key it keeps how many pods the term selects (Matching), how many bring it
// as required anti-affinity (AntiOwners), and the weights of those that bring it as a preference,
// required affinity counting 1 (OwnerWeight): a filter or a score looks up, and walks over no pods.
//
// Invariants: a pod counts as long as it occupies its node, also while it is leaving; only
// Occupancy changes the cluster's. Cost: O(terms of the pod) to count it, O(1) to look up. Threads:
// many readers, or one that counts.
#ifndef KAI_MODEL_COLUMNS_AFFINITY_H_
#define KAI_MODEL_COLUMNS_AFFINITY_H_

#include <memory>
#include <utility>
#include <vector>

#include "kai/base/index_vector.h"
#include "kai/model/columns/labels.h"
#include "kai/model/columns/pod.h"

namespace kai {

// One "these pods" of a term.
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

// Selects pods that meet every selector: required affinity terms of one pod count only pods that
// match all of them, as in kube-scheduler.
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
  // `domain` says, per topology key, each node's domain; invalid where the node lacks the key.
  AffinityIndex(std::vector<AffinityTerm> terms,
                IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domain);

  // Nodes come, go or stand elsewhere; no pods are counted on those, and domains keep their ids.
  void SetDomains(IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domain);

  // The same terms and domains, with no pod counted yet.
  AffinityIndex WithoutPods() const;

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

  // Totals over all domains: zero means that no node can be concerned.
  int64_t TotalMatching(AffinityTermId term) const { return totals_[term].matching; }
  int64_t TotalAntiOwners(AffinityTermId term) const { return totals_[term].anti_owners; }
  // How many owners' preferences there are, whatever their sign.
  int64_t TotalScoringOwners(AffinityTermId term) const { return totals_[term].scoring_owners; }

  // Counts a pod of this class in (sign 1) or out (sign -1) of a node.
  void Count(const PodClass& pod_class, NodeId node, int32_t sign);
  size_t HeapBytes() const;

  friend bool operator==(const AffinityIndex& a, const AffinityIndex& b) {
    return a.counts_ == b.counts_ && a.totals_ == b.totals_;
  }

 private:
  struct Counts {
    int32_t matching = 0;
    int32_t anti_owners = 0;
    int64_t owner_weight = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  struct Totals {
    int64_t matching = 0;
    int64_t anti_owners = 0;
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
