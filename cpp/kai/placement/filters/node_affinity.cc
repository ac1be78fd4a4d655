// Node selector and required node affinity (kube-scheduler's NodeAffinity).
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class NodeAffinityFilter final : public Filter {
 public:
  explicit NodeAffinityFilter(const Cluster& cluster) : cluster_(cluster) {}

  Scope ScopeFor(PodClassId pod_class) const override {
    const ConstraintId id = cluster_.pod_classes().info[pod_class].constraint;
    const NodeConstraint& constraint = cluster_.constraints()[id];
    if (constraint.selector.empty() && !constraint.has_affinity) return Scope::kNothing;
    return cluster_.IsCheckedPerNode(id) ? Scope::kNode : Scope::kNodeClass;
  }

  bool IsStanding(PodClassId) const override { return true; }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const NodeConstraint& constraint = cluster_.ConstraintOf(pod_class);
    const bool matches = MatchesNode(constraint, cluster_.nodes().labels[node],
                                     cluster_.nodes().name[node], cluster_.names());
    if (!matches && report != nullptr) report->Count(Refusal::kNodeAffinityMismatch);
    return matches;
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Filter> MakeNodeAffinityFilter(const Cluster& cluster) {
  return std::make_unique<NodeAffinityFilter>(cluster);
}

}  // namespace kai
