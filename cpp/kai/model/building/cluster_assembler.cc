#include "kai/model/building/cluster_assembler.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

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

// Rows that share a name all go; rows without one are of tests that count GPUs and nothing else.
template <typename Row>
std::vector<Row*> UniqueAndNamed(std::vector<Row>* rows, const char* kind,
                                 std::vector<Rejection>* rejections) {
  std::erase_if(*rows, [](const Row& row) { return row.name.empty(); });
  return SortedAndUnique(rows, kind, NameKey<Row>, rejections);
}

constexpr int64_t kDefaultStuckThresholdNs = 120'000'000'000;  // spec 2 S2

// Devices that are not GPUs to KAI. The resource stays: one vendor's pods want that vendor's nodes.
int64_t OtherAccelerators(const ResourceAmounts& amounts) {
  int64_t devices = 0;
  for (const Accelerator& each : kAccelerators) {
    if (!each.is_gpu)
      devices = AddSaturating(devices, AmountOf(amounts, each.resource) / kMillisPerUnit);
  }
  return devices;
}

void CountAcceleratorsAsGpus(const PodRow& pod, GpuRequest* gpu) {
  const int64_t devices = OtherAccelerators(pod.requests);
  if (devices == 0 || gpu->kind != GpuRequestKind::kRegular) return;
  gpu->count = AddSaturating(gpu->portion > 0 ? gpu->count : 0, devices);
  gpu->portion = 1;
}

}  // namespace

std::unique_ptr<Cluster> ClusterRows::Build() const& { return ClusterRows(*this).Build(); }

std::unique_ptr<Cluster> ClusterRows::Build() && {
  auto cluster = std::make_unique<Cluster>();
  ClusterAssembler(cluster.get()).Assemble(this);
  return cluster;
}

ClusterAssembler::ClusterAssembler(Cluster* cluster)
    : c_(*cluster), directory_(&c_.names_), numa_(c_.slots_, &c_.numa_) {}

void ClusterAssembler::Assemble(ClusterRows* rows) {
  seed_ = rows->numbering_seed;
  c_.params_ = std::move(rows->params);
  c_.rejections_ = std::move(rows->rejections);
  if (c_.params_.stuck_in_releasing_threshold_ns <= 0)
    c_.params_.stuck_in_releasing_threshold_ns = kDefaultStuckThresholdNs;
  if (c_.params_.count_mig_as_parts) c_.slots_ = ResourceSlots(MigCount::kParts);
  if (!rows->ServesClaims()) {
    rows->claims.clear();
    rows->slices.clear();
    rows->device_classes.clear();
  }
  AddNodes(&rows->nodes, rows->slices);
  AddQueues(&rows->queues);
  AddPodGroups(rows);
  const std::vector<PodRow*> pods =
      SortedAndUnique(&rows->pods, "Pod", NamespacedKey<PodRow>, &c_.rejections_, seed_);
  const std::vector<ResourceClaimRow*> claims = SortedAndUnique(
      &rows->claims, "ResourceClaim", NamespacedKey<ResourceClaimRow>, &c_.rejections_, seed_);
  DraftPods(pods, rows->bind_requests, claims);
  NameResources();
  OfferResources();
  AddZones(&rows->zones);
  AddConstraints(*rows);
  AddClaims(rows, claims);
  ClassifyNodes();
  AddPods(*rows);
  Summarize();
}

void ClusterAssembler::AddNodes(std::vector<NodeRow>* rows,
                                const std::vector<ResourceSliceRow>& slices) {
  std::erase_if(*rows, [&](const NodeRow& row) { return !IsOurs(row, c_.params_); });
  for (const NodeRow* row :
       SortedAndUnique(rows, "Node", NameKey<NodeRow>, &c_.rejections_, seed_)) {
    const NodeFacts facts = NodeFactsOf(*row);
    directory_.Add(row->name, AddNode(*row, facts, &c_.names_, &c_.nodes_));
    nodes_.Add({.facts = facts});
    node_rows_.push_back(row);
  }
  RankByName(c_.names_, &c_.nodes_);
  for (const ResourceSliceRow& slice : slices) {
    const NodeId node = directory_.FindNode(slice.node);
    if (node.valid()) nodes_[node].dra_gpus = AddSaturating(nodes_[node].dra_gpus, slice.gpus);
  }
}

