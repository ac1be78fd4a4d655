#include "kai/actions/victim_search.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "kai/actions/candidates.h"
#include "kai/model/columns/gpu_sums.h"

namespace kai {
namespace {

// The number of batches of victims before the search tries to prove that all candidates are not
// enough: most searches have ended by then.
constexpr size_t kBatchesBeforeProof = 16;

}  // namespace

VictimSearch::VictimSearch(CycleView& cycle, PodGroupId group, const Candidates& candidates,
                           Validator validator, SearchMeter* meter, Options options)
    : cycle_(cycle),
      group_(group),
      validator_(std::move(validator)),
      meter_(meter),
      options_(options),
      candidates_(candidates),
      pods_(cycle.order->PodsToPlace(group)),
      places_(cycle),
      bounds_(cycle, pods_),
      waiting_(cycle, group),
      takes_part_(cycle.cluster->pod_groups().size()),
      has_no_room_(cycle.cluster->pod_classes().size()) {
  // Nodes without a GPU to give are not used if every pod of the group requests one (spec 2 V3).
  const Cluster& cluster = *cycle.cluster;
  gpu_nodes_only_ = true;
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    for (const PodId pod : cycle.order->PodsOf(pod_set))
      gpu_nodes_only_ = gpu_nodes_only_ && !cluster.ClassOf(pod).cpu_only;
  }
  if (!gpu_nodes_only_) return;
  const NodeColumns& nodes = cluster.nodes();
  offered_.Resize(nodes.size());
  for (const NodeId node : nodes.name.ids()) {
    offered_[node] = HasGpusToGive(cluster, node);
  }
}

VictimSearch::~VictimSearch() { cycle_.order->ForgetParts(); }

SearchOutcome VictimSearch::Run() {
  if (pods_.empty()) return SearchOutcome::kGeneratorsExhausted;
  if (!meter_->StartJob(cycle_.cluster->PodGroupName(group_))) return SearchOutcome::kNotAttempted;
  if (cycle_.generators.empty()) return SearchOutcome::kNoGenerator;
  if (candidates_.empty()) return SearchOutcome::kGeneratorsExhausted;  // no victims, no scenario
  const int32_t active_before = cycle_.order->ActiveUsed(group_);
  start_ = cycle_.statement->Mark();
  pool_.emplace(cycle_, candidates_);
  for (const ScenarioGenerator generator : cycle_.generators) {
    recorded_.clear();
    stands_ = false;
    meter_->StartGenerator(generator);
    Probe last = Probe::kFailed;
    if (LargestSolved(generator, &last) > 0 && !IsStanding(last))
      last = RunProbe(generator, pods_.size(), true);
    if (last == Probe::kSolved) {
      if (IsSatisfied(active_before)) return SearchOutcome::kSolved;
      cycle_.statement->RollBackTo(start_);  // KAI keeps it (spec 2 W1)
      return SearchOutcome::kGeneratorsExhausted;
    }
    if (last == Probe::kDeadline) return SearchOutcome::kDeadlineExhausted;
  }
  return SearchOutcome::kGeneratorsExhausted;
}

bool VictimSearch::MayWork(ScenarioGenerator generator, size_t pods) {
  if (cycle_.plain_search) return true;
  if (pods > kBatchesBeforeProof && CannotSucceed()) return false;
  // If some leaves of a part have no pods yet, fewer than all pods may be enough.
  const PodList part = cycle_.order->PodsToPlace(group_);
  if (options_.returns != nullptr) {
    options_.returns->StartPart(part);
    if (!movable_) movable_.emplace(candidates_.All());
    if (!options_.returns->MayFitWithAnyOf(&*movable_)) return false;
  }
  bounds_.StartPart(part, recorded_);
  return generator != ScenarioGenerator::kNodeLocalGreedy || bounds_.MayHoldWithOneNode();
}

bool VictimSearch::CannotSucceed() {
  if (!is_success_checked_) {
    cannot_succeed_ = bounds_.NeverFits(candidates_.All());
    is_success_checked_ = true;
  }
  return cannot_succeed_;
}

