// Volumes must be reachable from the node, or be found or created for it (kube-scheduler's
// VolumeBinding). pod_checks/ reports problems that no node can solve before nodes are checked.
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class VolumeFilter final : public Filter {
 public:
  explicit VolumeFilter(const Cluster& cluster) : cluster_(cluster) {}

  Scope ScopeFor(PodClassId pod_class) const override {
    const VolumeNeedsId needs = cluster_.ConstraintOf(pod_class).volumes;
    if (!needs.valid()) return Scope::kNothing;
    return cluster_.IsCheckedPerNode(needs) ? Scope::kNode : Scope::kNodeClass;
  }

  bool IsStanding(PodClassId) const override { return true; }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const NodeColumns& nodes = cluster_.nodes();
    const VolumeNeeds& needs = cluster_.volume_needs()[cluster_.ConstraintOf(pod_class).volumes];
    const VolumeAnswer answer =
        AnswerOf(needs, nodes.labels[node], nodes.name[node], cluster_.names());
    if (!answer.yes() && report != nullptr) report->Count(Refusal::OfVolumes(answer));
    return answer.yes();
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Filter> MakeVolumeFilter(const Cluster& cluster) {
  return std::make_unique<VolumeFilter>(cluster);
}

}  // namespace kai
