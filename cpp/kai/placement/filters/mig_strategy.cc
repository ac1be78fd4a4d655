// Whole GPUs do not run where GPUs are cut into MIG slices under their own names (spec 3 P4, M7).
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class MigStrategyFilter final : public Filter {
 public:
  explicit MigStrategyFilter(const Cluster& cluster) : cluster_(cluster) {
    for (const NodeClass& each : cluster.node_classes().raw())
      any_mixed_ = any_mixed_ || each.mig_mixed;
  }

  Scope ScopeFor(PodClassId pod_class) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    return any_mixed_ && !pods.cpu_only && pods.gpu.kind != GpuRequestKind::kMig ? Scope::kNodeClass
                                                                                 : Scope::kNothing;
  }

  bool Check(PodClassId, NodeId node, FitReport* report) const override {
    if (!cluster_.node_classes()[cluster_.nodes().node_class[node]].mig_mixed) return true;
    if (report != nullptr) report->Count(Reason::kMixedMigStrategy);
    return false;
  }

 private:
  const Cluster& cluster_;
  bool any_mixed_ = false;
};

}  // namespace

std::unique_ptr<Filter> MakeMigStrategyFilter(const Cluster& cluster) {
  return std::make_unique<MigStrategyFilter>(cluster);
}

}  // namespace kai
