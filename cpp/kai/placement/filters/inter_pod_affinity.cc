// Required affinity and anti-affinity between pods, in both directions (kube-scheduler's
// InterPodAffinity).
//
// The order of the three questions is kube-scheduler's: the pod's affinity, its anti-affinity, then
// what the pods that are already there forbid.
#include <algorithm>

#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class InterPodAffinityFilter final : public Filter {
 public:
  explicit InterPodAffinityFilter(const Cluster& cluster)
      : cluster_(cluster), affinity_(cluster.affinity()) {}

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
           !pods.matched_terms.empty();
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    if (!MeetsAffinity(pods, node)) return No(Reason::kPodAffinityMismatch, report);
    for (const AffinityTermId term : pods.affinity.required_anti) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (domain.valid() && affinity_.Matching(term, domain) > 0)
        return No(Reason::kPodAntiAffinityMismatch, report);
    }
    for (const AffinityTermId term : pods.matched_terms) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (domain.valid() && affinity_.AntiOwners(term, domain) > 0)
        return No(Reason::kExistingAntiAffinity, report);
    }
    return true;
  }

 private:
  static bool No(Reason reason, FitReport* report) {
    if (report != nullptr) report->Count(reason);
    return false;
  }

  bool MeetsAffinity(const PodClass& pods, NodeId node) const {
    bool all_here = true;
    bool any_anywhere = false;
    for (const AffinityTermId term : pods.affinity.required) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (!domain.valid()) return false;  // the node lacks the topology key
      all_here = all_here && affinity_.Matching(term, domain) > 0;
      any_anywhere = any_anywhere || affinity_.TotalMatching(term) > 0;
    }
    // The first pod of a series that wants to stand together may stand anywhere.
    return all_here || (!any_anywhere && pods.matches_own_required);
  }

  const Cluster& cluster_;
  const AffinityIndex& affinity_;
};

}  // namespace

std::unique_ptr<Filter> MakeInterPodAffinityFilter(const Cluster& cluster) {
  return std::make_unique<InterPodAffinityFilter>(cluster);
}

}  // namespace kai
