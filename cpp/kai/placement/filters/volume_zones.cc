// A pod goes to the zones that the labels of its volumes name (kube-scheduler's VolumeZone): not in
// KAI, and off unless asked for (docs/reference/config.md).
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class VolumeZoneFilter final : public Filter {
 public:
  explicit VolumeZoneFilter(const Cluster& cluster) : cluster_(cluster) {}

  Scope ScopeFor(PodClassId pod_class) const override {
    const VolumeNeedsId needs = NeedsOf(pod_class);
    if (!needs.valid() || cluster_.volume_needs()[needs].zones.empty()) return Scope::kNothing;
    return cluster_.AskPerNode(needs) ? Scope::kNode : Scope::kNodeClass;
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const NodeColumns& nodes = cluster_.nodes();
    const bool yes = IsInZones(cluster_.volume_needs()[NeedsOf(pod_class)], nodes.labels[node],
                               nodes.name[node], cluster_.names());
    if (!yes && report != nullptr) report->Count(Reason::kOtherZone);
    return yes;
  }

 private:
  VolumeNeedsId NeedsOf(PodClassId pod_class) const {
    return cluster_.constraints()[cluster_.pod_classes().info[pod_class].constraint].volumes;
  }

  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Filter> MakeVolumeZoneFilter(const Cluster& cluster) {
  return std::make_unique<VolumeZoneFilter>(cluster);
}

}  // namespace kai
