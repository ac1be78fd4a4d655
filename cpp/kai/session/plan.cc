#include "kai/session/plan.h"

#include <algorithm>

#include "kai/session/gpu_groups.h"

namespace kai {

std::vector<std::string> Plan::GpuGroupsOf(const CycleLog::Decision& decision) const {
  std::vector<std::string> names;
  if (decision.gpus < 0) return names;
  const std::vector<SharedGpu>& listed = cluster->nodes().shared_gpus[decision.node];
  const auto is_taken = [&](std::string_view name) {
    return std::any_of(listed.begin(), listed.end(),
                       [&](const SharedGpu& gpu) { return cluster->Text(gpu.name) == name; });
  };
  for (const int32_t gpu : shared_gpus[static_cast<size_t>(decision.gpus)]) {
    if (static_cast<size_t>(gpu) < listed.size()) {
      names.emplace_back(cluster->Text(listed[static_cast<size_t>(gpu)].name));
      continue;
    }
    const std::string_view node = cluster->Text(cluster->nodes().name[decision.node]);
    std::string name = NewGpuGroup(now_ns, node, gpu);
    for (int32_t attempt = 1; is_taken(name); ++attempt)
      name = NewGpuGroup(now_ns, node, gpu, attempt);
    names.push_back(std::move(name));
  }
  return names;
}

PodId CounterpartOf(PodId pod, PodGroupId group, const Cluster& cluster) {
  const std::span<const PodId> own = cluster.sub_groups().PodsOf(cluster.pods().pod_set[pod]);
  const SubGroupId pod_set = cluster.pod_groups().PodSetsOf(group).front();
  return cluster.sub_groups().PodsOf(
      pod_set)[static_cast<size_t>(std::ranges::find(own, pod) - own.begin())];
}

Reason ForGroup(Reason reason, PodGroupId group, const Cluster& cluster) {
  if (auto* no_node = std::get_if<NoNode>(&reason))
    no_node->pod = CounterpartOf(no_node->pod, group, cluster);
  if (auto* gang = std::get_if<GangIncomplete>(&reason)) {
    gang->pod = CounterpartOf(gang->pod, group, cluster);
    gang->pod_set = cluster.pod_groups().PodSetsOf(group).front();
  }
  return reason;
}

GroupOutcome Plan::OutcomeOf(PodGroupId group) const {
  if (outcomes == nullptr || outcomes->IsSimplyRunning(group)) return {};
  const GroupOutcomes::Described& described = (*outcomes)[group];
  GroupOutcome outcome = described.outcome;
  if (described.group == group) return outcome;
  for (OutcomeReason& each : outcome.reasons) each.reason = ForGroup(each.reason, group, *cluster);
  for (auto& [pod, place] : outcome.waiting_pods) pod = CounterpartOf(pod, group, *cluster);
  return outcome;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPlaced:
      return "placed";
    case Verdict::kPipelined:
      return "pipelined";
    case Verdict::kPartlyPlaced:
      return "partly_placed";
    case Verdict::kUnschedulable:
      return "unschedulable";
    case Verdict::kNotReady:
      return "not_ready";
    case Verdict::kRunning:
      return "running";
    case Verdict::kInvalid:
      return "invalid";
  }
  return "";
}

}  // namespace kai
