#include "kai/engine/report.h"

#include <algorithm>

namespace kai {
namespace {

// Rows of deleted objects have no name.
template <typename Columns>
int64_t CountOf(const Columns& columns) {
  return std::ranges::count_if(columns.name.raw(), [](NameId name) { return name.valid(); });
}

}  // namespace

Report ReportOf(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  Report report{.now_ns = plan.now_ns,
                .decisions = TableOf(plan),
                .groups = {},
                .queues = {},
                .nodes = CountOf(cluster.nodes()),
                .pods = CountOf(cluster.pods()),
                .pod_groups = CountOf(cluster.pod_groups()),
                .rejections = cluster.rejections(),
                .timing_ns = plan.timing_ns};
  const PodGroupColumns& groups = cluster.pod_groups();
  for (const PodGroupId group : groups.name.ids()) {
    if (!groups.name[group].valid() || plan.outcomes->IsSimplyRunning(group)) continue;
    report.groups.push_back({.name = cluster.PodGroupName(group),
                             .queue = std::string(cluster.Text(groups.queue_name[group])),
                             .verdict = (*plan.outcomes)[group].outcome.verdict});
  }
  if (!plan.has_queue_numbers) return report;
  for (const QueueId queue : cluster.queues().name.ids()) {
    Report::Queue& its = report.queues.emplace_back();
    its.name = cluster.Text(cluster.queues().name[queue]);
    for (const QuotaResource resource : {kQuotaCpu, kQuotaMemory, kQuotaGpu})
      its.numbers[resource] = QueueNumbersOf(plan, queue, resource);
  }
  return report;
}

}  // namespace kai
