#include "kai/actions/reclaim.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "kai/actions/candidates.h"
#include "kai/actions/eviction_action.h"
#include "kai/actions/victim_protection.h"

namespace kai {
namespace {

class Reclaim final : public EvictionAction {
 public:
  explicit Reclaim(const ReclaimOptions& options)
      : EvictionAction("reclaim", EvictionNote::kReclaimed, options.depth), options_(options) {}

 protected:
  bool IsOff(const CycleView&) const override { return !options_.rule; }
  bool LooksAtWholeGroups() const override { return false; }

  bool MayFindVictims(const CycleView& cycle, PodGroupId group) const override {
    const PodGroupLists& lists = cycle.lists();
    return lists.may_lose.size() >
           lists.may_lose_in[cycle.cluster->pod_groups().queue[group]].size();
  }

  bool MayStart(CycleView& cycle, PodGroupId group) override {
    return LiveRule(cycle, group).MayStart(cycle.order->NextRequest(group));
  }

  Candidates CandidatesFor(CycleView& cycle, PodGroupId group, VictimLists* lists) override {
    const Cluster& cluster = *cycle.cluster;
    before_ = cycle.shares->table().sums;  // spec 1 F87: the state at the start of the search
    uses_ = IndexVector<QueueId, int32_t>(cluster.queues().size(), -1);
    runtimes_ns_ = IndexVector<QueueId, std::optional<int64_t>>(cluster.queues().size());
    const QueueId own = cluster.pod_groups().queue[group];
    const ReclaimRule rule = LiveRule(cycle, group);
    const QuotaCount& request = cycle.order->NextRequest(group);
    std::vector<QueueId> victims;
    bool can_lose = false;
    const PodGroupLists& listed = cycle.lists();
    for (const QueueId queue : cluster.queues().name.ids()) {
      const bool has_victims =
          !listed.may_lose_in[queue].empty() || !cycle.switches->on(Switch::kSameCycleEviction);
      if (queue == own || !cluster.queues().IsLeaf(queue) || !has_victims ||
          !rule.MayBeVictim(queue, request))
        continue;
      can_lose = can_lose || CanLose(cycle, rule, group, queue);
      victims.push_back(queue);
    }
    if (!can_lose &&
        (!cluster.params().allow_consolidating_reclaim || !FirstPodFitsWhatIsFree(cycle, group)))
      return {};
    const bool any_is_protected = std::ranges::any_of(
        victims, [&](QueueId queue) { return AnyIsProtectedFrom(cycle, own, queue); });
    Candidates candidates(lists, std::move(victims));
    if (!any_is_protected) return candidates;
    std::vector<PodGroupId> unprotected = candidates.All();
    std::erase_if(unprotected, [&](PodGroupId victim) {  // spec 1 F104
      return IsProtectedFrom(cycle, own, victim) && !IsElastic(cycle, victim);
    });
    return Candidates(std::move(unprotected));
  }

  bool Accepts(CycleView& cycle, PodGroupId group, const Scenario& scenario,
               const QuotaCount& request) override {
    const Cluster& cluster = *cycle.cluster;
    const QueueId own = cluster.pod_groups().queue[group];
    const VictimsByGroup by_group(cycle, scenario);
    const std::vector<GroupVictims>& groups = by_group.groups();
    for (const GroupVictims& loss : groups) {
      if (IsProtectedFrom(cycle, own, loss.group) && IsElastic(cycle, loss.group) &&
          !KeepsMinimum(cycle, loss))
        return false;
    }
    ReclaimRule rule(Before(cycle), ReclaimerOf(cycle, group), *options_.rule);
    return rule.Accepts(LossesOf(cycle, groups), request) &&
           !MayBeTakenBack(cycle, group, groups, request);
  }

  void Annotate(CycleView& cycle, CycleLog::Decision* decision) override {
    const Cluster& cluster = *cycle.cluster;
    const QueueColumns& queues = cluster.queues();
    const PodGroupId loser = cluster.pods().group[decision->pod];
    // Messages name siblings themselves, other queues by their ancestors (spec 2 R6).
    QueueId theirs = cluster.pod_groups().queue[loser];
    QueueId ours = cluster.pod_groups().queue[decision->for_group];
    if (queues.parent[theirs] != queues.parent[ours]) {
      for (QueueId* queue : {&theirs, &ours}) {
        if (queues.parent[*queue].valid()) *queue = queues.parent[*queue];
      }
    }
    decision->queue_uses = {UseOf(cycle, theirs), UseOf(cycle, ours)};
  }

