// Preferred node affinity. Not in KAI, and off by default (docs/reference/config.md).
//
// The score is the part of all weights that the node matches, times 900: more than the scores for
// fuller or emptier nodes and for the kind of node together, but less than starting now instead of
// later.
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

constexpr double kAllOfThem = 900;

class PreferredNodesScorer final : public Scorer {
 public:
  explicit PreferredNodesScorer(const Cluster& cluster) : cluster_(cluster) {}

  Dependence DependsOn(PodClassId pod_class) const override {
    return PreferredOf(pod_class).empty() ? Dependence::kNothing : Dependence::kNode;
  }

  double Score(PodClassId pod_class, NodeId node, const ScoreView&) const override {
    const NodeColumns& nodes = cluster_.nodes();
    int64_t met = 0;
    int64_t all = 0;
    for (const PreferredNodes& each : PreferredOf(pod_class)) {
      all += each.weight;
      const bool meets =
          MatchesTerm(each.term, nodes.labels[node], nodes.name[node], cluster_.names());
      if (meets) met += each.weight;
    }
    return all <= 0 ? 0 : kAllOfThem * static_cast<double>(met) / static_cast<double>(all);
  }

 private:
  const std::vector<PreferredNodes>& PreferredOf(PodClassId pod_class) const {
    return cluster_.ConstraintOf(pod_class).preferred;
  }

  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Scorer> MakePreferredNodesScorer(const Cluster& cluster) {
  return std::make_unique<PreferredNodesScorer>(cluster);
}

}  // namespace kai
