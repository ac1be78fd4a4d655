// Worklist: which pod group is next (spec 1 F60, spec 2 O2, O3).
//
//   Worklist worklist(cluster, &usage, &order, options);
//   for (PodGroupId group : InCreationOrder(cluster)) worklist.Push(group);
//   while (!worklist.empty()) {
//     const PodGroupId group = worklist.Pop();
//     if (Attempt(group)) worklist.Push(group);             // it wants more
//   }
//
// Pod groups sit in a heap per leaf queue; queues sit in a heap per parent. Shares change while the
// list is worked off: what changed is only marked, and a marked queue is sifted when it stands on
// top of its heap. The layout is KAI's to the last move, because it decides between equals.
#ifndef KAI_ACTIONS_WORKLIST_H_
#define KAI_ACTIONS_WORKLIST_H_

#include <vector>

#include "kai/base/lazy_heap.h"
#include "kai/fairshare/queue_order.h"
#include "kai/fairshare/usage.h"
#include "kai/placement/pod_order.h"

namespace kai {

enum class GroupComparator : uint8_t { kPriority, kElastic };

class Worklist {
 public:
  struct Options {
    std::vector<GroupComparator> comparators = {GroupComparator::kPriority,
                                                GroupComparator::kElastic};
    bool by_fair_share = true;  // off without the plugin: queues by creation time and name alone
    int64_t depth = -1;         // pod groups kept per leaf queue; -1: all (spec 2 C9)
  };

  Worklist(const Cluster& cluster, const QueueUsage* usage, PodOrder* order,
           const Options& options);

  // A group whose queue is a leaf of a whole tree; others are the caller's to leave out.
  void Push(PodGroupId group);
  bool empty() const { return top_level_.empty(); }
  PodGroupId Pop();

 private:
  struct QueueEntry {
    LazyHeap<QueueId> children;
    LazyHeap<PodGroupId> groups;
    bool marked = false;
    bool in_heap = false;  // of its parent
  };

  LazyHeap<QueueId>& HeapAbove(QueueId queue);
  bool GroupGoesFirst(PodGroupId a, PodGroupId b) const;
  bool QueueGoesFirst(QueueId a, QueueId b) const;
  // The pod group that stands for a queue in comparisons: top of the top of the top, as the heaps
  // stand.
  PodGroupId Representative(QueueId queue) const;
  void MarkUpwards(QueueId queue);

  const Cluster& cluster_;
  const QueueUsage* usage_;
  PodOrder* order_;
  Options options_;
  IndexVector<QueueId, QueueEntry> entries_;
  LazyHeap<QueueId> top_level_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_WORKLIST_H_
