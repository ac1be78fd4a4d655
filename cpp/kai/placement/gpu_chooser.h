// A GpuChooser chooses the GPU that a pod shares on its node, instead of packing or spreading.
//
//   options_.chooser->ChooseGpu(pod_class, node, pod, places)
//
// Invariants: it changes nothing and uses the current state of the cluster. Cost: O(GPUs of the
// node). Threads: those of the implementation.
#ifndef KAI_PLACEMENT_GPU_CHOOSER_H_
#define KAI_PLACEMENT_GPU_CHOOSER_H_

#include <cstdint>
#include <span>

#include "kai/model/columns/ids.h"

namespace kai {

class GpuChooser {
 public:
  static constexpr int32_t kNoChoice = -1;  // packing or spreading decides

  virtual ~GpuChooser() = default;
  // `candidates`: positions in the node's list of shared GPUs with room for the pod; the position
  // behind the end means a GPU that no pod shares yet. `pod` may be invalid: any pod of its class.
  // A result that is not a candidate counts as no choice.
  virtual int32_t ChooseGpu(PodClassId pod_class, NodeId node, PodId pod,
                            std::span<const int32_t> candidates) const = 0;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_GPU_CHOOSER_H_
