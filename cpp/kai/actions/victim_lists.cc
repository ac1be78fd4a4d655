#include "kai/actions/victim_lists.h"

#include <algorithm>
#include <cstddef>

#include "kai/actions/candidates.h"
#include "kai/actions/job_order.h"

namespace kai {
namespace {

bool AllAreSpared(const CycleView& cycle, PodGroupId group) {
  for (const SubGroupId pod_set : cycle.cluster->pod_groups().PodSetsOf(group)) {
    for (const PodId pod : cycle.order->PodsOf(pod_set)) {
      if (IsActiveAllocated(cycle.cluster->pods().status[pod]) && !cycle.order->IsSpared(pod))
        return false;
    }
  }
  return true;
}

// The listed groups that still have pods to lose; only checks groups that lost pods in this cycle.
std::vector<PodGroupId> StillActive(const CycleView& cycle, std::span<const PodGroupId> groups) {
  std::vector<PodGroupId> active;
  active.reserve(groups.size());
  if (cycle.statement->Mark() == 0) {
    active.assign(groups.begin(), groups.end());
    return active;
  }
  for (const PodGroupId group : groups) {
    const bool lost_pods =
        cycle.log->Has(group, CycleLog::kEvicted) || cycle.log->Has(group, CycleLog::kIsStale);
    if (!lost_pods || !AllAreSpared(cycle, group)) active.push_back(group);
  }
  return active;
}

// KAI also considers groups that got their first pods in this cycle: these are among the waiting
// ones.
std::vector<PodGroupId> WithNew(const CycleView& cycle, std::span<const PodGroupId> groups,
                                QueueId queue) {
  if (cycle.switches->on(Switch::kSameCycleEviction)) return StillActive(cycle, groups);
  const CandidateFilter filter{
      .ready = false, .pending = false, .preemptible = true, .active = true};
  std::vector<PodGroupId> waiting = cycle.lists().waiting;
  std::erase_if(waiting, [&](PodGroupId group) {
    return (queue.valid() && cycle.cluster->pod_groups().queue[group] != queue) ||
           !cycle.MayRun(group) || !IsCandidate(*cycle.cluster, *cycle.order, group, filter);
  });
  return StillActive(cycle, MergeByCreation(*cycle.cluster, groups, waiting));
}

}  // namespace

std::vector<PodGroupId> MayLoseIn(const CycleView& cycle, QueueId queue) {
  return WithNew(cycle, cycle.lists().may_lose_in[queue], queue);
}

std::vector<PodGroupId> MayLose(const CycleView& cycle) {
  return WithNew(cycle, cycle.lists().may_lose, QueueId());
}

// ---- the order of victims

bool IsVictimBefore(const CycleView& cycle, PodGroupId a, ElasticState state_a, PodGroupId b,
                    ElasticState state_b) {
  // The reverse of the order in which groups are placed.
  const PodGroupColumns& groups = cycle.cluster->pod_groups();
  for (const GroupComparator comparator : cycle.worklist.comparators) {
    if (comparator == GroupComparator::kPriority) {
      if (groups.priority[a] != groups.priority[b]) return groups.priority[a] < groups.priority[b];
    } else if (comparator == GroupComparator::kJobOrder) {
      if (cycle.worklist.job_order->IsBetter(a, b)) return false;
      if (cycle.worklist.job_order->IsBetter(b, a)) return true;
    } else if (state_a != state_b) {
      return state_a > state_b;
    }
  }
  return groups.creation_rank[a] > groups.creation_rank[b];
}

void SortVictims(const CycleView& cycle, std::vector<PodGroupId>* groups) {
  const PodGroupColumns& columns = cycle.cluster->pod_groups();
  PodOrder& order = *cycle.order;
  // Their order was computed when the cluster was built; only groups that have changed since must
  // be sorted again.
  const auto by_rank = [&](PodGroupId a, PodGroupId b) { return columns.IsVictimBefore(a, b); };
  const auto goes_first = [&](PodGroupId a, PodGroupId b) {
    return IsVictimBefore(cycle, a, order.ElasticStateOf(a), b, order.ElasticStateOf(b));
  };
  std::reverse(groups->begin(), groups->end());  // the youngest first: often final
  if (cycle.worklist.comparators != Worklist::Options().comparators) {
    std::sort(groups->begin(), groups->end(), goes_first);
    return;
  }
  const auto changed =
      !order.AnyStateChanged()
          ? groups->end()
          : std::stable_partition(groups->begin(), groups->end(), [&](PodGroupId group) {
              return order.ElasticStateOf(group) == columns.elastic_state[group];
            });
  // All or some groups of the queue's list, and no others.
  const bool is_listed = cycle.switches->on(Switch::kSameCycleEviction);
  const bool is_sorted =
      (is_listed && columns.lists.bounds_in[columns.queue[groups->front()]].youngest_first) ||
      std::is_sorted(groups->begin(), changed, by_rank);
  if (!is_sorted) std::sort(groups->begin(), changed, by_rank);
  for (auto last = changed; last != groups->end(); ++last)
    std::rotate(std::upper_bound(groups->begin(), last, *last, goes_first), last, last + 1);
}

// ---- lists from one search to the next

void VictimLists::Update() {
  const Cluster& cluster = *cycle_.cluster;
  const Statement::Checkpoint now = cycle_.statement->Mark();
  if (now < seen_) lists_ = IndexVector<QueueId, List>(cluster.queues().size());
  for (const Change& change : cycle_.statement->ChangesSince(std::min(seen_, now))) {
    const PodGroupId group = cluster.pods().group[change.pod];
    const QueueId queue = group.valid() ? cluster.pod_groups().queue[group] : QueueId();
    if (queue.valid()) lists_[queue] = {};
  }
  seen_ = now;
}

const std::vector<PodGroupId>& VictimLists::In(QueueId queue) {
  std::optional<std::vector<PodGroupId>>& its = lists_[queue].created;
  if (!its) its = MayLoseIn(cycle_, queue);
  return *its;
}

const std::vector<PodGroupId>& VictimLists::SortedIn(QueueId queue) {
  std::optional<std::vector<PodGroupId>>& its = lists_[queue].sorted;
  // Other orders may depend on more than the groups of the queue.
  if (!its || cycle_.worklist.comparators != Worklist::Options().comparators) {
    its = In(queue);
    if (!its->empty()) SortVictims(cycle_, &*its);
  }
  return *its;
}

Candidates::Candidates(VictimLists* lists, std::vector<QueueId> queues)
    : lists_(lists), queues_(std::move(queues)) {
  const IndexVector<PodGroupId, int64_t>& rank = lists->cycle().cluster->pod_groups().creation_rank;
  std::erase_if(queues_, [&](QueueId queue) { return lists_->In(queue).empty(); });
  std::ranges::sort(queues_, {}, [&](QueueId queue) { return rank[lists_->In(queue).front()]; });
}

const std::vector<PodGroupId>& Candidates::All() const {
  if (all_) return *all_;
  all_.emplace();
  std::vector<size_t> starts = {0};
  for (const QueueId queue : queues_) {
    const std::vector<PodGroupId>& its = lists_->In(queue);
    all_->insert(all_->end(), its.begin(), its.end());
    starts.push_back(all_->size());
  }
  const IndexVector<PodGroupId, int64_t>& rank =
      lists_->cycle().cluster->pod_groups().creation_rank;
  const auto at = [&](size_t list) {
    return all_->begin() + static_cast<std::ptrdiff_t>(starts[std::min(list, queues_.size())]);
  };
  // Neighbours in pairs, then pairs of pairs: the lists are in order.
  for (size_t width = 1; width < queues_.size(); width *= 2) {
    for (size_t first = 0; first + width < queues_.size(); first += 2 * width) {
      std::inplace_merge(at(first), at(first + width), at(first + 2 * width),
                         [&](PodGroupId a, PodGroupId b) { return rank[a] < rank[b]; });
    }
  }
  return *all_;
}

}  // namespace kai
