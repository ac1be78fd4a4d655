#include "kai/session/holders.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "kai/fairshare/min_runtime.h"
#include "kai/fairshare/reclaim_rule.h"
#include "kai/session/arguments.h"
#include "kai/session/gpu_account.h"
#include "kai/session/group_story.h"
#include "kai/session/protection.h"

namespace kai {
namespace {

class HolderSearch {
 public:
  HolderSearch(const Plan& plan, const GpuAccount& account, const Config& config)
      : plan_(plan),
        cluster_(*plan.cluster),
        groups_(cluster_.pod_groups()),
        by_order_(config.HasPlugin("joborder") && JobOrderOptionsOf(config).preempts),
        account_(account),
        held_by_queue_(HeldAfter(plan)) {
    if (config.HasPlugin("minruntime"))
      runtimes_.emplace(cluster_.queues(), MinRuntimeOptions(config));
    absl::flat_hash_set<PodId> evicted;
    for (const Plan::Eviction& each : plan.evictions) evicted.insert(each.pod);
    const PodColumns& pods = cluster_.pods();
    for (const PodId pod : pods.name.ids()) {
      const PodGroupId holder = pods.group[pod];
      if (!pods.name[pod].valid() || !holder.valid() || !groups_.queue[holder].valid() ||
          !pods.node[pod].valid() || !IsActiveAllocated(pods.status[pod]) || evicted.contains(pod))
        continue;
      const int64_t gpus = NanoGpus(GpusOf(pod, cluster_));
      if (gpus > 0) held_[holder][pods.node[pod]] += gpus;
    }
  }

  HeldPlaces Of(PodGroupId group, const GroupPlaces& places) {
    if (!groups_.queue[group].valid()) return {};
    Key key{groups_.queue[group],
            groups_.priority[group],
            held_.contains(group) ? group : PodGroupId(),
            {}};
    for (const GroupPlaces::Waiting& each : places.classes)
      std::get<3>(key).push_back(each.places.get());
    const auto [known, is_new] = known_.try_emplace(std::move(key));
    if (is_new) known->second = Search(group, places);
    return known->second;
  }

 private:
  using Key = std::tuple<QueueId, int32_t, PodGroupId, std::vector<const ClassPlaces*>>;
  using Rows = std::map<std::pair<Holders::Why, QueueId>, Holders>;
  using Room = std::map<NodeId, int64_t>;

  HeldPlaces Search(PodGroupId group, const GroupPlaces& places) const {
    Room room;
    for (const GroupPlaces::Waiting& each : places.classes) {
      for (const NodeId node : each.places->standing.possible)
        room[node] = account_.free_on[node] + account_.leaving_on[node];
    }
    Room own_room = room;
    Rows rows;
    for (const auto& [holder, on_nodes] : held_) {
      if (holder == group) continue;
      int64_t gpus = 0;
      for (const auto& [node, its] : on_nodes) gpus += room.contains(node) ? its : 0;
      if (gpus <= 0 || Add(group, holder, places, gpus, &rows) != Holders::Why::kMayLeave) continue;
      const bool is_own = groups_.queue[holder] == groups_.queue[group];
      for (const auto& [node, its] : on_nodes) {
        if (!room.contains(node)) continue;
        room[node] += its;
        if (is_own) own_room[node] += its;
      }
    }
    HeldPlaces held{.holders = {}, .room = AmountsOf(room), .own_room = AmountsOf(own_room)};
    for (const auto& [key, row] : rows) held.holders.push_back(row);
    std::ranges::stable_sort(held.holders, std::greater<>(), &Holders::gpus);
    return held;
  }

  static Amounts AmountsOf(const Room& room) {
    std::map<int64_t, int64_t> nodes;
    for (const auto& [node, nano] : room) ++nodes[nano];
    Amounts amounts;
    for (const auto& [nano, count] : nodes)
      amounts.emplace_back(static_cast<double>(nano) / kNanoOfAGpu, count);
    return amounts;
  }

