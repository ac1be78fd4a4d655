#include "kai/model/building/cluster_updater.h"

#include <algorithm>
#include <set>

#include "kai/base/heap_bytes.h"
#include "kai/model/building/node_facts.h"
#include "kai/model/building/node_writer.h"
#include "kai/model/building/numbering.h"
#include "kai/model/building/pod_group_lists.h"
#include "kai/model/building/queue_sums.h"
#include "kai/model/building/queue_tree.h"
#include "kai/model/building/row_lookup.h"
#include "kai/model/changes/occupancy.h"

namespace kai {
namespace {

// Whether two rows of a node count shared GPUs alike; other resources are not compared.
bool WeighAlike(const NodeRow& a, const NodeRow& b) {
  const NodeFacts one = NodeFactsOf(a);
  const NodeFacts other = NodeFactsOf(b);
  return one.gpu_memory_mib == other.gpu_memory_mib && one.gpu_count == other.gpu_count;
}

}  // namespace

ClusterUpdater::ClusterUpdater(ClusterWriters* writers, const std::vector<const CompactPod*>& pods)
    : w_(*writers),
      c_(writers->cluster),
      pod_writer_(&c_.names_, &c_.pods_, &c_.pod_groups_, &c_.sub_groups_) {
  nodes_.reserve(w_.node_rows.size());
  for (const NodeRow* row : w_.node_rows) nodes_.push_back(*row);
  for (const CompactPod* row : pods) Note(KeyOf(row->namespace_name, row->name), row);
  for (const PodId pod : c_.pods_.name.ids()) {
    Known& known = pods_[{c_.pods_.namespace_name[pod], c_.pods_.name[pod]}];
    known.id = pod;
    CountSharer(pod, 1);
    if (const NodeId node = c_.pods_.node[pod]; node.valid()) {
      AddToNode(&known, c_.Text(c_.nodes_.name[node]));
    } else if (known.row != nullptr && IsActiveUsed(c_.pods_.status[pod])) {
      AddToNode(&known, known.row->node_name);
    }
  }
  names_at_first_ = c_.names_.size();
  nodes_at_first_ = nodes_ever_ = nodes_.size();
  groups_at_first_ = c_.pod_groups_.size();
  classes_at_first_ = c_.pod_classes_.size();
}

ClusterUpdater::Key ClusterUpdater::KeyOf(std::string_view namespace_name, std::string_view name) {
  return {c_.names_.Intern(namespace_name), c_.names_.Intern(name)};
}

bool ClusterUpdater::Update(const ClusterChanges& changes) {
  if (!c_.claims_.empty() || w_.storage != nullptr || !IsWorthwhile()) return false;
  for (const auto& each : changes.zones) {
    if (!ChangeZones(each)) return false;
  }
  if (!ChangeNamespaces(changes)) return false;
  for (const auto& each : changes.queues) {
    if (!CanTake(each)) return false;
  }
  for (const auto& each : changes.queues) {
    if (each.row != nullptr) UpdateQueue(*each.row);
  }
  touched_pods_.clear();
  touched_groups_.clear();
  sharing_nodes_.clear();
  delta_ = {};
  const std::vector<NodeStep> steps = StepsOf(changes);
  for (const NodeStep& step : steps) {
    if (!CanTake(step)) return false;
    TouchPodsOf(step);
  }
  TouchPodsOfRequests(changes);
  const std::vector<PodGroupId> gone = TouchPodsOfGroups(changes);
  std::vector<Key> keys;
  keys.reserve(changes.pods.size());
  for (const auto& each : changes.pods) keys.push_back(KeyOf(each.namespace_name, each.name));
  touched_pods_.insert(keys.begin(), keys.end());
  TakeOutTouched();
  if (!UpdateNodes(steps)) return false;
  for (const PodGroupId group : gone) {
    RemoveGroup(group);
    touched_groups_.insert(group);
  }
  if (!gone.empty()) Relist();  // before other changes affect the order of the remaining groups
  for (const PodGroupId group : gone) touched_groups_.erase(group);

  for (size_t i = 0; i < keys.size(); ++i) {
    Forget(keys[i]);
    if (const CompactPod* row = changes.pods[i].row) Note(keys[i], row);
  }
  if (!ChangeConfigMaps(changes)) return false;
  AddGroups(changes);
  TouchPodsWithSharers();
  TakeOutTouched();
  if (!PutTouched()) return false;
  Relist();
  if (!c_.topologies_.empty()) c_.domain_totals_ = SumDomains(c_);
  c_.rejections_ = changes.rejections;
  c_.rejections_.insert(c_.rejections_.end(), w_.rejections.begin(), w_.rejections.end());
  std::ranges::sort(c_.rejections_);
  return true;
}

// ---- nodes

std::vector<ClusterUpdater::NodeStep> ClusterUpdater::StepsOf(const ClusterChanges& changes) const {
  std::vector<NodeStep> steps;
  for (const auto& each : changes.nodes) {
    const NodeId node = w_.directory.FindNode(each.name);
    NodeStep step{.name = each.name};
    if (node.valid()) step.was = &nodes_[node.index()];
    if (each.row != nullptr && IsOurs(*each.row, c_.params_)) step.is = each.row;
    if (step.was == nullptr && step.is == nullptr) continue;
    step.moves_domains =
        step.was == nullptr || step.is == nullptr || step.was->labels != step.is->labels;
    step.moves_pods =
        step.was == nullptr || step.is == nullptr ||
        step.was->allocatable != step.is->allocatable ||
        (step.moves_domains && (!w_.affinity->empty() || !WeighAlike(*step.was, *step.is)));
    steps.push_back(step);
  }
  return steps;
}

bool ClusterUpdater::CanTake(const NodeStep& step) const {
  if (step.is == nullptr) return c_.numa_.empty();  // the last node gets its id, but not its zones
  return (step.was != nullptr || !w_.any_zones) &&
         std::ranges::all_of(step.is->allocatable,
                             [&](const auto& each) { return c_.slots_.Find(each.first).valid(); });
}

void ClusterUpdater::TouchPodsOn(NameId node) {
  const PodColumns& pods = c_.pods_;
  for (const PodId pod : PodsOn(node))
    touched_pods_.insert({pods.namespace_name[pod], pods.name[pod]});
}

void ClusterUpdater::TouchPodsOf(const NodeStep& step) {
  if (!step.moves_pods) return;
  TouchPodsOn(c_.names_.Find(step.name));
  if (step.was != nullptr && step.is != nullptr) return;
  for (const auto& [namespace_name, pod] : w_.requests.PodsFor(step.name))
    touched_pods_.insert(KeyOf(namespace_name, pod));
}

// False: the amount that pods of some class count for changes.
bool ClusterUpdater::UpdateNodes(const std::vector<NodeStep>& steps) {
  bool regroups = false;
  for (const NodeStep& step : steps) {
    regroups = regroups || step.moves_domains;
    NodeId node = w_.directory.FindNode(step.name);
    if (step.is == nullptr) {
      RemoveNode(node);
    } else if (step.was == nullptr) {
      node = AddNode(*step.is);
    } else if (step.moves_pods) {
      CountNode(node, false);
      WriteNode(node, *step.is);
    } else {
      Reclassify(node, *step.is);
    }
    delta_.other_nodes.insert(node);
  }
  delta_.nodes.insert(delta_.other_nodes.begin(), delta_.other_nodes.end());
  if (regroups && !(w_.affinity->empty() && c_.topologies_.empty())) {
    const std::vector<const NodeRow*> rows = PointersTo(nodes_);
    if (!w_.affinity->empty()) c_.affinity_.SetDomains(w_.affinity->DomainsOf(rows));
    w_.topologies.Regroup(rows);
  }
  if (!delta_.is_reordered) return true;
  const std::vector<double> largest = c_.largest_node_;
  const GpuMemoryRange range = w_.gpu_memory;
  w_.FindExtremes();
  delta_.largest_differs = c_.largest_node_ != largest;
  return w_.gpu_memory == range ||
         std::ranges::none_of(c_.pod_classes_.info.raw(), [](const PodClass& pods) {
           return pods.gpu.kind == GpuRequestKind::kMemory;
         });
}

NodeId ClusterUpdater::AddNode(const NodeRow& row) {
  const NodeId node(c_.nodes_.size());
  ++nodes_ever_;
  c_.nodes_.Resize(node.index() + 1);
  nodes_.emplace_back();
  w_.directory.Add(row.name, node);
  WriteNode(node, row);
  RankOneMore(c_.names_, node, &c_.nodes_);
  return node;
}

void ClusterUpdater::RemoveNode(NodeId node) {
  NodeColumns& nodes = c_.nodes_;
  const NodeId last(nodes.size() - 1);
  CountNode(node, false);
  RankWithout(node, &nodes);
  w_.directory.RemoveNode(nodes_[node.index()].name);
  if (node != last) {
    nodes.Move(last, node);
    nodes_[node.index()] = std::move(nodes_[last.index()]);
    w_.directory.Add(nodes_[node.index()].name, node);
    for (const PodId pod : PodsOn(nodes.name[node])) {
      if (c_.pods_.node[pod] == last) c_.pods_.node[pod] = node;
      if (c_.pods_.group[pod].valid()) delta_.groups.insert(c_.pods_.group[pod]);
    }
    delta_.other_nodes.insert(last);
  }
  nodes.Resize(last.index());
  nodes_.pop_back();
  delta_.is_reordered = true;
}

void ClusterUpdater::WriteNode(NodeId node, const NodeRow& row) {
  NodeColumns& nodes = c_.nodes_;
  nodes_[node.index()] = row;
  const NodeFacts facts = NodeFactsOf(row);
  NameNode(row, facts, node, &c_.names_, &nodes);
  w_.OfferNode(node, row, facts);
  nodes.labels[node] = w_.labels.Pick(row, &c_.names_);
  w_.ClassifyNode(node, row, facts);
  Empty(node);
  CountNode(node, true);
  delta_.is_reordered = true;
}

// Removes every trace of earlier pods. No pod may be on the node.
void ClusterUpdater::Empty(NodeId node) {
  NodeColumns& nodes = c_.nodes_;
  std::ranges::copy(nodes.allocatable[node], nodes.idle[node].begin());
  std::ranges::fill(nodes.releasing[node], 0);
  std::ranges::fill(nodes.used[node], 0);
  nodes.shared_gpus[node].clear();
}

void ClusterUpdater::Reclassify(NodeId node, const NodeRow& row) {
  nodes_[node.index()] = row;
  CountNode(node, false);
  const bool was_cpu_only = c_.nodes_.cpu_only[node] != 0;
  c_.nodes_.labels[node] = w_.labels.Pick(row, &c_.names_);
  w_.ClassifyNode(node, row, NodeFactsOf(row));
  if ((c_.nodes_.cpu_only[node] != 0) != was_cpu_only) delta_.is_reordered = true;
  CountNode(node, true);
}

// Nodes that accept no pods offer nothing to queues, and foreign pods on them reduce nothing.
void ClusterUpdater::CountNode(NodeId node, bool comes) {
  QuotaCount offered = OfferedToQueues(c_, node);
  for (const PodId pod : PodsOn(c_.nodes_.name[node])) {
    if (w_.is_foreign[pod.index()] != 0) offered -= TakenFromQueues(c_, pod);
  }
  comes ? c_.total_ += offered : c_.total_ -= offered;
}

// Zones of an unknown node are used when the node is added.
bool ClusterUpdater::ChangeZones(const ClusterChanges::Change<NodeZonesRow>& change) {
  w_.any_zones = true;
  const NodeId node = w_.directory.FindNode(change.name);
  if (!node.valid()) return true;
  return change.row != nullptr && w_.numa.ChangeNode(*change.row, node);
}

// ---- queues

// True: the queue keeps its parent.
bool ClusterUpdater::CanTake(const ClusterChanges::Change<QueueRow>& change) const {
  if (!c_.params_.full_hierarchy_fairness) return false;  // queues have other parents
  const auto known = w_.queue_rows.find(std::string(change.name));
  if (change.row == nullptr || known == w_.queue_rows.end())
    return change.row == nullptr && known == w_.queue_rows.end();
  return change.row->parent == known->second.parent && change.row->labels == known->second.labels;
}

void ClusterUpdater::UpdateQueue(const QueueRow& row) {
  const QueueId queue = w_.directory.FindQueue(row.name);
  if (queue.valid()) WriteQuotas(row, queue, &c_.names_, &c_.queues_);
}

// ---- what must be checked again

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
    if (each.row != nullptr && OnlyStampsDiffer(group, *each.row)) {
      w_.pod_groups->Stamp(*each.row, group);
      touched_groups_.insert(group);
      continue;
    }
    TouchPodsThatName(KeyOf(each.namespace_name, each.name));
    known.push_back(group);
  }
  return known;
}

