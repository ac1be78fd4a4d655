// Occupancy: what pods take of the nodes they stand on. It is the one way onto a node and off it:
// loading a cluster and a Statement both go through here.
//
//   Occupancy occupancy(cluster.get());
//   occupancy.Occupy(pod, node, PodStatus::kReleasing);
//   occupancy.Restand(pod, node, PodStatus::kRunning, PodStatus::kReleasing);
//   occupancy.Vacate(pod, node, PodStatus::kReleasing);
//
// It counts a pod in the node's ledger, on the devices it shares, among those that hold resource
// claims there, and for pod affinity. What the pod itself is (status, node) stands in the pods'
// columns, which the caller writes.
//
// Invariants: what Occupy() adds Vacate() takes off, for the same status; a promise on a shared
// device apart, where KAI's count does not come back (shared_gpu.h). Cost: O(slots), and O(devices)
// of pods that share. Not thread-safe.
#ifndef KAI_MODEL_CHANGES_OCCUPANCY_H_
#define KAI_MODEL_CHANGES_OCCUPANCY_H_

#include "kai/model/columns/cluster.h"
#include "kai/model/columns/ledger.h"
#include "kai/model/columns/shared_gpu.h"

namespace kai {

class Occupancy {
 public:
  explicit Occupancy(Cluster* cluster) : cluster_(*cluster) {}

  // The pod stands on the node from now on, with these devices of it.
  void Occupy(PodId pod, NodeId node, PodStatus status, const GpuList& gpus = {});
  // It stays there, on its devices, with another status.
  void Restand(PodId pod, NodeId node, PodStatus from, PodStatus to);
  // It stands there no more.
  void Vacate(PodId pod, NodeId node, PodStatus status);

  // The same for all but the node's ledger and devices: for callers that put back the values that
  // these had.
  void UncountOccupy(PodId pod, NodeId node, PodStatus status);
  void UncountRestand(PodId pod, NodeId node, PodStatus from, PodStatus to);

  // The ledger and the devices alone.
  void Charge(PodId pod, NodeId node, const LedgerWeight& weight);
  void AddToGpus(PodId pod, NodeId node, PodStatus status);
  void RemoveFromGpus(PodId pod, NodeId node, PodStatus status);

 private:
  bool SharesGpus(PodId pod) const { return cluster_.ClassOf(pod).gpu.IsShared(); }
  void CountForAffinity(PodId pod, NodeId node, int32_t by);
  LedgerRow LedgerOf(NodeId node);
  GpuLedger GpuLedgerOf(NodeId node);

  Cluster& cluster_;
};

}  // namespace kai

#endif  // KAI_MODEL_CHANGES_OCCUPANCY_H_
