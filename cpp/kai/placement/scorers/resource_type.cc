// Pods without GPUs prefer nodes without GPUs (spec 3 W2).
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

constexpr double kSameKind = 10;

class ResourceTypeScorer final : public Scorer {
 public:
  explicit ResourceTypeScorer(const Cluster& cluster) : cluster_(cluster) {}

  Dependence DependsOn(PodClassId pod_class) const override {
    return cluster_.pod_classes().info[pod_class].cpu_only ? Dependence::kNodeKind
                                                           : Dependence::kNothing;
  }
  double Score(PodClassId pod_class, NodeId node, const ScoreView&) const override {
    return cluster_.pod_classes().info[pod_class].cpu_only && cluster_.nodes().cpu_only[node] != 0
               ? kSameKind
               : 0;
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Scorer> MakeResourceTypeScorer(const Cluster& cluster) {
  return std::make_unique<ResourceTypeScorer>(cluster);
}

}  // namespace kai
