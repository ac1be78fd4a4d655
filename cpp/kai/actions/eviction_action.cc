#include "kai/actions/eviction_action.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "kai/actions/failed_groups.h"
#include "kai/model/columns/gpu_sums.h"

namespace kai {
namespace {

// True: the group became a victim of this action before its own turn, and its remaining pods cannot
// start by themselves. KAI does not check this, because leaving pods still count for the gang (spec
// 2 G8).
bool LostItsGang(const CycleView& cycle, PodGroupId group) {
  return cycle.switches->on(Switch::kWholeGangs) && cycle.log->Has(group, CycleLog::kEvicted) &&
         !cycle.order->IsReady(group);
}

// True: it got places without any eviction, beside pods that got theirs after its own turn to
// allocate. A search would find them too, and evict pods for them that now have to be elsewhere to
// return.
bool FindsPlaces(CycleView& cycle, PodGroupId group) {
  const Cluster& cluster = *cycle.cluster;
  if (cluster.affinity().empty() || !cycle.placer->options().check_nodes ||
      !cycle.switches->on(Switch::kLeavingPods) ||
      std::ranges::all_of(cycle.order->PodsToPlace(group), [&](PodId pod) {
        return cluster.ClassOf(pod).affinity.required.empty();
      }))
    return false;
  const Statement::Checkpoint start = cycle.statement->Mark();
  if (!cycle.placer->Place(group, GroupPlacer::Mode::kSimulate, cycle.statement).placed)
    return false;
  if (cycle.order->IsGangSatisfied(group)) return true;
  cycle.statement->RollBackTo(start);
  return false;
}

}  // namespace

std::vector<std::span<const PodGroupId>> EvictionAction::WorthTrying(CycleView& cycle) const {
  const IndexVector<PodGroupId, uint8_t>& is_preemptible = cycle.cluster->pod_groups().preemptible;
  const std::vector<std::span<const PodGroupId>>& ready = ReadyRuns(cycle);
  std::vector<std::span<const PodGroupId>> runs;
  runs.reserve(ready.size());
  for (const std::span<const PodGroupId> run : ready) {
    if (!OnlyForPreemptible() || is_preemptible[run.front()] != 0)
      AddWhereMayEvict(cycle, run, &runs);
  }
  // If some group may find victims, the others must be added as well: each represents its queue
  // while it is the next one there. Without the switch, groups that got their first pods in this
  // cycle can become victims as well.
  const bool looks_ahead = !cycle.plain_search && cycle.switches->on(Switch::kSameCycleEviction);
  if (looks_ahead && std::ranges::none_of(runs, [&](std::span<const PodGroupId> run) {
        return MayFindVictims(cycle, run.front());
      }))
    runs.clear();
  return runs;
}

bool EvictionAction::CannotStart(CycleView& cycle, PodGroupId group) {
  return !MayStart(cycle, group) || CanNeverRun(cycle, group) || LostItsGang(cycle, group);
}

bool EvictionAction::CannotGain(CycleView& cycle, PodGroupId group) {
  return CannotStart(cycle, group) || CannotSucceed(cycle, group);
}

bool EvictionAction::NoneCanGain(CycleView& cycle,
                                 std::span<const std::span<const PodGroupId>> runs) {
  // The remaining groups of a run have the same request, and its last one comes last.
  return !cycle.plain_search && std::ranges::all_of(runs, [&](std::span<const PodGroupId> run) {
    const PodGroupId group = run.back();
    return cycle.order->CountOf(group, PodStatus::kPending) == 0 || CannotGain(cycle, group);
  });
}

void EvictionAction::Run(CycleView& cycle) {
  if (IsOff(cycle)) return;
  const std::vector<std::span<const PodGroupId>> runs = WorthTrying(cycle);
  // Usually the action ends here; the order of groups that fail does not matter.
  if (runs.empty() || NoneCanGain(cycle, runs)) return;
  Turns turns(cycle, depth_, Turns::Equals::kPassOver);
  for (const std::span<const PodGroupId> run : runs) turns.Push(run);
  PodGroupId group = turns.Next();
  if (!group.valid()) return;

  SearchMeter meter(*cycle.budgets, name_, cycle.stopwatch);
  size_t known_spent = 0;
  VictimLists lists(cycle);
  FailedGroups failed(cycle, SharesFailuresPerQueue() ? FailedGroups::Scope::kQueue
                                                      : FailedGroups::Scope::kCluster);
  for (; group.valid(); group = turns.Next()) {
    if (failed.Includes(group)) continue;
    if (CannotStart(cycle, group)) {
      turns.Fail();
      continue;
    }
    const Statement::Checkpoint start = cycle.statement->Mark();
    if (FindsPlaces(cycle, group)) {
      Commit(cycle, group, start);
      continue;
    }
    lists.Update();
    Candidates candidates;
    if (!CannotSucceed(cycle, group)) candidates = CandidatesFor(cycle, group, &lists);
    if (candidates.empty()) {
      failed.Add(group);
      turns.Fail();
      continue;
    }
    VictimSearch search(cycle, group, candidates,
                        [&](const Scenario& scenario, const QuotaCount& request) {
                          return Accepts(cycle, group, scenario, request);
                        },
                        &meter, {.whole_groups = LooksAtWholeGroups(), .returns = Returns(cycle)});
    const SearchOutcome outcome = search.Run();
    // Once for each group whose search a budget ended.
    if (meter.spent().size() > known_spent) cycle.log->Mark(group, CycleLog::kBudgetSpent);
    for (; known_spent < meter.spent().size(); ++known_spent)
      cycle.log->spent_searches.push_back(meter.spent()[known_spent]);
    switch (outcome) {
      case SearchOutcome::kSolved:
        Commit(cycle, group, start);
        if (runs.size() <= WaitingRuns::kFew && NoneCanGain(cycle, runs)) return;
        break;
      case SearchOutcome::kDeadlineExhausted:
        // KAI stops for all groups (spec 2 W4).
        if (!cycle.switches->on(Switch::kSlowJob)) return;
        break;
      case SearchOutcome::kNotAttempted:
        return;
      case SearchOutcome::kGeneratorsExhausted:
      case SearchOutcome::kNoGenerator:
        failed.Add(group);
        // Of equal groups in one queue the older is tried first. It comes before the victims in the
        // order of placing, where the younger would come last. So if the older fails, the younger
        // fails as well. Across the cluster this is not certain.
        if (SharesFailuresPerQueue()) turns.Fail();
        break;
    }
  }
}

void EvictionAction::EraseWithoutAlive(const CycleView& cycle, std::vector<PodGroupId>* groups) {
  if (cycle.switches->on(Switch::kSingleVictims)) return;
  std::erase_if(*groups, [&](PodGroupId group) { return cycle.order->Alive(group) <= 0; });
}

bool EvictionAction::FirstPodFitsWhatIsFree(const CycleView& cycle, PodGroupId group) {
  // A pod that moved in this cycle may find room on its old node, and then stays where it is, so
  // that sums are not exact any more (spec 2 T5).
  const bool adds_up =
      cycle.switches->on(Switch::kSameCycleEviction) || !cycle.statement->AnyMoved();
  // A pod that holds whole devices because its parts are not known takes only parts on its new
  // node.
  if (cycle.plain_search || !adds_up || cycle.cluster->hides_shared_gpus()) return true;
  const PodList pods = cycle.order->PodsToPlace(group);
  if (pods.empty()) return false;
  const Cluster& cluster = *cycle.cluster;
  const NodeColumns& nodes = cluster.nodes();
  const PodClassId pod_class = cluster.pods().pod_class[pods.front()];
  const std::span<const double> request = cluster.pod_classes().request[pod_class];
  const bool shares = cluster.shares_gpus();
  for (size_t i = 0; i < request.size(); ++i) {
    const bool parts = shares && i == kGpuSlot.index();
    double wanted = request[i];
    if (parts) {  // memory: its smallest part, that of the largest device
      for (const NodeId node : nodes.name.ids()) {
        const double here = GpusHeldOn(cluster, pod_class, node);
        wanted = node.index() == 0 ? here : std::min(wanted, here);
      }
    }
    if (wanted <= 0) continue;
    double missing = wanted;
    for (const NodeId node : nodes.name.ids()) {
      const double free =
          parts ? MostGpusOf(cluster, node) : nodes.idle[node][i] + nodes.releasing[node][i];
      missing -= std::max(0.0, free);
      if (missing <= kGpuSumTolerance * wanted) break;
    }
    if (missing > kGpuSumTolerance * wanted) return false;
  }
  return true;
}

bool EvictionAction::MayEvictNow(CycleView& cycle, PodGroupId group) const {
  const PodGroupColumns& groups = cycle.cluster->pod_groups();
  const int64_t last_eviction_ns = cycle.log->Has(group, CycleLog::kEvicted)
                                       ? cycle.time->now_ns()
                                       : groups.last_eviction_ns[group];
  const int64_t end_ns =
      cycle.time->EndOf(EndOfPreemptionDelay(*cycle.cluster, group, last_eviction_ns),
                        groups.preemption_delay_ns[group]);
  if (cycle.time->HasCome(end_ns, WakeReason::kPreemptionDelay)) return true;
  if (cycle.log->Has(group, CycleLog::kEvicted)) cycle.time->ExpireAtOnce();
  std::vector<Reason>& reasons = cycle.log->reasons[group];
  const bool is_known = std::ranges::any_of(
      reasons, [](const Reason& each) { return std::holds_alternative<PreemptionDelay>(each); });
  if (!is_known) {
    reasons.push_back(
        PreemptionDelay{.delay_ns = groups.preemption_delay_ns[group], .end_ns = end_ns});
  }
  return false;
}

// True: the group lost the room of its last victims, and its delay has not elapsed.
bool EvictionAction::IsHeldOff(CycleView& cycle, PodGroupId group) const {
  const UnkeptPromise* unkept = cycle.unkept->Of(group);
  if (unkept == nullptr) return false;
  const int64_t end_ns = cycle.time->EndOf(unkept->EndNs(), unkept->DelayNs());
  if (cycle.time->HasCome(end_ns, WakeReason::kPreemptionDelay)) return false;
  cycle.log->Mark(group, CycleLog::kHeldOff);
  return true;
}

void EvictionAction::AddWhereMayEvict(CycleView& cycle, std::span<const PodGroupId> run,
                                      std::vector<std::span<const PodGroupId>>* runs) const {
  if (!MayEvictNow(cycle, run.front())) return;  // nor may the others
  if (cycle.unkept == nullptr || !cycle.unkept->any()) {
    runs->push_back(run);
    return;
  }
  while (!run.empty()) {
    const auto held =
        std::ranges::find_if(run, [&](PodGroupId group) { return IsHeldOff(cycle, group); });
    const auto count = static_cast<size_t>(held - run.begin());
    if (count > 0) runs->push_back(run.first(count));
    run = run.subspan(std::min(count + 1, run.size()));
  }
}

bool EvictionAction::CanNeverRun(CycleView& cycle, PodGroupId group) const {
  // spec 2 R7; allocate has already reported that no node is large enough.
  const PodList pods = cycle.order->PodsToPlace(group);
  return std::any_of(pods.begin(), pods.end(), [&](PodId pod) {
    return cycle.search->plans().CanNeverRun(cycle.cluster->pods().pod_class[pod]);
  });
}

void EvictionAction::Commit(CycleView& cycle, PodGroupId group, Statement::Checkpoint start) {
  const Cluster& cluster = *cycle.cluster;
  CycleLog& log = *cycle.log;
  const std::span<const Change> changes = cycle.statement->ChangesSince(start);
  log.decisions.reserve(std::max(log.decisions.size() + changes.size(), 2 * log.decisions.size()));
  absl::flat_hash_set<PodId> deleted;
  for (const Change& change : changes) {
    const bool evicts = change.to == PodStatus::kReleasing;
    if (!evicts && change.to != PodStatus::kPipelined) continue;
    const PodStatus now = cluster.pods().status[change.pod];
    const bool stayed = now != PodStatus::kReleasing && cluster.pods().is_virtual[change.pod] == 0;
    // Its return undid one eviction: a pod that was evicted twice is deleted although it may stay
    // (spec 2 W8).
    if (stayed != change.IsSecondEviction()) continue;
    if (stayed && !deleted.insert(change.pod).second) continue;
    CycleLog::Decision decision{
        .kind = evicts ? CycleLog::Decision::Kind::kEvict : CycleLog::Decision::Kind::kPipeline,
        .pod = change.pod,
        .node = change.to_node,
        .for_group = PodGroupId(),
        .action = {}};
    if (!evicts) decision.gpus = log.KeepGpus(cluster.pods().gpus[change.pod]);
    const PodGroupId own = cluster.pods().group[change.pod];
    if (evicts) {
      decision.note = note_;
      decision.for_group = group;
      decision.action = name_;
      Annotate(cycle, &decision);
      log.Mark(own, CycleLog::kEvicted);
    } else {
      log.Mark(own, CycleLog::kPlaced);
      decision.zones = cycle.ZonesOf(change.pod);
    }
    log.decisions.push_back(decision);
  }
  cycle.statement->Settle();
}

}  // namespace kai
