// Prefers the node that was nominated for the pod (status.nominatedNodeName) over nearly everything
// (spec 2 T9).
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

constexpr double kNominated = 10'000'000;

class NominatedNodeScorer final : public Scorer {
 public:
  explicit NominatedNodeScorer(const Cluster& cluster) : cluster_(cluster) {}

  Dependence DependsOn(PodClassId pod_class) const override {
    return cluster_.pod_classes().info[pod_class].nominated_node.valid() ? Dependence::kNode
                                                                         : Dependence::kNothing;
  }
  double Score(PodClassId pod_class, NodeId node, const ScoreView&) const override {
    const NameId nominated = cluster_.pod_classes().info[pod_class].nominated_node;
    return cluster_.nodes().name[node] == nominated ? kNominated : 0;
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Scorer> MakeNominatedNodeScorer(const Cluster& cluster) {
  return std::make_unique<NominatedNodeScorer>(cluster);
}

}  // namespace kai
