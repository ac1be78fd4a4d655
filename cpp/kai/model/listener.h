// The contract for whoever needs to hear each change of the cluster: fair share keeps queue usage
// with it, placement its node index, without the model knowing that either exists.
#ifndef KAI_MODEL_LISTENER_H_
#define KAI_MODEL_LISTENER_H_

#include <vector>

#include "kai/model/ids.h"
#include "kai/model/pod_status.h"

namespace kai {

// One pod's change of status and node.
struct Change {
  PodId pod;
  PodStatus from = PodStatus::kPending;
  PodStatus to = PodStatus::kPending;
  NodeId from_node;
  NodeId to_node;
};

// Old values a listener puts aside in Applied() and takes back, last first, in Undone():
// subtracting doubles would not restore them.
using UndoStack = std::vector<double>;

class Listener {
 public:
  virtual ~Listener() = default;
  // Called after the columns have changed; `undo` is for old values.
  virtual void Applied(const Change& change, UndoStack* undo) = 0;
  // Called after the columns are back as they were; takes off `undo` exactly what Applied() put
  // there.
  virtual void Undone(const Change& change, UndoStack* undo) = 0;
  // Called when the change is decided: a pod that was evicted is no longer one that may come back.
  virtual void Settled(const Change&) {}
};

}  // namespace kai

#endif  // KAI_MODEL_LISTENER_H_
