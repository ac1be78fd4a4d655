// The array binary heap of spec 1 F60, with exactly KAI's moves: the layout decides between queues
// that compare equal.
//
//   LazyHeap<std::string> heap;
//   heap.Push(item, KeyLess);        // append, sift up while less(child, parent)
//   heap.Top()                       // element 0
//   heap.SiftDownTop(KeyLess);       // after the top's key changed
//   heap.Pop(KeyLess)                // swap first and last, remove, sift down
//   heap.DropLast();                 // the depth limit removes the last slot, whatever is in it
//
// `less` need not be a strict order, and often is not (spec 1 F71). Then the result depends on the
// order of pushes, so another heap implementation would give other results.
//
// Invariants: only these moves change the layout; the caller calls SiftDownTop() after the key of
// the top has changed. Cost: O(log n) comparisons a move, O(1) for Top() and DropLast(). Not
// thread-safe.
#ifndef KAI_BASE_LAZY_HEAP_H_
#define KAI_BASE_LAZY_HEAP_H_

#include <cstddef>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "kai/base/check.h"

namespace kai {

template <typename T>
class LazyHeap {
 public:
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  const T& Top() const {
    KAI_DCHECK(!items_.empty());
    return items_[0];
  }
  std::span<const T> items() const { return items_; }

  template <typename Less>
  void Push(T item, const Less& less) {
    items_.push_back(std::move(item));
    SiftUp(items_.size() - 1, less);
  }

  template <typename Less>
  T Pop(const Less& less) {
    KAI_DCHECK(!items_.empty());
    std::swap(items_.front(), items_.back());
    T top = std::move(items_.back());
    items_.pop_back();
    SiftDown(0, less);
    return top;
  }

  template <typename Less>
  void ReplaceTop(T item, const Less& less) {
    KAI_DCHECK(!items_.empty());
    items_[0] = std::move(item);
    SiftDown(0, less);
  }

  template <typename Less>
  void SiftDownTop(const Less& less) {
    SiftDown(0, less);
  }

  void Clear() { items_.clear(); }
  void DropLast() {
    KAI_DCHECK(!items_.empty());
    items_.pop_back();
  }

 private:
  template <typename Less>
  void SiftUp(size_t at, const Less& less) {
    while (at > 0) {
      const size_t parent = (at - 1) / 2;
      if (!less(items_[at], items_[parent])) return;
      std::swap(items_[at], items_[parent]);
      at = parent;
    }
  }

  template <typename Less>
  void SiftDown(size_t at, const Less& less) {
    for (;;) {
      size_t child = 2 * at + 1;
      if (child >= items_.size()) return;
      if (child + 1 < items_.size() && less(items_[child + 1], items_[child])) ++child;
      if (!less(items_[child], items_[at])) return;
      std::swap(items_[child], items_[at]);
      at = child;
    }
  }

  absl::InlinedVector<T, 4> items_;  // most queues have few children
};

}  // namespace kai

#endif  // KAI_BASE_LAZY_HEAP_H_
