// A node that is cordoned, not ready or under pressure takes no pods. All these states are reported
// (spec 3 P7).
#include <utility>

#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

constexpr std::pair<NodeStateBit, Refusal::Cause> kReasons[] = {
    {kCordoned, Refusal::kNodeUnschedulable},
    {kNotReady, Refusal::kNodeNotReady},
    {kMemoryPressure, Refusal::kNodeMemoryPressure},
    {kDiskPressure, Refusal::kNodeDiskPressure},
    {kPidPressure, Refusal::kNodePidPressure},
    {kNetworkUnavailable, Refusal::kNodeNetworkUnavailable},
};

class NodeStateFilter final : public Filter {
 public:
  explicit NodeStateFilter(const Cluster& cluster) : cluster_(cluster) {}

  Scope ScopeFor(PodClassId) const override { return Scope::kNodeClass; }

  bool Check(PodClassId, NodeId node, FitReport* report) const override {
    const uint8_t state = cluster_.node_classes()[cluster_.nodes().node_class[node]].state;
    if (state == 0) return true;
    if (report == nullptr) return false;
    for (const auto& [bit, reason] : kReasons) {
      if ((state & bit) != 0) report->Count(reason);
    }
    return false;
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<Filter> MakeNodeStateFilter(const Cluster& cluster) {
  return std::make_unique<NodeStateFilter>(cluster);
}

}  // namespace kai
