// A GpuChooser names the GPU that a pod shares on its node, in place of packing and spreading.
//
//   options_.chooser->ChooseGpu(pod_class, node, pod, places)
//
// Invariants: it changes nothing, and answers for the cluster as it stands. Cost: O(GPUs of the
// node). Threads: those of what implements it.
#ifndef KAI_PLACEMENT_GPU_CHOOSER_H_
#define KAI_PLACEMENT_GPU_CHOOSER_H_

#include <cstdint>
#include <span>

#include "kai/model/columns/ids.h"

namespace kai {

class GpuChooser {
 public:
  static constexpr int32_t kNoChoice = -1;  // as packing or spreading has it

  virtual ~GpuChooser() = default;
  // `candidates`: places in the node's list of shared GPUs that hold the pod; one behind its end
  // stands for a GPU that no pod shares yet. `pod` may be invalid: any of its class. One that is
  // no candidate counts as no choice.
  virtual int32_t ChooseGpu(PodClassId pod_class, NodeId node, PodId pod,
                            std::span<const int32_t> candidates) const = 0;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_GPU_CHOOSER_H_
