#include "kai/model/building/cluster_updater.h"

#include <algorithm>
#include <set>

#include "kai/base/heap_bytes.h"
#include "kai/model/building/node_facts.h"
#include "kai/model/building/node_writer.h"
#include "kai/model/building/pod_group_lists.h"
#include "kai/model/building/queue_sums.h"
#include "kai/model/building/row_lookup.h"
#include "kai/model/changes/occupancy.h"

namespace kai {

ClusterUpdater::ClusterUpdater(ClusterWriters* writers, const std::vector<const CompactPod*>& pods)
    : w_(*writers),
      c_(writers->cluster),
      pod_writer_(&c_.names_, &c_.pods_, &c_.pod_groups_, &c_.sub_groups_) {
  nodes_.reserve(w_.node_rows.size());
  for (const NodeRow*& row : w_.node_rows) row = &nodes_.emplace_back(*row);
  for (const CompactPod* row : pods) Note(KeyOf(row->namespace_name, row->name), row);
  for (const PodId pod : c_.pods_.name.ids())
    pods_[{c_.pods_.namespace_name[pod], c_.pods_.name[pod]}].id = pod;
  names_at_first_ = c_.names_.size();
  groups_at_first_ = c_.pod_groups_.size();
  classes_at_first_ = c_.pod_classes_.size();
}

ClusterUpdater::Key ClusterUpdater::KeyOf(std::string_view namespace_name, std::string_view name) {
  return {c_.names_.Intern(namespace_name), c_.names_.Intern(name)};
}

bool ClusterUpdater::Update(const ClusterChanges& changes) {
  if (!c_.claims_.empty() || !c_.numa_.empty() || w_.storage != nullptr || !IsWorthwhile())
    return false;
  touched_pods_.clear();
  touched_groups_.clear();
  delta_ = {};
  for (const auto& each : changes.nodes) {
    if (!UpdateNode(each)) return false;
  }
  TouchPodsOfRequests(changes);
  const std::vector<PodGroupId> gone = TouchPodsOfGroups(changes);
  for (const auto& each : changes.pods) touched_pods_.insert(KeyOf(each.namespace_name, each.name));
  if (!TakeOutTouched()) return false;
  for (const PodGroupId group : gone) {
    RemoveGroup(group);
    touched_groups_.insert(group);
  }
  if (!changes.pod_groups.empty()) Relist();  // before others change the order of those that stay
  for (const PodGroupId group : gone) touched_groups_.erase(group);

  for (const auto& [namespace_name, name, row] : changes.pods) {
    const Key key = KeyOf(namespace_name, name);
    Forget(key);
    if (row != nullptr) Note(key, row);
  }
  AddGroups(changes);
  if (!TakeOutTouched() || !PutTouched()) return false;
  Relist();
  if (!c_.topologies_.empty()) c_.domain_totals_ = SumDomains(c_);
  c_.rejections_ = changes.rejections;
  c_.rejections_.insert(c_.rejections_.end(), w_.rejections.begin(), w_.rejections.end());
  std::ranges::sort(c_.rejections_);
  return true;
}

// ---- nodes
// ---------------------------------------------------------------------------------------------

bool ClusterUpdater::UpdateNode(const ClusterChanges::Change<NodeRow>& change) {
  const NodeId node = w_.directory.FindNode(change.name);
  if (change.row == nullptr) return !node.valid();
  const NodeRow& row = *change.row;
  if (!IsOurs(row, c_.params_)) return !node.valid();
  if (!node.valid()) return false;
  NodeRow& known = nodes_[node.index()];
  if (row.labels != known.labels || row.allocatable != known.allocatable) return false;
  known = row;
  delta_.reclassified = true;
  CountNode(node, false);
  NodeColumns& nodes = c_.nodes_;
  const bool has_dra_gpus = c_.node_classes_[nodes.node_class[node]].has_dra_gpus;
  nodes.node_class[node] = c_.node_classes_.Add(
      NodeClassOf(known, NodeFactsOf(known), has_dra_gpus, w_.labels, nodes.labels[node],
                  nodes.allocatable[node][kGpuSlot.index()], &c_.names_));
  CountNode(node, true);
  return true;
}

// Nodes that take no pods offer nothing to queues, and what others hold there takes nothing away.
void ClusterUpdater::CountNode(NodeId node, bool comes) {
  QuotaCount offered = OfferedToQueues(c_, node);
  for (const PodId pod : c_.pods_.name.ids()) {
    if (c_.pods_.node[pod] == node && w_.is_foreign[pod.index()] != 0)
      offered -= TakenFromQueues(c_, pod);
  }
  comes ? c_.total_ += offered : c_.total_ -= offered;
}

// ---- what has to be looked at again
// --------------------------------------------------------------

void ClusterUpdater::TouchPodsOfRequests(const ClusterChanges& changes) {
  for (const auto& [namespace_name, name, row] : changes.bind_requests) {
    if (const std::string pod = w_.requests.Remove(namespace_name, name); !pod.empty())
      touched_pods_.insert(KeyOf(namespace_name, pod));
    if (row == nullptr) continue;
    w_.requests.Add(*row);
    touched_pods_.insert(KeyOf(row->namespace_name, row->pod));
  }
}

std::vector<PodGroupId> ClusterUpdater::TouchPodsOfGroups(const ClusterChanges& changes) {
  std::vector<PodGroupId> known;
  for (const auto& each : changes.pod_groups) {
    const PodGroupId group = w_.directory.FindPodGroup(each.namespace_name, each.name);
    if (!group.valid()) continue;
    TouchPodsThatName(KeyOf(each.namespace_name, each.name));
    known.push_back(group);
  }
  return known;
}

void ClusterUpdater::TouchPodsThatName(const Key& group) {
  const auto pods = naming_.find(group);
  if (pods != naming_.end()) touched_pods_.insert(pods->second.begin(), pods->second.end());
}

bool ClusterUpdater::TakeOutTouched() {
  for (const Key& key : touched_pods_) {
    const auto known = pods_.find(key);
    if (known == pods_.end() || !known->second.id.valid()) continue;
    if (!CanTakeOut(known->second.id)) return false;
    TakeOut(&known->second);
  }
  WritePodSets();
  return true;
}

bool ClusterUpdater::PutTouched() {
  for (const Key& key : touched_pods_) {
    const auto known = pods_.find(key);
    if (known != pods_.end() && !Put(&known->second)) return false;
  }
  WritePodSets();
  return true;
}

void ClusterUpdater::Relist() {
  const std::vector<PodGroupId> groups(touched_groups_.begin(), touched_groups_.end());
  for (const PodGroupId group : groups) {
    std::ranges::sort(c_.pod_groups_.misfits[group],
                      [&](PodId a, PodId b) { return c_.IsNamedBefore(a, b); });
  }
  RelistPodGroups(c_, groups, &c_.pod_groups_);
  delta_.groups.insert(groups.begin(), groups.end());
}

// ---- what is known
// -------------------------------------------------------------------------------

void ClusterUpdater::Note(const Key& pod, const CompactPod* row) {
  Known& known = pods_[pod];
  known.row = row;
  if (row->pod_group.empty()) return;
  known.group = KeyOf(row->namespace_name, row->pod_group);
  naming_[known.group].insert(pod);
}

void ClusterUpdater::Forget(const Key& pod) {
  const auto known = pods_.find(pod);
  if (known == pods_.end()) return;
  if (const auto siblings = naming_.find(known->second.group); siblings != naming_.end()) {
    siblings->second.erase(pod);
    if (siblings->second.empty()) naming_.erase(siblings);
  }
  pods_.erase(known);
}

void ClusterUpdater::AddGroups(const ClusterChanges& changes) {
  for (const auto& [namespace_name, name, row] : changes.pod_groups) {
    if (row == nullptr || !w_.IsKept(*row)) continue;
    const PodGroupId group = w_.pod_groups->Add(*row);
    w_.creation.Add(group);
    touched_groups_.insert(group);
    TouchPodsThatName(KeyOf(namespace_name, name));
  }
}

void ClusterUpdater::RemoveGroup(PodGroupId group) {
  PodGroupColumns& groups = c_.pod_groups_;
  const std::string name = c_.PodGroupName(group);
  std::erase_if(w_.rejections, [&](const Rejection& each) {
    return each.kind == "PodGroup" && each.name == name;
  });
  w_.creation.Remove(group);
  w_.directory.Remove(c_.Text(groups.namespace_name[group]), c_.Text(groups.name[group]));
  groups.name[group] = NameId();
}

bool ClusterUpdater::IsWorthwhile() const {
  return c_.names_.size() < 2 * names_at_first_ + 65536 &&
         c_.pod_groups_.size() < 2 * groups_at_first_ + 1024 &&
         c_.pod_classes_.size() < 2 * classes_at_first_ + 1024;
}

// ---- pods
// ----------------------------------------------------------------------------------------

bool ClusterUpdater::CanPut(const CompactPod& row) const {
  const auto are_slots = [&](const ResourceAmounts& amounts) {
    return std::ranges::all_of(
        amounts, [&](const auto& each) { return c_.slots_.Find(each.first).valid(); });
  };
  return row.extras->claims.empty() && row.extras->volumes.empty() &&
         !w_.extended.AnyOf(row.spec->extended_requests) && are_slots(row.spec->requests) &&
         are_slots(row.spec->overhead) && are_slots(row.spec->gpu.mig) &&
         (w_.affinity->empty() || w_.namespaces->Has(row.namespace_name));
}

bool ClusterUpdater::CanTakeOut(PodId pod) const { return !c_.ClassOf(pod).gpu.IsShared(); }

bool ClusterUpdater::Put(Known* known) {
  std::optional<PodDraft> draft = w_.DraftOf(*known->row);
  if (!draft) return true;
  const CompactPod& row = *known->row;
  if (!CanPut(row)) return false;
  if (draft->gpu.IsShared() && (draft->node.valid() || !c_.shares_gpus_)) return false;
  const size_t terms = w_.affinity->size();
  w_.namespaces->Add(row.namespace_name);
  draft->affinity = w_.affinity->AffinityOf(row);
  draft->constraint = w_.constraints.Add(row, VolumeNeedsId(), w_.affinity->SpreadOf(row));
  if (w_.affinity->size() != terms) return false;
  if (draft->constraint.index() == c_.ask_per_node_.size()) {
    const NodeConstraint& constraint = c_.constraints_[draft->constraint];
    if (!w_.labels.Knows(constraint)) return false;
    c_.ask_per_node_.Add(w_.labels.AskPerNode(constraint) ? 1 : 0);
  }
  const PodClassId pod_class = w_.classes->Add(*draft);

  PodId pod(c_.pods_.size());
  if (free_pods_.empty()) {
    c_.pods_.Resize(c_.pods_.size() + 1);
    w_.pod_rows.push_back(nullptr);
    w_.is_foreign.push_back(0);
  } else {
    pod = free_pods_.back();
    free_pods_.pop_back();
  }
  known->id = pod;
  w_.pod_rows[pod.index()] = &row;
  w_.is_foreign[pod.index()] = w_.IsForeign(row) ? 1 : 0;
  pod_writer_.Write(pod, *draft, pod_class, c_.pod_classes_.request[pod_class][kGpuSlot.index()],
                    GpuList());
  if (const SubGroupId pod_set = c_.pods_.pod_set[pod]; pod_set.valid())
    Edit(pod_set).push_back(pod);
  if (draft->group.valid()) touched_groups_.insert(draft->group);
  if (draft->node.valid()) {
    Occupancy(&c_).Occupy(pod, draft->node, draft->status, GpuList());
    delta_.nodes.insert(draft->node);
  }
  Count(pod, true);
  return true;
}

void ClusterUpdater::TakeOut(Known* known) {
  const PodId pod = known->id;
  known->id = PodId();
  Count(pod, false);
  if (const NodeId node = c_.pods_.node[pod]; node.valid()) {
    Occupancy(&c_).Vacate(pod, node, c_.pods_.status[pod]);
    delta_.nodes.insert(node);
  }
  if (const SubGroupId pod_set = c_.pods_.pod_set[pod]; pod_set.valid())
    std::erase(Edit(pod_set), pod);
  if (const PodGroupId group = c_.pods_.group[pod]; group.valid()) touched_groups_.insert(group);
  pod_writer_.Remove(pod);
  w_.pod_rows[pod.index()] = nullptr;
  free_pods_.push_back(pod);
}

void ClusterUpdater::Count(PodId pod, bool comes) {
  QueueId queue;
  const QueueSums own = SumsOf(c_, pod, &queue);
  for (; queue.valid(); queue = c_.queues_.parent[queue]) {
    QueueSums& sums = c_.queues_.sums[queue];
    comes ? sums += own : sums -= own;
  }
  if (w_.is_foreign[pod.index()] == 0) return;
  const QuotaCount taken = TakenFromQueues(c_, pod);
  comes ? c_.total_ -= taken : c_.total_ += taken;
}

// ---- lists of pod sets
// ---------------------------------------------------------------------------

std::vector<PodId>& ClusterUpdater::Edit(SubGroupId pod_set) {
  const auto [edited, is_new] = edited_sets_.try_emplace(pod_set);
  if (is_new) {
    const std::span<const PodId> pods = c_.sub_groups_.PodsOf(pod_set);
    edited->second.assign(pods.begin(), pods.end());
  }
  return edited->second;
}

void ClusterUpdater::WritePodSets() {
  SubGroupColumns& sets = c_.sub_groups_;
  for (const auto& [pod_set, pods] : edited_sets_) {
    Span32& place = sets.pods[pod_set];
    const auto size = static_cast<int32_t>(pods.size());
    // A list that grows moves to the end; what it leaves is taken back when there is more of that
    // than of lists.
    if (size > place.size()) {
      place.begin = static_cast<int32_t>(sets.pod_list.size());
      sets.pod_list.resize(sets.pod_list.size() + pods.size());
    }
    place.end = place.begin + size;
    std::ranges::copy(pods, sets.pod_list.begin() + place.begin);
    std::erase(sets.labelled, pod_set);
    std::erase(sets.completed, pod_set);
    SortPodsOf(pod_set, c_.pods_, w_.pod_rows, &sets);
  }
  edited_sets_.clear();
  if (sets.pod_list.size() < 2 * c_.pods_.size() + 1024) return;
  std::vector<PodId> together;
  for (const SubGroupId set : sets.name.ids()) {
    const std::span<const PodId> pods = sets.PodsOf(set);
    const auto begin = static_cast<int32_t>(together.size());
    together.insert(together.end(), pods.begin(), pods.end());
    sets.pods[set] = {begin, static_cast<int32_t>(together.size())};
  }
  sets.pod_list = std::move(together);
}

size_t ClusterUpdater::HeapBytes() const {
  return HeapBytesOfAll(nodes_, pods_, naming_, free_pods_, touched_pods_, touched_groups_);
}

}  // namespace kai
