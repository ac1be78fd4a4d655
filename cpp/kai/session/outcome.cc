#include "kai/session/outcome.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "kai/actions/candidates.h"
#include "kai/actions/turns.h"

namespace kai {
namespace {

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

class Describer {
 public:
  Describer(const CycleView& cycle, Plan* plan)
      : cycle_(cycle), cluster_(*cycle.cluster), plan_(*plan) {}

  // Computes only evictions and annotations, without outcomes.
  void RunBriefly() {
    FindEvictions();
    for (const PodGroupId group : SinglesAndChanged(cycle_)) {
      const GroupStamps writes = StampsOf(group);
      if (writes.any() && MayStamp(WaitingOf(group) == 0 || cycle_.order->IsReady(group)))
        Stamp(group, writes);
    }
  }

  void Run() {
    FindEvictions();
    outcomes_ = GroupOutcomes(cluster_.pod_groups().size());
    for (const PodGroupId group : SinglesAndChanged(cycle_)) Describe(group, LikeOf(group));
    const ChangedGroups& changed = ChangedOfShared(cycle_);
    for (const GroupClassId id : cycle_.classes->classes()) {
      if (cycle_.classes->IsShared(id)) DescribeClass(id, changed.contains(id));
    }
    plan_.outcomes = std::make_shared<const GroupOutcomes>(std::move(outcomes_));
  }

 private:
  // Pods that leave without a promise to come back; the last decision about a pod counts.
  void FindEvictions() {
    const std::vector<CycleLog::Decision>& decisions = cycle_.log->decisions;
    std::vector<Plan::Eviction>& evictions = plan_.evictions;
    for (size_t i = 0; i < decisions.size(); ++i) {
      const PodId pod = decisions[i].pod;
      if (decisions[i].kind == CycleLog::Decision::Kind::kEvict &&
          cluster_.pods().status[pod] == PodStatus::kReleasing) {
        evictions.push_back({.group = cluster_.pods().group[pod], .pod = pod, .decision = i});
      }
    }
    std::ranges::sort(evictions, [&](const Plan::Eviction& a, const Plan::Eviction& b) {
      if (a.group != b.group) return a.group < b.group;
      return a.pod != b.pod ? cluster_.IsNamedBefore(a.pod, b.pod) : a.decision < b.decision;
    });
    const auto is_same = [](const Plan::Eviction& a, const Plan::Eviction& b) {
      return a.pod == b.pod;
    };
    evictions.erase(evictions.begin(),
                    std::unique(evictions.rbegin(), evictions.rend(), is_same).base());
  }
  bool LosesPods(PodGroupId group) const {
    return std::ranges::binary_search(plan_.evictions, group, {}, &Plan::Eviction::group);
  }

  Verdict VerdictOf(PodGroupId group, int32_t waiting, bool ready) const {
    const int32_t bound = cycle_.order->CountOf(group, PodStatus::kAllocated);
    const int32_t pipelined = cycle_.order->CountOf(group, PodStatus::kPipelined);
    if (bound + pipelined > 0) {
      if (waiting > 0 || HasWaitingMisfits(group) || LosesPods(group))
        return Verdict::kPartlyPlaced;
      if (pipelined == 0) return Verdict::kPlaced;
      return bound == 0 ? Verdict::kPipelined : Verdict::kPartlyPlaced;
    }
    if (!cluster_.pod_groups().queue[group].valid()) return Verdict::kInvalid;
    if (waiting == 0)
      return HasActivePods(group) || HasEnded(group) ? Verdict::kRunning : Verdict::kNotReady;
    return ready ? Verdict::kUnschedulable : Verdict::kNotReady;
  }

  // True if pods with an unknown sub-group wait; they wait for ever.
  bool HasWaitingMisfits(PodGroupId group) const {
    const std::vector<PodId>& misfits = cluster_.pod_groups().misfits[group];
    return std::any_of(misfits.begin(), misfits.end(), [&](PodId pod) {
      return cluster_.pods().status[pod] == PodStatus::kPending;
    });
  }

  bool HasActivePods(PodGroupId group) const {
    for (const SubGroupId pod_set : cluster_.pod_groups().PodSetsOf(group)) {
      if (cluster_.sub_groups().counts[pod_set].active_used() > 0) return true;
    }
    return false;
  }
  bool HasEnded(PodGroupId group) const {
    return cycle_.order->CountOf(group, PodStatus::kSucceeded) > 0;
  }