void ClusterUpdater::TouchPodsThatName(const Key& group) {
  const auto pods = naming_.find(group);
  if (pods != naming_.end()) touched_pods_.insert(pods->second.begin(), pods->second.end());
}

// What pods take of shared GPUs depends on their order. If such a pod is added or removed, all pods
// of the node are removed and added again, in the order of names.
void ClusterUpdater::TouchPodsWithSharers() {
  for (const Key& key : touched_pods_) {
    const auto known = pods_.find(key);
    if (known == pods_.end() || !known->second.row->spec->gpu.IsShared()) continue;
    const std::optional<PodDraft> draft = w_.DraftOf(*known->second.row);
    if (draft && draft->node.valid()) sharing_nodes_.insert(c_.nodes_.name[draft->node]);
  }
  for (const NameId node : sharing_nodes_) TouchPodsOn(node);
}

bool ClusterUpdater::ChangeNamespaces(const ClusterChanges& changes) {
  return std::ranges::all_of(changes.namespaces, [&](const auto& each) {
    return each.name.empty() || w_.namespaces->Change(each.name, each.row);
  });
}

// Pods that need one of these ConfigMaps get another class. False: the set of ConfigMaps was
// unknown, or is now empty, which may mean unknown.
bool ClusterUpdater::ChangeConfigMaps(const ClusterChanges& changes) {
  if (changes.config_maps.empty()) return true;
  ConfigMaps& all = *w_.config_maps;
  if (!all.are_known()) return false;
  std::set<std::pair<std::string_view, std::string_view>> needed;
  for (const auto& [namespace_name, name, row] : changes.config_maps) {
    if (all.Set(namespace_name, name, row != nullptr) && all.IsNeeded(namespace_name, name))
      needed.emplace(namespace_name, name);
  }
  if (all.empty()) return false;
  if (needed.empty()) return true;
  for (const auto& [key, known] : pods_) {
    const CompactPod& pod = *known.row;
    if (std::ranges::any_of(pod.spec->config_maps, [&](const std::string& name) {
          return needed.contains({pod.namespace_name, name});
        })) {
      touched_pods_.insert(key);
    }
  }
  return true;
}

