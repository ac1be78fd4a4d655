#include "kai/model/building/cluster_assembler.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kai/api/accelerators.h"
#include "kai/base/saturating.h"
#include "kai/model/building/constraint_writer.h"
#include "kai/model/building/node_labels.h"
#include "kai/model/building/node_writer.h"
#include "kai/model/building/pod_facts.h"
#include "kai/model/building/pod_group_lists.h"
#include "kai/model/building/pod_group_writer.h"
#include "kai/model/building/pod_writer.h"
#include "kai/model/building/queue_sums.h"
#include "kai/model/building/queue_tree.h"
#include "kai/model/building/row_lookup.h"
#include "kai/model/building/shared_gpu_lists.h"
#include "kai/model/building/topology_writer.h"
#include "kai/model/changes/occupancy.h"
#include "kai/model/claims/claim_assembler.h"

namespace kai {
namespace {

// Removes all rows that share a name. Rows without a name stay: only tests that count nothing but
// GPUs have them.
template <typename Row>
std::vector<const Row*> UniqueAndNamed(const std::vector<Row>& rows, const char* kind,
                                       std::vector<Rejection>* rejections) {
  std::vector<const Row*> named = PointersTo(rows);
  std::erase_if(named, [](const Row* row) { return row->name.empty(); });
  return SortedAndUnique(std::move(named), kind, rejections);
}

// The classes of pods by their shared parts: most pods have the class of an earlier pod. Valid as
// long as no row is removed.
class KnownClasses {
 public:
  KnownClasses(ClusterWriters* writers, Interner* names) : w_(*writers), names_(*names) {}

  PodClassId Add(const PodDraft& draft) {
    const CompactPod& row = *draft.row;
    if (draft.gpu.dra != 0 || draft.claims.valid()) return w_.classes->Add(draft);
    Key key{.spec = row.spec.get(), .extras = row.extras.get(), .constraint = draft.constraint};
    if (!w_.affinity->empty()) key.labels = row.labels.get();
    if (!w_.affinity->empty() || !row.spec->config_maps.empty())
      key.namespace_name = names_.Intern(row.namespace_name);
    const auto [found, is_new] = classes_.try_emplace(key);
    if (is_new) found->second = w_.classes->Add(draft);
    return found->second;
  }

 private:
  struct Key {
    const PodSpecRow* spec = nullptr;
    const PodExtrasRow* extras = nullptr;
    const StringPairs* labels = nullptr;
    NameId namespace_name = {};
    ConstraintId constraint = {};

    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.spec, key.extras, key.labels, key.namespace_name,
                        key.constraint);
    }
  };

  ClusterWriters& w_;
  Interner& names_;
  absl::flat_hash_map<Key, PodClassId> classes_;
};

constexpr int64_t kDefaultStuckThresholdNs = 120'000'000'000;  // spec 2 S2

}  // namespace

std::unique_ptr<Cluster> ClusterRows::Build() const& { return ClusterRows(*this).Build(); }

std::unique_ptr<Cluster> ClusterRows::Build() && {
  CompactRows compact;
  compact.pod_groups.reserve(pod_groups.size());
  for (PodGroupRow& row : pod_groups) compact.Add(std::move(row));
  compact.pods.reserve(pods.size());
  for (PodRow& row : pods) compact.Add(std::move(row));
  return BuildWith(compact);
}

std::unique_ptr<Cluster> ClusterRows::BuildWith(const CompactRows& compact) const {
  auto built = std::make_unique<Cluster>();
  ClusterWriters writers(built.get());
  RowsInPlace many{.nodes = PointersTo(nodes),
                   .pod_groups = PointersTo(compact.pod_groups),
                   .pods = PointersTo(compact.pods)};
  ClusterAssembler(&writers).Assemble(*this, std::move(many));
  return built;
}

