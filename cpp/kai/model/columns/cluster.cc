#include "kai/model/columns/cluster.h"

#include <algorithm>
#include <cmath>

#include "kai/api/rounding.h"
#include "kai/base/text.h"
#include "kai/model/building/numbering.h"
#include "kai/model/building/row_lookup.h"

namespace kai {

Cluster::Cluster() = default;
Cluster::~Cluster() = default;

std::string Cluster::PodName(PodId pod) const {
  return StrCat(Text(pods_.namespace_name[pod]), "/", Text(pods_.name[pod]));
}

bool Cluster::IsNamedBefore(PodId a, PodId b) const {
  return kai::IsNamedBefore(names_, pods_, a, b);
}

std::string Cluster::PodGroupName(PodGroupId group) const {
  return StrCat(Text(pod_groups_.namespace_name[group]), "/", Text(pod_groups_.name[group]));
}

std::string_view Cluster::SubgroupText(SubGroupId pod_set) const {
  const std::string_view name = Text(sub_groups_.name[pod_set]);
  return name == kDefaultSubgroup ? "" : name;
}

int64_t Cluster::MibPerGpu(PodClassId pod_class, NodeId node) const {
  const GpuRequest& gpu = pod_classes_.info[pod_class].gpu;
  return gpu.kind == GpuRequestKind::kMemory
             ? gpu.memory_mib
             : MemoryOfPortion(gpu.portion, nodes_.gpu_memory_mib[node]);
}

double Cluster::PortionOn(PodClassId pod_class, NodeId node) const {
  const GpuRequest& gpu = pod_classes_.info[pod_class].gpu;
  return gpu.kind == GpuRequestKind::kMemory
             ? PortionOfMemory(static_cast<double>(gpu.memory_mib), nodes_.gpu_memory_mib[node])
             : gpu.portion;
}

double Cluster::GpusRequestedOn(PodClassId pod_class, NodeId node) const {
  const double portion =
      PortionOfMemory(static_cast<double>(MibPerGpu(pod_class, node)), nodes_.gpu_memory_mib[node]);
  return portion * static_cast<double>(pod_classes_.info[pod_class].gpu.count);
}

QuotaCount Cluster::AcceptedOn(PodClassId pod_class, NodeId node) const {
  const PodClass& info = pod_classes_.info[pod_class];
  if (!node.valid()) return {};  // a node outside the snapshot: spec 1 F25
  if (info.gpu.kind != GpuRequestKind::kMemory) return info.requested;
  // n devices, each of ceil(100 m / M) / 100 (spec 1 F24, last row).
  return info.requested.WithGpus(
      GpusOfPortions(PortionOn(pod_class, node), static_cast<double>(info.gpu.count)) +
      static_cast<double>(info.gpu.dra));
}

}  // namespace kai
