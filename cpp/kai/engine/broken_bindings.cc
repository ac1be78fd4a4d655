#include "kai/engine/broken_bindings.h"

#include <algorithm>
#include <memory>
#include <ranges>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/base/text.h"
#include "kai/session/registry.h"

namespace kai {
namespace {

// Pods that are being bound to these nodes, by name.
absl::flat_hash_map<std::string, PodId> PodsBoundTo(const absl::flat_hash_set<NodeId>& nodes,
                                                    const Cluster& cluster) {
  absl::flat_hash_map<std::string, PodId> found;
  const PodColumns& pods = cluster.pods();
  for (size_t i = 0; i < pods.size(); ++i) {
    const PodId pod(i);
    if (!pods.name[pod].valid() || pods.status[pod] != PodStatus::kBinding) continue;
    if (nodes.contains(pods.node[pod])) found.emplace(cluster.PodName(pod), pod);
  }
  return found;
}

// By how much the pods of a node exceed what it has, by slot. Withdrawing bindings reduces it.
class Excess {
 public:
  explicit Excess(std::span<const double> idle) {
    for (const double amount : idle) over_.push_back(std::max(0.0, -amount));
  }

  // If removing the pod reduces the excess, subtracts it and returns true.
  bool ShrinksBy(std::span<const double> request) {
    bool helps = false;
    for (size_t slot = 0; slot < over_.size(); ++slot)
      helps = helps || (over_[slot] > 0 && request[slot] > 0);
    if (!helps) return false;
    for (size_t slot = 0; slot < over_.size(); ++slot) over_[slot] -= request[slot];
    return true;
  }

 private:
  std::vector<double> over_;
};

}  // namespace

std::vector<AssumptionId> BrokenBindings(const Cluster& cluster, const Directory& directory,
                                         const Config& config,
                                         std::span<const Assumptions::Bound> bound) {
  absl::flat_hash_set<NodeId> nodes;
  for (const Assumptions::Bound& each : bound) {
    if (const NodeId node = directory.FindNode(each.request.node); node.valid()) nodes.insert(node);
  }
  const absl::flat_hash_map<std::string, PodId> pods = PodsBoundTo(nodes, cluster);
  const std::vector<std::unique_ptr<Filter>> filters = MakeNodeFilters(config, cluster);
  absl::flat_hash_map<NodeId, Excess> excess;
  std::vector<AssumptionId> broken;
  for (const Assumptions::Bound& each : std::views::reverse(bound)) {
    const auto pod = pods.find(StrCat(each.request.namespace_name, "/", each.request.pod));
    const NodeId node = directory.FindNode(each.request.node);
    if (!node.valid() || pod == pods.end() || cluster.pods().node[pod->second] != node) {
      broken.push_back(each.id);
      continue;
    }
    const PodClassId pod_class = cluster.pods().pod_class[pod->second];
    const std::span<const double> request = cluster.RequestOf(pod->second);
    // The ledger of a node without GPUs does not count GPUs (spec 3 N16).
    const bool is_offered = Fits(request, cluster.nodes().allocatable[node]);
    const bool is_allowed = std::ranges::all_of(filters, [&](const auto& filter) {
      return filter->ScopeFor(pod_class) == Filter::Scope::kNothing ||
             filter->Check(pod_class, node, nullptr);
    });
    Excess& over = excess.try_emplace(node, cluster.nodes().idle[node]).first->second;
    const bool helps = over.ShrinksBy(request);
    if (!is_offered || !is_allowed || helps) broken.push_back(each.id);
  }
  std::ranges::reverse(broken);
  return broken;
}

}  // namespace kai
