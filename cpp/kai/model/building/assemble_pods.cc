// Pods: their status, what they take, and the totals that follow from them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "kai/api/accelerators.h"
#include "kai/api/keys.h"
#include "kai/base/parse.h"
#include "kai/base/saturating.h"
#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"
#include "kai/model/changes/occupancy.h"

namespace kai {
namespace {

using ClaimByName = absl::flat_hash_map<std::string, const ResourceClaimRow*>;
using ClaimsOfPod = absl::flat_hash_map<std::string, std::vector<const ResourceClaimRow*>>;

// GPUs of a pod's claims: those its spec names, and those it owns; a claim made from a template
// counts by its owner (spec 3 D4).
int64_t GpusOfClaims(const PodRow& pod, const ClaimsOfPod& owned, const ClaimByName& by_name) {
  std::set<const ResourceClaimRow*> claims;
  if (const auto own = owned.find(QualifiedName(pod.namespace_name, pod.name));
      own != owned.end()) {
    claims.insert(own->second.begin(), own->second.end());
  }
  for (const PodRow::Claim& claim : pod.claims) {
    if (claim.from_template) continue;
    const auto found = by_name.find(QualifiedName(pod.namespace_name, claim.resource_claim));
    if (found != by_name.end()) claims.insert(found->second);
  }
  int64_t gpus = 0;
  for (const ResourceClaimRow* claim : claims) gpus = AddSaturating(gpus, claim->gpus);
  return gpus;
}

}  // namespace

void ClusterAssembler::SettlePodStatus(PodDraft* draft, const BindRequestRow* bind_request) const {
  // spec 2 S2; what is overdue in leaving depends on the time and is found when a cycle starts.
  const PodRow& row = *draft->row;
  const bool deleting = row.deletion_ns.has_value();
  switch (row.phase) {
    case Phase::kRunning:
      draft->status = deleting ? PodStatus::kReleasing : PodStatus::kRunning;
      break;
    case Phase::kPending:
      if (deleting) {
        draft->status = PodStatus::kReleasing;
      } else if (!row.node_name.empty()) {
        draft->status = PodStatus::kBound;
      } else if (bind_request != nullptr) {
        draft->status = PodStatus::kBinding;
      } else {
        draft->status = row.gated ? PodStatus::kGated : PodStatus::kPending;
      }
      break;
    case Phase::kSucceeded:
      draft->status = PodStatus::kSucceeded;
      break;
    case Phase::kFailed:
      draft->status = PodStatus::kFailed;
      break;
    case Phase::kUnknown:
      draft->status = PodStatus::kUnknown;
      break;
  }
  if (!IsActiveUsed(draft->status)) return;
  const std::string& node_name =
      !row.node_name.empty() || bind_request == nullptr ? row.node_name : bind_request->node;
  const auto node = node_by_name_.find(node_name);
  if (node != node_by_name_.end()) draft->node = node->second;  // else on a node of somebody else's
}

void ClusterAssembler::Pods(std::vector<PodRow> rows,
                            const std::vector<BindRequestRow>& bind_requests, ClaimRows* claims) {
  const std::vector<PodRow*> sorted =
      SortedAndUnique(&rows, "Pod", NamespacedKey<PodRow>, &c_.rejections_);

  // spec 2 S3: a request counts only while its node is here and it has not failed for good.
  absl::flat_hash_map<std::string, const BindRequestRow*> live_request;
  for (const BindRequestRow& request : bind_requests) {
    const bool failed =
        request.phase == "Failed" &&
        (!request.backoff_limit || request.failed_attempts >= *request.backoff_limit);
    if (!failed && node_by_name_.contains(request.node)) {
      const BindRequestRow*& slot =
          live_request[QualifiedName(request.namespace_name, request.pod)];
      // Two requests for one pod: the one for the lower node name, whatever their order.
      if (slot == nullptr || request.node < slot->node) slot = &request;
    }
  }
  const std::vector<ResourceClaimRow*> sorted_claims = SortedAndUnique(
      &claims->claims, "ResourceClaim", NamespacedKey<ResourceClaimRow>, &c_.rejections_);
  ClaimByName claim_by_name;
  ClaimsOfPod claims_of_pod;
  for (const ResourceClaimRow* claim : sorted_claims) {
    claim_by_name[QualifiedName(claim->namespace_name, claim->name)] = claim;
    if (!claim->owner_pod.empty())
      claims_of_pod[QualifiedName(claim->namespace_name, claim->owner_pod)].push_back(claim);
  }

  std::vector<PodDraft> drafts;
  drafts.reserve(sorted.size());
  for (PodRow* row : sorted) {
    PodDraft draft;
    draft.row = row;
    const auto request =
        live_request.find(QualifiedName(draft.row->namespace_name, draft.row->name));
    const BindRequestRow* bind_request = request == live_request.end() ? nullptr : request->second;
    SettlePodStatus(&draft, bind_request);
    draft.bind_request = bind_request;
    if (bind_request != nullptr) {  // spec 3 R20
      draft.row->received_type = bind_request->received_type;
      draft.row->gpu_groups = bind_request->gpu_groups;
      if (!bind_request->zones.empty())
        draft.row->zone_records.push_back(
            {.source = ZoneRecordRow::Source::kBindRequest, .zones = bind_request->zones});
    }
    const std::string* app = FindLabelText(draft.row->labels, keys::kApp);
    draft.is_reservation = app != nullptr && *app == keys::kReservationApp;
    draft.is_utility = draft.is_reservation || (app != nullptr && *app == keys::kScalingPodApp);
    const bool in_group = !draft.row->pod_group.empty() &&
                          group_by_name_.contains(std::pair(Name(draft.row->namespace_name),
                                                            Name(draft.row->pod_group)));
    if (!in_group && !IsActiveUsed(draft.status))
      continue;  // neither schedulable by us nor in anybody's way
    draft.row->gpu.dra = GpusOfClaims(*draft.row, claims_of_pod, claim_by_name);
    drafts.push_back(std::move(draft));
  }

  std::set<std::string> resources;
  for (const PodDraft& draft : drafts) {
    for (const auto& [name, amount] : draft.row->requests) resources.insert(name);
    for (const auto& [name, amount] : draft.row->overhead) resources.insert(name);
    for (const auto& [name, amount] : draft.row->gpu.mig) resources.insert(name);
  }
  for (const std::string& name : resources) SlotOf(name);

  // From here on the slots are fixed.
  NodeColumns& nodes = c_.nodes_;
  const size_t slots = c_.slots_.size();
  nodes.allocatable = ResourceTable<NodeId>(node_rows_.size(), slots);
  c_.largest_node_.assign(slots, 0);
  for (size_t i = 0; i < node_rows_.size(); ++i) {
    const std::span<double> vector = nodes.allocatable[NodeId(i)];
    for (const auto& [name, amount] : node_rows_[i]->allocatable)
      vector[c_.slots_.Find(name).index()] += static_cast<double>(amount);
    const double device_plugin_gpus = vector[kGpuSlot.index()];
    vector[kGpuSlot.index()] += static_cast<double>(node_dra_gpus_[i]);  // spec 3 N1
    const std::string* label = FindDeviceLabel(node_rows_[i]->labels, &Accelerator::count_label);
    const std::optional<int64_t> count = label == nullptr ? std::nullopt : ParseInteger(*label);
    nodes.gpu_count.Add(count ? static_cast<double>(*count) : std::trunc(device_plugin_gpus));
    for (size_t slot = 0; slot < slots; ++slot)
      c_.largest_node_[slot] = std::max(c_.largest_node_[slot], vector[slot]);
  }
  nodes.idle = nodes.allocatable;
  nodes.releasing = ResourceTable<NodeId>(node_rows_.size(), slots);
  nodes.used = ResourceTable<NodeId>(node_rows_.size(), slots);
  c_.pod_classes_.request = ResourceTable<PodClassId>(0, slots);
  c_.pod_classes_.overhead = ResourceTable<PodClassId>(0, slots);

  MakeNumaNodes();
  InternSpread(&drafts);
  InternConstraints(&drafts);
  InternClaims(&drafts, claims, sorted_claims);
  MakeNodeClasses();
  InternAffinity(&drafts);
  PlacePods(drafts);
  RankPods(drafts);
  CountTotal(drafts);
}

void ClusterAssembler::ListSharedGpus(const std::vector<PodDraft>& drafts) {
  c_.nodes_.shared_gpus.Resize(c_.nodes_.size());
  std::set<std::pair<NodeId, std::string_view>> groups;
  for (const PodDraft& draft : drafts) {
    if (!draft.row->gpu.IsShared()) continue;
    c_.shares_gpus_ = true;
    if (!IsActiveUsed(draft.status) || !draft.node.valid()) continue;
    if (draft.row->gpu_groups.empty()) c_.hides_shared_gpus_ = true;
    for (const std::string& group : draft.row->gpu_groups) groups.emplace(draft.node, group);
  }
  for (const auto& [node, group] : groups) {
    std::vector<SharedGpu>& listed = c_.nodes_.shared_gpus[node];
    shared_gpus_.emplace(std::pair(node, Name(group)), static_cast<int32_t>(listed.size()));
    listed.push_back({.name = Name(group)});
  }
}

GpuList ClusterAssembler::SharedGpusOf(const PodDraft& draft) {
  GpuList gpus;
  if (!draft.row->gpu.IsShared() || !IsActiveUsed(draft.status) || !draft.node.valid()) return gpus;
  for (const std::string& group : draft.row->gpu_groups) {
    const int32_t gpu = shared_gpus_.at(std::pair(draft.node, Name(group)));
    if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) gpus.push_back(gpu);
  }
  return gpus;
}

