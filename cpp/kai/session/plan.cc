#include "kai/session/plan.h"

#include <algorithm>

#include "kai/model/messages.h"

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
