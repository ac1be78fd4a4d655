#include "kai/session/plan.h"

#include <algorithm>

#include "kai/model/messages.h"
#include "kai/session/gpu_groups.h"

namespace kai {

std::string Plan::MessageOf(const CycleLog::Decision& decision) const {
  const std::string pod = cluster->PodName(decision.pod);
  const auto use = [&](size_t side) -> std::string_view {
    return queue_uses[static_cast<size_t>(decision.queue_uses[side])];
  };
  switch (decision.note) {
    case EvictionNote::kNone:
      break;
    case EvictionNote::kReclaimed:
      return messages::Reclaimed(pod, cluster->PodGroupName(decision.for_group), use(0), use(1));
    case EvictionNote::kPreempted:
      return messages::Preempted(pod, cluster->PodGroupName(decision.for_group));
    case EvictionNote::kConsolidated:
      return messages::Consolidated(pod);
    case EvictionNote::kStale: {
      const SubGroupId pod_set = cluster->pods().pod_set[decision.pod];
      return messages::StaleEviction(pod, cluster->sub_groups().minimum[pod_set],
                                     cluster->SubgroupText(pod_set));
    }
  }
  return {};
}

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

std::vector<PlanReason> Plan::ReasonsOf(PodGroupId group) const {
  std::vector<PlanReason> reasons = groups[group].reasons;
  for (const Eviction& each : std::ranges::equal_range(evictions, group, {}, &Eviction::group)) {
    reasons.push_back({reason_codes::kEvicted, MessageOf(decisions[each.decision]), each.pod});
  }
  return reasons;
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
