#include "kai/actions/turn_bounds.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kai/actions/candidates.h"

namespace kai {
namespace {

// Each further class of victims costs a check of every node.
constexpr size_t kMostVictimClasses = 8;

// True for every choice of ages: the age of queues and comparisons of what they may have decide
// only between others that are equal, and need not be an order.
bool IsSurelyBefore(QueueStanding left, const QueueStanding& right) {
  left.allocatable = right.allocatable;
  left.created_ns = right.created_ns;
  return GoesFirst(left, right);
}

}  // namespace

bool TurnBounds::AllReturnFirst(PodId first) {
  if (!all_find_places_) all_find_places_ = AllFindPlaces();
  return *all_find_places_ && !cycle_.order->HasChoice(group_) &&
         HasNoNode(cycle_.cluster->pods().pod_class[first]) && ComesLast();
}

// ---- room

bool TurnBounds::AllFindPlaces() {
  const Cluster& cluster = *cycle_.cluster;
  // Parts of devices come in sizes of their own, and a pod that is evicted twice gives back twice
  // what it holds.
  if (cluster.shares_gpus() || cluster.hides_shared_gpus() ||
      !cycle_.switches->on(Switch::kSingleVictims) ||
      !cycle_.switches->on(Switch::kSameCycleEviction))
    return false;
  if (!std::ranges::all_of(candidates_, [&](PodGroupId each) { return AddCandidate(each); }))
    return false;
  std::ranges::sort(nodes_);
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  return !classes_.empty() &&
         std::ranges::all_of(classes_, [&](PodClassId each) { return HasNoNode(each); }) &&
         std::ranges::all_of(nodes_, [&](NodeId node) { return FitBackOn(node); }) &&
         std::ranges::all_of(losers_, [&](const auto& each) { return IsWithinLimits(each.first); });
}

bool TurnBounds::AddCandidate(PodGroupId candidate) {
  const Cluster& cluster = *cycle_.cluster;
  const PodGroupColumns& groups = cluster.pod_groups();
  const std::span<const SubGroupId> pod_sets = groups.PodSetsOf(candidate);
  if (pod_sets.size() != 1 || cycle_.order->HasChoice(candidate)) return false;
  for (SubGroupId set = pod_sets.front(); set.valid(); set = cluster.sub_groups().parent[set]) {
    if (cluster.sub_groups().topology[set].valid()) return false;
  }
  const std::span<const PodId> pods = cycle_.order->PodsOf(pod_sets.front());
  // Scenarios are made of nodes: a group on none is in no scenario.
  if (std::ranges::none_of(pods, [&](PodId pod) { return cluster.pods().node[pod].valid(); }))
    return true;
  // It leaves and returns as a whole.
  const auto count = static_cast<int32_t>(pods.size());
  if (cycle_.order->MinimumOf(pod_sets.front()) != count) return false;
  for (const PodId pod : pods) {
    if (!IsActiveAllocated(cluster.pods().status[pod]) || cycle_.order->IsSpared(pod) ||
        !cluster.pods().node[pod].valid() || !AddClass(cluster.pods().pod_class[pod]))
      return false;
    nodes_.push_back(cluster.pods().node[pod]);
  }
  const int64_t priority = groups.priority[candidate];
  const int64_t rank = groups.creation_rank[candidate];
  const auto [found, is_first] = losers_.try_emplace(
      groups.queue[candidate],
      Losers{.fewest_pods = count, .lowest_priority = priority, .youngest = rank});
  if (!is_first) {
    Losers& losers = found->second;
    losers.fewest_pods = std::min(losers.fewest_pods, count);
    losers.lowest_priority = std::min(losers.lowest_priority, priority);
    losers.youngest = std::max(losers.youngest, rank);
  }
  return true;
}

bool TurnBounds::AddClass(PodClassId pod_class) {
  if (std::ranges::find(classes_, pod_class) != classes_.end()) return true;
  if (classes_.size() == kMostVictimClasses || !IsPlain(pod_class)) return false;
  classes_.push_back(pod_class);
  // Pods without GPUs may use only some nodes, which depend on the scenario.
  const PodClassColumns& columns = cycle_.cluster->pod_classes();
  const PodClass& its = columns.info[pod_class];
  const PodClass& first = columns.info[classes_.front()];
  return !its.cpu_only && its.requested == first.requested && its.gate_requested == its.requested &&
         std::ranges::equal(columns.request[pod_class], columns.request[classes_.front()]);
}

// False: it is not sure that each victim, returned to the node, takes exactly one of the places
// that the victims have left there.
bool TurnBounds::FitBackOn(NodeId node) const {
  const Cluster& cluster = *cycle_.cluster;
  const std::span<const double> request = cluster.pod_classes().request[classes_.front()];
  for (size_t i = 0; i < request.size(); ++i) {
    if (request[i] <= 0) continue;
    const double room = cluster.nodes().idle[node][i] + cluster.nodes().releasing[node][i];
    if (room < 0 || room != std::floor(room) || request[i] != std::floor(request[i])) return false;
  }
  return std::ranges::all_of(
      classes_, [&](PodClassId each) { return cycle_.search->plans().MayRunOn(each, node); });
}

// True: the queue may hold again what it holds now.
bool TurnBounds::IsWithinLimits(QueueId queue) const {
  for (; queue.valid(); queue = cycle_.cluster->queues().parent[queue]) {
    const QueueView view = (*cycle_.shares)[queue];
    for (size_t i = 0; i < kQuotaResources; ++i) {
      const double limit = view[i].limit;
      if (limit == kUnlimited) continue;
      if (cycle_.placer->options().adding != Adding::kExact || view.allocated()[i] > limit)
        return false;
    }
  }
  return true;
}

bool TurnBounds::HasNoNode(PodClassId pod_class) const {
  return IsPlain(pod_class) && !cycle_.search->Find(pod_class).node.valid();
}

// True: where such a pod fits depends only on the classes of the nodes and on their room.
bool TurnBounds::IsPlain(PodClassId pod_class) const {
  const ClassPlan& plan = cycle_.search->plans().Of(pod_class);
  const PodClass& its = cycle_.cluster->pod_classes().info[pod_class];
  return plan.checks.empty() && plan.node_filters.empty() && plan.room_filters.empty() &&
         !plan.is_refused && !plan.claims && !plan.shares &&
         its.gpu.kind == GpuRequestKind::kRegular && its.gpu.dra == 0 && !its.numa.valid() &&
         !its.claims.valid();
}

// True: every node of a victim has room for such a pod once the victim is gone.
bool TurnBounds::FitsEachPlace(PodClassId pod_class) const {
  const auto& request = cycle_.cluster->pod_classes().request;
  return IsPlain(pod_class) &&
         std::ranges::equal(request[pod_class], request[classes_.front()], std::less_equal<>()) &&
         std::ranges::all_of(
             nodes_, [&](NodeId node) { return cycle_.search->plans().MayRunOn(pod_class, node); });
}

// ---- turns

TurnBounds::Fronts TurnBounds::FrontsOfSiblings() const {
  const QueueColumns& queues = cycle_.cluster->queues();
  const PodGroupColumns& groups = cycle_.cluster->pod_groups();
  const QueueId parent = queues.parent[groups.queue[group_]];
  Fronts fronts;
  const auto add = [&](PodGroupId group) {
    QueueId queue = groups.queue[group];
    if (!queue.valid() || !queues.IsLeaf(queue)) return;
    while (queue.valid() && queues.parent[queue] != parent) queue = queues.parent[queue];
    if (queue.valid()) fronts[queue].push_back(group);
  };
  add(group_);
  for (const std::span<const PodGroupId> run : waiting_) add(run.front());
  for (auto& [queue, its] : fronts) {
    std::ranges::sort(its, {}, [&](PodGroupId group) { return groups.creation_rank[group]; });
  }
  return fronts;
}

// True: `a` has its turn before `b`, of one queue, in any order of comparators.
bool TurnBounds::GoesBefore(PodGroupId a, PodGroupId b) const {
  const PodGroupColumns& groups = cycle_.cluster->pod_groups();
  const auto priority = groups.priority[a] <=> groups.priority[b];
  const auto elastic = cycle_.order->ElasticStateOf(b) <=> cycle_.order->ElasticStateOf(a);
  if (priority < 0 || elastic < 0) return false;
  return priority > 0 || elastic > 0 || groups.creation_rank[a] < groups.creation_rank[b];
}

// True: in each scenario, the group is among those that wait for a turn. Evictions only make more
// room for it, and a group of one pod has room as soon as a victim has left a place for it.
bool TurnBounds::TakesPart(PodGroupId waiting) const {
  const Cluster& cluster = *cycle_.cluster;
  if (!cycle_.MayRun(waiting) || !IsCandidate(cluster, *cycle_.order, waiting, {})) return false;
  const PodList pods = cycle_.order->PodsToPlace(waiting);
  if (MayFindRoom(cycle_, waiting, pods, cycle_.room)) return true;
  return pods.size() == 1 && cycle_.placer->IsWithinLimits(waiting, pods) &&
         FitsEachPlace(cluster.pods().pod_class[pods.front()]);
}

QueueStanding TurnBounds::StandingOf(QueueId queue, const QuotaCount& allocated,
                                     const QuotaCount& request) const {
  const QueueColumns& queues = cycle_.cluster->queues();
  const QueueView now = (*cycle_.shares)[queue];
  QueueSums sums = *now.sums;
  sums.allocated = allocated;
  return {QueueContender{.queue = {.share = now.share, .sums = &sums},
                         .priority = queues.priority[queue],
                         .created_ns = queues.created_ns[queue],
                         .candidate = request,
                         .victims = {}},
          cycle_.shares->total()};
}

QueueStanding TurnBounds::StandingWith(QueueId queue, PodGroupId next) const {
  return StandingOf(queue, (*cycle_.shares)[queue].allocated(), cycle_.order->NextRequest(next));
}

QueueStanding TurnBounds::WorstOf(QueueId queue, const Losers& losers,
                                  std::span<const PodGroupId> fronts) const {
  // At least one group is still out. If a victim is next, the queue has with it at most what it has
  // now. Other groups are next only if they are not after all victims.
  const PodGroupColumns& groups = cycle_.cluster->pod_groups();
  const QuotaCount& all = (*cycle_.shares)[queue].allocated();
  const QuotaCount& of_pod = cycle_.cluster->pod_classes().info[classes_.front()].requested;
  QuotaCount rest = all;
  for (int32_t i = 0; i < losers.fewest_pods; ++i) rest -= of_pod;
  QuotaVector next = all.values();
  for (const PodGroupId front : fronts) {
    if (groups.priority[front] <= losers.lowest_priority &&
        groups.creation_rank[front] > losers.youngest)
      continue;
    const QuotaVector with = (rest + cycle_.order->NextRequest(front)).values();
    for (size_t i = 0; i < kQuotaResources; ++i) next[i] = std::max(next[i], with[i]);
  }
  return StandingOf(queue, rest, QuotaCount(next) - rest);
}

bool TurnBounds::ComesLast() const {
  const Cluster& cluster = *cycle_.cluster;
  const QueueColumns& queues = cluster.queues();
  const QueueId own = cluster.pod_groups().queue[group_];
  if (!cycle_.worklist.by_fair_share || !cycle_.worklist.keys.empty() ||
      cycle_.job_order() != nullptr)
    return false;
  const bool are_siblings = std::ranges::all_of(losers_, [&](const auto& each) {
    return each.first != own && queues.IsLeaf(each.first) &&
           queues.parent[each.first] == queues.parent[own];
  });
  if (!are_siblings) return false;
  const Fronts fronts = FrontsOfSiblings();
  // The queue cannot pass the worst of the groups that come before this one.
  QueueStanding bar = StandingWith(own, group_);
  for (const PodGroupId front : fronts.at(own)) {
    if (!GoesBefore(front, group_)) continue;
    const QueueStanding standing = StandingWith(own, front);
    if (IsSurelyBefore(bar, standing) && TakesPart(front)) bar = standing;
  }
  QueueStanding last;  // of the victims' queues, at their worst
  bool is_first = true;
  for (const auto& [queue, losers] : losers_) {
    const auto found = fronts.find(queue);
    const auto others =
        found == fronts.end() ? std::span<const PodGroupId>() : std::span(found->second);
    const QueueStanding worst = WorstOf(queue, losers, others);
    if (!IsSurelyBefore(worst, bar)) return false;
    if (is_first || IsSurelyBefore(last, worst)) last = worst;
    is_first = false;
  }
  // The heap of queues sifts a queue only when it is on top. So some line between the queues of
  // victims and the bar must be one that no queue crosses while groups are pushed: a crossing could
  // leave a victim's queue below one that comes later. The own queue may cross it: on top it is
  // sifted below every queue that comes before the bar.
  const auto none_crosses = [&](const auto& is_before) {
    return std::ranges::all_of(fronts, [&](const auto& each) {
      const auto& [queue, its] = each;
      if (queue == own) return true;
      const std::vector<PodGroupId> firsts = queues.IsLeaf(queue) ? FirstsOf(its) : its;
      const bool is_first_before = is_before(StandingWith(queue, firsts.front()));
      return std::ranges::all_of(firsts, [&](PodGroupId next) {
        return is_before(StandingWith(queue, next)) == is_first_before;
      });
    });
  };
  return none_crosses([&](const QueueStanding& each) { return IsSurelyBefore(each, bar); }) ||
         none_crosses([&](const QueueStanding& each) { return !IsSurelyBefore(last, each); });
}

// The groups that are first in their queue while all of them are pushed, the oldest first; all if
// that depends on the order of comparators.
std::vector<PodGroupId> TurnBounds::FirstsOf(const std::vector<PodGroupId>& pushed) const {
  std::vector<PodGroupId> firsts = {pushed.front()};
  for (const PodGroupId group : std::span(pushed).subspan(1)) {
    if (GoesBefore(firsts.back(), group)) continue;
    if (!GoesBefore(group, firsts.back())) return pushed;
    firsts.push_back(group);
  }
  return firsts;
}

}  // namespace kai