bool VictimSearch::IsSatisfied(int32_t active_before) const {
  return cycle_.order->IsGangSatisfied(group_) && cycle_.order->ActiveUsed(group_) > active_before;
}

bool VictimSearch::PlaceWhole(PodGroupId group) {
  const Statement::Checkpoint start = cycle_.statement->Mark();
  if (!cycle_.placer->Place(group, GroupPlacer::Mode::kSimulate, cycle_.statement).placed)
    return false;
  // A pod that moves could not start again if its gang lacks pods, or if pods that it needs are
  // leaving. KAI counts these.
  if (!cycle_.switches->on(Switch::kWholeGangs)) return true;
  const Cluster& cluster = *cycle_.cluster;
  const bool is_whole =
      std::ranges::all_of(cycle_.statement->ChangesSince(start), [&](const Change& change) {
        if (change.to != PodStatus::kPipelined) return true;
        SubGroupId set = cluster.pods().pod_set[change.pod];
        while (set.valid() && cycle_.order->AllocationSatisfied(set))
          set = cluster.sub_groups().parent[set];
        return !set.valid();
      });
  if (!is_whole) cycle_.statement->RollBackTo(start);
  return is_whole;
}

bool VictimSearch::IsStanding(Probe last) const { return last == Probe::kSolved && stands_; }

size_t VictimSearch::LargestSolved(ScenarioGenerator generator, Probe* last) {
  // Doubles the part until it fails, then halves the gap (spec 2 V1).
  const size_t all = pods_.size();
  size_t solved = 0;
  size_t failed = all + 1;
  for (size_t k = 1;; k = std::min(2 * k, all)) {
    // The very last probe repeats the whole group with its recorded victims. If each of them was
    // needed, this is the same scenario again, and its changes can be kept, unless a filter that
    // allowed it with more victims would now refuse it.
    const bool may_stand =
        k == all && !cycle_.plain_search && cycle_.switches->on(Switch::kScenarioFilters);
    *last = RunProbe(generator, k, may_stand);
    if (*last == Probe::kDeadline) return 0;
    if (*last == Probe::kFailed) {
      failed = k;
      break;
    }
    solved = k;
    if (k == all) {
      stands_ = may_stand && recorded_is_all_;
      if (!stands_) cycle_.statement->RollBackTo(start_);
      return solved;
    }
  }
  while (solved > 0 && failed - solved > 1) {
    const size_t k = solved + (failed - solved) / 2;
    *last = RunProbe(generator, k, false);
    if (*last == Probe::kDeadline) return 0;
    (*last == Probe::kSolved ? solved : failed) = k;
  }
  return solved;
}

VictimSearch::Probe VictimSearch::RunProbe(ScenarioGenerator generator, size_t pods, bool keep) {
  const std::span<const PodId> part = std::span(pods_).first(pods);
  cycle_.order->Narrow(group_, part);
  IndexVector<NodeId, uint8_t> offered = offered_;
  for (const Victim& victim : recorded_) {
    if (gpu_nodes_only_ && victim.node.valid()) offered_[victim.node] = 1;
  }
  if (gpu_nodes_only_) cycle_.search->OfferOnly(&offered_);

  Probe result = Probe::kFailed;
  if (MayWork(generator, pods)) {
    ScenarioBase base(cycle_, part, recorded_, &*pool_, gpu_nodes_only_ ? &offered_ : nullptr);
    request_ = cycle_.order->NextRequest(group_);
    do {
      // If it takes longer, it pays off to check if it can succeed at all.
      if (base.batches().size() == kBatchesBeforeProof && !cycle_.plain_search) {
        if (!turn_bounds_) turn_bounds_.emplace(cycle_, group_, candidates_.All(), waiting_.runs());
        if (CannotSucceed() || turn_bounds_->AllReturnFirst(part.front())) break;
        bounds_.StartPart(cycle_.order->PodsToPlace(group_), recorded_);
      }
      if (!base.IsWorthwhile()) continue;
      result = generator == ScenarioGenerator::kNodeLocalGreedy ? TryNodeLocal(base, keep)
                                                                : TryMultiNode(base, keep);
    } while (result == Probe::kFailed && base.Grow());
  }
  cycle_.search->OfferOnly(nullptr);
  offered_ = std::move(offered);
  cycle_.order->Widen();
  return result;
}

