// GpuSums: how many GPUs of a node are idle or being freed, including parts of shared GPUs (spec 3
// N13). This count excludes nodes before they are searched one by one.
//
//   const GpuSums sums = GpuSumsOf(*cluster, NodeId(0));
//   MostGpusOf(*cluster, NodeId(0))
//
// Invariants: no pod can get more GPUs on the node than MostGpusOf(). Cost: O(shared devices of the
// node). Threads: pure functions that read the cluster.
#ifndef KAI_MODEL_COLUMNS_GPU_SUMS_H_
#define KAI_MODEL_COLUMNS_GPU_SUMS_H_

#include "kai/model/columns/cluster.h"

namespace kai {

// Tolerance for sums of parts of devices, because these are not exact.
inline constexpr double kGpuSumTolerance = 1e-6;

struct GpuSums {
  double idle = 0;  // devices; MIG slices by what they count for
  double releasing = 0;
  double idle_mib = 0;
  double releasing_mib = 0;

  double all() const { return idle + releasing; }
};

// Rounds parts to hundredths of a device, as KAI does.
GpuSums GpuSumsOf(const Cluster& cluster, NodeId node);

// Idle GPUs and GPUs that are being freed, in devices.
inline double AllGpusOf(const Cluster& cluster, NodeId node) {
  const NodeColumns& nodes = cluster.nodes();
  if (!nodes.shared_gpus[node].empty()) return GpuSumsOf(cluster, node).all();
  return cluster.slots().TotalGpus(nodes.idle[node]) +
         cluster.slots().TotalGpus(nodes.releasing[node]);
}

// True: some GPU, or a part of one, is idle or being freed.
inline bool HasGpusToGive(const Cluster& cluster, NodeId node) {
  const NodeColumns& nodes = cluster.nodes();
  if (nodes.shared_gpus[node].empty())
    return cluster.slots().TotalGpus(nodes.idle[node]) > 0 ||
           cluster.slots().TotalGpus(nodes.releasing[node]) > 0;
  const GpuSums sums = GpuSumsOf(cluster, node);
  return sums.idle > 0 || sums.releasing > 0;
}

// The most devices that the node could give, whole or in parts, including those that are being
// freed.
double MostGpusOf(const Cluster& cluster, NodeId node);

// Devices that a pod of the class takes on that node. Parts are by memory and not rounded.
double GpusHeldOn(const Cluster& cluster, PodClassId pod_class, NodeId node);

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_GPU_SUMS_H_
