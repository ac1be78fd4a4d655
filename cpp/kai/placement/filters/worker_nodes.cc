// With restrictSchedulingNodes GPU pods run only on GPU workers, and all others only on CPU workers
// (spec 3 P10).
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class WorkerNodeFilter final : public Filter {
 public:
  explicit WorkerNodeFilter(const Cluster& cluster) : cluster_(cluster) {}

  Scope ScopeFor(PodClassId) const override {
    return cluster_.params().restrict_node_scheduling ? Scope::kNodeClass : Scope::kNothing;
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const NodeClass& node_class = cluster_.node_classes()[cluster_.nodes().node_class[node]];
    const bool cpu_only = cluster_.pod_classes().info[pod_class].cpu_only;
    const bool allowed = cpu_only ? node_class.cpu_worker : node_class.gpu_worker;
    if (!allowed && report != nullptr)
      report->Count(cpu_only ? Refusal::kNotCpuWorker : Refusal::kNotGpuWorker);
    return allowed;
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Filter> MakeWorkerNodeFilter(const Cluster& cluster) {
  return std::make_unique<WorkerNodeFilter>(cluster);
}

}  // namespace kai