VictimSearch::Probe VictimSearch::TryNodeLocal(const ScenarioBase& base, bool keep) {
  if (base.batches().empty())
    return recorded_.empty() ? Probe::kFailed : TryVictims(base, {}, keep);
  const Cluster& cluster = *cycle_.cluster;
  // The nodes, by name, with a pod of the group of the last batch, also pods that are not victims.
  std::vector<NodeId> nodes;
  for (const SubGroupId pod_set : cycle_.order->PodSetsOf(base.batches().back().group)) {
    for (const PodId pod : cycle_.order->PodsOf(pod_set)) {
      if (cluster.pods().node[pod].valid()) nodes.push_back(cluster.pods().node[pod]);
    }
  }
  const auto by_name = [&](NodeId a, NodeId b) {
    return cluster.nodes().name_rank[a] < cluster.nodes().name_rank[b];
  };
  std::sort(nodes.begin(), nodes.end(), by_name);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const NodeId node : nodes) {
    // All batches, on any node, of groups that would lose a pod here.
    const std::vector<Victim> added = base.VictimsOf(base.BatchesOfGroupsOn(node));
    const Probe result = cycle_.switches->on(Switch::kSingleVictims)
                             ? TryVictims(base, added, keep)
                             : TryVictims(base, WithRecorded(base, added), keep);
    if (result != Probe::kFailed) return result;
  }
  return Probe::kFailed;
}

VictimSearch::Probe VictimSearch::TryMultiNode(const ScenarioBase& base, bool keep) {
  if (base.batches().empty()) return TryVictims(base, {}, keep);
  // No prefix of the nodes could hold all pods, so they need not be sorted.
  const double missing = base.RequestedGpus() - base.GpusElsewhere();
  if (!cycle_.plain_search && base.GpusOfUsefulNodes() < missing - kGpuSumTolerance)
    return Probe::kFailed;
  std::vector<NodeId> nodes;
  std::copy_if(base.nodes().begin(), base.nodes().end(), std::back_inserter(nodes),
               [&](NodeId node) { return base.IsUseful(node); });
  std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return base.GpusWithVictims(a) < base.GpusWithVictims(b);
  });
  // The shortest prefix of nodes that could hold all pods, then longer ones.
  size_t count = 0;
  double room = 0;
  while (room < missing) {
    if (count == nodes.size()) return Probe::kFailed;
    room += base.GpusWithVictims(nodes[count++]);
  }
  for (size_t step = 1;; count = std::min(count + step, nodes.size()), step *= 2) {
    // Earlier batches of a group are evicted as well: KAI leaves gangs below their minimum.
    const std::vector<int32_t> batches =
        base.BatchesOn(std::span(nodes).first(count), cycle_.switches->on(Switch::kWholeGangs));
    if (const Probe result = TryVictims(base, base.VictimsOf(batches), keep);
        result != Probe::kFailed)
      return result;
    if (count == nodes.size()) return Probe::kFailed;
  }
}

std::vector<Victim> VictimSearch::WithRecorded(const ScenarioBase& base,
                                               std::span<const Victim> added) const {
  // KAI takes all pods that a group must give up, including those that it already gives up (spec 2
  // W8).
  const IndexVector<PodId, PodGroupId>& group_of = cycle_.cluster->pods().group;
  absl::flat_hash_set<PodGroupId> groups;
  for (const Victim& victim : added) groups.insert(group_of[victim.pod]);
  absl::flat_hash_set<PodId> again;
  std::vector<Victim> victims;
  for (const Victim& victim : base.recorded()) {
    if (groups.contains(group_of[victim.pod]) && again.insert(victim.pod).second)
      victims.push_back(victim);
  }
  victims.insert(victims.end(), added.begin(), added.end());
  return victims;
}

