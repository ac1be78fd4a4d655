// GpuSums: how much of a node's GPUs is free or being freed, parts of shared ones included (spec 3
// N13): the count before single nodes are searched.
//
//   const GpuSums sums = GpuSumsOf(*cluster, NodeId(0));
//   MostGpusOf(*cluster, NodeId(0))
//
// Invariants: MostGpusOf() is never less than any pod finds there. Cost: O(shared devices of the
// node). Threads: pure functions that read the cluster.
#ifndef KAI_MODEL_COLUMNS_GPU_SUMS_H_
#define KAI_MODEL_COLUMNS_GPU_SUMS_H_

#include "kai/model/columns/cluster.h"

namespace kai {

// Sums of parts of devices are not exact.
inline constexpr double kGpuSumTolerance = 1e-6;

struct GpuSums {
  double idle = 0;  // devices; MIG slices by what they count for
  double releasing = 0;
  double idle_mib = 0;
  double releasing_mib = 0;

  double all() const { return idle + releasing; }
};

// As KAI has it: parts are rounded to hundredths of a device.
GpuSums GpuSumsOf(const Cluster& cluster, NodeId node);

// All of them, in devices.
inline double AllGpusOf(const Cluster& cluster, NodeId node) {
  const NodeColumns& nodes = cluster.nodes();
  if (!nodes.shared_gpus[node].empty()) return GpuSumsOf(cluster, node).all();
  return cluster.slots().TotalGpus(nodes.idle[node]) +
         cluster.slots().TotalGpus(nodes.releasing[node]);
}

// Some, or parts of them, are idle or being freed.
inline bool HasGpusToGive(const Cluster& cluster, NodeId node) {
  const NodeColumns& nodes = cluster.nodes();
  if (nodes.shared_gpus[node].empty())
    return cluster.slots().TotalGpus(nodes.idle[node]) > 0 ||
           cluster.slots().TotalGpus(nodes.releasing[node]) > 0;
  const GpuSums sums = GpuSumsOf(cluster, node);
  return sums.idle > 0 || sums.releasing > 0;
}

// Devices that the node could give at most, in one piece or in parts, with what is being freed.
double MostGpusOf(const Cluster& cluster, NodeId node);

// Devices that a pod of the class takes on that node; parts of them by memory, not rounded.
double GpusHeldOn(const Cluster& cluster, PodClassId pod_class, NodeId node);

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_GPU_SUMS_H_
