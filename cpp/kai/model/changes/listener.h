// Listener: the contract of objects that hear of each change of the cluster. Fair share keeps queue
// usage with it and placement its node index; the model knows neither.
//
//   Toucher toucher(&index);
//   const auto statement = Statement::Open(cluster.get(), {&toucher});
//
// Invariants: Undone() gets the changes in reverse order of Applied(), and the UndoStack as
// Applied() left it. Cost: a call per change and listener. Threads: that of the Statement.
#ifndef KAI_MODEL_CHANGES_LISTENER_H_
#define KAI_MODEL_CHANGES_LISTENER_H_

#include <algorithm>
#include <cstddef>
#include <memory>

#include "kai/base/check.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/pod_status.h"

namespace kai {

// One pod's change of status and node.
struct Change {
  PodId pod;
  PodStatus from = PodStatus::kPending;
  PodStatus to = PodStatus::kPending;
  NodeId from_node;
  NodeId to_node;
  bool to_other_gpus = false;  // of the node it stands on already

  // The pod stands where it stood before.
  bool Stays() const { return from_node.valid() && from_node == to_node && !to_other_gpus; }
  // A pod that leaves was evicted once more: only who counts evictions need notice.
  bool IsSecondEviction() const {
    return from == PodStatus::kReleasing && to == PodStatus::kReleasing;
  }
};

// Old values that are put aside when something changes and taken back, last first, when that is
// undone: subtracting doubles would not restore them.
class UndoStack {
 public:
  // Room for so many values, to be written at once; good until the next call.
  double* Push(size_t count) {
    if (size_ + count > capacity_) Grow(size_ + count);
    size_ += count;
    return values_.get() + size_ - count;
  }
  // The values that were pushed last; good until the next call.
  const double* Pop(size_t count) {
    KAI_DCHECK(count <= size_);
    size_ -= count;
    return values_.get() + size_;
  }
  void Clear() { size_ = 0; }

 private:
  void Grow(size_t needed) {
    capacity_ = std::max<size_t>({needed, 2 * capacity_, 256});
    auto grown = std::make_unique_for_overwrite<double[]>(capacity_);
    std::copy_n(values_.get(), size_, grown.get());
    values_ = std::move(grown);
  }

  std::unique_ptr<double[]> values_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Called after the columns have changed; `undo` is for old values.
  virtual void Applied(const Change& change, UndoStack* undo) = 0;
  // Called after the columns are back as they were; takes off `undo` exactly what Applied() put
  // there.
  virtual void Undone(const Change& change, UndoStack* undo) = 0;
  // Asked before a pod that was just evicted returns to a node it stands on: true if what it would
  // get there now is not what it had, which makes it a move (spec 2 T5).
  virtual bool IsMoveWithin(PodId, NodeId) const { return false; }
  // Called when the change is decided: a pod that was evicted is no longer one that may come back.
  virtual void Settled(const Change&) {}
};

}  // namespace kai

#endif  // KAI_MODEL_CHANGES_LISTENER_H_