VictimSearch::Probe VictimSearch::TryVictims(const ScenarioBase& base,
                                             std::span<const Victim> added, bool keep) {
  if (!cycle_.plain_search && !bounds_.MayHold(added)) return Probe::kFailed;
  if (options_.returns != nullptr && !options_.returns->MayFit(base.recorded(), added))
    return Probe::kFailed;
  return TryScenario(base.Make(added), keep);
}

VictimSearch::Probe VictimSearch::TryScenario(const Scenario& scenario, bool keep) {
  if (scenario.victims.empty() || failed_.contains(scenario.key)) return Probe::kFailed;
  if (meter_->JobIsSpent()) return Probe::kDeadline;
  if (meter_->GeneratorIsSpent()) return Probe::kFailed;
  meter_->Count();
  const Statement::Checkpoint start = cycle_.statement->Mark();
  if (!Simulate(scenario)) {
    cycle_.statement->RollBackTo(start);
    failed_.insert(scenario.key);
    return Probe::kFailed;
  }
  recorded_ = NeededOf(scenario);
  recorded_is_all_ = std::equal(recorded_.begin(), recorded_.end(), scenario.victims.begin(),
                                scenario.victims.end(),
                                [](const Victim& a, const Victim& b) { return a.pod == b.pod; });
  if (!keep) cycle_.statement->RollBackTo(start);
  return Probe::kSolved;
}

std::vector<Victim> VictimSearch::NeededOf(const Scenario& scenario) const {
  // The groups with a victim that leaves or moves, with all that the scenario took from them: pods
  // that could stay would be evicted again (decision 0008).
  const PodColumns& pods = cycle_.cluster->pods();
  absl::flat_hash_set<PodGroupId> losers;
  for (const Victim& victim : scenario.victims) {
    const PodGroupId group = pods.group[victim.pod];
    if (losers.contains(group)) continue;
    const PodStatus status = pods.status[victim.pod];
    const bool lost_others =
        options_.whole_groups && cycle_.order->CountOf(group, PodStatus::kReleasing) +
                                         cycle_.order->CountOf(group, PodStatus::kPipelined) >
                                     0;
    if (lost_others || status == PodStatus::kReleasing || status == PodStatus::kPipelined)
      losers.insert(group);
  }
  std::vector<Victim> needed;
  std::ranges::copy_if(scenario.victims, std::back_inserter(needed), [&](const Victim& victim) {
    return losers.contains(pods.group[victim.pod]);
  });
  std::stable_partition(needed.begin(), needed.end(), [&](const Victim& victim) {
    return pods.status[victim.pod] == PodStatus::kReleasing;
  });
  return needed;
}

bool VictimSearch::Simulate(const Scenario& scenario) {
  const Statement::Checkpoint start = cycle_.statement->Mark();
  for (const Victim& victim : scenario.victims) {
    KAI_DCHECK(cycle_.cluster->pods().status[victim.pod] != PodStatus::kReleasing ||
               !cycle_.switches->on(Switch::kSingleVictims))
        << cycle_.cluster->PodName(victim.pod);
    cycle_.statement->Evict(victim.pod);
  }
  offered_by_scenario_.clear();
  if (gpu_nodes_only_) {
    for (const Victim& victim : scenario.victims) {
      if (!victim.node.valid() || offered_[victim.node] != 0) continue;
      offered_[victim.node] = 1;
      offered_by_scenario_.push_back(victim.node);
    }
  }
  const bool works = PlaceLasting(scenario, start);
  if (!works) {
    for (const NodeId node : offered_by_scenario_) offered_[node] = 0;
  }
  return works;
}

bool VictimSearch::PlaceLasting(const Scenario& scenario, Statement::Checkpoint start) {
  // Required affinity to evicted pods counts only if these return, which is known at the end. So
  // the pods are placed without it first.
  const Statement::Checkpoint evicted = cycle_.statement->Mark();
  for (const bool only_lasting : {true, false}) {
    cycle_.search->OnlyLasting(only_lasting);
    const bool works = PlaceAll(scenario) && validator_(scenario, request_) && places_.Last(start);
    const bool refused_any = cycle_.search->RefusedPassing();
    cycle_.search->OnlyLasting(false);
    if (works) return true;
    if (!refused_any) return false;
    cycle_.statement->RollBackTo(evicted);
  }
  return false;
}

