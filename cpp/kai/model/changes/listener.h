// Listener: the contract of objects that hear of each change of the cluster. Fair share keeps queue
// usage with it and placement its node index; the model knows neither.
//
//   Toucher toucher(&index);
//   const auto statement = Statement::Open(cluster.get(), {&toucher});
//
// Invariants: Undone() gets the changes in reverse order of Applied(). Cost: a call per
// change and listener. Threads: that of the Statement.
#ifndef KAI_MODEL_CHANGES_LISTENER_H_
#define KAI_MODEL_CHANGES_LISTENER_H_

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
  // A pod that leaves was evicted once more: only listeners that count evictions need notice.
  bool IsSecondEviction() const {
    return from == PodStatus::kReleasing && to == PodStatus::kReleasing;
  }
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Called after the columns have changed.
  virtual void Applied(const Change& change) = 0;
  // Called after the columns are back as they were.
  virtual void Undone(const Change& change) = 0;
  // Asked before a pod that was just evicted returns to a node it stands on: true if what it would
  // get there now is not what it had, which makes it a move (spec 2 T5).
  virtual bool IsMoveWithin(PodId, NodeId) const { return false; }
  // Called when the change is decided: a pod that was evicted is no longer one that may come back.
  virtual void Settled(const Change&) {}
};

}  // namespace kai

#endif  // KAI_MODEL_CHANGES_LISTENER_H_
