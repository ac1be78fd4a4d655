// ClusterUpdater: nodes, pods, pod groups and BindRequests come, change and go, queues get other
// quotas, and a Cluster that was built once has all that in place.
//
//   live_->updater = std::make_unique<ClusterUpdater>(&live_->writers, many.pods);
//   if (!live_->updater->Update(changes)) return false;    // build a new one
//
// An object that changed is taken out as it was and put in as it is. Where that would touch more
// than itself and its neighbours, the answer is false, and the cluster has to be built anew: a pod
// or node with a resource, a pod with a selector on a label or a term of affinity that none had; a
// pod with volumes or resource claims; a node that brings or takes the least or most GPU memory,
// where pods ask for memory; one that comes or goes where NUMA zones are described, and zones that
// are others than they were; a queue that comes, goes or hangs elsewhere, and any without full
// hierarchy fairness; a namespace that a term of affinity selects from now on, or no longer; the
// first ConfigMap, and the last; any of these where the cluster has claims, or storage to count.
//
// Invariants: after an update the cluster gives the plans of one that was built of the same
// objects; ids are new or were free, and the last node gets that of one that goes. Once more is
// gone than is there, building anew is asked for: that bounds what is kept of objects that are
// gone.
//
// Cost: O(what an object touches), and O(groups that wait, or may lose pods) to put one on a list;
// a pod that shares GPUs: O(pods on its node). A node that changes: O(pods there); one that
// comes, goes, or has other resources: also O(nodes + BindRequests), for names and extremes. With
// topologies: the trees, and the free room of all domains. ConfigMaps that pods need: O(pods).
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

// Names last as long as the changes. Rows stay at their address for as long as their objects are
// there; a row may say something else than it did.
struct ClusterChanges {
  template <typename Row>
  struct Change {
    std::string_view namespace_name;
    std::string_view name;
    const Row* row = nullptr;  // null: it is gone
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
  // `pods`: all that there are, also those that the cluster has no use for.
  ClusterUpdater(ClusterWriters* writers, const std::vector<const CompactPod*>& pods);

  // False: the cluster is of no use any more.
  bool Update(const ClusterChanges& changes);
  // What the last update touched.
  const ClusterDelta& delta() const { return delta_; }
  size_t HeapBytes() const;

 private:
  using Key = std::pair<NameId, NameId>;  // namespace and name
  struct Known {
    const CompactPod* row = nullptr;
    PodId id;     // invalid: not in the cluster
    Key group;    // that it names; of invalid names: none
    NameId node;  // where it is, by name, whether that node is here or not; invalid: nowhere
  };

  struct Incoming {
    Known* pod = nullptr;
    PodDraft draft;
  };

  Key KeyOf(std::string_view namespace_name, std::string_view name);
  void Note(const Key& pod, const CompactPod* row);
  void Forget(const Key& pod);
  std::span<const PodId> PodsOn(NameId node) const;
  void Stand(Known* pod, std::string_view node);
  void Leave(Known* pod);

  // A node that changed: as it was, and as it is; null: it is not there.
  struct NodeStep {
    std::string_view name;
    const NodeRow* was = nullptr;
    const NodeRow* is = nullptr;
    // What pods take there, or where they count, differs: they leave it and come again.
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
  // What it offers, with no pod on it.
  void WriteNode(NodeId node, const NodeRow& row);
  void Empty(NodeId node);
  void Reclassify(NodeId node, const NodeRow& row);
  void CountNode(NodeId node, bool comes);

  bool ChangeZones(const ClusterChanges::Change<NodeZonesRow>& change);

  bool CanTake(const ClusterChanges::Change<QueueRow>& change) const;
  void UpdateQueue(const QueueRow& row);

  void TouchPodsOfRequests(const ClusterChanges& changes);
  // Those that are there and go; of others only the time stamps are written anew.
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
  absl::flat_hash_map<NameId, std::vector<PodId>> pods_on_;  // by Known::node
  absl::flat_hash_map<Key, Known> pods_;
  absl::flat_hash_map<Key, absl::flat_hash_set<Key>> naming_;  // pods, by the group they name
  // By PodGroupId, of groups that came since the cluster was built: what they were made of.
  std::vector<std::weak_ptr<const PodGroupSpecRow>> specs_;
  std::vector<PodId> free_pods_;
  int64_t sharers_ = 0;         // of GPUs, or that want to
  int64_t hidden_sharers_ = 0;  // on nodes, of which it is not known which GPUs they share
  size_t names_at_first_ = 0;
  size_t nodes_at_first_ = 0;
  size_t nodes_ever_ = 0;
  size_t groups_at_first_ = 0;
  size_t classes_at_first_ = 0;

  // Of the update that is under way.
  absl::flat_hash_set<Key> touched_pods_;
  absl::flat_hash_set<PodGroupId> touched_groups_;
  absl::flat_hash_set<NameId> sharing_nodes_;  // where pods that share come or go
  absl::flat_hash_map<SubGroupId, std::vector<PodId>> edited_sets_;
  ClusterDelta delta_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_UPDATER_H_
