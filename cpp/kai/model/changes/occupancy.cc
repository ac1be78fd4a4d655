#include "kai/model/changes/occupancy.h"

#include <algorithm>
#include <cmath>

namespace kai {

namespace {

// The status of a device's reservation pod, which comes with the first pod on the device, and
// leaves with the last; kPending: there is none.
PodStatus ReservationOn(const SharedGpu& gpu) {
  if (gpu.used <= 0) return PodStatus::kPending;
  if (gpu.allocated == 0) return PodStatus::kPipelined;
  return gpu.used == gpu.releasing ? PodStatus::kReleasing : PodStatus::kAllocated;
}

LedgerWeight SlotsOf(PodStatus reservation) {
  return reservation == PodStatus::kPending ? LedgerWeight() : WeightOf(reservation);
}

}  // namespace

void Occupancy::Occupy(PodId pod, NodeId node, PodStatus status, const GpuList& gpus) {
  if (SharesGpus(pod)) {
    cluster_.pods_.gpus[pod] = gpus;
    AddToGpus(pod, node, status);
  }
  Charge(pod, node, WeightOf(status));
  CountForAffinity(pod, node, std::nullopt, status);
  if (!cluster_.claims_.empty())
    cluster_.claims_.CountHolders(pod, node, std::nullopt, status, LedgerOf(node));
}

void Occupancy::ChangeStatus(PodId pod, NodeId node, PodStatus from, PodStatus to) {
  if (SharesGpus(pod)) {
    RemoveFromGpus(pod, node, from);
    AddToGpus(pod, node, to);
  }
  Charge(pod, node, WeightOf(to) - WeightOf(from));
  CountForAffinity(pod, node, from, to);
  if (!cluster_.claims_.empty()) cluster_.claims_.CountHolders(pod, node, from, to, LedgerOf(node));
}

void Occupancy::Vacate(PodId pod, NodeId node, PodStatus status) {
  Charge(pod, node, LedgerWeight() - WeightOf(status));
  if (SharesGpus(pod)) RemoveFromGpus(pod, node, status);
  CountForAffinity(pod, node, status, std::nullopt);
  if (!cluster_.claims_.empty())
    cluster_.claims_.CountHolders(pod, node, status, std::nullopt, LedgerOf(node));
}

void Occupancy::UncountOccupy(PodId pod, NodeId node, PodStatus status) {
  CountForAffinity(pod, node, status, std::nullopt);
  if (!cluster_.claims_.empty())
    cluster_.claims_.CountHolders(pod, node, status, std::nullopt, std::nullopt);
}

void Occupancy::UncountStatusChange(PodId pod, NodeId node, PodStatus from, PodStatus to) {
  CountForAffinity(pod, node, to, from);
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
  for (const int32_t gpu : gpus) {
    ChangeGpu(node, &listed[static_cast<size_t>(gpu)],
              [&](SharedGpu* shared) { AddSharer(ledger, shared, mib, status); });
  }
}

void Occupancy::RemoveFromGpus(PodId pod, NodeId node, PodStatus status) {
  std::vector<SharedGpu>& listed = cluster_.nodes_.shared_gpus[node];
  const int64_t mib = cluster_.MibPerGpu(cluster_.pods_.pod_class[pod], node);
  const GpuLedger ledger = GpuLedgerOf(node);
  for (const int32_t gpu : cluster_.pods_.gpus[pod]) {
    ChangeGpu(node, &listed[static_cast<size_t>(gpu)],
              [&](SharedGpu* shared) { RemoveSharer(ledger, shared, mib, status); });
  }
}

template <typename Change>
void Occupancy::ChangeGpu(NodeId node, SharedGpu* gpu, const Change& change) {
  // The reservation pod of a device with a name is a pod of the cluster, or will be one soon.
  if (!counts_reservations_ || gpu->name.valid()) return change(gpu);
  const PodStatus before = ReservationOn(*gpu);
  change(gpu);
  const PodStatus after = ReservationOn(*gpu);
  if (after == before) return;
  constexpr size_t kPods = kPodsSlot.index();
  const LedgerRow ledger = LedgerOf(node);
  if (ledger.allocatable[kPods] == 0) return;
  const LedgerWeight more = SlotsOf(after) - SlotsOf(before);
  ledger.idle[kPods] += more.idle;
  ledger.releasing[kPods] += more.releasing;
  ledger.used[kPods] += more.used;
}

void Occupancy::CountForAffinity(PodId pod, NodeId node, std::optional<PodStatus> from,
                                 std::optional<PodStatus> to) {
  AffinityIndex& affinity = cluster_.affinity_;
  if (affinity.empty()) return;
  const PodClass& pod_class = cluster_.ClassOf(pod);
  const int32_t by = (to ? 1 : 0) - (from ? 1 : 0);
  if (by != 0) affinity.Count(pod_class, node, by);
  const int32_t leaving =
      (to == PodStatus::kReleasing ? 1 : 0) - (from == PodStatus::kReleasing ? 1 : 0);
  if (leaving != 0) affinity.CountLeaving(pod_class, node, leaving);
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
