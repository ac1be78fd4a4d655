#include "kai/actions/victim_protection.h"

#include <algorithm>

#include "kai/fairshare/min_runtime.h"

namespace kai {
namespace {

std::span<const SubGroupId> PodSetsOf(const Cluster& cluster, PodGroupId group) {
  const Span32 range = cluster.pod_groups().pod_sets[group];
  return std::span(cluster.pod_groups().pod_set_list)
      .subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
}

}  // namespace

bool IsElastic(const CycleView& cycle, PodGroupId group) {
  const std::span<const SubGroupId> pod_sets = PodSetsOf(*cycle.cluster, group);
  return std::any_of(pod_sets.begin(), pod_sets.end(), [&](SubGroupId pod_set) {
    return cycle.order->MinimumOf(pod_set) < cycle.cluster->sub_groups().pods[pod_set].size();
  });
}

bool IsProtected(const CycleView& cycle, PodGroupId group, int64_t runtime_ns) {
  const int64_t started_ns = cycle.log->started_now[group] != 0
                                 ? cycle.now_ns
                                 : cycle.cluster->pod_groups().last_start_ns[group];
  return MinRuntime::Protects(started_ns, runtime_ns, cycle.now_ns);
}

std::vector<GroupVictims> ByGroup(const CycleView& cycle, const Scenario& scenario) {
  const IndexVector<PodId, PodGroupId>& group_of = cycle.cluster->pods().group;
  std::vector<std::pair<PodGroupId, size_t>> index;  // by group
  for (size_t i = 0; i < scenario.victims.size(); ++i)
    index.emplace_back(group_of[scenario.victims[i].pod], i);
  std::sort(index.begin(), index.end());
  std::vector<std::pair<size_t, GroupVictims>> found;  // with the place of the first
  for (const auto& [group, i] : index) {
    if (found.empty() || found.back().second.group != group)
      found.push_back({i, {.group = group, .victims = {}}});
    found.back().second.victims.push_back(scenario.victims[i]);
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<GroupVictims> groups;
  for (auto& [first, victims] : found) groups.push_back(std::move(victims));
  return groups;
}

bool KeepsMinimum(const CycleView& cycle, const GroupVictims& loss) {
  std::vector<MinRuntime::PodSetLoss> losses;
  for (const SubGroupId pod_set : PodSetsOf(*cycle.cluster, loss.group)) {
    const auto victims = std::count_if(
        loss.victims.begin(), loss.victims.end(),
        [&](const Victim& victim) { return cycle.cluster->pods().pod_set[victim.pod] == pod_set; });
    if (victims == 0) continue;
    losses.push_back({.min_available = cycle.order->MinimumOf(pod_set),
                      .active = cycle.cluster->sub_groups().counts[pod_set].active_used(),
                      .victims = victims});
  }
  return MinRuntime::MayLose(true, true, losses);
}

}  // namespace kai