void ClusterAssembler::PlacePods(const std::vector<PodDraft>& drafts) {
  PodColumns& pods = c_.pods_;
  SubGroupColumns& sets = c_.sub_groups_;
  pods_of_set_.resize(sets.size());
  Occupancy occupancy(&c_);
  ListSharedGpus(drafts);
  for (const PodDraft& draft : drafts) {
    const PodRow& row = *draft.row;
    const PodId pod = pods.name.Add(Name(row.name));
    pods.namespace_name.Add(Name(row.namespace_name));
    const PodClassId pod_class = ClassId(draft);
    pods.pod_class.Add(pod_class);
    const NameId subgroup =
        Name(row.subgroup.empty() ? kDefaultSubgroup : std::string_view(row.subgroup));
    pods.subgroup.Add(subgroup);
    PodGroupId group;
    SubGroupId pod_set;
    if (!row.pod_group.empty()) {
      const auto found =
          group_by_name_.find(std::pair(Name(row.namespace_name), Name(row.pod_group)));
      if (found != group_by_name_.end()) group = found->second;
    }
    if (group.valid()) {
      const Span32 range = c_.pod_groups_.pod_sets[group];
      for (int32_t i = range.begin; i < range.end; ++i) {
        const SubGroupId candidate = c_.pod_groups_.pod_set_list[static_cast<size_t>(i)];
        if (sets.name[candidate] == subgroup) pod_set = candidate;
      }
      if (pod_set.valid()) {
        pods_of_set_[pod_set.index()].push_back(pod);
        ++sets.counts[pod_set][draft.status];
      } else {
        c_.pod_groups_.misfits[group].push_back(pod);
      }
    }
    pods.group.Add(group);
    pods.pod_set.Add(pod_set);
    pods.created_ns.Add(row.created_ns.value_or(kNoTime));
    // Only a pod that ran can be overdue in leaving (spec 2 S2).
    pods.deletion_ns.Add(row.phase == Phase::kRunning ? row.deletion_ns.value_or(kNoTime)
                                                      : kNoTime);
    pods.uid_rank.Add(0);
    const std::string* role = FindLabelText(row.labels, keys::kKubeflowRole);
    pods.is_kubeflow_lead.Add(role != nullptr && (*role == "master" || *role == "launcher") ? 1
                                                                                            : 0);
    pods.is_ray_head.Add(HasLabel(row.labels, keys::kRayNodeType, "head") ? 1 : 0);
    const std::string* priority = FindLabelText(row.labels, keys::kTaskPriority);
    pods.task_priority.Add(priority == nullptr ? NameId() : Name(*priority));
    if (draft.node.valid() && row.topology_rank && *row.topology_rank >= 0 &&
        *row.topology_rank <= std::numeric_limits<int32_t>::max())
      pods.kept_ranks.emplace_back(pod, static_cast<int32_t>(*row.topology_rank));
    pods.status.Add(draft.status);
    pods.node.Add(draft.node);
    pods.is_virtual.Add(0);

    double ledger_gpus = c_.pod_classes_.request[pod_class][kGpuSlot.index()];
    if (draft.is_reservation) {
      ledger_gpus = 0;  // spec 3 N3
    } else if (row.gpu.IsShared()) {
      // Whose devices nobody has written down holds them whole; KAI forgets that it holds any.
      ledger_gpus = row.gpu_groups.empty() ? static_cast<double>(row.gpu.count) : 0;
    }
    pods.ledger_gpus.Add(ledger_gpus);
    pods.gpus.Add(SharedGpusOf(draft));
    NotePlacement(draft, pod);
    if (IsActiveUsed(draft.status) && draft.node.valid())
      occupancy.Occupy(pod, draft.node, draft.status, pods.gpus[pod]);
  }
  for (const SubGroupId set : sets.name.ids()) {
    const auto begin = static_cast<int32_t>(sets.pod_list.size());
    const std::vector<PodId>& members = pods_of_set_[set.index()];
    sets.pod_list.insert(sets.pod_list.end(), members.begin(), members.end());
    sets.pods[set] = {begin, static_cast<int32_t>(sets.pod_list.size())};
  }
}

