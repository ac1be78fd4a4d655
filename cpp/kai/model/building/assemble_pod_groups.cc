// Pod groups and the trees of sub-groups inside them.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <tuple>

#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr int64_t kDefaultPodGroupPriority = 50;  // spec 2 G4
constexpr int64_t kPreemptibleBelow = 100;        // spec 1 F96

// A threshold as somebody wrote it: never below zero.
int32_t Threshold(int64_t written) {
  return static_cast<int32_t>(std::clamp<int64_t>(written, 0, std::numeric_limits<int32_t>::max()));
}

}  // namespace

SubGroupId ClusterAssembler::AddSet(PodGroupId group, const SetDraft& draft) {
  SubGroupColumns& sets = c_.sub_groups_;
  const SubGroupId id = sets.name.Add(Name(draft.name));
  sets.group.Add(group);
  sets.parent.Add(draft.parent);
  sets.is_pod_set.Add(draft.is_pod_set ? 1 : 0);
  sets.minimum.Add(Threshold(draft.minimum));
  sets.minimum_given.Add(draft.minimum_given ? 1 : 0);
  sets.topology.Add(draft.topology == nullptr ? TopologyConstraintId()
                                              : TopologyConstraintOf(*draft.topology, draft.wish));
  sets.children.Add({});
  sets.pods.Add({});
  sets.counts.Add({});
  if (draft.is_pod_set) c_.pod_groups_.pod_set_list.push_back(id);
  return id;
}

// The tree of spec 2 G5. False: the tree makes no sense, and nothing was added.
bool ClusterAssembler::BuildSubGroups(PodGroupId group, const PodGroupRow& row) {
  SubGroupColumns& sets = c_.sub_groups_;
  const std::string pod_group = QualifiedName(row.namespace_name, row.name);
  std::map<std::string, const SubGroupRow*> by_name;
  for (const SubGroupRow& sub : row.sub_groups) {
    if (!by_name.emplace(sub.name, &sub).second) {
      Reject("PodGroup", pod_group, "spec.subGroups",
             StrCat("subgroup ", sub.name, " already exists"));
      return false;
    }
  }
  std::map<std::string, std::vector<std::string>>
      children;  // "" is the root; by name, because by_name is
  for (const auto& [name, sub] : by_name) {
    std::string parent = sub->parent.value_or("");
    std::transform(parent.begin(), parent.end(), parent.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!parent.empty() && !by_name.contains(parent)) {
      Reject("PodGroup", pod_group, "spec.subGroups",
             StrCat("parent subgroup ", parent, " of ", name, " not found"));
      return false;
    }
    children[parent].push_back(name);
  }
  // Whatever the root does not reach hangs in a cycle.
  std::vector<std::string> reached = children[""];
  for (size_t i = 0; i < reached.size(); ++i) {
    const std::vector<std::string>& below = children[reached[i]];
    reached.insert(reached.end(), below.begin(), below.end());
  }
  if (reached.size() != by_name.size()) {
    Reject("PodGroup", pod_group, "spec.subGroups", "cycle detected in subgroups");
    return false;
  }

  struct Pending {
    std::string name;
    SubGroupId parent;
  };
  const SubGroupId root = c_.pod_groups_.root[group];
  std::vector<Pending> queue;
  for (const std::string& name : children[""]) queue.push_back({name, root});
  sets.minimum[root] =
      Threshold(row.min_sub_group.value_or(static_cast<int64_t>(children[""].size())));
  sets.minimum_given[root] = row.min_sub_group.has_value() ? 1 : 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    const Pending pending = queue[i];
    const SubGroupRow& sub = *by_name.at(pending.name);
    const std::vector<std::string>& below = children[pending.name];
    if (below.empty()) {
      AddSet(group, {.parent = pending.parent,
                     .name = pending.name,
                     .is_pod_set = true,
                     .minimum = sub.min_member.value_or(0),
                     .topology = &sub.topology});
      continue;
    }
    const SubGroupId id =
        AddSet(group, {.parent = pending.parent,
                       .name = pending.name,
                       .minimum = sub.min_sub_group.value_or(static_cast<int64_t>(below.size())),
                       .minimum_given = sub.min_sub_group.has_value(),
                       .topology = &sub.topology});
    for (const std::string& name : below) queue.push_back({name, id});
  }
  return true;
}

