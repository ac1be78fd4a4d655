// NodeShape and PodShape: the input of placement policies: the idle resources of a node and the
// requests of a pod. The columns of a cluster and the lists of an experiment both become shapes, so
// one function scores for both.
//
//   if (!HasRoom(filled, pod)) continue;
//
// A GPU is 1000 thousandths. Invariants: a pod that shares GPUs asks for fewer than 1000 of each of
// its GPUs, any other one for 1000; a pod without GPUs for none. Cost: O(GPUs of the node).
// Threads: plain data.
#ifndef KAI_PACKING_SHAPES_H_
#define KAI_PACKING_SHAPES_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace kai::packing {

inline constexpr int32_t kWholeGpu = 1000;  // thousandths

struct PodShape {
  int64_t cpu_milli = 0;
  int32_t gpus = 0;
  int32_t gpu_milli = 0;  // of each of them

  bool shares() const { return gpus > 0 && gpu_milli < kWholeGpu; }
  int64_t TotalGpuMilli() const { return static_cast<int64_t>(gpus) * gpu_milli; }
  // Pods that GPU clustering keeps together: those that share, and those with 1, 2, ... whole GPUs
  // (spec of the policy: policies.h). A pod without GPUs belongs to no cluster.
  uint64_t ClusterBit() const {
    if (gpus == 0) return 0;
    return shares() ? 1 : uint64_t{1} << std::min(gpus, 63);
  }

  friend bool operator==(const PodShape&, const PodShape&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PodShape& each) {
    return H::combine(std::move(h), each.cpu_milli, each.gpus, each.gpu_milli);
  }
};

struct NodeShape {
  int64_t cpu_milli = 0;  // idle
  int32_t kind = 0;       // nodes of one kind are open to the same pods
  // Idle on each GPU, in the order in which they are given out.
  absl::InlinedVector<int32_t, 8> gpu_milli = {};
  uint64_t clusters = 0;  // ClusterBit() of all pods that run there

  int64_t IdleGpuMilli() const {
    return std::accumulate(gpu_milli.begin(), gpu_milli.end(), int64_t{0});
  }
  int64_t IdleGpus() const { return std::ranges::count(gpu_milli, kWholeGpu); }

  friend bool operator==(const NodeShape&, const NodeShape&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NodeShape& each) {
    return H::combine(std::move(h), each.cpu_milli, each.kind, each.gpu_milli, each.clusters);
  }
};

// True: as many GPUs as the pod requests have enough idle.
inline bool HasGpus(const NodeShape& node, int32_t gpus, int32_t gpu_milli) {
  return std::ranges::count_if(node.gpu_milli, [&](int32_t left) { return left >= gpu_milli; }) >=
         gpus;
}

inline bool HasRoom(const NodeShape& node, const PodShape& pod) {
  return node.cpu_milli >= pod.cpu_milli && HasGpus(node, pod.gpus, pod.gpu_milli);
}

}  // namespace kai::packing

#endif  // KAI_PACKING_SHAPES_H_
