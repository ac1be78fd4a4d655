#include "group_table.h"

#include "kai/model/building/numbering.h"
#include "kai/session/plan_texts.h"

namespace kai::bindings {
namespace {

using GroupCounts = std::array<int32_t, GroupTable::kCounts.size()>;

bool Waits(PodStatus status) {
  return status == PodStatus::kPending || status == PodStatus::kGated;
}

IndexVector<PodGroupId, GroupCounts> CountsOf(const Plan& plan) {
  const PodColumns& pods = plan.cluster->pods();
  IndexVector<PodGroupId, GroupCounts> counts(plan.cluster->pod_groups().size());
  for (const PodId pod : pods.name.ids()) {
    const PodGroupId group = pods.group[pod];
    if (!pods.name[pod].valid() || !group.valid()) continue;
    ++counts[group][GroupTable::kPods];
    if (Waits(pods.status[pod])) {
      ++counts[group][GroupTable::kPending];
      ++counts[group][GroupTable::kWaiting];
    } else if (IsActiveUsed(pods.status[pod])) {
      ++counts[group][GroupTable::kRunning];
    }
  }
  for (const CycleLog::Decision& decision : plan.decisions) {
    const PodGroupId group = pods.group[decision.pod];
    if (!group.valid()) continue;
    if (decision.kind == CycleLog::Decision::Kind::kEvict) {
      ++counts[group][GroupTable::kEvicted];
      continue;
    }
    const bool binds = decision.kind == CycleLog::Decision::Kind::kBind;
    ++counts[group][binds ? GroupTable::kBound : GroupTable::kPipelined];
    if (Waits(pods.status[decision.pod])) --counts[group][GroupTable::kWaiting];
  }
  return counts;
}

}  // namespace

GroupTable GroupTableOf(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  const PodGroupColumns& groups = cluster.pod_groups();
  const IndexVector<PodGroupId, GroupCounts> counts = CountsOf(plan);
  GroupTable table;
  for (const PodGroupId group : InOrderOfNames(cluster.names(), groups)) {
    table.name.Add(cluster.PodGroupName(group));
    table.queue.Add(cluster.Text(groups.queue_name[group]));
    table.verdict.Add(VerdictName(plan.OutcomeOf(group).verdict));
    const std::vector<ReportedReason> reasons = ReasonsOf(plan, group);
    if (reasons.empty()) {
      table.reason.AddNone();
      table.message.AddNone();
    } else {
      table.reason.Add(reasons.front().code);
      table.message.Add(reasons.front().message);
    }
    table.priority.push_back(groups.priority[group]);
    table.created_ns.push_back(groups.created_ns[group]);
    for (size_t i = 0; i < table.counts.size(); ++i) table.counts[i].push_back(counts[group][i]);
  }
  return table;
}

}  // namespace kai::bindings
