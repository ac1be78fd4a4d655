#include "kai/session/holders.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "kai/fairshare/min_runtime.h"
#include "kai/fairshare/reclaim_rule.h"
#include "kai/model/building/numbering.h"
#include "kai/placement/node_room.h"
#include "kai/session/arguments.h"
#include "kai/session/best_domain.h"
#include "kai/session/device_sum.h"
#include "kai/session/group_story.h"
#include "kai/session/holdings.h"
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
        held_(HoldingsOf(plan)),
        after_(FreeAfter(plan, account)),
        held_by_queue_(HeldAfter(plan)) {
    if (config.HasPlugin("minruntime"))
      runtimes_.emplace(cluster_.queues(), MinRuntimeOptions(config));
  }

  std::vector<HeldPlaces> Of(PodGroupId group, const GroupPlaces& places) {
    if (!groups_.queue[group].valid()) return {HeldPlaces()};
    if (const auto best = BestDomainOf(plan_, group, places, after_))
      return SearchAll(group, places, InOrder(best->nodes));
    Key key{groups_.queue[group],
            groups_.priority[group],
            std::ranges::binary_search(held_, group, {}, &Holding::group) ? group : PodGroupId(),
            {}};
    for (const GroupPlaces::Waiting& each : places.classes)
      std::get<3>(key).push_back(each.places.get());
    const auto [known, is_new] = known_.try_emplace(std::move(key));
    if (!is_new) return known->second;
    std::vector<NodeId> possible;
    for (const GroupPlaces::Waiting& each : places.classes) {
      const std::vector<NodeId>& nodes = each.places->standing.possible;
      possible.insert(possible.end(), nodes.begin(), nodes.end());
    }
    return known->second = SearchAll(group, places, InOrder(std::move(possible)));
  }

 private:
  using Key = std::tuple<QueueId, int32_t, PodGroupId, std::vector<const ClassPlaces*>>;
  using Rows = std::map<std::pair<Holders::Why, QueueId>, Holders>;

  // Amounts of one resource on some of the nodes.
  class Room {
   public:
    Room(size_t nodes, std::span<const NodeId> among)
        : among_(among), has_(nodes), amounts_(nodes) {
      for (const NodeId node : among) has_[node] = 1;
    }
    std::span<const NodeId> nodes() const { return among_; }
    bool Has(NodeId node) const { return has_[node] != 0; }
    double& operator[](NodeId node) { return amounts_[node]; }
    double operator[](NodeId node) const { return amounts_[node]; }

   private:
    std::span<const NodeId> among_;
    IndexVector<NodeId, uint8_t> has_;
    IndexVector<NodeId, double> amounts_;
  };

  // What is the same for all groups of a queue that hold what another group waits for.
  struct OfQueue {
    QueueId level;
    int64_t runtime_ns = 0;
    bool within_share = false;
    bool over_share = false;  // the group that waits would be
  };
  // For one search.
  struct Waiter {
    PodGroupId group;
    const GroupPlaces& places;
    ResourceSlot slot;
    std::map<QueueId, OfQueue> of_queues = {};
  };

  static std::vector<NodeId> InOrder(std::vector<NodeId> nodes) {
    std::ranges::sort(nodes);
    const auto repeated = std::ranges::unique(nodes);
    nodes.erase(repeated.begin(), repeated.end());
    return nodes;
  }

  // `possible`: of the nodes that could take its pods, in the order of ids.
  std::vector<HeldPlaces> SearchAll(PodGroupId group, const GroupPlaces& places,
                                    const std::vector<NodeId>& possible) const {
    std::vector<HeldPlaces> all = {Search(group, places, kGpuSlot, possible)};
    for (size_t i = 0; i < cluster_.slots().size(); ++i) {
      const auto slot = ResourceSlot(static_cast<int32_t>(i));
      if (slot == kGpuSlot || slot == kPodsSlot) continue;
      for (const GroupPlaces::Waiting& each : places.classes) {
        std::vector<NodeId> nodes = NodesShortOf(slot, each, 1, possible);
        if (nodes.empty()) nodes = NodesShortOf(slot, each, each.pods, possible);
        if (nodes.empty()) continue;
        all.push_back(Search(group, places, slot, nodes));
        AddNearest(each.first, nodes, &all.back());
        break;
      }
    }
    return all;
  }

  // Nodes without room for so many of the pods: those that lack nothing else for one of them or, if
  // there are none, all.
  std::vector<NodeId> NodesShortOf(ResourceSlot slot, const GroupPlaces::Waiting& waiting,
                                   int64_t pods, std::span<const NodeId> among) const {
    std::vector<NodeId> alone;
    std::vector<NodeId> all;
    const std::span<const double> request = cluster_.RequestOf(waiting.first);
    const double wanted = request[slot.index()] * static_cast<double>(pods);
    if (wanted <= 0) return all;
    for (const NodeId node : waiting.places->standing.possible) {
      if (wanted <= after_.free[node][slot.index()] || !std::ranges::binary_search(among, node))
        continue;
      all.push_back(node);
      if (LacksOnly(slot, waiting.first, node)) alone.push_back(node);
    }
    return alone.empty() ? all : alone;
  }

  bool LacksOnly(ResourceSlot slot, PodId pod, NodeId node) const {
    const std::span<const double> request = cluster_.RequestOf(pod);
    for (size_t i = 0; i < request.size(); ++i) {
      if (i == slot.index()) continue;
      double wanted = request[i];
      if (i == kGpuSlot.index()) {
        const double shared = MostSharedGpus(cluster_, cluster_.pods().pod_class[pod]);
        wanted = static_cast<double>(NanoGpus(GpusOf(pod, cluster_) - shared));
      }
      if (wanted > after_.free[node][i]) return false;
    }
    return true;
  }

  void AddNearest(PodId pod, std::span<const NodeId> nodes, HeldPlaces* held) const {
    const size_t slot = held->slot.index();
    const NodeId nearest = *std::ranges::min_element(nodes, [&](NodeId a, NodeId b) {
      return std::tuple(-after_.free[a][slot], cluster_.nodes().name_rank[a]) <
             std::tuple(-after_.free[b][slot], cluster_.nodes().name_rank[b]);
    });
    held->requested = ForPeople(cluster_.slots(), held->slot, cluster_.RequestOf(pod)[slot]);
    held->nearest = nearest;
    held->free = ForPeople(cluster_.slots(), held->slot, after_.free[nearest][slot]);
  }

  HeldPlaces Search(PodGroupId group, const GroupPlaces& places, ResourceSlot slot,
                    std::span<const NodeId> nodes) const {
    Room room(cluster_.nodes().size(), nodes);
    for (const NodeId node : nodes)
      room[node] = after_.free[node][slot.index()] + after_.leaving[node][slot.index()];
    Room own_room = room;
    Rows rows;
    Waiter waiter{.group = group, .places = places, .slot = slot};
    for (auto first = held_.begin(); first != held_.end();) {
      const PodGroupId holder = first->group;
      const auto end = std::find_if(first, held_.end(),
                                    [&](const Holding& each) { return each.group != holder; });
      const std::span<const Holding> on_nodes(first, end);
      first = end;
      if (holder == group || (holder.valid() && !groups_.queue[holder].valid())) continue;
      double amount = 0;
      for (const Holding& each : on_nodes)
        amount += room.Has(each.node) ? each.amounts[slot.index()] : 0;
      if (amount <= 0) continue;
      if (!holder.valid()) {
        AddPodsOfNoGroup(on_nodes, slot, room, &rows);
        continue;
      }
      if (Add(holder, amount, &waiter, &rows) != Holders::Why::kMayLeave) continue;
      const bool is_own = groups_.queue[holder] == groups_.queue[group];
      for (const Holding& each : on_nodes) {
        if (!room.Has(each.node)) continue;
        room[each.node] += each.amounts[slot.index()];
        if (is_own) own_room[each.node] += each.amounts[slot.index()];
      }
    }
    HeldPlaces held{.slot = slot,
                    .holders = {},
                    .room = AmountsOf(room, slot),
                    .own_room = AmountsOf(own_room, slot)};
    for (const auto& [key, row] : rows) held.holders.push_back(row);
    std::ranges::stable_sort(held.holders, std::greater<>(), &Holders::amount);
    return held;
  }

  double Shown(ResourceSlot slot, double amount) const {
    if (slot == kGpuSlot) return amount / kNanoOfAGpu;
    return ForPeople(cluster_.slots(), slot, amount);
  }

  void AddPodsOfNoGroup(std::span<const Holding> on_nodes, ResourceSlot slot, const Room& room,
                        Rows* rows) const {
    Holders& row = (*rows)[{Holders::Why::kNoGroup, QueueId()}];
    row.why = Holders::Why::kNoGroup;
    for (const Holding& each : on_nodes) {
      const double amount = each.amounts[slot.index()];
      if (!room.Has(each.node) || amount <= 0) continue;
      row.groups += each.pods;
      row.amount += Shown(slot, amount);
      if (!row.first_pod.valid() || cluster_.IsNamedBefore(each.first, row.first_pod))
        row.first_pod = each.first;
    }
  }

  Amounts AmountsOf(const Room& room, ResourceSlot slot) const {
    std::map<double, int64_t> nodes;
    for (const NodeId node : room.nodes()) ++nodes[room[node]];
    Amounts amounts;
    for (const auto& [amount, count] : nodes) amounts.emplace_back(Shown(slot, amount), count);
    return amounts;
  }

  const OfQueue& OfQueueOf(QueueId queue, Waiter* waiter) const {
    const auto [found, is_new] = waiter->of_queues.try_emplace(queue);
    if (!is_new) return found->second;
    const QueueId own = groups_.queue[waiter->group];
    found->second.level = ForkOf(cluster_.queues(), own, queue).second;
    if (queue == own) {
      found->second.runtime_ns = runtimes_ ? runtimes_->ForPreempt(queue) : 0;
      return found->second;
    }
    found->second.runtime_ns = runtimes_ ? runtimes_->ForReclaim(own, queue) : 0;
    found->second.within_share = IsWithinShare(own, queue, waiter->places);
    // The queues' GPUs are compared apart from their holders.
    found->second.over_share = waiter->slot != kGpuSlot && WouldExceedShare(own, waiter->places);
    return found->second;
  }

  // Returns why the holder stays.
  Holders::Why Add(PodGroupId holder, double amount, Waiter* waiter, Rows* rows) const {
    const QueueId queue = groups_.queue[holder];
    const OfQueue& of_queue = OfQueueOf(queue, waiter);
    const int64_t runtime_ns = of_queue.runtime_ns;
    const int64_t until_ns = MinRuntime::EndOf(groups_.last_start_ns[holder], runtime_ns);
    const Holders::Why why = WhyOf(waiter->group, holder, of_queue, until_ns);
    Holders& row = (*rows)[{why, queue}];
    row.why = why;
    row.queue = queue;
    row.level = why == Holders::Why::kOverShare ? groups_.queue[waiter->group] : of_queue.level;
    row.amount += Shown(waiter->slot, amount);
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

  Holders::Why WhyOf(PodGroupId group, PodGroupId holder, const OfQueue& of_queue,
                     int64_t until_ns) const {
    if (groups_.preemptible[holder] == 0) return Holders::Why::kNonPreemptible;
    const bool is_own = groups_.queue[holder] == groups_.queue[group];
    if (is_own && !by_order_ && groups_.priority[holder] >= groups_.priority[group])
      return Holders::Why::kNotLower;
    if (of_queue.within_share) return Holders::Why::kWithinShare;
    if (until_ns > plan_.now_ns && !IsElastic(holder)) return Holders::Why::kProtected;
    return of_queue.over_share ? Holders::Why::kOverShare : Holders::Why::kMayLeave;
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

  // True: with one pod more, whichever it is, the queue would hold more than its fair share (spec 1
  // F84).
  bool WouldExceedShare(QueueId own, const GroupPlaces& places) const {
    if (!plan_.has_queue_numbers) return false;
    return std::ranges::all_of(places.classes, [&](const GroupPlaces::Waiting& each) {
      QuotaCount wanted = held_by_queue_[own];
      wanted += cluster_.ClassOf(each.first).requested;
      return ExceedsAllocatable(plan_.queues[own], wanted);
    });
  }

  bool IsElastic(PodGroupId holder) const {
    const SubGroupColumns& sets = cluster_.sub_groups();
    return std::ranges::any_of(groups_.PodSetsOf(holder), [&](SubGroupId each) {
      return sets.minimum[each] < sets.pods[each].size();
    });
  }

  bool IsNamedBefore(PodGroupId a, PodGroupId b) const {
    return kai::IsNamedBefore(cluster_.names(), groups_, a, b);
  }

  const Plan& plan_;
  const Cluster& cluster_;
  const PodGroupColumns& groups_;
  std::optional<MinRuntime> runtimes_;  // empty: without the plugin
  bool by_order_;                       // a group with the same priority may be evicted, too
  std::vector<Holding> held_;           // in the order of groups
  FreeAmounts after_;
  IndexVector<QueueId, QuotaCount> held_by_queue_;
  std::map<Key, std::vector<HeldPlaces>> known_;
};

}  // namespace

std::string_view WordOf(Holders::Why why) {
  static constexpr std::string_view kWords[] = {"non_preemptible", "protected", "not_lower",
                                                "within_share",    "may_leave", "over_share",
                                                "no_group"};
  return kWords[static_cast<size_t>(why)];
}

std::vector<std::vector<HeldPlaces>> HoldersOf(const Plan& plan, const GpuAccount& account,
                                               const Config& config,
                                               std::span<const PodGroupId> groups,
                                               std::span<const GroupPlaces> places) {
  HolderSearch search(plan, account, config);
  std::vector<std::vector<HeldPlaces>> all;
  for (size_t i = 0; i < groups.size(); ++i) all.push_back(search.Of(groups[i], places[i]));
  return all;
}

}  // namespace kai