void ClusterAssembler::PodGroups(std::vector<PodGroupRow> rows,
                                 const std::vector<PriorityClassRow>& classes) {
  absl::flat_hash_map<std::string, int64_t> priority_of;
  std::optional<int64_t> global_default;
  for (const PriorityClassRow& row : classes) {
    priority_of[row.name] = row.value;
    // Kubernetes admits one default class; of several the largest value is a choice that does not
    // depend on their order.
    if (row.global_default)
      global_default = std::max(global_default.value_or(row.value), row.value);
  }

  std::erase_if(rows, [&](const PodGroupRow& row) {
    if (!InNodePool(row.labels)) return true;
    // spec 2 G2: its one try in this node pool is over.
    const std::string* pool = FindLabelText(row.labels, c_.params_.node_pool_label_key);
    return row.scheduling_backoff.value_or(-1) != -1 && !row.latest_condition_node_pool.empty() &&
           row.latest_condition_node_pool ==
               (pool == nullptr ? kDefaultNodePool : std::string_view(*pool));
  });
  const std::vector<PodGroupRow*> sorted =
      SortedAndUnique(&rows, "PodGroup", NamespacedKey<PodGroupRow>, &c_.rejections_);

  PodGroupColumns& groups = c_.pod_groups_;
  SubGroupColumns& sets = c_.sub_groups_;
  for (const PodGroupRow* each : sorted) {
    const PodGroupRow& row = *each;
    const PodGroupId group = groups.name.Add(Name(row.name));
    groups.namespace_name.Add(Name(row.namespace_name));
    group_by_name_.emplace(std::pair(Name(row.namespace_name), Name(row.name)), group);
    groups.owner_name.Add(row.owner_name.empty() ? NameId() : Name(row.owner_name));
    groups.queue_name.Add(Name(row.queue));
    const auto queue = queue_by_name_.find(Name(row.queue));
    const bool queue_known = queue != queue_by_name_.end();
    groups.queue.Add(queue_known ? queue->second : QueueId());
    // A group in an unknown queue keeps priority 0 and cannot be preempted (spec 2 G3).
    int64_t priority = 0;
    if (queue_known) {
      const auto found = priority_of.find(row.priority_class);
      priority = found != priority_of.end() ? found->second
                                            : global_default.value_or(kDefaultPodGroupPriority);
    }
    groups.priority.Add(static_cast<int32_t>(priority));
    const bool preemptible = row.preemptibility == "preemptible" ||
                             (row.preemptibility.empty() && priority < kPreemptibleBelow);
    groups.preemptible.Add(queue_known && preemptible ? 1 : 0);
    groups.created_ns.Add(row.created_ns.value_or(kNoTime));
    groups.creation_rank.Add(0);
    groups.misfits.Add({});
    groups.backoff_prefix.Add(row.scheduling_backoff.value_or(-1) == 1 ? 1 : 0);
    const std::string* pool = FindLabelText(row.labels, c_.params_.node_pool_label_key);
    groups.node_pool.Add(Name(pool == nullptr ? kDefaultNodePool : std::string_view(*pool)));
    groups.last_start_ns.Add(row.last_start_ns.value_or(kNoTime));
    groups.stale_since_ns.Add(row.stale_since_ns.value_or(kNoTime));
    groups.last_eviction_ns.Add(row.last_eviction_ns.value_or(kNoTime));
    groups.preemption_delay_ns.Add(row.preemption_delay_ns.value_or(0));
    groups.staleness_grace_ns.Add(
        row.staleness_grace_ns.value_or(c_.params_.default_staleness_grace_ns));

    const SubGroupId root = AddSet(group, {.parent = SubGroupId(),
                                           .name = "",
                                           .minimum = 1,
                                           .topology = &row.topology,
                                           .wish = WishOf(row)});
    groups.root.Add(root);
    const auto first_set = static_cast<int32_t>(groups.pod_set_list.size());
    if (row.sub_groups.empty()) {
      sets.minimum[root] = Threshold(row.min_sub_group.value_or(1));
      sets.minimum_given[root] = row.min_sub_group.has_value() ? 1 : 0;
      AddSet(group, {.parent = root,
                     .name = kDefaultSubgroup,
                     .is_pod_set = true,
                     .minimum = row.min_member.value_or(1)});
    } else if (!BuildSubGroups(group, row)) {
      // KAI keeps its built-in tree (spec 2 G5), which asks for no place (spec 4 H3).
      sets.topology[root] = TopologyConstraintId();
      AddSet(group, {.parent = root, .name = kDefaultSubgroup, .is_pod_set = true, .minimum = 1});
    }
    const auto by_name = [&](SubGroupId a, SubGroupId b) {
      return c_.Text(sets.name[a]) < c_.Text(sets.name[b]);
    };
    std::sort(groups.pod_set_list.begin() + first_set, groups.pod_set_list.end(), by_name);
    groups.pod_sets.Add({first_set, static_cast<int32_t>(groups.pod_set_list.size())});
  }

  // Children lists, by name.
  IndexVector<SubGroupId, std::vector<SubGroupId>> children(sets.size());
  for (const SubGroupId id : sets.name.ids()) {
    if (sets.parent[id].valid()) children[sets.parent[id]].push_back(id);
  }
  for (const SubGroupId id : sets.name.ids()) {
    std::sort(children[id].begin(), children[id].end(), [&](SubGroupId a, SubGroupId b) {
      return c_.Text(sets.name[a]) < c_.Text(sets.name[b]);
    });
    const auto begin = static_cast<int32_t>(sets.child_list.size());
    sets.child_list.insert(sets.child_list.end(), children[id].begin(), children[id].end());
    sets.children[id] = {begin, static_cast<int32_t>(sets.child_list.size())};
  }

  // Ties between pod groups fall to the older, then to the lower name (without namespace: what KAI
  // calls its UID), then to the namespace.
  std::vector<PodGroupId> by_creation;
  for (const PodGroupId group : groups.name.ids()) by_creation.push_back(group);
  std::sort(by_creation.begin(), by_creation.end(), [&](PodGroupId a, PodGroupId b) {
    return std::tuple(groups.created_ns[a], c_.Text(groups.name[a]), a) <
           std::tuple(groups.created_ns[b], c_.Text(groups.name[b]), b);
  });
  for (size_t i = 0; i < by_creation.size(); ++i)
    groups.creation_rank[by_creation[i]] = static_cast<int32_t>(i);
}