void ClusterAssembler::AddQueues(std::vector<QueueRow>* rows) {
  std::erase_if(*rows, [&](const QueueRow& row) { return !IsInPool(row.labels, c_.params_); });
  std::vector<QueueRow> kept;
  for (QueueRow* row : SortedAndUnique(rows, "Queue", NameKey<QueueRow>, &c_.rejections_))
    kept.push_back(std::move(*row));
  if (!c_.params_.full_hierarchy_fairness) FlattenQueues(&kept, &c_.rejections_);
  KeepWholeQueueTrees(&kept, &c_.rejections_);
  std::sort(kept.begin(), kept.end(),
            [](const QueueRow& a, const QueueRow& b) { return a.name < b.name; });
  OrderForIds(seed_, &kept);
  WriteQueues(kept, &c_.names_, &directory_, &c_.queues_);
}

void ClusterAssembler::AddPodGroups(ClusterRows* rows) {
  TopologyWriter topologies(&c_.names_, &c_.topologies_, &c_.topology_constraints_);
  for (const TopologyRow* row : SortedAndUnique(&rows->topologies, "Topology", NameKey<TopologyRow>,
                                                &c_.rejections_, seed_)) {
    topologies.Add(*row, node_rows_);
  }
  std::erase_if(rows->pod_groups, [&](const PodGroupRow& row) {
    return !IsInPool(row.labels, c_.params_) || HasUsedItsTry(row, c_.params_);
  });
  const PriorityClasses priorities(rows->priority_classes);
  PodGroupWriter writer({.params = &c_.params_,
                         .priorities = &priorities,
                         .names = &c_.names_,
                         .directory = &directory_,
                         .topologies = &topologies,
                         .rejections = &c_.rejections_,
                         .seed = seed_},
                        &c_.pod_groups_, &c_.sub_groups_);
  for (const PodGroupRow* row : SortedAndUnique(
           &rows->pod_groups, "PodGroup", NamespacedKey<PodGroupRow>, &c_.rejections_, seed_)) {
    writer.Add(*row);
  }
  RankByCreation(c_.names_, &c_.pod_groups_);
}

void ClusterAssembler::DraftPods(const std::vector<PodRow*>& rows,
                                 const std::vector<BindRequestRow>& bind_requests,
                                 const std::vector<ResourceClaimRow*>& claims) {
  const BindRequests requests(bind_requests, directory_);
  const GpusOfClaims gpus(claims);
  pods_.reserve(rows.size());
  for (const PodRow* row : rows) {
    const BindRequestRow* request = requests.Find(*row);
    PodDraft draft;
    draft.row = row;
    draft.bind_request = request;
    draft.status = StatusOf(*row, request != nullptr);
    draft.group = directory_.FindPodGroup(row->namespace_name, row->pod_group);
    const bool is_active = IsActiveUsed(draft.status);
    // Neither schedulable by us nor in the way of a pod.
    if (!draft.group.valid() && !is_active) continue;
    if (is_active) {
      draft.node = directory_.FindNode(
          row->node_name.empty() && request != nullptr ? request->node : row->node_name);
    }
    draft.is_reservation = IsReservation(*row);
    draft.gpu = row->gpu;
    if (c_.params_.count_all_accelerators) CountAcceleratorsAsGpus(*row, &draft.gpu);
    draft.gpu.dra = gpus.Of(*row);
    pods_.push_back(std::move(draft));
  }
}

void ClusterAssembler::NameResources() {
  const auto name = [&](const auto& amounts, std::set<std::string_view>* names) {
    for (const auto& [resource, amount] : amounts) names->insert(resource);
  };
  std::set<std::string_view> of_nodes;
  for (const NodeRow* row : node_rows_) name(row->allocatable, &of_nodes);
  std::set<std::string_view> of_pods;
  for (const PodDraft& draft : pods_) {
    name(draft.row->requests, &of_pods);
    name(draft.row->overhead, &of_pods);
    name(draft.gpu.mig, &of_pods);
  }
  std::vector<std::string_view> order(of_nodes.begin(), of_nodes.end());
  order.insert(order.end(), of_pods.begin(), of_pods.end());
  OrderForIds(seed_, &order);
  for (const std::string_view resource : order) c_.slots_.Add(resource);
}

void ClusterAssembler::OfferResources() {
  NodeColumns& nodes = c_.nodes_;
  const size_t slots = c_.slots_.size();
  nodes.allocatable = ResourceTable<NodeId>(nodes.size(), slots);
  c_.largest_node_.assign(slots, 0);
  for (const NodeId node : nodes_.ids()) {
    const NodeDraft& draft = nodes_[node];
    const NodeRow& row = *node_rows_[node.index()];
    const int64_t more_gpus =
        c_.params_.count_all_accelerators ? OtherAccelerators(row.allocatable) : 0;
    SetAllocatable(row, draft.facts, more_gpus, draft.dra_gpus, c_.slots_, node, &nodes);
    for (size_t slot = 0; slot < slots; ++slot)
      c_.largest_node_[slot] = std::max(c_.largest_node_[slot], nodes.allocatable[node][slot]);
  }
  nodes.idle = nodes.allocatable;
  nodes.releasing = ResourceTable<NodeId>(nodes.size(), slots);
  nodes.used = nodes.releasing;
}

