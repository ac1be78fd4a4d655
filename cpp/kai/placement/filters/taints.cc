// Taints that a pod does not tolerate exclude it (kube-scheduler's TaintToleration; preferences
// never refuse).
#include <algorithm>
#include <vector>

#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class TaintFilter final : public Filter {
 public:
  explicit TaintFilter(const Cluster& cluster) : cluster_(cluster) {}

  Scope ScopeFor(PodClassId) const override {
    return AnyTaints() ? Scope::kNodeClass : Scope::kNothing;
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
  // There may be new classes between cycles.
  bool AnyTaints() const {
    const std::vector<NodeClass>& classes = cluster_.node_classes().raw();
    while (!any_taints_ && looked_at_ < classes.size())
      any_taints_ = !classes[looked_at_++].taints.empty();
    return any_taints_;
  }

  const Cluster& cluster_;
  mutable size_t looked_at_ = 0;  // number of checked classes
  mutable bool any_taints_ = false;
};

}  // namespace

std::unique_ptr<Filter> MakeTaintFilter(const Cluster& cluster) {
  return std::make_unique<TaintFilter>(cluster);
}

}  // namespace kai
