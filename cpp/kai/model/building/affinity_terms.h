// AffinityTerms: the terms of pod affinity and topology spread, each stored once, and the pods that
// they select.
//
//   draft.affinity = w_.affinity->AffinityOf(*draft.row);    // of every pod
//   w_.affinity->SpreadOf(*draft.row)
//   c_.affinity_ = w_.affinity->MakeIndex(w_.node_rows);       // once all terms are known
//
// Invariants: two pods of one namespace with equal labels are selected by the same terms. Cost:
// TermsMatching() is O(terms) for new labels, else a look-up. Not thread-safe.
#ifndef KAI_MODEL_BUILDING_AFFINITY_TERMS_H_
#define KAI_MODEL_BUILDING_AFFINITY_TERMS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/interned.h"
#include "kai/model/building/namespaces.h"
#include "kai/model/columns/affinity.h"
#include "kai/model/columns/pod.h"
#include "kai/model/rows/rows.h"

namespace kai {

class AffinityTerms {
 public:
  AffinityTerms(Interner* names, Namespaces* namespaces)
      : names_(*names), namespaces_(*namespaces) {}

  bool empty() const { return terms_.empty(); }
  size_t size() const { return terms_.size(); }
  std::vector<Spread> SpreadOf(const CompactPod& row);
  PodAffinity AffinityOf(const CompactPod& row);
  // True: some term of the pod selects namespaces by labels, and these labels are not known.
  bool NeedsNamespaces(const CompactPod& row) const;
  const std::vector<AffinityTermId>& TermsMatching(const CompactPod& row);

  // The domain of each node, per topology key. A label value keeps its id. `nodes`: by NodeId.
  IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> DomainsOf(
      const std::vector<const NodeRow*>& nodes);
  AffinityIndex MakeIndex(const std::vector<const NodeRow*>& nodes) {
    return AffinityIndex(terms_.raw(), DomainsOf(nodes));
  }

 private:
  // The node labels that terms use as topology keys.
  using TopologyKeys = Interned<TopologyKeyId, NameId>;

  std::vector<Requirement> RequirementsOf(const std::optional<LabelSelector>& selector);
  PodSelector SelectorOf(const PodAffinityTerm& row, const CompactPod& pod);
  AffinityTermId TermOf(std::vector<PodSelector> selectors, const std::string& topology_key);
  void AddPreferred(const std::vector<WeightedPodAffinityTerm>& terms, int32_t sign,
                    const CompactPod& pod, PodAffinity* affinity);

  Interner& names_;
  Namespaces& namespaces_;
  Interned<AffinityTermId, AffinityTerm> terms_;
  TopologyKeys topology_keys_;
  std::vector<std::unique_ptr<Interned<DomainId, std::string>>> domains_;  // by TopologyKeyId
  std::map<std::pair<std::string, StringPairs>, std::vector<AffinityTermId>> that_select_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_AFFINITY_TERMS_H_
