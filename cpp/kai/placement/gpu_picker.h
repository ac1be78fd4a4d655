// GpuPicker: chooses the devices that a pod shares on a node, and checks that there are enough
// (spec 3 N10, S1-S9).
//
//   const GpuPicker picker(*cluster, {.pack = true});
//   picker.HasEnough(pod_class, node, Room::kLater)
//   picker.Pick(pod_class, node, fits_now).gpus
//
// The strategy puts devices that other pods already share first or last, and orders equal ones by
// the node's list. Then come whole devices, which no pod shares yet. In KAI the order of equal
// devices is random.
//
// Invariants: it has no state: answers are for the current state of the cluster. Pick() needs a
// node with enough devices, and returns as many devices as the pod requests, each once. Cost:
// O(shared devices of the node); Pick() also sorts them. Threads: many readers, while the cluster
// does not change.
#ifndef KAI_PLACEMENT_GPU_PICKER_H_
#define KAI_PLACEMENT_GPU_PICKER_H_

#include <optional>

#include "kai/model/columns/cluster.h"
#include "kai/placement/gpu_chooser.h"
#include "kai/placement/node_index.h"

namespace kai {

class GpuPicker {
 public:
  struct Options {
    bool pack = false;           // the fullest device first (plugin gpupack)
    bool spread = false;         // the emptiest first (plugin gpuspread)
    bool start_on_idle = false;  // an idle device before a fuller one that is being freed
    bool bind_held = false;      // as in KAI: a held whole device counts as idle if the pod would
                                 // find room on another one (spec 3 S4)
    bool slot_to_join = false;   // as in KAI: one slot for any number of new devices, and also one
                                 // for a known device, unless its name is a number (spec 3 P6)
    const GpuChooser* chooser = nullptr;  // for pods with one GPU; comes first
  };
  struct Choice {
    GpuList gpus;
    bool waits = false;     // for a pod that is leaving a device
    int32_t pod_slots = 0;  // for reservation pods of devices that no pod shares yet (spec 3 P6)
  };

  GpuPicker(const Cluster& cluster, const Options& options)
      : cluster_(cluster), options_(options) {}
  const Options& options() const { return options_; }

  // True: some shared device has room for the pod, now or later (spec 3 N11). Also called for pods
  // that share no GPUs: a pod without GPUs takes nothing of a device and fits on any (spec 3 W8).
  bool Joins(PodClassId pod_class, NodeId node) const;

  // The choice of these devices, if they have room for the class now or later; the first position
  // behind the node's list and the following ones are new devices.
  std::optional<Choice> Check(PodClassId pod_class, NodeId node, bool fits_now,
                              const GpuList& gpus) const;

  // For a class that shares: whether the node has enough devices, with or without those that are
  // being freed (spec 3 N10).
  bool HasEnough(PodClassId pod_class, NodeId node, Room room) const;

  // For a node with enough devices; `fits_now`: without devices that are being freed (spec 3
  // S1-S4). `pod` is for the chooser.
  Choice Pick(PodClassId pod_class, NodeId node, bool fits_now, PodId pod = {}) const;

 private:
  bool CanBeJoined(NodeId node) const;
  // `gpu`: a position in the list of the node, or below zero for a new device.
  bool NeedsPodSlot(NodeId node, int32_t gpu) const;

  const Cluster& cluster_;
  Options options_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_GPU_PICKER_H_