bool VictimSearch::PlaceAll(const Scenario& scenario) {
  // The group and its victims' groups, in the order in which allocate would take them.
  const Cluster& cluster = *cycle_.cluster;
  std::vector<PodGroupId> groups;
  const auto add = [&](PodGroupId group) {
    if (takes_part_[group] != 0) return;
    takes_part_[group] = 1;
    groups.push_back(group);
  };
  add(group_);
  for (const Victim& victim : scenario.victims) add(cluster.pods().group[victim.pod]);
  // Every waiting group is in that order as well: a promise made here must still be possible when
  // the next cycle allocates. A group that cannot be placed in any order does not represent its
  // queue, then and now; in KAI it does (switch unrelated_blockers). What is true for one group of
  // a run is true for all of it, because groups with active pods, such as victims, are in runs of
  // their own.
  const bool includes_blocked = !cycle_.switches->on(Switch::kUnrelatedBlockers);
  std::vector<std::span<const PodGroupId>> runs;
  for (const std::span<const PodGroupId> run : waiting_.runs()) {
    const PodGroupId group = run.front();
    const bool waits = takes_part_[group] == 0 && cycle_.MayRun(group) &&
                       IsCandidate(cluster, *cycle_.order, group, {.ready = !includes_blocked});
    if (waits && (includes_blocked ||
                  MayFindRoom(cycle_, group, cycle_.order->PodsToPlace(group), cycle_.room)))
      runs.push_back(run);
  }
  for (const PodGroupId& group : groups) runs.emplace_back(&group, 1);
  std::ranges::sort(runs, {}, [&](std::span<const PodGroupId> run) {
    return cluster.pod_groups().creation_rank[run.front()];
  });
  Worklist worklist(cluster, cycle_.shares, cycle_.order, cycle_.worklist);
  for (const std::span<const PodGroupId> run : runs) worklist.Push(run);
  bool is_placed = false;
  bool works = true;
  while (works && !worklist.empty()) {
    const PodGroupId group = worklist.Pop();
    if (takes_part_[group] == 0) {  // nor do the others of its run
      if (!cycle_.plain_search) worklist.PassOverAlike();
      continue;
    }
    const bool placed = PlaceWhole(group);
    if (group != group_) {
      // If each victim must return: a group that failed in its turn will not be placed later.
      works = placed || options_.returns == nullptr;
      continue;
    }
    is_placed = placed;
    works = placed;
    // Often the simulation can end here: no evicted pod finds room again, in any order.
    if (works && !cycle_.plain_search && NoVictimReturns(scenario, groups)) break;
  }
  for (const PodGroupId group : groups) takes_part_[group] = 0;
  return works && is_placed;
}

bool VictimSearch::NoVictimReturns(const Scenario& scenario, std::span<const PodGroupId> groups) {
  // From here on, room only shrinks, so a pod without room now will have none later.
  const Cluster& cluster = *cycle_.cluster;
  for (const PodGroupId group : groups) {
    if (group != group_ && cycle_.order->CountOf(group, PodStatus::kPending) > 0) return false;
  }
  std::vector<PodClassId> checked;
  bool none_returns = true;
  for (const Victim& victim : scenario.victims) {
    const PodClassId pod_class = cluster.pods().pod_class[victim.pod];
    if (cluster.pods().status[victim.pod] != PodStatus::kReleasing || has_no_room_[pod_class] != 0)
      continue;
    if (cycle_.search->Find(pod_class).node.valid()) {
      none_returns = false;
      break;
    }
    has_no_room_[pod_class] = 1;
    checked.push_back(pod_class);
  }
  for (const PodClassId pod_class : checked) has_no_room_[pod_class] = 0;
  return none_returns;
}

}  // namespace kai
