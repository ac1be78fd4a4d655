// ClusterAssembler: the work of ClusterBuilder::Build(), step by step. Each step takes rows and
// reads the columns that the steps before it made; one file per step (assemble_*.cc). Nobody but
// the builder includes this.
#ifndef KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_
#define KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/api/keys.h"
#include "kai/model/claims/storage_desk.h"
#include "kai/model/claims/volume_desk.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/rows/rows.h"

namespace kai {

class ClaimAssembler;

class ClusterAssembler {
 public:
  explicit ClusterAssembler(Cluster* cluster) : c_(*cluster) {}

  void Nodes(std::vector<NodeRow> rows, const std::vector<ResourceSliceRow>& slices);
  void Queues(std::vector<QueueRow> rows);
  void PodGroups(std::vector<PodGroupRow> rows, const std::vector<PriorityClassRow>& classes);
  void Topologies(std::vector<TopologyRow> rows);  // once nodes are known, before pod groups
  void Zones(std::vector<NodeZonesRow> rows) { zone_rows_ = std::move(rows); }
  // What pods refer to. No list of ConfigMaps: whether they are there is not known.
  void Know(const std::vector<ConfigMapRow>* config_maps,
            const std::vector<NamespaceRow>& namespaces, const StorageRows& storage);
  void Pods(std::vector<PodRow> rows, const std::vector<BindRequestRow>& bind_requests,
            ClaimRows* claims);
  void Finish();

 private:
  struct PodDraft {
    PodRow* row = nullptr;
    PodStatus status = PodStatus::kUnknown;
    NodeId node;
    bool is_reservation = false;
    bool is_utility =
        false;  // reservation or scale-adjust pod: never counts as foreign (spec 1 F30)
    ConstraintId constraint;
    int32_t matched_set = -1;
    PodAffinity affinity;
    std::vector<Spread> spread;
    bool matches_own_required = false;
    const BindRequestRow* bind_request = nullptr;  // that is being carried out
    ClaimNeedsId claims;
  };

  bool InNodePool(const StringPairs& labels) const;
  NameId Name(std::string_view text) { return c_.names_.Intern(text); }
  void Reject(const char* kind, std::string name, std::string field, std::string message) {
    c_.rejections_.push_back({.kind = kind,
                              .name = std::move(name),
                              .field = std::move(field),
                              .message = std::move(message)});
  }

  void KeepWholeQueueTrees(std::vector<QueueRow>* rows);
  void FlattenQueues(std::vector<QueueRow>* rows);
  bool BuildSubGroups(PodGroupId group, const PodGroupRow& row);
  // What a set of sub-groups, or a pod set, is given in.
  struct SetDraft {
    SubGroupId parent;  // invalid: the root
    std::string_view name;
    bool is_pod_set = false;
    int64_t minimum = 0;
    bool minimum_given = false;
    const TopologyConstraintRow* topology = nullptr;
    const DomainWishRow* wish = nullptr;
  };
  SubGroupId AddSet(PodGroupId group, const SetDraft& draft);
  DomainTree::Path PathOf(const NodeRow& node, const TopologyRow& topology);
  TopologyConstraintId TopologyConstraintOf(const TopologyConstraintRow& row,
                                            const DomainWishRow* wish);
  void SumDomains();
  // Null: none, or one that cannot be had.
  const DomainWishRow* WishOf(const PodGroupRow& row);
  void SettlePodStatus(PodDraft* draft, const BindRequestRow* bind_request) const;
  void InternConstraints(std::vector<PodDraft>* drafts);
  void InternSpread(std::vector<PodDraft>* drafts);
  HostPortId PortId(const HostPort& row);
  VolumeNeedsId VolumesOf(const PodDraft& draft);
  std::vector<NameId> MissingConfigMaps(const PodRow& row);
  void ListNamespaces(const std::vector<PodDraft>& drafts);
  bool KnowsNamespacesFor(const LabelSelector& selector) const;
  std::vector<NameId> NamespacesThat(const LabelSelector& selector);
  void InternClaims(std::vector<PodDraft>* drafts, ClaimRows* rows,
                    const std::vector<ResourceClaimRow*>& claims);
  void ListClaimsOf(const PodDraft& draft, const ExtendedResources& extended,
                    ClaimAssembler* assembler);
  void FindConsumers(const std::vector<PodDraft>& drafts,
                     const std::vector<ResourceClaimRow*>& claims);
  void SettleClaimNeeds(std::vector<PodDraft>* drafts, ClaimAssembler* assembler);
  void MakeNodeClasses();
  void InternAffinity(std::vector<PodDraft>* drafts);
  AffinityTermId TermId(AffinityTerm term);
  TopologyKeyId KeyId(const std::string& key) {
    return topology_keys_.try_emplace(Name(key), TopologyKeyId(topology_keys_.size()))
        .first->second;
  }
  void MakeNumaNodes();
  NumaNode NumaNodeOf(const NodeZonesRow& row) const;
  NumaNeedsId NumaNeedsOf(const PodRow& row);
  void NotePlacement(const PodDraft& draft, PodId pod);
  PodClassId ClassId(const PodDraft& draft);
  ResourceSlot SlotOf(std::string_view name) { return c_.slots_.Add(name); }
  void ListSharedGpus(const std::vector<PodDraft>& drafts);
  GpuList SharedGpusOf(const PodDraft& draft);
  void PlacePods(const std::vector<PodDraft>& drafts);
  void RankPods(const std::vector<PodDraft>& drafts);
  void CountTotal(const std::vector<PodDraft>& drafts);
  void ListPodGroups();
  void SortPodSets();
  ElasticState ElasticStateOf(PodGroupId group) const;
  void SumQueues();
  bool IsSimplyRunning(PodGroupId group) const;
  bool AsksForMoreChildrenThanItHas(SubGroupId set) const;