void ClusterAssembler::Assemble(const ClusterRows& rows, RowsInPlace many) {
  w_.seed = rows.numbering_seed;
  c_.params_ = rows.params;
  if (c_.params_.stuck_in_releasing_threshold_ns <= 0)
    c_.params_.stuck_in_releasing_threshold_ns = kDefaultStuckThresholdNs;
  if (c_.params_.count_mig_as_parts) c_.slots_ = ResourceSlots(MigCount::kParts);
  const bool has_claims = rows.ServesClaims();
  AddNodes(std::move(many.nodes), has_claims ? rows.slices : std::vector<ResourceSliceRow>());
  AddQueues(rows.queues);
  AddPodGroups(rows, std::move(many.pod_groups));
  std::vector<const ResourceClaimRow*> claims;
  if (has_claims) claims = SortedAndUnique(rows.claims, "ResourceClaim", &w_.rejections, w_.seed);
  for (const BindRequestRow& row : rows.bind_requests) w_.requests.Add(row);
  w_.gpus_of_claims = std::make_unique<GpusOfClaims>(claims);
  DraftPods(SortedAndUnique(std::move(many.pods), "Pod", &w_.rejections, w_.seed));
  NameResources();
  OfferResources();
  AddZones(rows.zones);
  AddConstraints(rows);
  AddClaims(rows, claims);
  ClassifyNodes();
  AddPods(rows);
  Summarize();
  c_.rejections_ = rows.rejections;
  c_.rejections_.insert(c_.rejections_.end(), w_.rejections.begin(), w_.rejections.end());
  std::sort(c_.rejections_.begin(), c_.rejections_.end());
}

void ClusterAssembler::AddNodes(std::vector<const NodeRow*> rows,
                                const std::vector<ResourceSliceRow>& slices) {
  std::erase_if(rows, [&](const NodeRow* row) { return !IsOurs(*row, c_.params_); });
  w_.node_rows = SortedAndUnique(std::move(rows), "Node", &w_.rejections, w_.seed);
  c_.nodes_.Resize(w_.node_rows.size());
  for (const NodeRow* row : w_.node_rows) {
    const NodeId node = nodes_.Add(NodeFactsOf(*row));
    NameNode(*row, nodes_[node], node, &c_.names_, &c_.nodes_);
    w_.directory.Add(row->name, node);
  }
  RankByName(c_.names_, &c_.nodes_);
  for (const ResourceSliceRow& slice : slices) {
    int64_t& gpus = w_.dra_gpus[slice.node];
    gpus = AddSaturating(gpus, slice.gpus);
  }
}

void ClusterAssembler::AddQueues(const std::vector<QueueRow>& rows) {
  for (const QueueRow& row : rows) w_.queue_rows.emplace(row.name, row);
  std::vector<const QueueRow*> in_pool = PointersTo(rows);
  std::erase_if(in_pool, [&](const QueueRow* row) { return !IsInPool(row->labels, c_.params_); });
  std::vector<QueueRow> kept;
  for (const QueueRow* row : SortedAndUnique(std::move(in_pool), "Queue", &w_.rejections))
    kept.push_back(*row);
  if (!c_.params_.full_hierarchy_fairness) FlattenQueues(&kept, &w_.rejections);
  KeepWholeQueueTrees(&kept, &w_.rejections);
  std::sort(kept.begin(), kept.end(),
            [](const QueueRow& a, const QueueRow& b) { return a.name < b.name; });
  OrderForIds(w_.seed, &kept);
  WriteQueues(kept, &c_.names_, &w_.directory, &c_.queues_);
}

void ClusterAssembler::AddPodGroups(const ClusterRows& rows,
                                    std::vector<const CompactPodGroup*> groups) {
  for (const TopologyRow* row :
       SortedAndUnique(rows.topologies, "Topology", &w_.rejections, w_.seed)) {
    w_.topologies.Add(*row, w_.node_rows);
  }
  w_.priorities = std::make_unique<PriorityClasses>(rows.priority_classes);
  w_.pod_groups = std::make_unique<PodGroupWriter>(
      PodGroupWriter::Surroundings{.params = &c_.params_,
                                   .priorities = w_.priorities.get(),
                                   .names = &c_.names_,
                                   .directory = &w_.directory,
                                   .topologies = &w_.topologies,
                                   .rejections = &w_.rejections,
                                   .seed = w_.seed},
      &c_.pod_groups_, &c_.sub_groups_);
  std::erase_if(groups, [&](const CompactPodGroup* row) { return !w_.IsKept(*row); });
  groups = SortedAndUnique(std::move(groups), "PodGroup", &w_.rejections, w_.seed);
  for (const CompactPodGroup* row : groups) w_.pod_groups->Add(*row);
  w_.creation.AddAll();
}