  // The group that was tried in place of this one, and that a later action may have changed; the
  // group itself if it was tried or shares no class.
  PodGroupId LikeOf(PodGroupId group) const {
    const CycleLog& log = *cycle_.log;
    const auto answers = log.answers.find(cycle_.classes->ClassOf(group));
    if (answers == log.answers.end() || log.reasons.contains(group)) return group;
    const IndexVector<PodGroupId, int64_t>& rank = cycle_.Places();
    const auto next = std::ranges::upper_bound(answers->second, rank[group], {},
                                               [&](PodGroupId each) { return rank[each]; });
    return next == answers->second.begin() ? group : *std::prev(next);
  }

  // Groups that have not changed get the outcome of the group that was tried before them.
  void DescribeClass(GroupClassId id, bool some_changed) {
    std::span<const PodGroupId> tried;
    if (const auto answers = cycle_.log->answers.find(id); answers != cycle_.log->answers.end())
      tried = answers->second;
    const std::span<const PodGroupId> groups = cycle_.GroupsOf(id);
    const bool has_one_outcome = tried.empty() || (tried.size() == 1 && tried[0] == groups[0]);
    if (has_one_outcome && !some_changed && cycle_.log->spent_searches.empty() &&
        (cycle_.unkept == nullptr || !cycle_.unkept->any())) {
      Describe(groups[0], groups[0]);
      for (const PodGroupId group : groups.subspan(1)) outcomes_.Share(group, groups[0]);
      return;
    }
    PodGroupId like;   // the next groups have its reasons
    PodGroupId known;  // the next groups share its outcome
    for (const PodGroupId group : groups) {
      const bool is_tried = !tried.empty() && tried.front() == group;
      if (is_tried) tried = tried.subspan(1);
      if (is_tried) {
        like = group;
        known = PodGroupId();
      }
      if (some_changed && cycle_.classes->HasChanged(group)) continue;
      if (!like.valid()) like = group;
      if (known.valid() && !HasReasonOfItsOwn(group)) {
        outcomes_.Share(group, known);
        continue;
      }
      Describe(group, like);
      if (!HasReasonOfItsOwn(group)) known = group;
    }
  }

  bool HasReasonOfItsOwn(PodGroupId group) const {
    return cycle_.log->Has(group, CycleLog::kBudgetSpent) ||
           cycle_.log->Has(group, CycleLog::kHeldOff);
  }

  // The group gets the reasons that were found for `like`.
  void Describe(PodGroupId group, PodGroupId like) {
    GroupOutcome& outcome = outcomes_.At(group);
    const int32_t waiting = WaitingOf(group);
    const bool ready = waiting == 0 || cycle_.order->IsReady(group);
    const bool waits_for_pods = waiting != 0 && cycle_.order->WaitsForPods(group);
    outcome.verdict = VerdictOf(group, waiting, !waits_for_pods);
    if (MayStamp(ready)) {
      outcome.writes = StampsOf(group);
      Stamp(group, outcome.writes);
    }
    if (ReportsStaleness(group)) AddToEvent(StaleOf(group), &outcome);
    DescribeMisfits(group, &outcome);
    DescribeState(group, like, waiting, !waits_for_pods, &outcome);
    if (IsStale(group)) AddToPlan(StaleOf(group), &outcome);
  }

  static void AddToEvent(Reason reason, GroupOutcome* outcome) {
    outcome->reasons.push_back({.reason = std::move(reason), .in_event = true, .in_plan = false});
  }
  static void AddToPlan(Reason reason, GroupOutcome* outcome) {
    outcome->reasons.push_back({.reason = std::move(reason), .in_event = false, .in_plan = true});
  }
  static void Add(Reason reason, GroupOutcome* outcome) {
    outcome->reasons.push_back({.reason = std::move(reason)});
  }

  void DescribeBudget(PodGroupId group, GroupOutcome* outcome) const {
    if (cycle_.log->Has(group, CycleLog::kBudgetSpent)) AddToPlan(SearchBudgetSpent(), outcome);
  }

