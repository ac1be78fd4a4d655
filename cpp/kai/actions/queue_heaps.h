// QueueHeaps: the tree of heaps of queues that worklists and victim queues walk down (spec 1 F60).
// What stands in the leaves is the owner's.
//
//   heaps_.Enter(leaf, [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); });
//   const QueueId leaf = heaps_.Best(queue_less);         // where the next one is
//   heaps_.Leave(leaf, entries.empty(), queue_less);      // something left it
//
// Shares change while the tree is worked off: what changed is only marked, and a marked queue is
// sifted when it stands on top of its heap. The layout is KAI's to the last move, because it
// decides between equals. `less` may look at the heaps as they stand.
//
// Invariants: a queue is in its parent's heap as long as a leaf below it has something; Best() is
// for trees that are not empty, Leave() for the leaf that Best() gave last. Cost: O(depth * log
// siblings) comparisons a move, plus one for each queue that is marked. Not thread-safe.
#ifndef KAI_ACTIONS_QUEUE_HEAPS_H_
#define KAI_ACTIONS_QUEUE_HEAPS_H_

#include "kai/base/lazy_heap.h"
#include "kai/model/columns/queue.h"

namespace kai {

class QueueHeaps {
 public:
  explicit QueueHeaps(const QueueColumns& queues) : queues_(&queues), entries_(queues.size()) {}

  bool empty() const { return top_level_.empty(); }

  // The leaf that stands for a queue in comparisons: top of the top of the top, as the heaps stand.
  QueueId LeafOf(QueueId queue) const {
    while (!queues_->IsLeaf(queue)) queue = entries_[queue].children.Top();
    return queue;
  }

  template <typename Less>
  void Enter(QueueId leaf, const Less& less) {
    for (QueueId queue = leaf; queue.valid() && !entries_[queue].in_heap;
         queue = queues_->parent[queue]) {
      entries_[queue].in_heap = true;
      HeapAbove(queue).Push(queue, less);
    }
    MarkUpwards(leaf);
  }

  template <typename Less>
  QueueId Best(const Less& less) {
    LazyHeap<QueueId>* heap = &top_level_;
    for (;;) {
      while (entries_[heap->Top()].marked) {
        const QueueId top = heap->Top();
        heap->SiftDownTop(less);
        entries_[top].marked = false;
      }
      const QueueId queue = heap->Top();
      if (queues_->IsLeaf(queue)) return queue;
      heap = &entries_[queue].children;
    }
  }

  // `leaf` is what Best() returned last.
  template <typename Less>
  void Leave(QueueId leaf, bool is_empty, const Less& less) {
    // A queue with nothing left leaves its parent's heap, and so on upwards; it stands on top
    // there, as that is how it was found.
    for (QueueId queue = leaf; queue.valid() && is_empty; queue = queues_->parent[queue]) {
      entries_[queue].in_heap = false;
      LazyHeap<QueueId>& heap = HeapAbove(queue);
      heap.Pop(less);
      is_empty = heap.empty();
    }
    MarkUpwards(leaf);
  }

 private:
  struct Entry {
    LazyHeap<QueueId> children;
    bool marked = false;
    bool in_heap = false;  // of its parent
  };

  LazyHeap<QueueId>& HeapAbove(QueueId queue) {
    const QueueId parent = queues_->parent[queue];
    return parent.valid() ? entries_[parent].children : top_level_;
  }
  void MarkUpwards(QueueId queue) {
    for (; queue.valid(); queue = queues_->parent[queue]) entries_[queue].marked = true;
  }

  const QueueColumns* queues_;
  IndexVector<QueueId, Entry> entries_;
  LazyHeap<QueueId> top_level_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_QUEUE_HEAPS_H_
