// Required affinity and anti-affinity between pods, in both directions (kube-scheduler's
// InterPodAffinity).
//
// The order of the three checks is kube-scheduler's: the pod's affinity, its anti-affinity, then
// the anti-affinity of the pods already there. The cluster counts the pods in each domain, and the
// leaving ones among them, which repel no pod (spec 2 W11). They still attract until they are gone,
// but a place that is made by evictions must not depend on them: Lasts().
#include <algorithm>

#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class InterPodAffinityFilter final : public Filter {
 public:
  InterPodAffinityFilter(const Cluster& cluster, Leaving leaving)
      : cluster_(cluster),
        affinity_(cluster.affinity()),
        make_room_(leaving == Leaving::kMakeRoom),
        forbids_(affinity_.size()) {
    for (const PodClass& pods : cluster.pod_classes().info.raw()) {
      for (const AffinityTermId term : pods.affinity.required_anti) forbids_[term] = 1;
    }
  }

  Scope ScopeFor(PodClassId pod_class) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    if (!pods.affinity.required.empty() || !pods.affinity.required_anti.empty())
      return Scope::kNode;
    const bool forbidden_somewhere =
        std::any_of(pods.matched_terms.begin(), pods.matched_terms.end(),
                    [&](AffinityTermId term) { return affinity_.TotalAntiOwners(term) > 0; });
    return forbidden_somewhere ? Scope::kNode : Scope::kNothing;
  }

  bool LooksBeyondNode(PodClassId pod_class) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    return !pods.affinity.required.empty() || !pods.affinity.required_anti.empty() ||
           std::any_of(pods.matched_terms.begin(), pods.matched_terms.end(),
                       [&](AffinityTermId term) { return forbids_[term] != 0; });
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    const auto matching = [&](AffinityTermId term, DomainId domain) {
      return affinity_.Matching(term, domain);
    };
    const auto anywhere = [&](AffinityTermId term) { return affinity_.TotalMatching(term); };
    if (!MeetsAffinity(pods, node, matching, anywhere))
      return No(Refusal::kPodAffinityMismatch, report);
    for (const AffinityTermId term : pods.affinity.required_anti) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (domain.valid() && affinity_.Matching(term, domain) >
                                (make_room_ ? affinity_.LeavingMatching(term, domain) : 0))
        return No(Refusal::kPodAntiAffinityMismatch, report);
    }
    for (const AffinityTermId term : pods.matched_terms) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (domain.valid() && affinity_.AntiOwners(term, domain) >
                                (make_room_ ? affinity_.LeavingAntiOwners(term, domain) : 0))
        return No(Refusal::kExistingAntiAffinity, report);
    }
    return true;
  }

  bool MustWait(PodClassId pod_class, NodeId node) const override {
    if (!make_room_) return false;
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    const auto any = [&](const std::vector<AffinityTermId>& terms, const auto& count) {
      return std::any_of(terms.begin(), terms.end(), [&](AffinityTermId term) {
        const DomainId domain = affinity_.DomainOf(term, node);
        return domain.valid() && count(term, domain) > 0;
      });
    };
    return any(pods.affinity.required_anti,
               [&](AffinityTermId term, DomainId domain) {
                 return affinity_.LeavingMatching(term, domain);
               }) ||
           any(pods.matched_terms, [&](AffinityTermId term, DomainId domain) {
             return affinity_.LeavingAntiOwners(term, domain);
           });
  }

  bool Lasts(PodClassId pod_class, NodeId node) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    if (!make_room_ || pods.affinity.required.empty()) return true;
    const auto matching = [&](AffinityTermId term, DomainId domain) {
      return affinity_.Matching(term, domain) - affinity_.LeavingMatching(term, domain);
    };
    const auto anywhere = [&](AffinityTermId term) {
      return affinity_.TotalMatching(term) - affinity_.TotalLeavingMatching(term);
    };
    return MeetsAffinity(pods, node, matching, anywhere);
  }

 private:
  static bool No(Refusal refusal, FitReport* report) {
    if (report != nullptr) report->Count(refusal);
    return false;
  }

  // `matching`: how many pods in a domain count; `anywhere`: in all domains.
  template <typename Matching, typename Anywhere>
  bool MeetsAffinity(const PodClass& pods, NodeId node, const Matching& matching,
                     const Anywhere& anywhere) const {
    bool all_here = true;
    bool any_anywhere = false;
    for (const AffinityTermId term : pods.affinity.required) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (!domain.valid()) return false;  // the node lacks the topology key
      all_here = all_here && matching(term, domain) > 0;
      any_anywhere = any_anywhere || anywhere(term) > 0;
    }
    // The first of a set of pods with affinity for each other may be placed anywhere.
    return all_here || (!any_anywhere && pods.matches_own_required);
  }

  const Cluster& cluster_;
  const AffinityIndex& affinity_;
  bool make_room_;                                // leaving pods repel no pod
  IndexVector<AffinityTermId, uint8_t> forbids_;  // a pod has the term as anti-affinity
};

}  // namespace

std::unique_ptr<Filter> MakeInterPodAffinityFilter(const Cluster& cluster, Leaving leaving) {
  return std::make_unique<InterPodAffinityFilter>(cluster, leaving);
}

}  // namespace kai
