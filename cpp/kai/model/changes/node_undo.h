// NodeUndo: how what a change did to a node comes back when a Statement takes the change back.
//
//   undo_->Save(change, gpus);   // before the change is made
//   undo_->Restore(change);      // last saved, first restored
//
// MakeExactUndo() puts back the values that were there. MakeCountingUndo() is the seam for
// `exact_rollback: kai`: it counts backwards as KAI does, which does not come out even where GPUs
// are shared (decision 0010).
//
// Invariants: Restore() gets the changes in reverse order of Save(); both come with the pod's
// columns as the change left them, but for its status and node, which Restore() finds as they were
// before. Cost: O(slots) and O(devices) of pods that share, each. Not thread-safe.
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
  // `gpus`: the devices that the pod is going to share.
  virtual void Save(const Change& change, const GpuList& gpus) = 0;
  virtual void Restore(const Change& change) = 0;
  // Nothing that was saved is asked for any more.
  virtual void Clear() = 0;
  // The node no longer knows that the pod holds devices of it.
  virtual bool HasForgotten(PodId) const { return false; }
};

std::unique_ptr<NodeUndo> MakeExactUndo(Cluster* cluster);
// What is left over stays until this goes: then nodes are as they are now.
std::unique_ptr<NodeUndo> MakeCountingUndo(Cluster* cluster);

}  // namespace kai

#endif  // KAI_MODEL_CHANGES_NODE_UNDO_H_