 private:
  // The index in the log's list.
  int32_t UseOf(CycleView& cycle, QueueId queue) {
    if (uses_[queue] >= 0) return uses_[queue];
    const QueueView view = Before(cycle)[queue];
    QueueUse use{.queue = queue, .used = view.allocated().values()};
    for (size_t i = 0; i < kQuotaResources; ++i) {
      use.quota[i] = view[i].deserved;
      use.fair_share[i] = view[i].fair_share;
    }
    cycle.log->queue_uses.push_back(use);
    return uses_[queue] = static_cast<int32_t>(cycle.log->queue_uses.size()) - 1;
  }

  static Reclaimer ReclaimerOf(const CycleView& cycle, PodGroupId group) {
    const PodGroupColumns& groups = cycle.cluster->pod_groups();
    return {.queue = groups.queue[group], .preemptible = groups.preemptible[group] != 0};
  }
  ReclaimRule LiveRule(const CycleView& cycle, PodGroupId group) const {
    return ReclaimRule(cycle.shares->table(), ReclaimerOf(cycle, group), *options_.rule);
  }
  QueueTable Before(const CycleView& cycle) const {
    const QueueTable now = cycle.shares->table();
    return {now.tree, now.shares, before_};
  }

  // False: the rule does not allow the queue to lose anything to the group's first pod (spec 1
  // F90). Then no later piece is acceptable either, because what remains only shrinks.
  bool CanLose(const CycleView& cycle, const ReclaimRule& rule, PodGroupId group,
               QueueId victim) const {
    if (cycle.plain_search) return true;
    const PodList pods = cycle.order->PodsToPlace(group);
    if (pods.empty()) return true;
    const ReclaimRule::Leveled level = rule.LevelOf(victim);
    if (!level.victim.valid() || !level.reclaimer.valid()) return true;
    const QueueView queue = Before(cycle)[level.victim];
    return ExceedsAllocatable(*queue.share, queue.allocated()) ||
           (ExceedsDeserved(*queue.share, queue.allocated()) &&
            StaysWithinDeserved(Before(cycle)[level.reclaimer],
                                cycle.cluster->ClassOf(pods.front()).requested));
  }

  bool IsProtectedFrom(const CycleView& cycle, QueueId reclaimer, PodGroupId victim) {
    if (!options_.min_runtime) return false;
    const QueueId queue = cycle.cluster->pod_groups().queue[victim];
    return IsProtected(cycle, victim, RuntimeNs(cycle, reclaimer, queue));
  }
  // False: it protects none of its groups that may lose pods.
  bool AnyIsProtectedFrom(const CycleView& cycle, QueueId reclaimer, QueueId queue) {
    if (!options_.min_runtime) return false;
    // Groups that started in this cycle are among them.
    if (!cycle.switches->on(Switch::kSameCycleEviction)) return true;
    return AnyIsProtected(cycle, queue, RuntimeNs(cycle, reclaimer, queue));
  }
  int64_t RuntimeNs(const CycleView& cycle, QueueId reclaimer, QueueId queue) {
    std::optional<int64_t>& runtime_ns = runtimes_ns_[queue];
    if (!runtime_ns) {
      runtime_ns =
          MinRuntime(cycle.cluster->queues(), *options_.min_runtime).ForReclaim(reclaimer, queue);
    }
    return *runtime_ns;
  }

  // True: once the victims wait, one of their groups may reclaim what it lost, from the pods that
  // `group` gets by this scenario. Both would evict each other without end (decision 0031). The
  // sums are those of the simulated state.
  bool MayBeTakenBack(const CycleView& cycle, PodGroupId group,
                      const std::vector<GroupVictims>& groups, const QuotaCount& request) const {
    const PodGroupColumns& columns = cycle.cluster->pod_groups();
    if (!cycle.switches->on(Switch::kLastingReclaim) || columns.preemptible[group] == 0)
      return false;
    const QueueLoss gain{
        .queue = columns.queue[group], .amount = request, .whole_gpus = request[kQuotaGpu]};
    QueueId queue;  // of the group before
    bool may_lose = false;
    return std::ranges::any_of(groups, [&](const GroupVictims& loss) {
      ReclaimRule back = LiveRule(cycle, loss.group);
      if (queue != columns.queue[loss.group])
        may_lose = MayLoseAnything(cycle, back.LevelOf(gain.queue));
      queue = columns.queue[loss.group];
      if (!may_lose) return false;
      return AnyReturn(cycle, loss, [&](const QuotaCount& returning) {
        return back.MayStart(returning) && back.MayBeVictim(gain.queue, returning) &&
               back.Accepts({&gain, 1}, returning);
      });
    });
  }

  // False: the rule takes nothing from the queue, whatever is requested (spec 1 F90).
  static bool MayLoseAnything(const CycleView& cycle, const ReclaimRule::Leveled& level) {
    if (!level.victim.valid() || level.victim == level.reclaimer) return true;
    const QueueView queue = cycle.shares->table()[level.victim];
    return ExceedsAllocatable(*queue.share, queue.allocated()) ||
           ExceedsDeserved(*queue.share, queue.allocated());
  }