void ClusterAssembler::DraftPods(const std::vector<const CompactPod*>& rows) {
  pods_.reserve(rows.size());
  for (const CompactPod* row : rows) {
    if (std::optional<PodDraft> draft = w_.DraftOf(*row)) pods_.push_back(*std::move(draft));
  }
}

void ClusterAssembler::NameResources() {
  const auto name = [&](const auto& amounts, std::set<std::string_view>* names) {
    for (const auto& [resource, amount] : amounts) names->insert(resource);
  };
  std::set<std::string_view> of_nodes;
  for (const NodeRow* row : w_.node_rows) name(row->allocatable, &of_nodes);
  std::set<std::string_view> of_pods;
  for (const PodDraft& draft : pods_) {
    name(draft.row->spec->requests, &of_pods);
    name(draft.row->spec->overhead, &of_pods);
    name(draft.gpu.mig, &of_pods);
  }
  std::vector<std::string_view> order(of_nodes.begin(), of_nodes.end());
  order.insert(order.end(), of_pods.begin(), of_pods.end());
  OrderForIds(w_.seed, &order);
  for (const std::string_view resource : order) c_.slots_.Add(resource);
}

void ClusterAssembler::OfferResources() {
  NodeColumns& nodes = c_.nodes_;
  const size_t slots = c_.slots_.size();
  nodes.allocatable = ResourceTable<NodeId>(nodes.size(), slots);
  for (const NodeId node : nodes_.ids()) {
    w_.OfferNode(node, *w_.node_rows[node.index()], nodes_[node]);
  }
  w_.FindExtremes();
  nodes.idle = nodes.allocatable;
  nodes.releasing = ResourceTable<NodeId>(nodes.size(), slots);
  nodes.used = nodes.releasing;
}

void ClusterAssembler::AddZones(const std::vector<NodeZonesRow>& rows) {
  w_.any_zones = !rows.empty();
  for (const NodeZonesRow* row :
       SortedAndUnique(rows, "NodeResourceTopology", &w_.rejections, w_.seed)) {
    const NodeId node = w_.directory.FindNode(row->name);
    if (node.valid()) w_.numa.AddNode(*row, node, c_.nodes_.size(), &w_.rejections);
  }
}

void ClusterAssembler::AddConstraints(const ClusterRows& rows) {
  w_.namespaces = std::make_unique<Namespaces>(rows.namespaces, &c_.names_);
  for (const PodDraft& draft : pods_) w_.namespaces->Add(draft.row->namespace_name);
  w_.affinity = std::make_unique<AffinityTerms>(&c_.names_, w_.namespaces.get());
  const bool counts_capacity = c_.params_.schedule_csi_storage;
  w_.volumes =
      std::make_unique<VolumeDesk>(rows.storage, counts_capacity, &c_.names_, &w_.rejections);
  if (counts_capacity || !w_.volumes->nodes().empty()) {
    w_.storage = std::make_unique<StorageDesk>(*w_.volumes, counts_capacity, &c_.names_);
    w_.storage->Describe(w_.node_rows, &c_.storage_);
    for (const PodDraft& draft : pods_) w_.storage->CountUses(*draft.row);
  }
  absl::flat_hash_map<const PodSpecRow*, ConstraintId> known;  // of pods without individual fields
  for (PodDraft& draft : pods_) {
    const PodSpecRow& spec = *draft.row->spec;
    const bool is_plain =
        spec.affinity.empty() && spec.spread.empty() && draft.row->extras->volumes.empty();
    if (is_plain) {
      const auto found = known.find(&spec);
      if (found != known.end()) {
        draft.constraint = found->second;
        continue;
      }
    }
    draft.affinity = w_.affinity->AffinityOf(*draft.row);
    draft.constraint =
        w_.constraints.Add(*draft.row, VolumesOf(draft), w_.affinity->SpreadOf(*draft.row));
    if (is_plain) known.emplace(&spec, draft.constraint);
  }
}