  // Returns why the holder stays.
  Holders::Why Add(PodGroupId group, PodGroupId holder, const GroupPlaces& places, int64_t gpus,
                   Rows* rows) const {
    const int64_t runtime_ns = RuntimeOf(group, holder);
    const int64_t until_ns = MinRuntime::EndOf(groups_.last_start_ns[holder], runtime_ns);
    const Holders::Why why = WhyOf(group, holder, places, until_ns);
    const QueueId queue = groups_.queue[holder];
    Holders& row = (*rows)[{why, queue}];
    row.why = why;
    row.queue = queue;
    row.level = ForkOf(cluster_.queues(), groups_.queue[group], queue).second;
    row.gpus += static_cast<double>(gpus) / kNanoOfAGpu;
    const bool is_first =
        row.groups++ == 0 || (why == Holders::Why::kProtected ? until_ns < row.until_ns
                                                              : IsNamedBefore(holder, row.first));
    if (is_first) {
      row.first = holder;
      row.until_ns = until_ns;
      row.runtime_ns = runtime_ns;
    }
    return why;
  }

  Holders::Why WhyOf(PodGroupId group, PodGroupId holder, const GroupPlaces& places,
                     int64_t until_ns) const {
    if (groups_.preemptible[holder] == 0) return Holders::Why::kNonPreemptible;
    const bool is_own = groups_.queue[holder] == groups_.queue[group];
    if (is_own && !by_order_ && groups_.priority[holder] >= groups_.priority[group])
      return Holders::Why::kNotLower;
    if (!is_own && IsWithinShare(groups_.queue[group], groups_.queue[holder], places))
      return Holders::Why::kWithinShare;
    if (until_ns > plan_.now_ns && !IsElastic(holder)) return Holders::Why::kProtected;
    return Holders::Why::kMayLeave;
  }

  // True: the queue of the holder loses no pods to the other one, because the queues that are
  // compared hold too little, or would have too much (spec 1 F90).
  bool IsWithinShare(QueueId own, QueueId theirs, const GroupPlaces& places) const {
    if (!plan_.has_queue_numbers) return false;
    const QueueFork fork = ForkOf(cluster_.queues(), own, theirs);
    const QueueShare& share = plan_.queues[fork.second];
    const QuotaCount& held = held_by_queue_[fork.second];
    const double fair_share = share[kQuotaGpu].fair_share;
    const bool is_within = fair_share == kUnlimited || held[kQuotaGpu] <= fair_share;
    if (!is_within || ExceedsAllocatable(share, held)) return false;
    if (!ExceedsDeserved(share, held)) return true;
    return std::ranges::all_of(places.classes, [&](const GroupPlaces::Waiting& each) {
      QuotaCount wanted = held_by_queue_[fork.first];
      wanted += cluster_.ClassOf(each.first).requested;
      return ExceedsDeserved(plan_.queues[fork.first], wanted);
    });
  }

  int64_t RuntimeOf(PodGroupId group, PodGroupId holder) const {
    if (!runtimes_) return 0;
    const QueueId own = groups_.queue[group];
    const QueueId theirs = groups_.queue[holder];
    return theirs == own ? runtimes_->ForPreempt(theirs) : runtimes_->ForReclaim(own, theirs);
  }

  bool IsElastic(PodGroupId holder) const {
    const SubGroupColumns& sets = cluster_.sub_groups();
    return std::ranges::any_of(groups_.PodSetsOf(holder), [&](SubGroupId each) {
      return sets.minimum[each] < sets.pods[each].size();
    });
  }

  bool IsNamedBefore(PodGroupId a, PodGroupId b) const {
    return cluster_.PodGroupName(a) < cluster_.PodGroupName(b);
  }

  const Plan& plan_;
  const Cluster& cluster_;
  const PodGroupColumns& groups_;
  std::optional<MinRuntime> runtimes_;  // empty: without the plugin
  // Of groups that run on: billionths of GPUs by node.
  std::map<PodGroupId, std::map<NodeId, int64_t>> held_;
  bool by_order_;  // a group with the same priority may be evicted, too
  const GpuAccount& account_;
  IndexVector<QueueId, QuotaCount> held_by_queue_;
  std::map<Key, HeldPlaces> known_;
};

}  // namespace

std::string_view WordOf(Holders::Why why) {
  static constexpr std::string_view kWords[] = {"non_preemptible", "protected", "not_lower",
                                                "within_share", "may_leave"};
  return kWords[static_cast<size_t>(why)];
}

std::vector<HeldPlaces> HoldersOf(const Plan& plan, const GpuAccount& account, const Config& config,
                                  std::span<const PodGroupId> groups,
                                  std::span<const GroupPlaces> places) {
  HolderSearch search(plan, account, config);
  std::vector<HeldPlaces> all;
  for (size_t i = 0; i < groups.size(); ++i) all.push_back(search.Of(groups[i], places[i]));
  return all;
}

}  // namespace kai