  void DescribeState(PodGroupId group, PodGroupId like, int32_t waiting, bool ready,
                     GroupOutcome* outcome) {
    if (waiting == 0) {
      if (outcome->verdict == Verdict::kNotReady) {
        AddToPlan(NoPods(), outcome);
      } else if (outcome->verdict == Verdict::kRunning && !HasActivePods(group)) {
        AddToPlan(Completed(), outcome);
      } else if (outcome->verdict == Verdict::kInvalid) {
        AddToPlan(NoQueue(), outcome);
      }
      DescribeBudget(group, outcome);  // one action was cut short, and a later one found a place
      return;
    }
    if (!ready) {
      Add(NotReadyOf(group), outcome);
      DescribeBudget(group, outcome);  // an action was cut short before a later one broke its gang
      // KAI's text ends here; programs also get the reason that its queue does not exist.
      if (outcome->verdict == Verdict::kInvalid) AddToPlan(NoQueue(), outcome);
      return;
    }

    const bool has_queue = cluster_.pod_groups().queue[group].valid();
    if (!has_queue) Add(NoQueue(), outcome);
    const size_t begin = outcome->reasons.size();
    AddLogged(like, group, outcome);
    const bool has_errors = !has_queue || outcome->reasons.size() > begin;
    outcome->has_errors_event = true;
    const size_t end = outcome->reasons.size();
    DescribeBudget(group, outcome);
    if (cycle_.log->Has(group, CycleLog::kHeldOff)) {
      const UnkeptPromise& unkept = *cycle_.unkept->Of(group);
      Add(
          PreemptionDelay{
              .delay_ns = unkept.DelayNs(), .end_ns = unkept.EndNs(), .unkept = unkept.times},
          outcome);
    }
    DescribeWhatKeepsOut(group, has_errors, outcome);
    if (cycle_.order->CountOf(group, PodStatus::kPending) > 0)
      ListWaitingPods(group, begin, end, outcome);
  }

  // KAI's event reports a gang, and why its next pod found no node, as one error.
  void AddLogged(PodGroupId like, PodGroupId group, GroupOutcome* outcome) const {
    bool is_reported = false;  // with its gang
    for (Reason reason : cycle_.log->ReasonsOf(like)) {
      if (like != group) reason = ForGroup(std::move(reason), group, cluster_);
      const auto* too_small = std::get_if<DomainTooSmall>(&reason);
      const auto* lacks = std::get_if<DomainsLack>(&reason);
      const bool is_ours = too_small != nullptr && too_small->is_best;
      const bool is_kais = lacks != nullptr && lacks->is_outside;
      outcome->reasons.push_back(
          {.reason = reason, .in_event = !is_reported && !is_ours, .in_plan = !is_kais});
      is_reported = std::holds_alternative<GangIncomplete>(reason);
    }
  }

  int32_t WaitingOf(PodGroupId group) const {
    return cycle_.order->CountOf(group, PodStatus::kPending) +
           cycle_.order->CountOf(group, PodStatus::kGated);
  }

  // KAI loses these writes for groups that still wait for pods to exist (spec 2 W5).
  bool MayStamp(bool ready) const { return ready || cycle_.switches->on(Switch::kNotReadyWrites); }

  GroupStamps StampsOf(PodGroupId group) const {
    GroupStamps writes{.last_start = cycle_.log->Has(group, CycleLog::kStarted),
                       .last_eviction = cycle_.log->Has(group, CycleLog::kEvicted)};
    const int64_t since_ns = cycle_.StaleSince(group);
    if (since_ns != cluster_.pod_groups().stale_since_ns[group])
      writes.stale_since = since_ns == kNoTime ? StampWrite::kRemove : StampWrite::kNow;
    if (cycle_.service != nullptr && ChangesSize(group)) writes.service = ServiceOf(group);
    return writes;
  }

  void Stamp(PodGroupId group, const GroupStamps& writes) {
    if (writes.service) cycle_.time->ExpireAtOnce();  // includes the time up to now
    if (writes.any()) plan_.stamped.push_back({.group = group, .writes = writes});
  }

  // True if it lost pods, or got more pods than it had.
  bool ChangesSize(PodGroupId group) const {
    const CycleLog& log = *cycle_.log;
    return LosesSome(group) ||
           (log.Has(group, CycleLog::kPlaced) && !log.Has(group, CycleLog::kStarted) &&
            cycle_.order->CountOf(group, PodStatus::kAllocated) > 0);
  }
  bool LosesSome(PodGroupId group) const {
    return cycle_.log->Has(group, CycleLog::kEvicted) || cycle_.log->Has(group, CycleLog::kIsStale);
  }

  // The service it has received up to now; empty if it did not run.
  std::optional<ServiceRow> ServiceOf(PodGroupId group) const {
    std::optional<ServiceRow> service = cycle_.service->ToWrite(group);
    if (service && LosesSome(group) && service->evictions < std::numeric_limits<int32_t>::max())
      ++service->evictions;
    return service;
  }

  // KAI's event mentions it from the second cycle on, or when it evicts (spec 2 D6, M1).
  bool ReportsStaleness(PodGroupId group) const {
    const int64_t since_ns = cycle_.StaleSince(group);
    const bool was_stale =
        since_ns != kNoTime && since_ns == cluster_.pod_groups().stale_since_ns[group];
    return was_stale || cycle_.log->Has(group, CycleLog::kIsStale);
  }

