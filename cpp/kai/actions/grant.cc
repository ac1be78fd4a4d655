#include "kai/actions/grant.h"

#include <algorithm>

namespace kai {
namespace {

// spec 2 T6: if pods of a pod set must wait and the pod set is below its minimum without them, all
// its pods wait, and then the whole group does.
bool MustWaitTogether(const CycleView& cycle, PodGroupId group) {
  const Cluster& cluster = *cycle.cluster;
  const SubGroupColumns& sets = cluster.sub_groups();
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    const StatusCounts& counts = sets.counts[pod_set];
    if (counts[PodStatus::kPipelined] > 0 && counts.allocated() < cycle.order->MinimumOf(pod_set))
      return true;
  }
  return false;
}

void PipelineAll(Statement* statement, Statement::Checkpoint start) {
  const std::span<const Change> changes = statement->ChangesSince(start);
  std::vector<Change> again(changes.begin(), changes.end());
  // Pods that were already pipelined stay at the front, in the order that undoing and adding the
  // others would give.
  std::stable_partition(again.begin(), again.end(),
                        [](const Change& change) { return change.to == PodStatus::kPipelined; });
  std::vector<GpuList> gpus;
  for (const Change& change : again) gpus.push_back(statement->cluster().pods().gpus[change.pod]);
  statement->RollBackTo(start);
  for (size_t i = 0; i < again.size(); ++i)
    statement->Pipeline(again[i].pod, again[i].to_node, gpus[i]);
}

}  // namespace

void Grant(CycleView& cycle, PodGroupId group, const BeforeGrant& before) {
  Statement& statement = *cycle.statement;
  if (MustWaitTogether(cycle, group)) PipelineAll(&statement, before.changes);
  bool allocated = false;
  for (const Change& change : statement.ChangesSince(before.changes)) {
    const bool bind = change.to == PodStatus::kAllocated;
    allocated = allocated || bind;
    const GpuList& gpus = cycle.cluster->pods().gpus[change.pod];
    cycle.log->decisions.push_back(
        {.kind = bind ? CycleLog::Decision::Kind::kBind : CycleLog::Decision::Kind::kPipeline,
         .pod = change.pod,
         .node = change.to_node,
         .for_group = PodGroupId(),
         .action = {},
         .gpus = cycle.log->KeepGpus(gpus),
         .zones = cycle.ZonesOf(change.pod)});
    if (bind && cycle.cluster->ClassOf(change.pod).claims.valid())
      cycle.log->claims.emplace_back(change.pod, cycle.cluster->claims().GivenTo(change.pod));
  }
  statement.Settle();
  cycle.log->Mark(group, CycleLog::kPlaced);
  if (allocated && !before.had_started) cycle.log->Mark(group, CycleLog::kStarted);
}

}  // namespace kai
