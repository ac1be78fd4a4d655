// Listener: the interface of objects that follow every change of the cluster. Fair share keeps
// queue usage with it, and placement its node index; the model depends on neither.
//
//   Toucher toucher(&index);
//   const auto statement = Statement::Open(cluster.get(), {&toucher});
//
// Invariants: Undone() gets the changes in the reverse order of Applied(). Cost: a call per change
// and listener. Threads: those of the Statement.
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
  bool to_other_gpus = false;  // on the node that it already occupies

  // True: the pod keeps its node and devices.
  bool Stays() const { return from_node.valid() && from_node == to_node && !to_other_gpus; }
  // True: a leaving pod was evicted once more. This matters only to listeners that count evictions.
  bool IsSecondEviction() const {
    return from == PodStatus::kReleasing && to == PodStatus::kReleasing;
  }
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Called after the columns have changed.
  virtual void Applied(const Change& change) = 0;
  // Called after the columns have their old values again.
  virtual void Undone(const Change& change) = 0;
  // Called before a just evicted pod returns to a node that it still occupies. True: it would get
  // something else there than it had, so the return is a move (spec 2 T5).
  virtual bool IsMoveWithin(PodId, NodeId) const { return false; }
  // Called when the change becomes final: an evicted pod can no longer return.
  virtual void Settled(const Change&) {}
};

}  // namespace kai

#endif  // KAI_MODEL_CHANGES_LISTENER_H_