bool ClusterAssembler::IsSimplyRunning(PodGroupId group) const {
  const PodGroupColumns& groups = c_.pod_groups_;
  if (!groups.queue[group].valid() || !groups.misfits[group].empty() ||
      groups.stale_since_ns[group] != kNoTime)
    return false;
  int32_t active = 0;
  const Span32 range = groups.pod_sets[group];
  for (int32_t i = range.begin; i < range.end; ++i) {
    const SubGroupId pod_set = groups.pod_set_list[static_cast<size_t>(i)];
    const StatusCounts& counts = c_.sub_groups_.counts[pod_set];
    if (counts[PodStatus::kPending] + counts[PodStatus::kGated] > 0 ||
        counts.active_used() < c_.sub_groups_.minimum[pod_set])
      return false;
    active += counts.active_used();
  }
  return active > 0 && !AsksForMoreChildrenThanItHas(groups.root[group]);
}

bool ClusterAssembler::AsksForMoreChildrenThanItHas(SubGroupId set) const {
  const SubGroupColumns& sets = c_.sub_groups_;
  if (sets.is_pod_set[set] != 0) return false;
  const Span32 range = sets.children[set];
  if (sets.minimum[set] > range.size()) return true;
  for (int32_t i = range.begin; i < range.end; ++i) {
    if (AsksForMoreChildrenThanItHas(sets.child_list[static_cast<size_t>(i)])) return true;
  }
  return false;
}

ElasticState ClusterAssembler::ElasticStateOf(PodGroupId group) const {
  const Span32 range = c_.pod_groups_.pod_sets[group];
  ElasticState state = ElasticState::kAt;
  for (int32_t i = range.begin; i < range.end; ++i) {
    const SubGroupId pod_set = c_.pod_groups_.pod_set_list[static_cast<size_t>(i)];
    const int32_t active = c_.sub_groups_.counts[pod_set].active_allocated();
    if (active < c_.sub_groups_.minimum[pod_set]) return ElasticState::kBelow;
    if (active > c_.sub_groups_.minimum[pod_set]) state = ElasticState::kAbove;
  }
  return state;
}

