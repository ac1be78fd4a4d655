// QueueHeaps: the tree of heaps of queues that worklists and victim queues use (spec 1 F60). The
// owner keeps the content of the leaves.
//
//   heaps_.Enter(leaf, [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); });
//   const QueueId leaf = heaps_.Best(queue_less);         // has the next group
//   heaps_.Leave(leaf, entries.empty(), queue_less);      // a group left it
//
// Shares change while the tree is used: changed queues are only marked, and a marked queue is
// sifted when it is on top of its heap. The layout of the heaps equals KAI's after every move,
// because it decides between equals. `less` may read the current heaps.
//
// Invariants: a queue is in its parent's heap as long as a leaf below it is not empty; Best() needs
// a tree that is not empty, Leave() the last result of Best(). Cost: O(depth * log siblings)
// comparisons per move, plus one for each marked queue. Not thread-safe.
#ifndef KAI_ACTIONS_QUEUE_HEAPS_H_
#define KAI_ACTIONS_QUEUE_HEAPS_H_

#include "kai/base/lazy_heap.h"
#include "kai/model/columns/queue.h"

namespace kai {

class QueueHeaps {
 public:
  explicit QueueHeaps(const QueueColumns& queues) : queues_(&queues), entries_(queues.size()) {}

  bool empty() const { return top_level_.empty(); }

  // The leaf that represents a queue in comparisons: the top of the top of the top of the current
  // heaps.
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

  // `leaf`: the last result of Best().
  template <typename Less>
  void Leave(QueueId leaf, bool is_empty, const Less& less) {
    // An empty queue leaves its parent's heap, and so on upwards. It is on top there, because
    // Best() found it that way.
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
    bool in_heap = false;  // in its parent's heap
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
