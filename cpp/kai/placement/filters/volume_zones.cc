// A pod must be in the zones that the labels of its volumes name (kube-scheduler's VolumeZone). Not
// in KAI, and off by default (docs/reference/config.md).
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class VolumeZoneFilter final : public Filter {
 public:
  explicit VolumeZoneFilter(const Cluster& cluster) : cluster_(cluster) {}

  Scope ScopeFor(PodClassId pod_class) const override {
    const VolumeNeedsId needs = cluster_.ConstraintOf(pod_class).volumes;
    if (!needs.valid() || cluster_.volume_needs()[needs].zones.empty()) return Scope::kNothing;
    return cluster_.IsCheckedPerNode(needs) ? Scope::kNode : Scope::kNodeClass;
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const NodeColumns& nodes = cluster_.nodes();
    const VolumeNeeds& needs = cluster_.volume_needs()[cluster_.ConstraintOf(pod_class).volumes];
    const bool yes = IsInZones(needs, nodes.labels[node], nodes.name[node], cluster_.names());
    if (!yes && report != nullptr) report->Count(Refusal::kOtherZone);
    return yes;
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Filter> MakeVolumeZoneFilter(const Cluster& cluster) {
  return std::make_unique<VolumeZoneFilter>(cluster);
}

}  // namespace kai