VolumeNeedsId ClusterAssembler::VolumesOf(const PodDraft& draft) {
  if (draft.row->extras->volumes.empty()) return VolumeNeedsId();
  VolumeNeeds needs = w_.volumes->NeedsOf(*draft.row);
  if (w_.storage != nullptr) w_.storage->AddNeeds(*draft.row, draft.node.valid(), &needs);
  if (needs.empty()) return VolumeNeedsId();
  c_.storage_.any_need = c_.storage_.any_need || !needs.storage.empty();
  return c_.volume_needs_.Add(std::move(needs));
}

void ClusterAssembler::AddClaims(const ClusterRows& rows,
                                 const std::vector<const ResourceClaimRow*>& claims) {
  std::vector<const DeviceClassRow*> classes;
  std::vector<const ResourceSliceRow*> slices;
  if (rows.ServesClaims())
    classes = UniqueAndNamed(rows.device_classes, "DeviceClass", &w_.rejections);
  w_.extended = ExtendedResources(classes);
  const bool any_made_for_pods =
      std::any_of(claims.begin(), claims.end(),
                  [](const ResourceClaimRow* claim) { return claim->for_extended_resource; });
  const bool any_used =
      any_made_for_pods || std::any_of(pods_.begin(), pods_.end(), [&](const PodDraft& draft) {
        return !draft.row->extras->claims.empty() ||
               w_.extended.AnyOf(draft.row->spec->extended_requests);
      });
  if (!any_used) return w_.selectors->DropUnused();
  ClaimAssembler assembler(c_.nodes_, w_.node_rows, rows.ServesClaims(), w_.selectors.get(),
                           &c_.names_, &c_.claims_);
  assembler.AddClasses(classes);
  if (rows.ServesClaims()) slices = UniqueAndNamed(rows.slices, "ResourceSlice", &w_.rejections);
  assembler.AddSlices(slices, w_.directory);
  assembler.AddClaims(claims, c_.params_.queue_label_key);
  std::map<std::pair<std::string_view, std::string_view>, PodId> pod_named;
  for (size_t i = 0; i < pods_.size(); ++i) {
    const PodDraft& draft = pods_[i];
    assembler.AddUsesOf(
        *draft.row,
        {.is_reservation = draft.is_reservation,
         .is_active = IsActiveUsed(draft.status),
         .queue = draft.group.valid() ? c_.pod_groups_.queue_name[draft.group] : NameId()},
        w_.extended);
    pod_named.emplace(NamespacedKey(*draft.row), PodId(i));
  }
  for (size_t i = 0; i < claims.size(); ++i) {
    assembler.AddConsumers(ClaimId(i), *claims[i], [&](std::string_view name) {
      const auto pod = pod_named.find({claims[i]->namespace_name, name});
      return pod == pod_named.end()
                 ? std::pair(PodId(), std::string_view())
                 : std::pair(pod->second, std::string_view(pods_[pod->second.index()].row->uid));
    });
  }
  for (size_t i = 0; i < pods_.size(); ++i) {
    if (pods_[i].bind_request != nullptr && IsActiveUsed(pods_[i].status))
      assembler.Assume(PodId(i), *pods_[i].bind_request);
  }
  assembler.CountUses();
  for (size_t i = 0; i < pods_.size(); ++i)
    pods_[i].claims = assembler.NeedsOf(PodId(i), IsActiveUsed(pods_[i].status));
  w_.selectors->DropUnused();
}

void ClusterAssembler::ClassifyNodes() {
  NodeLabels& labels = w_.labels;
  for (const NodeConstraint& constraint : c_.constraints_.raw()) labels.Mention(constraint);
  for (const VolumeNeeds& needs : c_.volume_needs_.raw()) labels.Mention(needs);
  c_.claims_.ForEachTerm([&](const NodeTerm& term) { labels.Mention(term); });
  NodeColumns& nodes = c_.nodes_;
  for (const NodeId node : nodes_.ids())
    nodes.labels[node] = labels.Pick(*w_.node_rows[node.index()], &c_.names_);
  labels.FindDistinguishingKeys(nodes.size());
  for (const NodeConstraint& constraint : c_.constraints_.raw())
    c_.is_checked_per_node_.Add(labels.IsCheckedPerNode(constraint) ? 1 : 0);
  for (const VolumeNeeds& needs : c_.volume_needs_.raw())
    c_.volumes_checked_per_node_.Add(labels.IsCheckedPerNode(needs) ? 1 : 0);
  for (const NodeId node : nodes_.ids())
    w_.ClassifyNode(node, *w_.node_rows[node.index()], nodes_[node]);
}

