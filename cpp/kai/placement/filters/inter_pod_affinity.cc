// Required affinity and anti-affinity between pods, in both directions (kube-scheduler's
// InterPodAffinity).
//
// The order of the three checks is kube-scheduler's: the pod's affinity, its anti-affinity, then
// the anti-affinity of the pods already there. The cluster counts the pods in each domain; this
// filter counts the leaving ones among them, if they matter (spec 2 W11).
#include <algorithm>
#include <optional>

#include "kai/placement/filters/filters.h"
#include "kai/placement/placed_pods.h"

namespace kai {
namespace {

class InterPodAffinityFilter final : public Filter, private Listener {
 public:
  InterPodAffinityFilter(const Cluster& cluster, Leaving leaving)
      : cluster_(cluster), affinity_(cluster.affinity()), forbids_(affinity_.size()) {
    for (const PodClass& pods : cluster.pod_classes().info.raw()) {
      for (const AffinityTermId term : pods.affinity.required_anti) forbids_[term] = 1;
    }
    if (leaving == Leaving::kStillCount || affinity_.empty()) return;
    leaving_ = affinity_.WithoutPods();
    ForEachPlacedPod(cluster, [&](PodId pod, NodeId node, bool is_leaving) {
      if (is_leaving) leaving_->Count(cluster.ClassOf(pod), node, 1);
    });
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
    if (!MeetsAffinity(pods, node)) return No(Refusal::kPodAffinityMismatch, report);
    for (const AffinityTermId term : pods.affinity.required_anti) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (domain.valid() && Matching(term, domain) > 0)
        return No(Refusal::kPodAntiAffinityMismatch, report);
    }
    for (const AffinityTermId term : pods.matched_terms) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (domain.valid() &&
          affinity_.AntiOwners(term, domain) > (leaving_ ? leaving_->AntiOwners(term, domain) : 0))
        return No(Refusal::kExistingAntiAffinity, report);
    }
    return true;
  }

  bool MustWait(PodClassId pod_class, NodeId node) const override {
    if (!leaving_) return false;
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    const auto any = [&](const std::vector<AffinityTermId>& terms, const auto& count) {
      return std::any_of(terms.begin(), terms.end(), [&](AffinityTermId term) {
        const DomainId domain = affinity_.DomainOf(term, node);
        return domain.valid() && count(term, domain) > 0;
      });
    };
    return any(pods.affinity.required_anti,
               [&](AffinityTermId term, DomainId domain) {
                 return leaving_->Matching(term, domain);
               }) ||
           any(pods.matched_terms, [&](AffinityTermId term, DomainId domain) {
             return leaving_->AntiOwners(term, domain);
           });
  }

  Listener* listener() override { return leaving_ ? this : nullptr; }

 private:
  static bool No(Refusal refusal, FitReport* report) {
    if (report != nullptr) report->Count(refusal);
    return false;
  }

  // Matching pods in the domain, without leaving ones if these do not count.
  int64_t Matching(AffinityTermId term, DomainId domain) const {
    return affinity_.Matching(term, domain) - (leaving_ ? leaving_->Matching(term, domain) : 0);
  }
  int64_t TotalMatching(AffinityTermId term) const {
    return affinity_.TotalMatching(term) - (leaving_ ? leaving_->TotalMatching(term) : 0);
  }

  bool MeetsAffinity(const PodClass& pods, NodeId node) const {
    bool all_here = true;
    bool any_anywhere = false;
    for (const AffinityTermId term : pods.affinity.required) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (!domain.valid()) return false;  // the node lacks the topology key
      all_here = all_here && Matching(term, domain) > 0;
      any_anywhere = any_anywhere || TotalMatching(term) > 0;
    }
    // The first of a set of pods with affinity for each other may be placed anywhere.
    return all_here || (!any_anywhere && pods.matches_own_required);
  }

  void Applied(const Change& change) override { CountLeaving(change, 1); }
  void Undone(const Change& change) override { CountLeaving(change, -1); }
  void CountLeaving(const Change& change, int32_t sign) {
    const int32_t by = sign * PodCountChangeOf(change).leaving;
    if (by != 0) leaving_->Count(cluster_.ClassOf(change.pod), change.to_node, by);
  }

  const Cluster& cluster_;
  const AffinityIndex& affinity_;
  IndexVector<AffinityTermId, uint8_t> forbids_;  // a pod has the term as anti-affinity
  std::optional<AffinityIndex> leaving_;          // nothing: leaving pods count like others
};

}  // namespace

std::unique_ptr<Filter> MakeInterPodAffinityFilter(const Cluster& cluster, Leaving leaving) {
  return std::make_unique<InterPodAffinityFilter>(cluster, leaving);
}

}  // namespace kai
