// NodeUndo: how a Statement undoes the effect of a change on a node.
//
//   undo_->Save(change, gpus);   // before the change is made
//   undo_->Restore(change);      // last saved, first restored
//
// MakeExactUndo() restores the old values. MakeCountingUndo() implements `exact_rollback: kai`: it
// counts backwards as KAI does, which does not restore the old values where GPUs are shared
// (decision 0010).
//
// Invariants: Restore() gets the changes in the reverse order of Save(). For both, the pod's
// columns are as the change left them, except that Restore() finds the pod's old status and node.
// Cost: O(slots) and O(devices) of pods that share, each. Not thread-safe.
#ifndef KAI_MODEL_CHANGES_NODE_UNDO_H_
#define KAI_MODEL_CHANGES_NODE_UNDO_H_

#include <memory>

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/columns/shared_gpu.h"

namespace kai {

class NodeUndo {
 public:
  virtual ~NodeUndo() = default;
  // `gpus`: the devices that the pod will share.
  virtual void Save(const Change& change, const GpuList& gpus) = 0;
  virtual void Restore(const Change& change) = 0;
  // Drops all saved values.
  virtual void Clear() = 0;
  // True: the node no longer counts the pod as a holder of its devices.
  virtual bool IsUncounted(PodId) const { return false; }
};

std::unique_ptr<NodeUndo> MakeExactUndo(Cluster* cluster);
// Differences remain until this object is destroyed; it then restores the nodes as they are now.
std::unique_ptr<NodeUndo> MakeCountingUndo(Cluster* cluster, bool counts_reservations = true);

}  // namespace kai

#endif  // KAI_MODEL_CHANGES_NODE_UNDO_H_