  Cluster& c_;
  std::vector<NodeRow> owned_node_rows_;
  std::vector<const NodeRow*> node_rows_;  // by NodeId
  absl::flat_hash_map<std::string, NodeId> node_by_name_;
  std::vector<int64_t> node_dra_gpus_;
  std::vector<bool> knows_gpu_memory_;  // by NodeId
  absl::flat_hash_map<NameId, QueueId> queue_by_name_;
  absl::flat_hash_map<std::pair<NameId, NameId>, PodGroupId> group_by_name_;
  std::map<NodeConstraint, ConstraintId> constraint_ids_;
  std::map<AffinityTerm, AffinityTermId> term_ids_;
  std::vector<AffinityTerm> terms_;
  std::map<NameId, TopologyKeyId> topology_keys_;
  std::map<std::vector<AffinityTermId>, int32_t> matched_set_ids_;
  std::vector<std::vector<AffinityTermId>> matched_sets_;
  absl::flat_hash_map<std::string, PodClassId> class_ids_;
  std::map<NodePort, HostPortId> port_ids_;
  std::map<NameId, std::map<std::string, NameId>> aliases_;  // of levels, by topology
  std::map<TopologyConstraint, TopologyConstraintId> topology_constraint_ids_;
  std::vector<NodeZonesRow> zone_rows_;
  std::set<ResourceSlot> zone_devices_;  // that some node aligns for every pod
  std::map<NumaNeeds, NumaNeedsId> numa_needs_ids_;
  bool knows_config_maps_ = false;
  std::set<std::pair<std::string_view, std::string_view>> config_maps_;
  std::vector<const NamespaceRow*> namespaces_;     // as given
  std::map<NameId, LabelSet> labels_of_namespace_;  // also of those that only pods mention
  std::map<VolumeNeeds, VolumeNeedsId> volume_needs_ids_;
  std::unique_ptr<VolumeDesk> volume_desk_;
  std::unique_ptr<StorageDesk> storage_desk_;  // null: nobody counts storage or its volumes
  // Places in their nodes' lists, by name.
  absl::flat_hash_map<std::pair<NodeId, NameId>, int32_t> shared_gpus_;
  double smallest_gpu_mib_ = 0;  // over nodes that know; 0: none does (spec 1 F24)
  double largest_gpu_mib_ = 0;
  std::vector<std::vector<PodId>>
      pods_of_set_;  // by SubGroupId, while pods are being sorted into them
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_ASSEMBLER_H_
