// Occupancy: adds pods to nodes and removes them. It is the only way to do so: loading a cluster
// and a Statement both use it.
//
//   Occupancy occupancy(cluster.get());
//   occupancy.Occupy(pod, node, PodStatus::kReleasing);
//   occupancy.ChangeStatus(pod, node, PodStatus::kRunning, PodStatus::kReleasing);
//   occupancy.Vacate(pod, node, PodStatus::kReleasing);
//
// A device that no pod shared before this cycle gets a reservation pod, which takes a pod slot of
// the node as well. Those of other devices are pods of the cluster (spec 3 N3).
//
// It counts a pod in the node's ledger, on the devices that it shares, among the holders of
// resource claims there, and for pod affinity. The caller writes the pod's own columns (status,
// node).
//
// Invariants: Vacate() undoes Occupy() with the same status, except for a promise on a shared
// device, where KAI's count does not return to its old value (shared_gpu.h). Cost: O(slots), and
// O(devices) of pods that share. Not thread-safe.
#ifndef KAI_MODEL_CHANGES_OCCUPANCY_H_
#define KAI_MODEL_CHANGES_OCCUPANCY_H_

#include <optional>

#include "kai/model/columns/cluster.h"
#include "kai/model/columns/ledger.h"
#include "kai/model/columns/shared_gpu.h"

namespace kai {

class Occupancy {
 public:
  // `counts_reservations`: new shared devices take pod slots; not so in KAI (spec 3 P6).
  explicit Occupancy(Cluster* cluster, bool counts_reservations = true)
      : cluster_(*cluster), counts_reservations_(counts_reservations) {}
  void CountReservations(bool counts) { counts_reservations_ = counts; }

  // Adds the pod to the node, with these devices.
  void Occupy(PodId pod, NodeId node, PodStatus status, const GpuList& gpus = {});
  // The pod keeps its node and devices and gets another status.
  void ChangeStatus(PodId pod, NodeId node, PodStatus from, PodStatus to);
  // Removes the pod from the node.
  void Vacate(PodId pod, NodeId node, PodStatus status);

  // Undo Occupy() and ChangeStatus(), except for the node's ledger and devices: for callers that
  // restore these values.
  void UncountOccupy(PodId pod, NodeId node, PodStatus status);
  void UncountStatusChange(PodId pod, NodeId node, PodStatus from, PodStatus to);

  // Only the ledger and the devices.
  void Charge(PodId pod, NodeId node, const LedgerWeight& weight);
  void AddToGpus(PodId pod, NodeId node, PodStatus status);
  void RemoveFromGpus(PodId pod, NodeId node, PodStatus status);

 private:
  bool SharesGpus(PodId pod) const { return cluster_.ClassOf(pod).gpu.IsShared(); }
  // std::nullopt: the pod is not on the node.
  void CountForAffinity(PodId pod, NodeId node, std::optional<PodStatus> from,
                        std::optional<PodStatus> to);
  template <typename Change>
  void ChangeGpu(NodeId node, SharedGpu* gpu, const Change& change);
  LedgerRow LedgerOf(NodeId node);
  GpuLedger GpuLedgerOf(NodeId node);

  Cluster& cluster_;
  bool counts_reservations_;
};

}  // namespace kai

#endif  // KAI_MODEL_CHANGES_OCCUPANCY_H_
