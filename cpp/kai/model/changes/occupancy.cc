#include "kai/model/changes/occupancy.h"

#include <algorithm>
#include <cmath>

namespace kai {

void Occupancy::Occupy(PodId pod, NodeId node, PodStatus status, const GpuList& gpus) {
  if (SharesGpus(pod)) {
    cluster_.pods_.gpus[pod] = gpus;
    AddToGpus(pod, node, status);
  }
  Charge(pod, node, WeightOf(status));
  CountForAffinity(pod, node, 1);
  if (!cluster_.claims_.empty())
    cluster_.claims_.CountHolders(pod, node, std::nullopt, status, LedgerOf(node));
}

void Occupancy::ChangeStatus(PodId pod, NodeId node, PodStatus from, PodStatus to) {
  if (SharesGpus(pod)) {
    RemoveFromGpus(pod, node, from);
    AddToGpus(pod, node, to);
  }
  Charge(pod, node, WeightOf(to) - WeightOf(from));
  if (!cluster_.claims_.empty()) cluster_.claims_.CountHolders(pod, node, from, to, LedgerOf(node));
}

void Occupancy::Vacate(PodId pod, NodeId node, PodStatus status) {
  Charge(pod, node, LedgerWeight() - WeightOf(status));
  if (SharesGpus(pod)) RemoveFromGpus(pod, node, status);
  CountForAffinity(pod, node, -1);
  if (!cluster_.claims_.empty())
    cluster_.claims_.CountHolders(pod, node, status, std::nullopt, LedgerOf(node));
}

void Occupancy::UncountOccupy(PodId pod, NodeId node, PodStatus status) {
  CountForAffinity(pod, node, -1);
  if (!cluster_.claims_.empty())
    cluster_.claims_.CountHolders(pod, node, status, std::nullopt, std::nullopt);
}

void Occupancy::UncountStatusChange(PodId pod, NodeId node, PodStatus from, PodStatus to) {
  if (!cluster_.claims_.empty()) cluster_.claims_.CountHolders(pod, node, to, from, std::nullopt);
}

void Occupancy::Charge(PodId pod, NodeId node, const LedgerWeight& weight) {
  ChargeLedger(LedgerOf(node), cluster_.RequestOf(pod), cluster_.pods_.LedgerGpus(pod), weight);
}

void Occupancy::AddToGpus(PodId pod, NodeId node, PodStatus status) {
  std::vector<SharedGpu>& listed = cluster_.nodes_.shared_gpus[node];
  const GpuList& gpus = cluster_.pods_.gpus[pod];
  const int64_t mib = cluster_.MibPerGpu(cluster_.pods_.pod_class[pod], node);
  for (const int32_t gpu : gpus) {
    if (static_cast<size_t>(gpu) >= listed.size()) listed.resize(static_cast<size_t>(gpu) + 1);
  }
  const GpuLedger ledger = GpuLedgerOf(node);
  for (const int32_t gpu : gpus) AddSharer(ledger, &listed[static_cast<size_t>(gpu)], mib, status);
}

void Occupancy::RemoveFromGpus(PodId pod, NodeId node, PodStatus status) {
  std::vector<SharedGpu>& listed = cluster_.nodes_.shared_gpus[node];
  const int64_t mib = cluster_.MibPerGpu(cluster_.pods_.pod_class[pod], node);
  const GpuLedger ledger = GpuLedgerOf(node);
  for (const int32_t gpu : cluster_.pods_.gpus[pod])
    RemoveSharer(ledger, &listed[static_cast<size_t>(gpu)], mib, status);
}

void Occupancy::CountForAffinity(PodId pod, NodeId node, int32_t by) {
  if (!cluster_.affinity_.empty()) cluster_.affinity_.Count(cluster_.ClassOf(pod), node, by);
}

LedgerRow Occupancy::LedgerOf(NodeId node) {
  NodeColumns& nodes = cluster_.nodes_;
  return {.allocatable = nodes.allocatable[node],
          .idle = nodes.idle[node],
          .releasing = nodes.releasing[node],
          .used = nodes.used[node]};
}

GpuLedger Occupancy::GpuLedgerOf(NodeId node) {
  // If a label counts devices that the kubelet does not offer, the first sharer could get a device
  // that pods hold as a whole (spec 3 N17).
  constexpr size_t kGpus = kGpuSlot.index();
  NodeColumns& nodes = cluster_.nodes_;
  return {.idle = &nodes.idle[node][kGpus],
          .releasing = &nodes.releasing[node][kGpus],
          .used = nodes.used[node][kGpus],
          .count = std::min(nodes.gpu_count[node], std::trunc(nodes.allocatable[node][kGpus])),
          .all = nodes.shared_gpus[node]};
}

}  // namespace kai
