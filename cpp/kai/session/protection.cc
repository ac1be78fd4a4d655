#include "kai/session/protection.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "kai/fairshare/min_runtime.h"
#include "kai/fairshare/reclaim_rule.h"
#include "kai/session/arguments.h"

namespace kai {
namespace {

bool Runs(const Config& config, std::string_view action) {
  return std::ranges::find(config.actions, action) != config.actions.end();
}

class ProtectionMaker {
 public:
  ProtectionMaker(const Plan& plan, const Config& config)
      : plan_(plan),
        config_(config),
        cluster_(*plan.cluster),
        groups_(cluster_.pod_groups()),
        reclaims_(Runs(config, "reclaim") && plan.has_queue_numbers) {
    if (config.HasPlugin("minruntime"))
      runtimes_.emplace(cluster_.queues(), MinRuntimeOptions(config));
    if (reclaims_) held_ = HeldAfter(plan);
  }

  Protection Of(PodGroupId group) {
    const QueueId own = groups_.queue[group];
    Protection made;
    made.preemptible = groups_.preemptible[group] != 0;
    made.priority = groups_.priority[group];
    if (!made.preemptible || !own.valid()) return made;
    made.may_be_preempted = Runs(config_, "preempt");
    made.preempts_by_order = config_.HasPlugin("joborder") && JobOrderOptionsOf(config_).preempts;
    made.spare = SpareOf(group);
    if (runtimes_) SetEnd(group, runtimes_->ForPreempt(own), &made.preempt);
    if (reclaims_) made.levels = LevelsOf(own);
    for (Protection::Level& each : made.levels)
      SetEnd(group, each.reclaim.minimum_ns, &each.reclaim);
    made.may_be_moved = ConsolidationMayMove(group) ||
                        (!made.levels.empty() && cluster_.params().allow_consolidating_reclaim);
    return made;
  }

 private:
  bool ConsolidationMayMove(PodGroupId group) const {
    if (!Runs(config_, "consolidation") || cluster_.params().max_consolidation_preemptees == 0)
      return false;
    return !config_.switches.on(Switch::kBarePods) || groups_.has_bare[group] == 0;
  }

  int64_t SpareOf(PodGroupId group) const {
    const SubGroupColumns& sets = cluster_.sub_groups();
    int64_t spare = 0;
    for (const SubGroupId set : groups_.PodSetsOf(group)) {
      const auto running = std::ranges::count_if(sets.PodsOf(set), [&](PodId pod) {
        return IsActiveAllocated(cluster_.pods().status[pod]);
      });
      spare += std::max<int64_t>(0, running - sets.minimum[set]);
    }
    return spare;
  }

  void SetEnd(PodGroupId group, int64_t minimum_ns, Protection::Runtime* runtime) const {
    *runtime = {.minimum_ns = minimum_ns,
                .until_ns = MinRuntime::EndOf(groups_.last_start_ns[group], minimum_ns)};
  }

  // The children of the ancestors that the queue shares with other leaf queues, each with its
  // minimum run time.
  const std::vector<Protection::Level>& LevelsOf(QueueId own) {
    const auto [known, is_new] = levels_.try_emplace(own);
    if (!is_new) return known->second;
    const QueueColumns& queues = cluster_.queues();
    absl::flat_hash_map<QueueId, QueueId> rivals;  // by level, one of the leaf queues
    for (const QueueId other : queues.name.ids()) {
      if (queues.name[other].valid() && queues.IsLeaf(other) && other != own)
        rivals.try_emplace(ForkOf(queues, other, own).second, other);
    }
    for (QueueId level = own; level.valid(); level = queues.parent[level]) {
      const auto rival = rivals.find(level);
      if (rival == rivals.end()) continue;
      known->second.push_back(Compare(level));
      if (runtimes_)
        known->second.back().reclaim.minimum_ns = runtimes_->ForReclaim(rival->second, own);
    }
    return known->second;
  }

  Protection::Level Compare(QueueId queue) const {
    const QueueShare& share = plan_.queues[queue];
    const QuotaCount& held = held_[queue];
    Protection::Level level{.queue = queue};
    const bool is_above_share = ExceedsAllocatable(share, held);
    if (is_above_share) {
      level.share = Protection::Share::kAboveShare;
    } else if (ExceedsDeserved(share, held)) {
      level.share = Protection::Share::kAboveQuota;
    }
    for (const QuotaResource each : {kQuotaMemory, kQuotaCpu, kQuotaGpu}) {
      const double most = is_above_share ? Allocatable(share[each]) : share[each].deserved;
      if (Less(most, held[each])) level.resource = each;
    }
    level.held = held[level.resource];
    level.bound =
        is_above_share ? share[level.resource].fair_share : share[level.resource].deserved;
    return level;
  }

  const Plan& plan_;
  const Config& config_;
  const Cluster& cluster_;
  const PodGroupColumns& groups_;
  bool reclaims_;
  IndexVector<QueueId, QuotaCount> held_;  // only with reclaims_
  std::optional<MinRuntime> runtimes_;     // empty: without the plugin
  absl::flat_hash_map<QueueId, std::vector<Protection::Level>> levels_;
};

}  // namespace

std::string_view WordOf(Protection::Share share) {
  static constexpr std::string_view kWords[] = {"within_quota", "above_quota", "above_share"};
  return kWords[static_cast<size_t>(share)];
}

std::vector<Protection> ProtectionsOf(const Plan& plan, const Config& config,
                                      std::span<const PodGroupId> groups) {
  ProtectionMaker maker(plan, config);
  std::vector<Protection> all;
  for (const PodGroupId group : groups) all.push_back(maker.Of(group));
  return all;
}

IndexVector<QueueId, QuotaCount> HeldAfter(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  const QueueColumns& queues = cluster.queues();
  const PodColumns& pods = cluster.pods();
  IndexVector<QueueId, QuotaCount> held;
  held.Resize(queues.name.size());
  for (const QueueId queue : queues.name.ids()) held[queue] = queues.sums[queue].allocated;
  absl::flat_hash_map<PodId, NodeId> ends;  // invalid: evicted without a promise
  for (const CycleLog::Decision& each : plan.decisions)
    ends[each.pod] = each.kind == CycleLog::Decision::Kind::kEvict ? NodeId() : each.node;
  for (const auto& [pod, node] : ends) {
    const PodGroupId group = pods.group[pod];
    if (!group.valid() || !pods.pod_set[pod].valid()) continue;
    QuotaCount more;
    QuotaCount less;
    if (node.valid()) more = cluster.AcceptedOn(pods.pod_class[pod], node);
    if (IsAllocated(pods.status[pod]))
      less = cluster.AcceptedOn(pods.pod_class[pod], pods.node[pod]);
    for (QueueId queue = cluster.pod_groups().queue[group]; queue.valid();
         queue = queues.parent[queue]) {
      held[queue] += more;
      held[queue] -= less;
    }
  }
  return held;
}

}  // namespace kai