  // Calls may_return(request) with what the group requests next once its victims wait, until it
  // returns true: each lost pod, or all of its minimum if the group has less than that.
  template <typename MayReturn>
  static bool AnyReturn(const CycleView& cycle, const GroupVictims& loss,
                        const MayReturn& may_return) {
    const Cluster& cluster = *cycle.cluster;
    const bool stands = cycle.order->AllocationSatisfied(cluster.pod_groups().root[loss.group]);
    CoreCount core(cycle);
    QuotaCount minimum{};
    bool lost_any = false;
    PodClassId last;
    for (const Victim& victim : loss.victims) {
      const bool is_core = core.Next(victim);
      if (IsActiveAllocated(cluster.pods().status[victim.pod])) continue;
      const PodClassId pod_class = cluster.pods().pod_class[victim.pod];
      if (!stands) {
        lost_any = lost_any || is_core;
        if (is_core) minimum += cluster.ClassOf(victim.pod).requested;
      } else if (pod_class != last && may_return(cluster.ClassOf(victim.pod).requested)) {
        return true;
      }
      last = pod_class;
    }
    return lost_any && may_return(minimum);
  }

  // Whether each victim of a group is one of its first pods, up to the minimum of its pod set.
  class CoreCount {
   public:
    explicit CoreCount(const CycleView& cycle) : cycle_(cycle) {}
    bool Next(const Victim& victim) {
      const SubGroupId pod_set = cycle_.cluster->pods().pod_set[victim.pod];
      auto count = std::find_if(seen_.begin(), seen_.end(),
                                [&](const auto& each) { return each.first == pod_set; });
      if (count == seen_.end()) count = seen_.insert(count, {pod_set, 0});
      return count->second++ < cycle_.order->MinimumOf(pod_set);
    }

   private:
    const CycleView& cycle_;
    absl::InlinedVector<std::pair<SubGroupId, int32_t>, 4> seen_;  // pods of each pod set so far
  };

  // spec 1 F89: elastic pods one by one, then the core of the group in one piece; queues, groups
  // and pods in the order in which they were chosen (spec 1 W8). Valid until the next call.
  std::span<const QueueLoss> LossesOf(const CycleView& cycle,
                                      const std::vector<GroupVictims>& groups) {
    const Cluster& cluster = *cycle.cluster;
    losses_.clear();
    std::vector<QueueId> queues;  // in the order of their first loss
    for (const GroupVictims& loss : groups) {
      const QueueId queue = cluster.pod_groups().queue[loss.group];
      if (std::find(queues.begin(), queues.end(), queue) == queues.end()) queues.push_back(queue);
      AddLosses(cycle, loss, queue);
    }
    if (queues.size() > 1) {
      std::stable_sort(losses_.begin(), losses_.end(), [&](const QueueLoss& a, const QueueLoss& b) {
        return std::find(queues.begin(), queues.end(), a.queue) <
               std::find(queues.begin(), queues.end(), b.queue);
      });
    }
    return losses_;
  }

  void AddLosses(const CycleView& cycle, const GroupVictims& loss, QueueId queue) {
    const Cluster& cluster = *cycle.cluster;
    QueueLoss core{.queue = queue};
    bool has_core = false;
    CoreCount count(cycle);
    for (const Victim& victim : loss.victims) {
      const bool is_core = count.Next(victim);
      if (cluster.params().allow_consolidating_reclaim &&
          IsActiveAllocated(cluster.pods().status[victim.pod]))
        continue;  // it has a new place (spec 2 V14)
      const PodClassId pod_class = cluster.pods().pod_class[victim.pod];
      const QuotaCount amount = cluster.AcceptedOn(pod_class, victim.node);
      const bool is_mig = cluster.pod_classes().info[pod_class].gpu.kind == GpuRequestKind::kMig;
      const double whole_gpus = is_mig ? 0 : amount[kQuotaGpu];
      if (!is_core) {
        losses_.push_back({.queue = queue, .amount = amount, .whole_gpus = whole_gpus});
        continue;
      }
      has_core = true;
      core.amount += amount;
      core.whole_gpus += whole_gpus;
    }
    if (has_core) losses_.push_back(core);
  }

  ReclaimOptions options_;
  std::vector<QueueLoss> losses_;                             // scratch
  IndexVector<QueueId, QueueSums> before_;                    // state at the start of the search
  IndexVector<QueueId, std::optional<int64_t>> runtimes_ns_;  // of the victims' queues
  IndexVector<QueueId, int32_t> uses_;  // index of their use for messages; -1: none yet
};

}  // namespace

std::unique_ptr<Action> MakeReclaim(const ReclaimOptions& options) {
  return std::make_unique<Reclaim>(options);
}

}  // namespace kai
