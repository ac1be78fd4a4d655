#include "kai/model/building/cluster_writers.h"

#include <algorithm>

#include "kai/base/saturating.h"
#include "kai/model/building/node_writer.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

void CountAcceleratorsAsGpus(const CompactPod& pod, GpuRequest* gpu) {
  const int64_t devices = OtherAccelerators(pod.spec->requests);
  if (devices == 0 || gpu->kind != GpuRequestKind::kRegular) return;
  gpu->count = AddSaturating(gpu->portion > 0 ? gpu->count : 0, devices);
  gpu->portion = 1;
}

}  // namespace

ClusterWriters::ClusterWriters(Cluster* its_cluster)
    : cluster(*its_cluster),
      directory(&its_cluster->names_),
      requests(&directory),
      numa(its_cluster->slots_, &its_cluster->numa_),
      topologies(&its_cluster->names_, &its_cluster->topologies_,
                 &its_cluster->topology_constraints_),
      creation(its_cluster->names_, &its_cluster->pod_groups_),
      constraints(&its_cluster->names_, &its_cluster->constraints_, &its_cluster->host_ports_) {}

std::optional<PodDraft> ClusterWriters::DraftOf(const CompactPod& row) const {
  PodDraft draft;
  draft.row = &row;
  draft.bind_request = requests.Find(row);
  draft.status = StatusOf(row, draft.bind_request != nullptr);
  draft.group = directory.FindPodGroup(row.namespace_name, row.pod_group);
  const bool is_active = IsActiveUsed(draft.status);
  // Not scheduled here, and holds no resources.
  if (!draft.group.valid() && !is_active) return std::nullopt;
  if (is_active) draft.node = directory.FindNode(draft.node_name());
  draft.is_reservation = IsReservation(row);
  draft.gpu = row.spec->gpu;
  if (cluster.params().count_all_accelerators) CountAcceleratorsAsGpus(row, &draft.gpu);
  draft.gpu.dra = gpus_of_claims->Of(row);
  return draft;
}

void ClusterWriters::OfferNode(NodeId node, const NodeRow& row, const NodeFacts& facts) {
  const int64_t more_gpus =
      cluster.params_.count_all_accelerators ? OtherAccelerators(row.allocatable) : 0;
  const auto claimed = dra_gpus.find(row.name);
  SetAllocatable(row, facts, more_gpus, claimed == dra_gpus.end() ? 0 : claimed->second,
                 cluster.slots_, node, &cluster.nodes_);
}

void ClusterWriters::ClassifyNode(NodeId node, const NodeRow& row, const NodeFacts& facts) {
  NodeColumns& nodes = cluster.nodes_;
  const auto claimed = dra_gpus.find(row.name);
  nodes.node_class[node] = cluster.node_classes_.Add(
      NodeClassOf(row, facts, claimed == dra_gpus.end() ? 0 : claimed->second, labels,
                  nodes.labels[node], nodes.allocatable[node][kGpuSlot.index()], &cluster.names_));
  nodes.cpu_only[node] = cluster.node_classes_[nodes.node_class[node]].cpu_only ? 1 : 0;
}

void ClusterWriters::FindExtremes() {
  const NodeColumns& nodes = cluster.nodes_;
  std::vector<double>& largest = cluster.largest_node_;
  largest.assign(cluster.slots_.size(), 0);
  gpu_memory = {};
  for (const NodeId node : nodes.name.ids()) {
    const std::span<const double> offered = nodes.allocatable[node];
    for (size_t slot = 0; slot < largest.size(); ++slot)
      largest[slot] = std::max(largest[slot], offered[slot]);
    const double mib = nodes.gpu_memory_mib[node];
    if (mib > kUnknownGpuMemoryMib) gpu_memory.Add(mib);
  }
}

bool ClusterWriters::IsKept(const CompactPodGroup& row) const {
  return IsInPool(row.spec->labels, cluster.params()) &&
         !HasUsedItsTry(*row.spec, cluster.params());
}

bool ClusterWriters::IsForeign(const CompactPod& row) const {
  return row.spec->scheduler_name != cluster.params().scheduler_name && !IsUtility(row);
}

}  // namespace kai
