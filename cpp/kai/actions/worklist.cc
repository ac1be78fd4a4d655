#include "kai/actions/worklist.h"

#include <tuple>

namespace kai {

Worklist::Worklist(const Cluster& cluster, const QueueUsage* usage, PodOrder* order,
                   const Options& options)
    : cluster_(cluster),
      usage_(usage),
      order_(order),
      options_(options),
      entries_(cluster.queues().size()) {}

LazyHeap<QueueId>& Worklist::HeapAbove(QueueId queue) {
  const QueueId parent = cluster_.queues().parent[queue];
  return parent.valid() ? entries_[parent].children : top_level_;
}

bool Worklist::GroupGoesFirst(PodGroupId a, PodGroupId b) const {
  const PodGroupColumns& groups = cluster_.pod_groups();
  for (const GroupComparator comparator : options_.comparators) {
    if (comparator == GroupComparator::kPriority) {
      if (groups.priority[a] != groups.priority[b]) return groups.priority[a] > groups.priority[b];
    } else {
      const ElasticState state_a = order_->ElasticStateOf(a);
      const ElasticState state_b = order_->ElasticStateOf(b);
      if (state_a != state_b) return state_a < state_b;
    }
  }
  return groups.creation_rank[a] < groups.creation_rank[b];
}

PodGroupId Worklist::Representative(QueueId queue) const {
  while (!cluster_.queues().IsLeaf(queue)) queue = entries_[queue].children.Top();
  return entries_[queue].groups.Top();
}

bool Worklist::QueueGoesFirst(QueueId a, QueueId b) const {
  const QueueColumns& queues = cluster_.queues();
  if (!options_.by_fair_share) {
    // Without a comparator of queues the framework's own: creation time, then UID, which is the
    // name (spec 2 X1).
    return std::tuple(queues.created_ns[a], cluster_.Text(queues.name[a])) <
           std::tuple(queues.created_ns[b], cluster_.Text(queues.name[b]));
  }
  const auto contender = [&](QueueId queue) {
    return QueueContender{.share = &usage_->share(queue),
                          .priority = queues.priority[queue],
                          .created_ns = queues.created_ns[queue],
                          .candidate = order_->NextRequest(Representative(queue)),
                          .victims = {}};
  };
  return GoesFirst(contender(a), contender(b), cluster_.total());
}

void Worklist::MarkUpwards(QueueId queue) {
  for (; queue.valid(); queue = cluster_.queues().parent[queue]) entries_[queue].marked = true;
}

void Worklist::Push(PodGroupId group) {
  const QueueId leaf = cluster_.pod_groups().queue[group];
  KAI_DCHECK(leaf.valid() && cluster_.queues().IsLeaf(leaf));
  LazyHeap<PodGroupId>& groups = entries_[leaf].groups;
  groups.Push(group, [this](PodGroupId a, PodGroupId b) { return GroupGoesFirst(a, b); });
  if (options_.depth >= 0 && groups.size() > static_cast<size_t>(options_.depth)) groups.DropLast();
  if (groups.empty()) return;  // a depth of zero keeps nobody
  const auto queue_less = [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); };
  for (QueueId queue = leaf; queue.valid() && !entries_[queue].in_heap;
       queue = cluster_.queues().parent[queue]) {
    entries_[queue].in_heap = true;
    HeapAbove(queue).Push(queue, queue_less);
  }
  MarkUpwards(leaf);
}

PodGroupId Worklist::Pop() {
  const auto queue_less = [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); };
  LazyHeap<QueueId>* heap = &top_level_;
  QueueId queue;
  for (;;) {
    while (entries_[heap->Top()].marked) {
      const QueueId top = heap->Top();
      heap->SiftDownTop(queue_less);
      entries_[top].marked = false;
    }
    queue = heap->Top();
    if (cluster_.queues().IsLeaf(queue)) break;
    heap = &entries_[queue].children;
  }
  const PodGroupId group = entries_[queue].groups.Pop(
      [this](PodGroupId a, PodGroupId b) { return GroupGoesFirst(a, b); });
  const QueueId leaf = queue;
  // A queue with nothing left leaves its parent's heap, and so on upwards; it stands on top there,
  // as that is how it was found.
  while (queue.valid() && entries_[queue].groups.empty() && entries_[queue].children.empty()) {
    entries_[queue].in_heap = false;
    HeapAbove(queue).Pop(queue_less);
    queue = cluster_.queues().parent[queue];
  }
  MarkUpwards(leaf);
  return group;
}

}  // namespace kai