  // Programs get this reason from the first cycle on. The timestamp alone is not enough: without
  // the action that removes it, it may be older than the current state.
  bool IsStale(PodGroupId group) const {
    return cycle_.StaleSince(group) != kNoTime && !cycle_.order->IsGangSatisfied(group);
  }

  Stale StaleOf(PodGroupId group) const {
    const SubGroupColumns& sets = cluster_.sub_groups();
    Stale stale;
    for (const SubGroupId id : cluster_.pod_groups().PodSetsOf(group)) {
      stale.pod_sets.push_back({.pod_set = id,
                                .minimum = sets.minimum[id],
                                .pods = sets.counts[id].active_used(),
                                .leaving = LeavingBefore(id)});
    }
    return stale;
  }

  // Pods that were leaving when the cycle began.
  int32_t LeavingBefore(SubGroupId pod_set) const {
    const PodColumns& pods = cluster_.pods();
    return static_cast<int32_t>(
        std::ranges::count_if(cycle_.order->PodsOf(pod_set), [&](PodId pod) {
          return pods.status[pod] == PodStatus::kReleasing && pods.is_virtual[pod] == 0;
        }));
  }

  // Pods whose sub-group does not exist (spec 2 M9).
  void DescribeMisfits(PodGroupId group, GroupOutcome* outcome) {
    for (const PodId pod : cluster_.pod_groups().misfits[group]) {
      outcome->waiting_pods.emplace_back(pod, static_cast<int32_t>(outcome->reasons.size()));
      AddToPlan(NoSubgroup{.pod = pod}, outcome);
    }
  }

  // Adds reasons that no action reports: unknown labels of namespaces, or a queue that is not a
  // leaf.
  void DescribeWhatKeepsOut(PodGroupId group, bool has_errors, GroupOutcome* outcome) {
    const QueueId queue = cluster_.pod_groups().queue[group];
    if (queue.valid() && !cluster_.queues().IsLeaf(queue))
      return AddToPlan(QueueNotLeaf{.queue = queue}, outcome);
    if (cycle_.MayRun(group)) {
      const bool has_any = std::ranges::any_of(outcome->reasons, &OutcomeReason::in_plan);
      if (!has_errors && !has_any && outcome->verdict == Verdict::kUnschedulable)
        AddToPlan(NotConsidered(), outcome);
      return;
    }
    AddToPlan(NotBuilt(), outcome);
  }

  NotReady NotReadyOf(PodGroupId group) const {
    const SubGroupColumns& sets = cluster_.sub_groups();
    NotReady not_ready;
    for (const SubGroupId id : cluster_.pod_groups().PodSetsOf(group)) {
      const StatusCounts& counts = sets.counts[id];
      const int32_t alive = counts.alive();
      const int32_t gated = counts[PodStatus::kGated];
      const int32_t minimum = cycle_.order->MinimumOf(id);
      if (alive - gated >= minimum) continue;
      not_ready.pod_sets.push_back(
          {.pod_set = id, .minimum = minimum, .pods = alive, .gated = gated});
    }
    return not_ready;
  }

  // Lists every waiting pod with the reason why it found no node itself or, if it has none, with
  // its group's (spec 2 M2). The group's reasons are those from `begin` to `end`.
  void ListWaitingPods(PodGroupId group, size_t begin, size_t end, GroupOutcome* outcome) const {
    const auto reasons = std::span(outcome->reasons).subspan(begin, end - begin);
    for (const SubGroupId pod_set : cluster_.pod_groups().PodSetsOf(group)) {
      for (const PodId pod : cycle_.order->PodsOf(pod_set)) {
        if (cluster_.pods().status[pod] != PodStatus::kPending) continue;
        const auto own = std::ranges::find_if(reasons, [&](const OutcomeReason& each) {
          const auto* no_node = std::get_if<NoNode>(&each.reason);
          return no_node != nullptr && no_node->pod == pod;
        });
        const auto place =
            static_cast<int32_t>(begin) + static_cast<int32_t>(own - reasons.begin());
        outcome->waiting_pods.emplace_back(pod, own == reasons.end() ? -1 : place);
      }
    }
  }

  const CycleView& cycle_;
  const Cluster& cluster_;
  Plan& plan_;
  GroupOutcomes outcomes_;
};

}  // namespace

void DescribeOutcomes(const CycleView& cycle, Plan* plan) {
  Describer describer(cycle, plan);
  cycle.explains ? describer.Run() : describer.RunBriefly();
}

}  // namespace kai
