// ClusterUpdater: updates a built Cluster in place when nodes, pods, pod groups and BindRequests
// are added, changed or removed, and when queues get other quotas.
//
//   live_->updater = std::make_unique<ClusterUpdater>(&live_->writers, many.pods);
//   if (!live_->updater->Update(changes)) return false;    // build a new one
//
// A changed object is removed in its old state and added in its new one. Update() returns false,
// and the cluster must be built again, where a change affects more than the object and its
// neighbours: a pod or node with a new resource; a pod with a selector on a label, or an affinity
// term, that no object had before; a pod with volumes or resource claims; a node that changes the
// least or the most GPU memory, if pods request GPU memory; a node that is added or removed where
// NUMA zones are described, and zones that are no longer the same; a queue that is added, removed
// or gets another parent, and any queue without full hierarchy fairness; a namespace that an
// affinity term selects from now on, or no longer; the first ConfigMap, and the last; any of these
// if the cluster has claims, or storage to count.
//
// Invariants: after an update the cluster gives the same plans as one that was built of the same
// objects; new objects get new or free ids, and the last node gets the id of a removed node. Once
// more objects are gone than exist, Update() requires a new build: this limits the memory for
// removed objects.
//
// Cost: O(what an object affects), and O(groups that wait, or may lose pods) to add a group to a
// list; a pod that shares GPUs: O(pods on its node). A changed node: O(pods on it); a node that is
// added, removed, or has other resources: also O(nodes + BindRequests), for names and extremes.
// With topologies: the trees, and the free room of all domains. ConfigMaps that pods need: O(pods).
// Threads: one, while no statement is open.
#ifndef KAI_MODEL_BUILDING_CLUSTER_UPDATER_H_
#define KAI_MODEL_BUILDING_CLUSTER_UPDATER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/model/building/cluster_delta.h"
#include "kai/model/building/cluster_writers.h"
#include "kai/model/building/pod_writer.h"
#include "kai/model/building/shared_gpu_lists.h"
#include "kai/model/rows/cluster_rows.h"

namespace kai {

// Names are valid as long as the changes. Rows stay at their address for as long as their objects
// exist; the content of a row may change.
struct ClusterChanges {
  template <typename Row>
  struct Change {
    std::string_view namespace_name;
    std::string_view name;
    const Row* row = nullptr;  // null: the object is gone
  };
  std::vector<Change<NodeRow>> nodes;
  std::vector<Change<CompactPod>> pods;
  std::vector<Change<CompactPodGroup>> pod_groups;
  std::vector<Change<BindRequestRow>> bind_requests;
  std::vector<Change<QueueRow>> queues;
  std::vector<Change<NodeZonesRow>> zones;
  std::vector<Change<ConfigMapRow>> config_maps;
  std::vector<Change<NamespaceRow>> namespaces;
  std::vector<Rejection> rejections;  // of all objects that could not be read
};

class ClusterUpdater {
 public:
  // `pods`: all pods, also those that the cluster does not use.
  ClusterUpdater(ClusterWriters* writers, const std::vector<const CompactPod*>& pods);

  // False: the cluster cannot be used any more and must be built again.
  bool Update(const ClusterChanges& changes);
  // What the last update changed.
  const ClusterDelta& delta() const { return delta_; }
  size_t HeapBytes() const;

 private:
  using Key = std::pair<NameId, NameId>;  // namespace and name
  struct Known {
    const CompactPod* row = nullptr;
    PodId id;     // invalid: not in the cluster
    Key group;    // the group it names; invalid names: none
    NameId node;  // its node by name, even if the node is not in the cluster; invalid: none
  };

  struct Incoming {
    Known* pod = nullptr;
    PodDraft draft;
  };

  Key KeyOf(std::string_view namespace_name, std::string_view name);
  void Note(const Key& pod, const CompactPod* row);
  void Forget(const Key& pod);
  std::span<const PodId> PodsOn(NameId node) const;
  void AddToNode(Known* pod, std::string_view node);
  void RemoveFromNode(Known* pod);