void ClusterAssembler::AddPods(const ClusterRows& rows) {
  if (!w_.affinity->empty()) c_.affinity_ = w_.affinity->MakeIndex(w_.node_rows);
  SharedGpuLists shared;
  for (const PodDraft& draft : pods_) {
    if (!draft.gpu.IsShared()) continue;
    c_.shares_gpus_ = true;
    if (!draft.node.valid()) continue;
    c_.hides_shared_gpus_ = c_.hides_shared_gpus_ || draft.gpu_groups().empty();
    shared.Note(draft.gpu_groups(), draft.node);
  }
  shared.Write(&c_.names_, &c_.nodes_);
  w_.config_maps =
      std::make_unique<ConfigMaps>(rows.config_maps ? &*rows.config_maps : nullptr, &c_.names_);
  w_.classes = std::make_unique<PodClassWriter>(
      PodClassWriter::Surroundings{.names = &c_.names_,
                                   .slots = &c_.slots_,
                                   .config_maps = w_.config_maps.get(),
                                   .gpu_memory = &w_.gpu_memory,
                                   .affinity = w_.affinity.get(),
                                   .numa = &w_.numa,
                                   .extended = &w_.extended},
      &c_.pod_classes_);
  PodWriter writer(&c_.names_, &c_.pods_, &c_.pod_groups_, &c_.sub_groups_);
  Occupancy occupancy(&c_);
  KnownClasses known(&w_, &c_.names_);
  c_.pods_.Resize(pods_.size() + pods_.size() / 16);  // room for later pods without a copy
  c_.pods_.Resize(pods_.size());
  w_.pod_rows.reserve(pods_.size());
  for (size_t i = 0; i < pods_.size(); ++i) {
    const PodDraft& draft = pods_[i];
    const PodId pod(i);
    const PodClassId pod_class = known.Add(draft);
    const bool shares = draft.gpu.IsShared() && draft.node.valid();
    writer.Write(pod, draft, pod_class, c_.pod_classes_.request[pod_class][kGpuSlot.index()],
                 shares ? shared.Of(draft.gpu_groups(), draft.node) : GpuList());
    w_.pod_rows.push_back(draft.row);
    w_.is_foreign.push_back(w_.IsForeign(*draft.row) ? 1 : 0);
    if (draft.group.valid() && c_.pod_classes_.info[pod_class].numa.valid())
      w_.numa.NotePlacement(*draft.row, draft.bind_request, pod, draft.node, &w_.rejections);
    if (draft.node.valid()) occupancy.Occupy(pod, draft.node, draft.status, c_.pods_.gpus[pod]);
  }
  writer.ListPods(c_);
}

void ClusterAssembler::Summarize() {
  for (const SubGroupId set : c_.sub_groups_.name.ids())
    SortPodsOf(set, c_.pods_, w_.pod_rows, &c_.sub_groups_);
  ListPodGroups(c_, &c_.pod_groups_);
  for (const NodeId node : c_.nodes_.name.ids()) c_.total_ += OfferedToQueues(c_, node);
  c_.queues_.sums.Resize(c_.queues_.size());
  for (const PodId pod : c_.pods_.name.ids()) {
    QueueId queue;
    const QueueSums own = SumsOf(c_, pod, &queue);
    if (queue.valid()) c_.queues_.sums[queue] += own;
    if (w_.is_foreign[pod.index()] != 0) c_.total_ -= TakenFromQueues(c_, pod);
  }
  SumQueueTree(c_.queues_, &c_.queues_.sums);
  c_.domain_totals_ = SumDomains(c_);
}

}  // namespace kai
