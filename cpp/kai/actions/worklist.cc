#include "kai/actions/worklist.h"

#include <algorithm>
#include <tuple>

#include "kai/actions/job_order.h"

namespace kai {

Worklist::Worklist(const Cluster& cluster, const FairShares* shares, PodOrder* order,
                   const Options& options)
    : cluster_(cluster),
      shares_(shares),
      order_(order),
      options_(options),
      heaps_(cluster.queues()),
      groups_(cluster.queues().size()),
      known_(cluster.queues().size()) {}

bool Worklist::GroupGoesFirst(PodGroupId a, PodGroupId b) const {
  const PodGroupColumns& groups = cluster_.pod_groups();
  if (!options_.keys.empty() && options_.keys[a.index()] != options_.keys[b.index()])
    return options_.keys[a.index()] < options_.keys[b.index()];
  for (const GroupComparator comparator : options_.comparators) {
    if (comparator == GroupComparator::kPriority) {
      if (groups.priority[a] != groups.priority[b]) return groups.priority[a] > groups.priority[b];
    } else if (comparator == GroupComparator::kJobOrder) {
      if (options_.job_order->IsBetter(a, b)) return true;
      if (options_.job_order->IsBetter(b, a)) return false;
    } else {
      const ElasticState state_a = order_->ElasticStateOf(a);
      const ElasticState state_b = order_->ElasticStateOf(b);
      if (state_a != state_b) return state_a < state_b;
    }
  }
  return groups.creation_rank[a] < groups.creation_rank[b];
}

bool Worklist::QueueGoesFirst(QueueId a, QueueId b) {
  const QueueColumns& queues = cluster_.queues();
  if (!options_.by_fair_share) {
    // Without a comparator of queues the framework's own order applies: creation time, then UID,
    // which is the name (spec 2 X1).
    return std::tuple(queues.created_ns[a], cluster_.Text(queues.name[a])) <
           std::tuple(queues.created_ns[b], cluster_.Text(queues.name[b]));
  }
  return GoesFirst(StandingOf(a), StandingOf(b));
}

const QueueStanding& Worklist::StandingOf(QueueId queue) {
  const PodGroupId next = groups_[heaps_.LeafOf(queue)].Top().group;
  const int64_t version = shares_->usage().version();
  Known& known = known_[queue];
  // Without a change since then, the group has the same request.
  if (known.group == next && known.version == version) return known.standing;
  const QueueView view = (*shares_)[queue];
  const QuotaCount& candidate = order_->NextRequest(next);
  const bool is_unchanged = known.group.valid() && known.candidate == candidate &&
                            (known.version == version || known.allocated == view.allocated());
  known.group = next;
  known.version = version;
  if (is_unchanged) return known.standing;
  known = {.group = next,
           .version = version,
           .allocated = view.allocated(),
           .candidate = candidate,
           .standing = QueueStanding({.queue = view,
                                      .priority = cluster_.queues().priority[queue],
                                      .created_ns = cluster_.queues().created_ns[queue],
                                      .candidate = candidate,
                                      .victims = {}},
                                     shares_->total())};
  return known.standing;
}

void Worklist::Push(std::span<const PodGroupId> groups) {
  KAI_DCHECK(ordered_);
  const QueueId leaf = cluster_.pod_groups().queue[groups.front()];
  KAI_DCHECK(leaf.valid() && cluster_.queues().IsLeaf(leaf));
  KAI_DCHECK(groups.size() == 1 || options_.depth < 0);
  LazyHeap<Entry>& entries = groups_[leaf];
  entries.Push({.group = groups.front(), .rest = groups.subspan(1)},
               [this](const Entry& a, const Entry& b) { return GroupGoesFirst(a.group, b.group); });
  if (options_.depth >= 0 && entries.size() > static_cast<size_t>(options_.depth)) {
    if (options_.keep_first) {
      KeepTheFirst(leaf);
    } else {
      entries.DropLast();  // the one in the last slot (spec 2 W9)
    }
  }
  if (entries.empty()) return;  // a depth of 0 keeps none
  heaps_.Enter(leaf, [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); });
}

void Worklist::KeepTheFirst(QueueId leaf) {
  // The last group can be anywhere: a heap only gives its first. Depths are small.
  const auto less = [this](const Entry& a, const Entry& b) {
    return GroupGoesFirst(a.group, b.group);
  };
  const std::span<const Entry> all = groups_[leaf].items();
  std::vector<Entry> kept(all.begin(), all.end());
  kept.erase(std::max_element(kept.begin(), kept.end(), less));
  groups_[leaf].Clear();
  for (const Entry& entry : kept) groups_[leaf].Push(entry, less);
}

void Worklist::ForgetOrder() {
  if (!ordered_) return;
  ordered_ = false;
  for (const QueueId queue : cluster_.queues().name.ids()) {
    const std::span<const Entry> entries = groups_[queue].items();
    unordered_.insert(unordered_.end(), entries.begin(), entries.end());
  }
  std::ranges::reverse(unordered_);
}

PodGroupId Worklist::PopUnordered() {
  Entry& entry = unordered_.back();
  const PodGroupId group = entry.group;
  has_more_ = !entry.rest.empty();
  if (has_more_) {
    entry = {.group = entry.rest.front(), .rest = entry.rest.subspan(1)};
  } else {
    unordered_.pop_back();
  }
  return group;
}

void Worklist::PassOverAlike() {
  if (!has_more_) return;
  if (!ordered_) {
    unordered_.pop_back();
    has_more_ = false;
    return;
  }
  const auto less = [this](const Entry& a, const Entry& b) {
    return GroupGoesFirst(a.group, b.group);
  };
  LazyHeap<Entry>& entries = groups_[last_leaf_];
  const Entry next = entries.Top();
  if (next.group != next_alike_) return;  // another list of the queue comes first
  const std::span<const Entry> all = entries.items();
  const auto rest = next.rest;
  size_t passed = rest.size();
  if (all.size() > 1) {
    const Entry& second = all.size() > 2 && less(all[2], all[1]) ? all[2] : all[1];
    const auto end = std::ranges::partition_point(
        rest, [&](PodGroupId group) { return GroupGoesFirst(group, second.group); });
    passed = static_cast<size_t>(end - rest.begin());
  }
  // The standing of the queue does not change; it stays on top of its heap until it is empty.
  has_more_ = passed < rest.size();
  if (has_more_) {
    entries.ReplaceTop({.group = rest[passed], .rest = rest.subspan(passed + 1)}, less);
    return;
  }
  entries.Pop(less);
  heaps_.Leave(last_leaf_, entries.empty(),
               [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); });
}

PodGroupId Worklist::Pop() {
  if (!ordered_) return PopUnordered();
  const auto less = [this](const Entry& a, const Entry& b) {
    return GroupGoesFirst(a.group, b.group);
  };
  const auto queue_less = [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); };
  const QueueId leaf = heaps_.Best(queue_less);
  LazyHeap<Entry>& entries = groups_[leaf];
  const Entry entry = entries.Top();
  has_more_ = !entry.rest.empty();
  last_leaf_ = leaf;
  if (has_more_) {
    next_alike_ = entry.rest.front();
    entries.ReplaceTop({.group = next_alike_, .rest = entry.rest.subspan(1)}, less);
  } else {
    entries.Pop(less);
  }
  heaps_.Leave(leaf, entries.empty(), queue_less);
  return entry.group;
}

}  // namespace kai