  // A node before and after a change; null: it does not exist.
  struct NodeStep {
    std::string_view name;
    const NodeRow* was = nullptr;
    const NodeRow* is = nullptr;
    // The resources of pods on it, or the place where they count, change: they are removed and
    // added again.
    bool moves_pods = false;
    bool moves_domains = false;  // the labels differ
  };
  std::vector<NodeStep> StepsOf(const ClusterChanges& changes) const;
  bool CanTake(const NodeStep& step) const;
  void TouchPodsOn(NameId node);
  void TouchPodsOf(const NodeStep& step);
  bool UpdateNodes(const std::vector<NodeStep>& steps);
  NodeId AddNode(const NodeRow& row);
  void RemoveNode(NodeId node);
  // Writes what the node offers, without pods.
  void WriteNode(NodeId node, const NodeRow& row);
  void Empty(NodeId node);
  void Reclassify(NodeId node, const NodeRow& row);
  void CountNode(NodeId node, bool comes);

  bool ChangeZones(const ClusterChanges::Change<NodeZonesRow>& change);

  bool CanTake(const ClusterChanges::Change<QueueRow>& change) const;
  void UpdateQueue(const QueueRow& row);

  void TouchPodsOfRequests(const ClusterChanges& changes);
  // Returns the groups that are removed. For other groups only the time stamps are written again.
  std::vector<PodGroupId> TouchPodsOfGroups(const ClusterChanges& changes);
  void TouchPodsThatName(const Key& group);
  void TouchPodsWithSharers();
  bool ChangeNamespaces(const ClusterChanges& changes);
  bool ChangeConfigMaps(const ClusterChanges& changes);
  void TakeOutTouched();
  bool PutTouched();
  SharedGpuLists ListSharedGpus(std::vector<Incoming>* pods);
  void CountSharer(PodId pod, int64_t by);
  void AddGroups(const ClusterChanges& changes);
  bool OnlyStampsDiffer(PodGroupId group, const CompactPodGroup& row) const;
  void RemoveGroup(PodGroupId group);
  void Relist();

  bool CanPut(const CompactPod& row) const;
  bool Put(Incoming* incoming, const SharedGpuLists& shared);
  void TakeOut(Known* pod);
  void ForgetZones(PodId pod);
  void Count(PodId pod, bool comes);

  std::vector<PodId>& Edit(SubGroupId pod_set);
  void WritePodSets();
  bool IsWorthwhile() const;

  ClusterWriters& w_;
  Cluster& c_;
  PodWriter pod_writer_;
  std::vector<NodeRow> nodes_;  // by NodeId, as they are in the cluster
  absl::flat_hash_map<NameId, std::vector<PodId>> pods_on_;  // by the name in Known::node
  absl::flat_hash_map<Key, Known> pods_;
  absl::flat_hash_map<Key, absl::flat_hash_set<Key>> naming_;  // pods, by the group they name
  // By PodGroupId, for groups that were added after the cluster was built: the specs that they were
  // made of.
  std::vector<std::weak_ptr<const PodGroupSpecRow>> specs_;
  std::vector<PodId> free_pods_;
  int64_t sharers_ = 0;         // pods that share GPUs or request a part of one
  int64_t hidden_sharers_ = 0;  // sharers on a node with unknown GPUs
  size_t names_at_first_ = 0;
  size_t nodes_at_first_ = 0;
  size_t nodes_ever_ = 0;
  size_t groups_at_first_ = 0;
  size_t classes_at_first_ = 0;

  // For the current update.
  absl::flat_hash_set<Key> touched_pods_;
  absl::flat_hash_set<PodGroupId> touched_groups_;
  absl::flat_hash_set<NameId> sharing_nodes_;  // nodes where pods that share are added or removed
  absl::flat_hash_map<SubGroupId, std::vector<PodId>> edited_sets_;
  ClusterDelta delta_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_UPDATER_H_