void ClusterAssembler::RankPods(const std::vector<PodDraft>& drafts) {
  // A pod's UID, or namespace/name where it has none (spec 2 O3).
  std::vector<std::pair<std::string, size_t>> uids;
  uids.reserve(drafts.size());
  for (size_t i = 0; i < drafts.size(); ++i) {
    const PodRow& row = *drafts[i].row;
    uids.emplace_back(row.uid.empty() ? QualifiedName(row.namespace_name, row.name) : row.uid, i);
  }
  std::sort(uids.begin(), uids.end());
  for (size_t rank = 0; rank < uids.size(); ++rank)
    c_.pods_.uid_rank[PodId(uids[rank].second)] = static_cast<int32_t>(rank);
}

void ClusterAssembler::CountTotal(const std::vector<PodDraft>& drafts) {
  // spec 1 F30
  const NodeColumns& nodes = c_.nodes_;
  const auto schedulable = [&](NodeId node) {
    return c_.node_classes_[nodes.node_class[node]].state == 0;
  };
  for (const NodeId node : nodes.name.ids()) {
    if (!schedulable(node)) continue;
    const std::span<const double> row = nodes.allocatable[node];
    const bool gives_gpus =
        !c_.params_.restrict_node_scheduling || c_.node_classes_[nodes.node_class[node]].gpu_worker;
    c_.total_ += QuotaCount(row[kCpuSlot.index()], row[kMemorySlot.index()],
                            gives_gpus ? c_.slots_.TotalGpus(row) : 0);
  }
  for (size_t i = 0; i < drafts.size(); ++i) {
    const PodDraft& draft = drafts[i];
    if (draft.row->scheduler_name == c_.params_.scheduler_name || draft.is_utility) continue;
    if (!IsActiveUsed(draft.status) || !draft.node.valid() || !schedulable(draft.node)) continue;
    c_.total_ -= c_.ClassOf(PodId(i)).requested;
  }
}

}  // namespace kai
