#include "kai/actions/preempt.h"

#include <algorithm>

#include "kai/actions/eviction_action.h"
#include "kai/actions/victim_protection.h"
#include "kai/base/saturating.h"

namespace kai {
namespace {

class Preempt final : public EvictionAction {
 public:
  explicit Preempt(const PreemptOptions& options)
      : EvictionAction("preempt", EvictionNote::kPreempted, options.depth), options_(options) {}

 protected:
  bool MayFindVictims(const CycleView& cycle, PodGroupId group) const override {
    const PodGroupColumns& groups = cycle.cluster->pod_groups();
    const JobOrder* order = cycle.job_order();
    if (order != nullptr && order->options().preempts && order->IsBetterThanSome(group))
      return true;
    return cycle.lists().bounds_in[groups.queue[group]].lowest_priority < groups.priority[group];
  }

  bool CannotSucceed(CycleView& cycle, PodGroupId group) override {
    // A group that may not exceed its quota cannot gain from evictions (spec 1 F99).
    const Cluster& cluster = *cycle.cluster;
    if (!options_.check_capacity || cluster.pod_groups().preemptible[group] != 0) return false;
    RequestedAmount requested(cycle.switches->on(Switch::kQuotaEpsilon) ? Adding::kExact
                                                                        : Adding::kAsKai);
    for (const PodId pod : cycle.order->PodsToPlace(group))
      requested += cluster.ClassOf(pod).gate_requested;
    const QueueId queue = cluster.pod_groups().queue[group];
    return !CheckNonPreemptibleQuota(cycle.shares->table(), queue, requested).fits();
  }

  Candidates CandidatesFor(CycleView& cycle, PodGroupId group, VictimLists*) override {
    const PodGroupColumns& groups = cycle.cluster->pod_groups();
    if (options_.min_runtime) {
      runtime_ns_ = MinRuntime(cycle.cluster->queues(), *options_.min_runtime)
                        .ForPreempt(groups.queue[group]);
    }
    if (cycle.switches->on(Switch::kSameCycleEviction) && !MayFindVictims(cycle, group)) return {};
    std::vector<PodGroupId> candidates = MayLoseIn(cycle, groups.queue[group]);
    EraseWithoutAlive(cycle, &candidates);
    const PodGroupLists::Bounds& bounds = cycle.lists().bounds_in[groups.queue[group]];
    const bool all_are_lower =
        cycle.job_order() == nullptr && bounds.highest_priority < groups.priority[group];
    const bool any_is_protected =
        options_.min_runtime && AnyIsProtected(cycle, groups.queue[group], runtime_ns_);
    // No pods that started in this cycle are among them.
    if (cycle.switches->on(Switch::kSameCycleEviction) && all_are_lower && !any_is_protected)
      return Candidates(std::move(candidates));
    std::erase_if(candidates, [&](PodGroupId victim) {
      return victim == group || !MattersMore(cycle, group, victim) ||
             (IsProtectedNow(cycle, victim) && !IsElastic(cycle, victim));  // spec 1 F99, F104
    });
    return Candidates(std::move(candidates));
  }

  bool Accepts(CycleView& cycle, PodGroupId, const Scenario& scenario, const QuotaCount&) override {
    if (!options_.min_runtime) return true;
    const VictimsByGroup by_group(cycle, scenario);
    return std::all_of(by_group.groups().begin(), by_group.groups().end(),
                       [&](const GroupVictims& loss) {
                         return !IsElastic(cycle, loss.group) ||
                                !IsProtectedNow(cycle, loss.group) || KeepsMinimum(cycle, loss);
                       });
  }

 private:
  // True: the group has a higher priority or a better key than the victim, and does not come after
  // it in the order of waiting groups; otherwise the victim would take its place back.
  static bool MattersMore(const CycleView& cycle, PodGroupId group, PodGroupId victim) {
    const PodGroupColumns& groups = cycle.cluster->pod_groups();
    const bool is_higher = groups.priority[group] > groups.priority[victim];
    const JobOrder* order = cycle.job_order();
    if (order == nullptr) return is_higher;
    const JobOrderOptions& options = order->options();
    if (options.within_priority && groups.priority[group] != groups.priority[victim])
      return is_higher;
    if (order->IsBetter(victim, group)) return false;
    if (is_higher || !options.preempts || !order->IsBetter(group, victim)) return is_higher;
    return options.lease_ns <= 0 ||
           cycle.time->HasCome(
               cycle.time->EndOf(AddSaturating(StartOf(cycle, victim), options.lease_ns),
                                 options.lease_ns),
               WakeReason::kJobOrder);
  }
  static int64_t StartOf(const CycleView& cycle, PodGroupId group) {
    return cycle.log->Has(group, CycleLog::kStarted)
               ? cycle.time->now_ns()
               : cycle.cluster->pod_groups().last_start_ns[group];
  }
  bool IsProtectedNow(const CycleView& cycle, PodGroupId victim) const {
    return options_.min_runtime && IsProtected(cycle, victim, runtime_ns_);
  }

  PreemptOptions options_;
  int64_t runtime_ns_ = 0;  // of the searched queue
};

}  // namespace

std::unique_ptr<Action> MakePreempt(const PreemptOptions& options) {
  return std::make_unique<Preempt>(options);
}

}  // namespace kai
