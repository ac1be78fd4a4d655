// Only one pod can use a port of the node (kube-scheduler's NodePorts).
//
// It counts per node and port, only for pods that request ports: other pods cost nothing.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/placed_pods.h"

namespace kai {
namespace {

class HostPortFilter final : public Filter, private Listener {
 public:
  HostPortFilter(const Cluster& cluster, Leaving leaving)
      : cluster_(cluster),
        leaving_count_(leaving == Leaving::kStillCount),
        rivals_(cluster.host_ports().size()) {
    const auto& ports = cluster.host_ports();
    for (const HostPortId a : ports.ids()) {
      for (const HostPortId b : ports.ids()) {
        if (Collide(ports[a], ports[b])) rivals_[a].push_back(b);
      }
    }
    if (rivals_.empty()) return;
    ForEachPlacedPod(cluster, [&](PodId pod, NodeId node, bool is_leaving) {
      Count(pod, node, {.all = 1, .leaving = is_leaving ? 1 : 0}, 1);
    });
  }

  Scope ScopeFor(PodClassId pod_class) const override {
    return PortsOf(pod_class).empty() ? Scope::kNothing : Scope::kNode;
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const bool is_free = !AnyRival(pod_class, node, [&](const PodCountChange& taken) {
      return taken.all > (leaving_count_ ? 0 : taken.leaving);
    });
    if (!is_free && report != nullptr) report->Count(Refusal::kNoFreePorts);
    return is_free;
  }

  bool MustWait(PodClassId pod_class, NodeId node) const override {
    return !leaving_count_ &&
           AnyRival(pod_class, node, [](const PodCountChange& taken) { return taken.leaving > 0; });
  }

  Listener* listener() override { return rivals_.empty() ? nullptr : this; }

 private:
  const std::vector<HostPortId>& PortsOf(PodClassId pod_class) const {
    return cluster_.ConstraintOf(pod_class).host_ports;
  }

  template <typename Test>
  bool AnyRival(PodClassId pod_class, NodeId node, const Test& test) const {
    const std::vector<HostPortId>& ports = PortsOf(pod_class);
    return std::any_of(ports.begin(), ports.end(), [&](HostPortId port) {
      return std::any_of(rivals_[port].begin(), rivals_[port].end(), [&](HostPortId rival) {
        const auto taken = taken_.find({node, rival});
        return taken != taken_.end() && test(taken->second);
      });
    });
  }

  void Count(PodId pod, NodeId node, const PodCountChange& by, int32_t sign) {
    for (const HostPortId port : PortsOf(cluster_.pods().pod_class[pod])) {
      PodCountChange& taken = taken_[{node, port}];
      taken.all += sign * by.all;
      taken.leaving += sign * by.leaving;
    }
  }

  void Applied(const Change& change) override {
    Count(change.pod, change.to_node, PodCountChangeOf(change), 1);
  }
  void Undone(const Change& change) override {
    Count(change.pod, change.to_node, PodCountChangeOf(change), -1);
  }

  const Cluster& cluster_;
  bool leaving_count_;
  IndexVector<HostPortId, std::vector<HostPortId>> rivals_;  // colliding ports, including itself
  absl::flat_hash_map<std::pair<NodeId, HostPortId>, PodCountChange> taken_;  // looked up only
};

}  // namespace

std::unique_ptr<Filter> MakeHostPortFilter(const Cluster& cluster, Leaving leaving) {
  return std::make_unique<HostPortFilter>(cluster, leaving);
}

}  // namespace kai
