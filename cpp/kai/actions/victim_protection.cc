#include "kai/actions/victim_protection.h"

#include <algorithm>

namespace kai {

bool IsElastic(const CycleView& cycle, PodGroupId group) {
  const std::span<const SubGroupId> pod_sets = cycle.order->PodSetsOf(group);
  return std::any_of(pod_sets.begin(), pod_sets.end(), [&](SubGroupId pod_set) {
    return cycle.order->MinimumOf(pod_set) < cycle.cluster->sub_groups().pods[pod_set].size();
  });
}

VictimsByGroup::VictimsByGroup(const CycleView& cycle, const Scenario& scenario) {
  const IndexVector<PodId, PodGroupId>& group_of = cycle.cluster->pods().group;
  IndexVector<PodGroupId, int32_t> place(cycle.cluster->pod_groups().size(), -1);
  std::vector<size_t> begins;  // first the sizes, then the start indices
  std::vector<PodGroupId> order;
  for (const Victim& victim : scenario.victims) {
    int32_t& its = place[group_of[victim.pod]];
    if (its < 0) {
      its = static_cast<int32_t>(order.size());
      order.push_back(group_of[victim.pod]);
      begins.push_back(0);
    }
    ++begins[static_cast<size_t>(its)];
  }
  victims_.resize(scenario.victims.size());
  size_t at = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t count = begins[i];
    begins[i] = at;
    groups_.push_back({.group = order[i], .victims = std::span(victims_).subspan(at, count)});
    at += count;
  }
  for (const Victim& victim : scenario.victims)
    victims_[begins[static_cast<size_t>(place[group_of[victim.pod]])]++] = victim;
}

namespace {

// Pods besides the victims that do not run on: they were leaving before the scenario, or an earlier
// action of the cycle moves them or promised them a place. KAI counts them as running.
int64_t OthersNotRunning(const CycleView& cycle, SubGroupId pod_set,
                         std::span<const Victim> victims) {
  if (!cycle.switches->on(Switch::kProtectedMinimum)) return 0;
  const PodColumns& pods = cycle.cluster->pods();
  const std::span<const PodId> all = cycle.order->PodsOf(pod_set);
  return std::ranges::count_if(all, [&](PodId pod) {
    return IsActiveUsed(pods.status[pod]) && !IsAllocated(pods.status[pod]) &&
           std::ranges::none_of(victims, [&](const Victim& each) { return each.pod == pod; });
  });
}

}  // namespace

bool KeepsMinimum(const CycleView& cycle, const GroupVictims& loss) {
  std::vector<MinRuntime::PodSetLoss> losses;
  for (const SubGroupId pod_set : cycle.order->PodSetsOf(loss.group)) {
    const auto victims = std::count_if(
        loss.victims.begin(), loss.victims.end(),
        [&](const Victim& victim) { return cycle.cluster->pods().pod_set[victim.pod] == pod_set; });
    if (victims == 0) continue;
    losses.push_back({.min_available = cycle.order->MinimumOf(pod_set),
                      .active = cycle.cluster->sub_groups().counts[pod_set].active_used() -
                                OthersNotRunning(cycle, pod_set, loss.victims),
                      .victims = victims});
  }
  return MinRuntime::MayLose(true, true, losses);
}

}  // namespace kai
