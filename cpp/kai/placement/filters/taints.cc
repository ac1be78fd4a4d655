// Taints that a pod does not tolerate keep it away (kube-scheduler's TaintToleration; preferences
// never refuse).
#include <algorithm>

#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class TaintFilter final : public Filter {
 public:
  explicit TaintFilter(const Cluster& cluster) : cluster_(cluster) {
    for (const NodeClass& each : cluster.node_classes().raw())
      any_taints_ = any_taints_ || !each.taints.empty();
  }

  Scope ScopeFor(PodClassId) const override {
    return any_taints_ ? Scope::kNodeClass : Scope::kNothing;
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const NodeConstraint& constraint = cluster_.ConstraintOf(pod_class);
    const NodeClass& node_class = cluster_.node_classes()[cluster_.nodes().node_class[node]];
    const bool tolerated = std::all_of(
        node_class.taints.begin(), node_class.taints.end(),
        [&](const InternedTaint& taint) { return Tolerates(constraint.tolerations, taint); });
    if (!tolerated && report != nullptr) report->Count(Refusal::kUntoleratedTaints);
    return tolerated;
  }

 private:
  const Cluster& cluster_;
  bool any_taints_ = false;
};

}  // namespace

std::unique_ptr<Filter> MakeTaintFilter(const Cluster& cluster) {
  return std::make_unique<TaintFilter>(cluster);
}

}  // namespace kai
