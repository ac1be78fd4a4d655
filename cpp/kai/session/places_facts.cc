#include "kai/session/places_facts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "kai/texts/reason_text.h"

namespace kai {
namespace {

constexpr size_t kMostValues = 20;  // of a label

std::string_view OperatorOf(SelectorOp op) {
  static constexpr std::string_view kOperators[] = {"In",           "NotIn", "Exists",
                                                    "DoesNotExist", "Gt",    "Lt"};
  return kOperators[static_cast<size_t>(op)];
}

std::string_view EffectOf(TaintEffect effect) {
  return effect == TaintEffect::kNoExecute ? "NoExecute" : "NoSchedule";
}

// The values of a label on all nodes, the most frequent first: each with its number of nodes.
std::vector<Facts> ValuesOf(NameId key, const Cluster& cluster) {
  std::map<std::string_view, int64_t> counts;
  for (const NodeId node : cluster.nodes().name.ids()) {
    const NameId value = FindLabel(cluster.nodes().labels[node], key);
    if (value.valid()) ++counts[cluster.Text(value)];
  }
  std::vector<std::pair<int64_t, std::string_view>> ranked;
  for (const auto& [value, nodes] : counts) ranked.emplace_back(-nodes, value);
  std::ranges::sort(ranked);
  ranked.resize(std::min(ranked.size(), kMostValues));
  std::vector<Facts> rows;
  for (const auto& [nodes, value] : ranked)
    rows.push_back({{"value", std::string(value)}, {"nodes", -nodes}});
  return rows;
}

Facts FactsOf(const Requirement& unmet, const Cluster& cluster) {
  std::vector<std::string> values;
  for (const NameId value : unmet.values) values.emplace_back(cluster.Text(value));
  if (unmet.bound) values.push_back(std::to_string(*unmet.bound));
  std::ranges::sort(values);
  return {{"label", std::string(cluster.Text(unmet.key))},
          {"operator", std::string(OperatorOf(unmet.op))},
          {"values", std::move(values)},
          {"there", ValuesOf(unmet.key, cluster)}};
}

std::string TextOf(const InternedTaint& taint, const Cluster& cluster) {
  std::string text(cluster.Text(taint.key));
  if (taint.value.valid() && !cluster.Text(taint.value).empty())
    text.append("=").append(cluster.Text(taint.value));
  return text.append(":").append(EffectOf(taint.effect));
}

class ObstacleRow {
 public:
  ObstacleRow(const Standing::Obstacles& obstacles, PodId pod, const Cluster& cluster)
      : obstacles_(obstacles), pod_(pod), cluster_(cluster) {}

  Facts Describe() const {
    std::vector<Facts> causes;
    for (const Refusal refusal : obstacles_.refusals) {
      causes.push_back(kai::FactsOf(refusal, cluster_));
      AddMembers(refusal, &causes.back());
    }
    for (const NamedRefusal& refusal : obstacles_.named)
      causes.push_back(kai::FactsOf(refusal, cluster_));
    const auto by_name = [&](NodeId a, NodeId b) {
      return cluster_.nodes().name_rank[a] < cluster_.nodes().name_rank[b];
    };
    const NodeId first = *std::ranges::min_element(obstacles_.nodes, by_name);
    return {{"nodes", static_cast<int64_t>(obstacles_.nodes.size())},
            {"first", std::string(cluster_.Text(cluster_.nodes().name[first]))},
            {"causes", std::move(causes)}};
  }

 private:
  void AddMembers(Refusal refusal, Facts* facts) const {
    if (refusal == Refusal::kNodeAffinityMismatch) {
      std::vector<Facts> unmet;
      for (const Requirement& each : obstacles_.unmet) unmet.push_back(FactsOf(each, cluster_));
      facts->push_back({"unmet", std::move(unmet)});
    } else if (refusal == Refusal::kUntoleratedTaints) {
      std::vector<std::string> taints;
      for (const InternedTaint& each : obstacles_.taints) taints.push_back(TextOf(each, cluster_));
      facts->push_back({"taints", std::move(taints)});
    } else if (refusal.cause() == Refusal::kShortage) {
      AddAmounts(refusal.slot(), facts);
    } else if (refusal == Refusal::kNotEnoughGpuMemory) {
      facts->push_back({"requested_mib", cluster_.ClassOf(pod_).gpu.memory_mib});
      facts->push_back({"largest_mib", static_cast<int64_t>(MostOf([&](NodeId node) {
                          return cluster_.nodes().gpu_memory_mib[node];
                        }))});
    }
  }

  void AddAmounts(ResourceSlot slot, Facts* facts) const {
    const GpuRequest& gpu = cluster_.ClassOf(pod_).gpu;
    const bool is_shared = slot == kGpuSlot && gpu.IsShared();
    const double requested =
        is_shared ? static_cast<double>(gpu.count) : cluster_.RequestOf(pod_)[slot.index()];
    const double largest =
        MostOf([&](NodeId node) { return cluster_.nodes().allocatable[node][slot.index()]; });
    facts->push_back({"requested", ForPeople(cluster_.slots(), slot, requested)});
    facts->push_back({"largest", ForPeople(cluster_.slots(), slot, largest)});
  }

  // The largest of these nodes.
  template <typename AmountOf>
  double MostOf(const AmountOf& amount_of) const {
    double most = 0;
    for (const NodeId node : obstacles_.nodes) most = std::max(most, amount_of(node));
    return most;
  }

  const Standing::Obstacles& obstacles_;
  const PodId pod_;
  const Cluster& cluster_;
};

}  // namespace

Facts FactsOf(const Standing::Obstacles& obstacles, PodId pod, const Cluster& cluster) {
  return ObstacleRow(obstacles, pod, cluster).Describe();
}

}  // namespace kai
