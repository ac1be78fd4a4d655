// Cluster: all data that a cycle reads, as columns. It is built from ClusterRows. Only a Statement
// changes it during a cycle, and takes back every change at the end.
//
//   cluster->nodes().idle[node][kGpuSlot.index()]
//
//   cluster.Text(cluster.nodes().name[found.node])   // names stay at the edge
//
// Invariants: the order of the input and the values of ids do not influence decisions; at most one
// Statement is open. Cost: an access to an array, except where a function gives another. Threads:
// many readers while no statement is open: no const function writes.
#ifndef KAI_MODEL_COLUMNS_CLUSTER_H_
#define KAI_MODEL_COLUMNS_CLUSTER_H_

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kai/base/interned.h"
#include "kai/base/interner.h"
#include "kai/model/claims/claim_book.h"
#include "kai/model/claims/volumes.h"
#include "kai/model/columns/affinity.h"
#include "kai/model/columns/host_ports.h"
#include "kai/model/columns/labels.h"
#include "kai/model/columns/ledger.h"
#include "kai/model/columns/node.h"
#include "kai/model/columns/numa.h"
#include "kai/model/columns/pod.h"
#include "kai/model/columns/pod_group.h"
#include "kai/model/columns/queue.h"
#include "kai/model/rows/rows.h"
#include "kai/model/topology/domain_totals.h"
#include "kai/model/topology/topology.h"

namespace kai {

class Cluster {
 public:
  Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();

  const NodeColumns& nodes() const { return nodes_; }
  const Interned<NodeClassId, NodeClass>& node_classes() const { return node_classes_; }
  const PodColumns& pods() const { return pods_; }
  const PodClassColumns& pod_classes() const { return pod_classes_; }
  const PodGroupColumns& pod_groups() const { return pod_groups_; }
  const SubGroupColumns& sub_groups() const { return sub_groups_; }
  const QueueColumns& queues() const { return queues_; }
  const AffinityIndex& affinity() const { return affinity_; }
  const Interned<ConstraintId, NodeConstraint>& constraints() const { return constraints_; }
  const NodeConstraint& ConstraintOf(PodClassId pod_class) const {
    return constraints_[pod_classes_.info[pod_class].constraint];
  }
  // True: the constraint uses a label with a different value on nearly every node. Check it per
  // node, not per class of nodes.
  bool IsCheckedPerNode(ConstraintId constraint) const {
    return is_checked_per_node_[constraint] != 0;
  }
  // The node ports that pods request, each once.
  const Interned<HostPortId, NodePort>& host_ports() const { return host_ports_; }
  const Interned<VolumeNeedsId, VolumeNeeds>& volume_needs() const { return volume_needs_; }
  // The same for the labels that volumes use.
  bool IsCheckedPerNode(VolumeNeedsId needs) const { return volumes_checked_per_node_[needs] != 0; }
  // What CSI drivers report about the nodes; has no rows if storage capacity is not counted.
  const StorageMap& storage() const { return storage_; }
  const NumaColumns& numa() const { return numa_; }
  const IndexVector<TopologyId, DomainTree>& topologies() const { return topologies_; }
  const DomainTotals& domain_totals(TopologyId tree) const { return domain_totals_[tree]; }
  const Interned<TopologyConstraintId, TopologyConstraint>& topology_constraints() const {
    return topology_constraints_;
  }
  const ClaimBook& claims() const { return claims_; }
  const ResourceSlots& slots() const { return slots_; }
  const ShardParams& params() const { return params_; }

  std::string_view Text(NameId name) const { return names_.Text(name); }
  const Interner& names() const { return names_; }
  std::string PodName(PodId pod) const;  // "ns/name"
  // The order of namespaces, then names.
  bool IsNamedBefore(PodId a, PodId b) const;
  // The name of a pod set in messages; empty for the only pod set of a group without sub-groups.
  std::string_view SubgroupText(SubGroupId pod_set) const;
  std::string PodGroupName(PodGroupId group) const;

  // The resources that are divided among queues (spec 1 F30).
  const QuotaCount& total() const { return total_; }
  // Element-wise maximum of what nodes offer (spec 3 P14).
  const std::vector<double>& largest_node() const { return largest_node_; }

  const std::vector<Rejection>& rejections() const { return rejections_; }

  const PodClass& ClassOf(PodId pod) const { return pod_classes_.info[pods_.pod_class[pod]]; }
  std::span<const double> RequestOf(PodId pod) const {
    return pod_classes_.request[pods_.pod_class[pod]];
  }

  // Some pod shares a GPU or requests a part of one.
  bool shares_gpus() const { return shares_gpus_; }
  // For some pod on a node, the input does not give the GPUs that it shares. The pod counts as a
  // holder of whole GPUs.
  bool hides_shared_gpus() const { return hides_shared_gpus_; }
  // MiB that a pod of the class takes of each of its devices on that node (spec 3 G4): the whole
  // memory for whole devices, 0 for pods without GPUs.
  int64_t MibPerGpu(PodClassId pod_class, NodeId node) const;
  // The part of each of its devices that a pod of the class takes on that node, rounded as in KAI
  // (spec 3 G3).
  double PortionOn(PodClassId pod_class, NodeId node) const;
  int64_t GpuCapacityMib(NodeId node) const {
    return static_cast<int64_t>(nodes_.gpu_memory_mib[node]);
  }
  // The GPUs that the limits of a queue are checked with before a pod that shares GPUs goes to that
  // node (spec 1 F79).
  double GpusRequestedOn(PodClassId pod_class, NodeId node) const;

  // What the pod counts in its queue after it is placed on that node (spec 1 F24, F25).
  QuotaCount AcceptedOn(PodClassId pod_class, NodeId node) const;

 private:
  friend class ClusterAssembler;
  friend class ClusterUpdater;
  friend class ClusterWriters;
  friend class CountingUndo;
  friend class ExactUndo;
  friend class Occupancy;
  friend class Statement;

  Interner names_;
  ResourceSlots slots_;
  ShardParams params_;
  NodeColumns nodes_;
  Interned<NodeClassId, NodeClass> node_classes_;
  PodColumns pods_;
  PodClassColumns pod_classes_;
  PodGroupColumns pod_groups_;
  SubGroupColumns sub_groups_;
  QueueColumns queues_;
  AffinityIndex affinity_;
  Interned<ConstraintId, NodeConstraint> constraints_;
  IndexVector<ConstraintId, uint8_t> is_checked_per_node_;
  Interned<HostPortId, NodePort> host_ports_;
  Interned<VolumeNeedsId, VolumeNeeds> volume_needs_;
  IndexVector<VolumeNeedsId, uint8_t> volumes_checked_per_node_;
  StorageMap storage_;
  bool shares_gpus_ = false;
  NumaColumns numa_;
  IndexVector<TopologyId, DomainTree> topologies_;
  IndexVector<TopologyId, DomainTotals> domain_totals_;
  Interned<TopologyConstraintId, TopologyConstraint> topology_constraints_;
  ClaimBook claims_;
  bool hides_shared_gpus_ = false;
  QuotaCount total_;
  std::vector<double> largest_node_;
  std::vector<Rejection> rejections_;
  std::atomic<bool> statement_open_{false};
};

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_CLUSTER_H_
