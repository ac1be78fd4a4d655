// Inter-pod affinity as kube-scheduler scores it before normalising, times a million (spec 3 W7):
// the preferences of the pod, and those of placed pods for this pod.
#include <algorithm>

#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

constexpr double kPerPoint = 1'000'000;

class PodAffinityScorer final : public Scorer {
 public:
  explicit PodAffinityScorer(const Cluster& cluster)
      : cluster_(cluster), affinity_(cluster.affinity()) {}

  Dependence DependsOn(PodClassId pod_class) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    if (!pods.affinity.preferred.empty()) return Dependence::kNode;
    const bool wished_for =
        std::any_of(pods.matched_terms.begin(), pods.matched_terms.end(),
                    [&](AffinityTermId term) { return affinity_.TotalScoringOwners(term) > 0; });
    return wished_for ? Dependence::kNode : Dependence::kNothing;
  }

  double Score(PodClassId pod_class, NodeId node, const ScoreView&) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    int64_t points = 0;
    for (const ScoringTerm& each : pods.affinity.preferred) {
      const DomainId domain = affinity_.DomainOf(each.term, node);
      if (domain.valid())
        points += static_cast<int64_t>(each.weight) * affinity_.Matching(each.term, domain);
    }
    for (const AffinityTermId term : pods.matched_terms) {
      const DomainId domain = affinity_.DomainOf(term, node);
      if (domain.valid()) points += affinity_.OwnerWeight(term, domain);
    }
    return kPerPoint * static_cast<double>(points);
  }

 private:
  const Cluster& cluster_;
  const AffinityIndex& affinity_;
};

}  // namespace

std::unique_ptr<Scorer> MakePodAffinityScorer(const Cluster& cluster) {
  return std::make_unique<PodAffinityScorer>(cluster);
}

}  // namespace kai
