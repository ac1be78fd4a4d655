#include "kai/model/columns/gpu_sums.h"

#include <algorithm>
#include <cmath>

#include "kai/api/rounding.h"

namespace kai {

GpuSums GpuSumsOf(const Cluster& cluster, NodeId node) {
  const NodeColumns& nodes = cluster.nodes();
  const ResourceSlots& slots = cluster.slots();
  const double capacity = nodes.gpu_memory_mib[node];
  GpuSums sums{.idle = slots.TotalGpus(nodes.idle[node]),
               .releasing = slots.TotalGpus(nodes.releasing[node])};
  sums.idle_mib = std::trunc(sums.idle) * capacity;
  sums.releasing_mib = std::trunc(sums.releasing) * capacity;
  for (const SharedGpu& gpu : nodes.shared_gpus[node]) {
    const auto allocated = static_cast<double>(gpu.allocated);
    const auto releasing = static_cast<double>(gpu.releasing);
    if (gpu.allocated > 0) {
      sums.idle += 1 - PortionOfMemory(allocated, capacity);
      sums.idle_mib += capacity - allocated;
    }
    if (gpu.releasing > 0 && gpu.releasing != gpu.used) {
      sums.releasing += PortionOfMemory(releasing, capacity);
      sums.releasing_mib += releasing;
    }
  }
  return sums;
}

double MostGpusOf(const Cluster& cluster, NodeId node) {
  const NodeColumns& nodes = cluster.nodes();
  constexpr size_t kGpus = kGpuSlot.index();
  double gpus = nodes.idle[node][kGpus] + nodes.releasing[node][kGpus];
  for (const SharedGpu& gpu : nodes.shared_gpus[node]) {
    const int64_t free_mib = cluster.GpuCapacityMib(node) - gpu.allocated + gpu.releasing;
    if (gpu.IsOpen() && free_mib > 0)
      gpus += static_cast<double>(free_mib) / nodes.gpu_memory_mib[node];
  }
  return gpus;
}

double GpusHeldOn(const Cluster& cluster, PodClassId pod_class, NodeId node) {
  const GpuRequest& gpu = cluster.pod_classes().info[pod_class].gpu;
  if (!gpu.IsShared()) return cluster.pod_classes().request[pod_class][kGpuSlot.index()];
  return static_cast<double>(gpu.count) * static_cast<double>(cluster.MibPerGpu(pod_class, node)) /
         std::max(cluster.nodes().gpu_memory_mib[node], 1.0);
}

}  // namespace kai