void ClusterUpdater::TakeOutTouched() {
  for (const Key& key : touched_pods_) {
    const auto known = pods_.find(key);
    if (known != pods_.end() && known->second.id.valid()) TakeOut(&known->second);
  }
  WritePodSets();
}

bool ClusterUpdater::PutTouched() {
  std::vector<Incoming> pods;
  for (const Key& key : touched_pods_) {
    const auto known = pods_.find(key);
    if (known == pods_.end()) continue;
    std::optional<PodDraft> draft = w_.DraftOf(*known->second.row);
    if (draft) pods.push_back({&known->second, *std::move(draft)});
  }
  const SharedGpuLists shared = ListSharedGpus(&pods);
  for (Incoming& each : pods) {
    if (!Put(&each, shared)) return false;
  }
  c_.shares_gpus_ = sharers_ > 0;
  c_.hides_shared_gpus_ = hidden_sharers_ > 0;
  WritePodSets();
  return true;
}

SharedGpuLists ClusterUpdater::ListSharedGpus(std::vector<Incoming>* pods) {
  SharedGpuLists shared;
  if (sharing_nodes_.empty()) return shared;
  for (const NameId name : sharing_nodes_) {
    const NodeId node = w_.directory.FindNode(c_.Text(name));
    if (node.valid()) Empty(node);
  }
  std::ranges::sort(*pods, {}, [](const Incoming& each) { return NamespacedKey(*each.draft.row); });
  for (const auto& [pod, draft] : *pods) {
    if (draft.gpu.IsShared() && draft.node.valid()) shared.Note(draft.gpu_groups(), draft.node);
  }
  shared.Write(&c_.names_, &c_.nodes_);
  return shared;
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

std::span<const PodId> ClusterUpdater::PodsOn(NameId node) const {
  const auto on = pods_on_.find(node);
  return on == pods_on_.end() ? std::span<const PodId>() : on->second;
}

void ClusterUpdater::AddToNode(Known* pod, std::string_view node) {
  if (node.empty()) return;
  pod->node = c_.names_.Intern(node);
  pods_on_[pod->node].push_back(pod->id);
}

void ClusterUpdater::RemoveFromNode(Known* pod) {
  const auto on = pods_on_.find(pod->node);
  pod->node = NameId();
  if (on == pods_on_.end()) return;
  std::erase(on->second, pod->id);
  if (on->second.empty()) pods_on_.erase(on);
}

void ClusterUpdater::AddGroups(const ClusterChanges& changes) {
  for (const auto& [namespace_name, name, row] : changes.pod_groups) {
    if (row == nullptr || !w_.IsKept(*row)) continue;
    if (w_.directory.FindPodGroup(namespace_name, name).valid()) continue;  // it remains
    const PodGroupId group = w_.pod_groups->Add(*row);
    specs_.resize(group.index() + 1);
    specs_.back() = row->spec;
    w_.creation.Add(group);
    touched_groups_.insert(group);
    TouchPodsThatName(KeyOf(namespace_name, name));
  }
}

bool ClusterUpdater::OnlyStampsDiffer(PodGroupId group, const CompactPodGroup& row) const {
  if (group.index() >= specs_.size()) return false;
  const std::weak_ptr<const PodGroupSpecRow>& spec = specs_[group.index()];
  const PodGroupColumns& groups = c_.pod_groups_;
  const NameId owner = groups.owner_name[group];
  return !spec.owner_before(row.spec) && !row.spec.owner_before(spec) &&
         groups.created_ns[group] == row.created_ns.value_or(kNoTime) &&
         groups.estimate_ns[group] == row.estimate_ns.value_or(-1) &&
         (owner.valid() ? c_.Text(owner) : "") == row.owner_name;
}

void ClusterUpdater::RemoveGroup(PodGroupId group) {
  PodGroupColumns& groups = c_.pod_groups_;
  if (!w_.rejections.empty()) {
    const std::string name = c_.PodGroupName(group);
    std::erase_if(w_.rejections, [&](const Rejection& each) {
      return each.kind == "PodGroup" && each.name == name;
    });
  }
  w_.creation.Remove(group);
  w_.directory.Remove(c_.Text(groups.namespace_name[group]), c_.Text(groups.name[group]));
  groups.name[group] = NameId();
}

bool ClusterUpdater::IsWorthwhile() const {
  return c_.names_.size() < 2 * names_at_first_ + 65536 &&
         nodes_ever_ < 2 * nodes_at_first_ + 1024 &&
         c_.node_classes_.size() < 2 * nodes_at_first_ + 1024 &&
         c_.pod_groups_.size() < 2 * groups_at_first_ + 1024 &&
         c_.pod_classes_.size() < 2 * classes_at_first_ + 1024;
}

// ---- pods

bool ClusterUpdater::CanPut(const CompactPod& row) const {
  const auto are_slots = [&](const ResourceAmounts& amounts) {
    return std::ranges::all_of(
        amounts, [&](const auto& each) { return c_.slots_.Find(each.first).valid(); });
  };
  return row.extras->claims.empty() && row.extras->volumes.empty() &&
         !w_.extended.AnyOf(row.spec->extended_requests) && are_slots(row.spec->requests) &&
         are_slots(row.spec->overhead) && are_slots(row.spec->gpu.mig);
}

bool ClusterUpdater::Put(Incoming* incoming, const SharedGpuLists& shared) {
  auto& [known, draft] = *incoming;
  const CompactPod& row = *known->row;
  if (!CanPut(row)) return false;
  const size_t terms = w_.affinity->size();
  if (!w_.namespaces->Add(row.namespace_name)) return false;
  draft.affinity = w_.affinity->AffinityOf(row);
  draft.constraint = w_.constraints.Add(row, VolumeNeedsId(), w_.affinity->SpreadOf(row));
  if (w_.affinity->size() != terms) return false;
  if (draft.constraint.index() == c_.is_checked_per_node_.size()) {
    const NodeConstraint& constraint = c_.constraints_[draft.constraint];
    if (!w_.labels.Contains(constraint)) return false;
    c_.is_checked_per_node_.Add(w_.labels.IsCheckedPerNode(constraint) ? 1 : 0);
  }
  const PodClassId pod_class = w_.classes->Add(draft);

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
  const bool shares = draft.gpu.IsShared() && draft.node.valid();
  pod_writer_.Write(pod, draft, pod_class, c_.pod_classes_.request[pod_class][kGpuSlot.index()],
                    shares ? shared.Of(draft.gpu_groups(), draft.node) : GpuList());
  if (const SubGroupId pod_set = c_.pods_.pod_set[pod]; pod_set.valid())
    Edit(pod_set).push_back(pod);
  if (draft.group.valid()) touched_groups_.insert(draft.group);
  if (draft.node.valid()) {
    Occupancy(&c_).Occupy(pod, draft.node, draft.status, c_.pods_.gpus[pod]);
    delta_.nodes.insert(draft.node);
  }
  if (draft.group.valid() && c_.pod_classes_.info[pod_class].numa.valid())
    w_.numa.NotePlacement(row, draft.bind_request, pod, draft.node, &w_.rejections);
  if (IsActiveUsed(draft.status)) AddToNode(known, draft.node_name());
  CountSharer(pod, 1);
  Count(pod, true);
  return true;
}

void ClusterUpdater::TakeOut(Known* known) {
  const PodId pod = known->id;
  Count(pod, false);
  CountSharer(pod, -1);
  if (const NodeId node = c_.pods_.node[pod]; node.valid()) {
    Occupancy(&c_).Vacate(pod, node, c_.pods_.status[pod]);
    delta_.nodes.insert(node);
  }
  if (const SubGroupId pod_set = c_.pods_.pod_set[pod]; pod_set.valid())
    std::erase(Edit(pod_set), pod);
  if (const PodGroupId group = c_.pods_.group[pod]; group.valid()) touched_groups_.insert(group);
  RemoveFromNode(known);
  if (!c_.numa_.empty()) ForgetZones(pod);
  pod_writer_.Remove(pod);
  w_.pod_rows[pod.index()] = nullptr;
  free_pods_.push_back(pod);
  known->id = PodId();
}

void ClusterUpdater::ForgetZones(PodId pod) {
  w_.numa.ForgetPlacement(pod);
  std::erase_if(w_.rejections, [&](const Rejection& each) {
    return each.kind == "Pod" && each.name == c_.PodName(pod);
  });
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

void ClusterUpdater::CountSharer(PodId pod, int64_t by) {
  if (!c_.ClassOf(pod).gpu.IsShared()) return;
  sharers_ += by;
  const NodeId node = c_.pods_.node[pod];
  if (!node.valid()) return;
  if (c_.pods_.gpus[pod].empty()) hidden_sharers_ += by;
  sharing_nodes_.insert(c_.nodes_.name[node]);
}

// ---- lists of pod sets

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
    // A growing list moves to the end. The space that it leaves is reclaimed when there is more
    // unused space than lists.
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
  return HeapBytesOfAll(nodes_, pods_, naming_, specs_, free_pods_, touched_pods_, touched_groups_);
}

}  // namespace kai