void ClusterAssembler::SortPodSets() {
  SubGroupColumns& sets = c_.sub_groups_;
  const PodColumns& pods = c_.pods_;
  for (const SubGroupId set : sets.name.ids()) {
    const Span32 range = sets.pods[set];
    const auto begin = sets.pod_list.begin() + range.begin;
    const auto end = sets.pod_list.begin() + range.end;
    const bool is_labelled = std::any_of(begin, end, [&](PodId pod) {
      return pods.is_kubeflow_lead[pod] != 0 || pods.is_ray_head[pod] != 0 ||
             pods.task_priority[pod].valid();
    });
    if (is_labelled) sets.labelled.push_back(set);
    if (sets.is_pod_set[set] != 0 && sets.counts[set][PodStatus::kSucceeded] > 0)
      sets.completed.push_back(set);
    std::sort(begin, end, [&](PodId a, PodId b) {
      return std::pair(pods.created_ns[a], pods.uid_rank[a]) <
             std::pair(pods.created_ns[b], pods.uid_rank[b]);
    });
  }
}

void ClusterAssembler::ListPodGroups() {
  PodGroupColumns& groups = c_.pod_groups_;
  PodGroupLists& lists = groups.lists;
  groups.may_run.Resize(groups.size(), 1);
  groups.elastic_state.Resize(groups.size());
  for (const PodGroupId group : groups.name.ids()) {
    groups.elastic_state[group] = ElasticStateOf(group);
  }
  IndexVector<PodGroupId, uint8_t> is_understood(groups.size(), 1);
  for (const PodId pod : c_.pods_.name.ids()) {
    const PodStatus status = c_.pods_.status[pod];
    const bool is_strange = c_.pods_.group[pod].valid() && !c_.ClassOf(pod).not_built.empty();
    // What runs in a way that the engine does not know yet it could not move either.
    if (is_strange && IsActiveAllocated(status)) is_understood[c_.pods_.group[pod]] = 0;
    if (status == PodStatus::kReleasing && c_.pods_.deletion_ns[pod] != kNoTime)
      c_.pods_.leaving.push_back(pod);
    const bool waits = status == PodStatus::kPending || status == PodStatus::kGated;
    if (waits && is_strange) groups.may_run[c_.pods_.group[pod]] = 0;
  }
  lists.all.resize(groups.size());
  lists.may_lose_in.Resize(c_.queues_.size());
  for (const PodGroupId group : groups.name.ids())
    lists.all[static_cast<size_t>(groups.creation_rank[group])] = group;
  for (const PodGroupId group : lists.all) {
    int32_t waiting = 0;
    int32_t active = 0;
    const Span32 range = groups.pod_sets[group];
    for (int32_t i = range.begin; i < range.end; ++i) {
      const StatusCounts& counts =
          c_.sub_groups_.counts[groups.pod_set_list[static_cast<size_t>(i)]];
      waiting += counts[PodStatus::kPending];
      active += counts.active_allocated();
    }
    if (waiting > 0) lists.waiting.push_back(group);
    const QueueId queue = groups.queue[group];
    if (active > 0 && groups.preemptible[group] != 0 && is_understood[group] != 0 &&
        queue.valid() && c_.queues_.IsLeaf(queue)) {
      lists.may_lose.push_back(group);
      lists.may_lose_in[queue].push_back(group);
    }
    if (!IsSimplyRunning(group)) lists.notable.push_back(group);
  }
  const auto is_victim_before = [&](PodGroupId a, PodGroupId b) {
    if (groups.priority[a] != groups.priority[b]) return groups.priority[a] < groups.priority[b];
    if (groups.elastic_state[a] != groups.elastic_state[b])
      return groups.elastic_state[a] > groups.elastic_state[b];
    return groups.creation_rank[a] > groups.creation_rank[b];
  };
  std::vector<PodGroupId> victims(lists.all.rbegin(), lists.all.rend());  // often that is all
  if (!std::is_sorted(victims.begin(), victims.end(), is_victim_before))
    std::sort(victims.begin(), victims.end(), is_victim_before);
  groups.victim_rank.Resize(groups.size());
  for (size_t i = 0; i < victims.size(); ++i)
    groups.victim_rank[victims[i]] = static_cast<int32_t>(i);
  lists.bounds_in.Resize(c_.queues_.size());
  for (const QueueId queue : c_.queues_.name.ids()) {
    PodGroupLists::Bounds& bounds = lists.bounds_in[queue];
    PodGroupId older;
    for (const PodGroupId group : lists.may_lose_in[queue]) {
      bounds.highest_priority = std::max(bounds.highest_priority, groups.priority[group]);
      bounds.latest_start_ns = std::max(bounds.latest_start_ns, groups.last_start_ns[group]);
      if (older.valid() && groups.victim_rank[older] < groups.victim_rank[group])
        bounds.youngest_first = false;
      older = group;
    }
  }
}

}  // namespace kai