void ClusterAssembler::AddZones(std::vector<NodeZonesRow>* rows) {
  for (const NodeZonesRow* row : SortedAndUnique(rows, "NodeResourceTopology",
                                                 NameKey<NodeZonesRow>, &c_.rejections_, seed_)) {
    const NodeId node = directory_.FindNode(row->name);
    if (node.valid()) numa_.AddNode(*row, node, c_.nodes_.size(), &c_.rejections_);
  }
}

void ClusterAssembler::AddConstraints(const ClusterRows& rows) {
  namespaces_ = std::make_unique<Namespaces>(rows.namespaces, &c_.names_);
  for (const PodDraft& draft : pods_) namespaces_->Add(draft.row->namespace_name);
  affinity_ = std::make_unique<AffinityTerms>(&c_.names_, namespaces_.get());
  const bool counts_capacity = c_.params_.schedule_csi_storage;
  volumes_ =
      std::make_unique<VolumeDesk>(rows.storage, counts_capacity, &c_.names_, &c_.rejections_);
  if (counts_capacity || !volumes_->nodes().empty()) {
    storage_ = std::make_unique<StorageDesk>(*volumes_, counts_capacity, &c_.names_);
    storage_->Describe(node_rows_, &c_.storage_);
    for (const PodDraft& draft : pods_) storage_->CountUses(*draft.row);
  }
  ConstraintWriter writer(&c_.names_, &c_.constraints_, &c_.host_ports_);
  for (PodDraft& draft : pods_) {
    draft.affinity = affinity_->AffinityOf(*draft.row);
    draft.constraint = writer.Add(*draft.row, VolumesOf(draft), affinity_->SpreadOf(*draft.row));
  }
}

VolumeNeedsId ClusterAssembler::VolumesOf(const PodDraft& draft) {
  if (draft.row->volumes.empty()) return VolumeNeedsId();
  VolumeNeeds needs = volumes_->NeedsOf(*draft.row);
  if (storage_ != nullptr) storage_->AddNeeds(*draft.row, draft.node.valid(), &needs);
  if (needs.empty()) return VolumeNeedsId();
  c_.storage_.any_need = c_.storage_.any_need || !needs.storage.empty();
  return c_.volume_needs_.Add(std::move(needs));
}

