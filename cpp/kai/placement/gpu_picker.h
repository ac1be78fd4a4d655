// GpuPicker: which devices of a node a pod gets that shares GPUs, and whether there are enough
// (spec 3 N10, S1-S9).
//
//   const GpuPicker picker(*cluster, {.pack = true});
//   picker.HasEnough(pod_class, node, Room::kLater)
//   picker.Pick(pod_class, node, fits_now).gpus
//
// Devices that others share already come first or last by what the strategy says of them, and among
// equals in the order of the node's list; then whole devices, which the pod is the first to share.
// KAI leaves the order of equals to chance.
//
// Invariants: it keeps no state: an answer is that of the cluster as it stands. Pick() needs a node
// that has enough, and then names as many devices as the pod asks for, none twice. Cost: O(shared
// devices of the node), Pick() also sorts them. Threads: many readers, while the cluster does not
// change.
#ifndef KAI_PLACEMENT_GPU_PICKER_H_
#define KAI_PLACEMENT_GPU_PICKER_H_

#include "kai/model/columns/cluster.h"
#include "kai/placement/gpu_chooser.h"
#include "kai/placement/node_index.h"

namespace kai {

class GpuPicker {
 public:
  struct Options {
    bool pack = false;           // the fullest device first (plugin gpupack)
    bool spread = false;         // the emptiest first (plugin gpuspread)
    bool start_on_idle = false;  // an idle device before a fuller one that has to be waited for
    bool bind_held = false;      // KAI: a whole device counts as idle, held or not, where the pod
                                 // would find room on another one (spec 3 S4)
    const GpuChooser* chooser = nullptr;  // for pods with one GPU, before all of these
  };
  struct Choice {
    GpuList gpus;
    bool waits = false;           // for a pod that is leaving one of them
    bool needs_pod_slot = false;  // for the pod that reserves a device (spec 3 P6)
  };

  GpuPicker(const Cluster& cluster, const Options& options)
      : cluster_(cluster), options_(options) {}

  // Some device that others share has room for the pod, now or later (spec 3 N11). Asked for pods
  // of any kind: one without GPUs takes nothing of it, and finds room on any (spec 3 W8).
  bool Joins(PodClassId pod_class, NodeId node) const;

  // Of a class that shares: devices enough, that which is being freed included or not (spec 3 N10).
  bool HasEnough(PodClassId pod_class, NodeId node, Room room) const;

  // Of a node that has enough; `fits_now`: without what is being freed (spec 3 S1-S4). `pod` is
  // for the chooser.
  Choice Pick(PodClassId pod_class, NodeId node, bool fits_now, PodId pod = {}) const;

 private:
  bool CanBeJoined(NodeId node) const;

  const Cluster& cluster_;
  Options options_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_GPU_PICKER_H_
