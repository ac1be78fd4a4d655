// GPUs that are split into MIG slices are for pods that request slices, whole GPUs for other pods
// (spec 3 P4, M4, M6, M7).
#include <algorithm>
#include <map>
#include <vector>

#include "kai/model/building/numbering.h"
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class ResourceTypeFilter final : public Filter {
 public:
  ResourceTypeFilter(const Cluster& cluster, bool plugin_gpus_anywhere)
      : cluster_(cluster), plugin_gpus_anywhere_(plugin_gpus_anywhere) {
    const std::vector<PodClass>& classes = cluster.pod_classes().info.raw();
    if (std::ranges::none_of(classes, [](const PodClass& each) { return each.gpu.legacy_mig; }))
      return;
    for (const PodId pod : InOrderOfNames(cluster.names(), cluster.pods())) {
      const NodeId node = cluster.pods().node[pod];
      if (!cluster.ClassOf(pod).gpu.legacy_mig || !node.valid() ||
          !IsActiveUsed(cluster.pods().status[pod]))
        continue;
      legacy_on_[node].push_back(pod);
    }
  }

  Scope ScopeFor(PodClassId pod_class) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    if (pods.cpu_only) return Scope::kNothing;
    // MIG pods do not use nodes with pods that an old version placed.
    const bool looks_at_pods =
        pods.gpu.kind == GpuRequestKind::kMig && !legacy_on_.empty() && !pods.gpu.legacy_mig;
    return looks_at_pods ? Scope::kNode : Scope::kNodeClass;
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    const NodeClass& node_class = cluster_.node_classes()[cluster_.nodes().node_class[node]];
    const MigMode mig = node_class.mig;
    if (pods.gpu.legacy_mig) {
      if (report != nullptr) report->Count(LegacyMig{.node = node});
      return false;
    }
    if (pods.gpu.IsShared() && node_class.has_dra_gpus)
      return No(Refusal::kSharedOnDraNode, report);
    if (pods.needs_gpu_plugin && node_class.has_dra_gpus && !node_class.has_plugin_gpus &&
        !plugin_gpus_anywhere_)
      return No(Refusal::kClaimsOnlyNode, report);
    if (pods.gpu.kind != GpuRequestKind::kMig) {
      if (mig == MigMode::kMixed) return No(Refusal::kMixedMigStrategy, report);
      if (mig == MigMode::kSingle && pods.gpu.kind != GpuRequestKind::kRegular)
        return No(Refusal::kSingleMigStrategy, report);
      return true;
    }
    if (mig == MigMode::kOff) return No(Refusal::kNoMigNode, report);
    if (const auto legacy = legacy_on_.find(node); legacy != legacy_on_.end()) {
      if (report != nullptr) report->Count(LegacyMigPods{.pods = legacy->second});
      return false;
    }
    return mig != MigMode::kSingle || No(Refusal::kSingleMigStrategy, report);
  }

 private:
  static bool No(Refusal refusal, FitReport* report) {
    if (report != nullptr) report->Count(refusal);
    return false;
  }

  const Cluster& cluster_;
  bool plugin_gpus_anywhere_;                       // as KAI: also where only claims give GPUs
  std::map<NodeId, std::vector<PodId>> legacy_on_;  // pods with the old kind of request, by name
};

}  // namespace

std::unique_ptr<Filter> MakeResourceTypeFilter(const Cluster& cluster, bool plugin_gpus_anywhere) {
  return std::make_unique<ResourceTypeFilter>(cluster, plugin_gpus_anywhere);
}

}  // namespace kai
