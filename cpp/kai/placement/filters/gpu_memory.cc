// GPU memory can only be requested on nodes with known GPU memory (spec 3 P5).
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class GpuMemoryFilter final : public Filter {
 public:
  explicit GpuMemoryFilter(const Cluster& cluster) : cluster_(cluster) {}

  Scope ScopeFor(PodClassId pod_class) const override {
    return cluster_.pod_classes().info[pod_class].gpu.memory_mib > 0 ? Scope::kNodeClass
                                                                     : Scope::kNothing;
  }

  bool Check(PodClassId, NodeId node, FitReport* report) const override {
    const bool has_memory =
        cluster_.node_classes()[cluster_.nodes().node_class[node]].has_gpu_memory;
    if (!has_memory && report != nullptr) report->Count(Refusal::kGpuMemoryUnknown);
    return has_memory;
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Filter> MakeGpuMemoryFilter(const Cluster& cluster) {
  return std::make_unique<GpuMemoryFilter>(cluster);
}

}  // namespace kai
