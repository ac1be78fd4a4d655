#include "kai/actions/allocate.h"

#include <algorithm>

#include "kai/actions/candidates.h"

namespace kai {
namespace {

class Allocate final : public Action {
 public:
  explicit Allocate(int64_t depth) : depth_(depth) {}

  void Run(CycleView& cycle) override {
    Worklist::Options options = cycle.worklist;
    options.depth = depth_;
    Worklist worklist(*cycle.cluster, cycle.shares, cycle.order, options);
    // A group that cannot be placed whatever the order does not speak for its queue: it would only
    // keep the others of the queue waiting, in this cycle and when they have been promised
    // something. KAI lets it (switch unrelated_blockers).
    const bool lets_all_speak = !cycle.mends->on(Mend::kUnrelatedBlockers);
    std::vector<PodGroupId> hopeless;
    for (const PodGroupId group : cycle.lists().waiting) {
      if (!cycle.MayRun(group) || !IsCandidate(*cycle.cluster, *cycle.order, group, {})) continue;
      const bool has_hope =
          lets_all_speak || HasHope(cycle, group, cycle.order->PodsToPlace(group), cycle.room);
      has_hope ? worklist.Push(group) : hopeless.push_back(group);
    }
    while (!worklist.empty()) {
      const PodGroupId group = worklist.Pop();
      if (Attempt(cycle, group) && cycle.order->CountOf(group, PodStatus::kPending) > 0)
        worklist.Push(group);
    }
    for (const PodGroupId group : hopeless) Attempt(cycle, group);  // to be told why
  }

 private:
  // One attempt at what the group wants next (spec 2 A1); true if it got it.
  static bool Attempt(CycleView& cycle, PodGroupId group) {
    Statement& statement = *cycle.statement;
    const bool had_started = cycle.order->HasStarted(group);
    const Statement::Checkpoint start = statement.Mark();
    GroupPlacer::Result result = cycle.placer->Place(group, GroupPlacer::Mode::kReal, &statement);
    if (!result.placed) {
      std::ranges::move(result.reasons, std::back_inserter(cycle.log->reasons[group]));
      return false;
    }
    if (MustWaitTogether(cycle, group)) PipelineAll(&statement, start);
    bool allocated = false;
    for (const Change& change : statement.ChangesSince(start)) {
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
    cycle.log->placed_now[group] = 1;
    if (allocated && !had_started) cycle.log->started_now[group] = 1;
    return true;
  }

  // spec 2 T6: a pod set of which pods wait, and which without them is below its minimum, waits
  // whole; and then the whole group does.
  static bool MustWaitTogether(const CycleView& cycle, PodGroupId group) {
    const Cluster& cluster = *cycle.cluster;
    const SubGroupColumns& sets = cluster.sub_groups();
    for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
      const StatusCounts& counts = sets.counts[pod_set];
      if (counts[PodStatus::kPipelined] > 0 && counts.allocated() < cycle.order->MinimumOf(pod_set))
        return true;
    }
    return false;
  }

  static void PipelineAll(Statement* statement, Statement::Checkpoint start) {
    const std::span<const Change> changes = statement->ChangesSince(start);
    std::vector<Change> again(changes.begin(), changes.end());
    // Pods that were pipelined anyway keep their place at the front, as undoing and adding the
    // others leaves them.
    std::stable_partition(again.begin(), again.end(),
                          [](const Change& change) { return change.to == PodStatus::kPipelined; });
    std::vector<GpuList> gpus;
    for (const Change& change : again) gpus.push_back(statement->cluster().pods().gpus[change.pod]);
    statement->RollBackTo(start);
    for (size_t i = 0; i < again.size(); ++i)
      statement->Pipeline(again[i].pod, again[i].to_node, gpus[i]);
  }

  int64_t depth_;
};

}  // namespace

std::unique_ptr<Action> MakeAllocate(int64_t depth) { return std::make_unique<Allocate>(depth); }

}  // namespace kai