void ClusterAssembler::AddClaims(ClusterRows* rows, const std::vector<ResourceClaimRow*>& claims) {
  const std::vector<DeviceClassRow*> classes =
      UniqueAndNamed(&rows->device_classes, "DeviceClass", &c_.rejections_);
  const ExtendedResources extended(classes);
  const bool any_made_for_pods =
      std::any_of(claims.begin(), claims.end(),
                  [](const ResourceClaimRow* claim) { return claim->for_extended_resource; });
  const bool any_used =
      any_made_for_pods || std::any_of(pods_.begin(), pods_.end(), [&](const PodDraft& draft) {
        return !draft.row->claims.empty() || extended.AnyOf(draft.row->extended_requests);
      });
  if (!any_used) return;
  ClaimAssembler assembler(c_.nodes_, node_rows_, rows->ServesClaims(), &c_.names_, &c_.claims_);
  assembler.AddClasses(classes);
  assembler.AddSlices(UniqueAndNamed(&rows->slices, "ResourceSlice", &c_.rejections_), directory_);
  assembler.AddClaims(claims, c_.params_.queue_label_key);
  std::map<std::pair<std::string_view, std::string_view>, PodId> pod_named;
  for (size_t i = 0; i < pods_.size(); ++i) {
    const PodDraft& draft = pods_[i];
    assembler.AddUsesOf(
        *draft.row,
        {.is_reservation = draft.is_reservation,
         .is_active = IsActiveUsed(draft.status),
         .queue = draft.group.valid() ? c_.pod_groups_.queue_name[draft.group] : NameId()},
        extended);
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
}

void ClusterAssembler::ClassifyNodes() {
  NodeLabels labels;
  for (const NodeConstraint& constraint : c_.constraints_.raw()) labels.Mention(constraint);
  for (const VolumeNeeds& needs : c_.volume_needs_.raw()) labels.Mention(needs);
  c_.claims_.ForEachTerm([&](const NodeTerm& term) { labels.Mention(term); });
  NodeColumns& nodes = c_.nodes_;
  for (const NodeRow* row : node_rows_) nodes.labels.Add(labels.Pick(*row, &c_.names_));
  labels.FindTelling(nodes.size());
  for (const NodeConstraint& constraint : c_.constraints_.raw())
    c_.ask_per_node_.Add(labels.AskPerNode(constraint) ? 1 : 0);
  for (const VolumeNeeds& needs : c_.volume_needs_.raw())
    c_.ask_volumes_per_node_.Add(labels.AskPerNode(needs) ? 1 : 0);
  for (const NodeId node : nodes_.ids()) {
    const NodeDraft& draft = nodes_[node];
    const NodeClassId id = c_.node_classes_.Add(
        NodeClassOf(*node_rows_[node.index()], draft.facts, draft.dra_gpus > 0, labels,
                    nodes.labels[node], nodes.allocatable[node][kGpuSlot.index()], &c_.names_));
    nodes.node_class.Add(id);
    nodes.cpu_only.Add(c_.node_classes_[id].cpu_only ? 1 : 0);
  }
}

void ClusterAssembler::AddPods(const ClusterRows& rows) {
  if (!affinity_->empty()) c_.affinity_ = affinity_->MakeIndex(node_rows_);
  SharedGpuLists shared;
  for (const PodDraft& draft : pods_) {
    if (!draft.gpu.IsShared()) continue;
    c_.shares_gpus_ = true;
    if (!draft.node.valid()) continue;
    c_.hides_shared_gpus_ = c_.hides_shared_gpus_ || draft.gpu_groups().empty();
    shared.Note(draft.gpu_groups(), draft.node);
  }
  shared.Write(&c_.names_, &c_.nodes_);
  GpuMemoryRange gpu_memory;
  for (const double mib : c_.nodes_.gpu_memory_mib.raw()) {
    if (mib > kUnknownGpuMemoryMib) gpu_memory.Add(mib);
  }
  const ConfigMaps config_maps(rows.config_maps ? &*rows.config_maps : nullptr);
  PodClassWriter classes({.names = &c_.names_,
                          .slots = &c_.slots_,
                          .directory = &directory_,
                          .config_maps = &config_maps,
                          .gpu_memory = &gpu_memory,
                          .affinity = affinity_.get(),
                          .numa = &numa_},
                         &c_.pod_classes_);
  PodWriter writer(&c_.names_, &c_.pods_, &c_.pod_groups_, &c_.sub_groups_);
  Occupancy occupancy(&c_);
  for (const PodDraft& draft : pods_) {
    const PodClassId pod_class = classes.Add(draft);
    const bool shares = draft.gpu.IsShared() && draft.node.valid();
    const PodId pod =
        writer.Add(draft, pod_class, c_.pod_classes_.request[pod_class][kGpuSlot.index()],
                   shares ? shared.Of(draft.gpu_groups(), draft.node) : GpuList());
    if (draft.group.valid() && c_.pod_classes_.info[pod_class].numa.valid())
      numa_.NotePlacement(*draft.row, draft.bind_request, pod, draft.node, &c_.rejections_);
    if (draft.node.valid()) occupancy.Occupy(pod, draft.node, draft.status, c_.pods_.gpus[pod]);
  }
  writer.ListPods(c_);
}

void ClusterAssembler::Summarize() {
  std::vector<const PodRow*> rows;
  for (const PodDraft& draft : pods_) rows.push_back(draft.row);
  std::sort(c_.rejections_.begin(), c_.rejections_.end());
  for (const SubGroupId set : c_.sub_groups_.name.ids())
    SortPodsOf(set, c_.pods_, rows, &c_.sub_groups_);
  ListPodGroups(c_, &c_.pod_groups_);
  for (const NodeId node : c_.nodes_.name.ids()) c_.total_ += OfferedToQueues(c_, node);
  c_.queues_.sums.Resize(c_.queues_.size());
  for (const PodId pod : c_.pods_.name.ids()) {
    CountInQueue(c_, pod, &c_.queues_.sums);
    const PodRow& row = *rows[pod.index()];
    if (row.scheduler_name != c_.params_.scheduler_name && !IsUtility(row))
      c_.total_ -= TakenFromQueues(c_, pod);
  }
  SumQueueTree(c_.queues_, &c_.queues_.sums);
  c_.domain_totals_ = SumDomains(c_);
}

}  // namespace kai
