#include "kai/model/building/pod_group_lists.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/model/building/pod_group_writer.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

bool NeedsMoreChildrenThanItHas(SubGroupId set, const SubGroupColumns& sets) {
  if (sets.is_pod_set[set] != 0) return false;
  const std::span<const SubGroupId> children = sets.ChildrenOf(set);
  return sets.minimum[set] > static_cast<int64_t>(children.size()) ||
         std::any_of(children.begin(), children.end(),
                     [&](SubGroupId child) { return NeedsMoreChildrenThanItHas(child, sets); });
}

// True: the group needs no message.
bool IsSimplyRunning(PodGroupId group, const PodGroupColumns& groups, const SubGroupColumns& sets) {
  if (!groups.queue[group].valid() || !groups.misfits[group].empty() ||
      groups.stale_since_ns[group] != kNoTime)
    return false;
  int32_t active = 0;
  for (const SubGroupId pod_set : groups.PodSetsOf(group)) {
    const StatusCounts& counts = sets.counts[pod_set];
    if (counts[PodStatus::kPending] + counts[PodStatus::kGated] > 0 ||
        counts.active_used() < sets.minimum[pod_set])
      return false;
    active += counts.active_used();
  }
  return active > 0 && !NeedsMoreChildrenThanItHas(groups.root[group], sets);
}

ElasticState ElasticStateOf(PodGroupId group, const PodGroupColumns& groups,
                            const SubGroupColumns& sets) {
  ElasticState state = ElasticState::kAt;
  for (const SubGroupId pod_set : groups.PodSetsOf(group)) {
    const int32_t active = sets.counts[pod_set].active_allocated();
    if (active < sets.minimum[pod_set]) return ElasticState::kBelow;
    if (active > sets.minimum[pod_set]) state = ElasticState::kAbove;
  }
  return state;
}

// What the pods of a group have that concerns the whole group.
struct Traits {
  // It has pods that need labels of unknown namespaces. Such a waiting pod cannot run, and such a
  // running pod could not be moved.
  bool strange_waits = false;
  bool strange_runs = false;
  bool bare_runs = false;  // a pod on a node would not be created again
};

Traits TraitsOf(const Cluster& cluster, PodGroupId group) {
  const PodColumns& pods = cluster.pods();
  Traits traits;
  const auto look = [&](std::span<const PodId> some) {
    for (const PodId pod : some) {
      const PodStatus status = pods.status[pod];
      if (pods.is_bare[pod] != 0) traits.bare_runs = traits.bare_runs || IsActiveAllocated(status);
      if (!cluster.ClassOf(pod).needs_namespaces) continue;
      traits.strange_runs = traits.strange_runs || IsActiveAllocated(status);
      traits.strange_waits =
          traits.strange_waits || status == PodStatus::kPending || status == PodStatus::kGated;
    }
  };
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group))
    look(cluster.sub_groups().PodsOf(pod_set));
  look(cluster.pod_groups().misfits[group]);
  return traits;
}

void Widen(PodGroupId group, const PodGroupColumns& groups, PodGroupLists::Bounds* bounds) {
  bounds->lowest_priority = std::min(bounds->lowest_priority, groups.priority[group]);
  bounds->highest_priority = std::max(bounds->highest_priority, groups.priority[group]);
  bounds->latest_start_ns = std::max(bounds->latest_start_ns, groups.last_start_ns[group]);
}

PodGroupLists::Bounds BoundsOf(const std::vector<PodGroupId>& may_lose,
                               const PodGroupColumns& groups) {
  PodGroupLists::Bounds bounds;
  PodGroupId older;
  for (const PodGroupId group : may_lose) {
    Widen(group, groups, &bounds);
    if (older.valid() && groups.IsVictimBefore(older, group)) bounds.youngest_first = false;
    older = group;
  }
  return bounds;
}

// Computes the state of one group and finds the lists that it belongs to.
class Lister {
 public:
  Lister(const Cluster& cluster, PodGroupColumns* groups) : cluster_(cluster), groups_(*groups) {}

  // Fills `may_run`, `has_bare` and `elastic_state`.
  void Look(PodGroupId group) {
    traits_ = TraitsOf(cluster_, group);
    groups_.may_run[group] = traits_.strange_waits ? 0 : 1;
    groups_.has_bare[group] = traits_.bare_runs ? 1 : 0;
    groups_.elastic_state[group] = ElasticStateOf(group, groups_, cluster_.sub_groups());
  }

  // For the group that was given to Look() last.
  template <typename Visit>
  void ForEachListOf(PodGroupId group, const Visit& visit) {
    const SubGroupColumns& sets = cluster_.sub_groups();
    PodGroupLists& lists = groups_.lists;
    int32_t waiting = 0;
    int32_t active = 0;
    for (const SubGroupId pod_set : groups_.PodSetsOf(group)) {
      waiting += sets.counts[pod_set][PodStatus::kPending];
      active += sets.counts[pod_set].active_allocated();
    }
    if (waiting > 0) visit(&lists.waiting);
    const QueueId queue = groups_.queue[group];
    if (active > 0 && groups_.preemptible[group] != 0 && !traits_.strange_runs && queue.valid() &&
        cluster_.queues().IsLeaf(queue)) {
      visit(&lists.may_lose);
      visit(&lists.may_lose_in[queue]);
    }
    if (!IsSimplyRunning(group, groups_, sets)) visit(&lists.notable);
  }

 private:
  const Cluster& cluster_;
  PodGroupColumns& groups_;
  Traits traits_;
};

// A pod without a UID uses namespace/name (spec 2 O3).
bool HasLowerUid(const CompactPod& a, const CompactPod& b) {
  const auto uid = [](const CompactPod& row, std::string* name) -> std::string_view {
    return row.uid.empty() ? *name = NameOf(row) : row.uid;
  };
  std::string name_a, name_b;
  return std::pair(uid(a, &name_a), NamespacedKey(a)) <
         std::pair(uid(b, &name_b), NamespacedKey(b));
}

}  // namespace

void SortPodsOf(SubGroupId pod_set, const PodColumns& pods, std::span<const CompactPod* const> rows,
                SubGroupColumns* sets) {
  const Span32 range = sets->pods[pod_set];
  const auto begin = sets->pod_list.begin() + range.begin;
  const auto end = sets->pod_list.begin() + range.end;
  const bool is_labelled = std::any_of(begin, end, [&](PodId pod) {
    return pods.is_kubeflow_lead[pod] != 0 || pods.is_ray_head[pod] != 0 ||
           pods.task_priority[pod].valid();
  });
  if (is_labelled) sets->labelled.push_back(pod_set);
  if (sets->is_pod_set[pod_set] != 0 && sets->counts[pod_set][PodStatus::kSucceeded] > 0)
    sets->completed.push_back(pod_set);
  std::sort(begin, end, [&](PodId a, PodId b) {
    if (pods.created_ns[a] != pods.created_ns[b]) return pods.created_ns[a] < pods.created_ns[b];
    return HasLowerUid(*rows[a.index()], *rows[b.index()]);
  });
}

void ListPodGroups(const Cluster& cluster, PodGroupColumns* groups) {
  groups->elastic_state.Resize(groups->size());
  groups->may_run.Resize(groups->size());
  groups->has_bare.Resize(groups->size());
  groups->lists.may_lose_in.Resize(cluster.queues().size());
  Lister lister(cluster, groups);
  for (const PodGroupId group : InOrderOfCreation(*groups)) {
    lister.Look(group);
    lister.ForEachListOf(group, [&](std::vector<PodGroupId>* list) { list->push_back(group); });
  }
  for (const std::vector<PodGroupId>& may_lose : groups->lists.may_lose_in.raw())
    groups->lists.bounds_in.Add(BoundsOf(may_lose, *groups));
}

namespace {

// Up to this number, groups are removed from lists and added to them one by one.
constexpr size_t kFew = 4;

// Updates the lists of pod groups after changes to some groups.
class Relister {
 public:
  Relister(const Cluster& cluster, PodGroupColumns* groups)
      : groups_(*groups), lists_(groups->lists), lister_(cluster, groups) {}

  void Relist(PodGroupId group) {
    for (auto* list : {&lists_.waiting, &lists_.may_lose, &lists_.notable}) TakeOff(group, list);
    const QueueId queue = groups_.queue[group];
    if (queue.valid() && TakeOff(group, &lists_.may_lose_in[queue])) {
      ++lists_.bounds_in[queue].left;
      queues_.push_back(queue);
    }
    if (!groups_.name[group].valid()) return;
    lister_.Look(group);
    lister_.ForEachListOf(group, [&](std::vector<PodGroupId>* list) {
      const auto place = list->insert(PlaceByAge(group, *list, groups_), group);
      if (queue.valid() && list == &lists_.may_lose_in[queue])
        Widen(*list, place, &lists_.bounds_in[queue]);
    });
  }

  // For many groups: walks through each list once.
  void RelistAll(std::span<const PodGroupId> changed) {
    IndexVector<PodGroupId, uint8_t> marks(groups_.size());
    for (const PodGroupId group : changed) {
      marks[group] = 1;
      if (groups_.queue[group].valid()) queues_.push_back(groups_.queue[group]);
    }
    std::ranges::sort(queues_);
    queues_.erase(std::ranges::unique(queues_).begin(), queues_.end());
    std::vector<std::vector<PodGroupId>*> lists = {&lists_.waiting, &lists_.may_lose,
                                                   &lists_.notable};
    for (const QueueId queue : queues_) lists.push_back(&lists_.may_lose_in[queue]);
    std::map<std::vector<PodGroupId>*, size_t> kept;
    for (auto* list : lists) {
      std::erase_if(*list, [&](PodGroupId group) { return marks[group] != 0; });
      kept[list] = list->size();
    }
    for (const PodGroupId group : changed) {
      if (marks[group] == 0 || !groups_.name[group].valid()) continue;
      marks[group] = 0;  // it may be in `changed` twice
      lister_.Look(group);
      lister_.ForEachListOf(group, [&](std::vector<PodGroupId>* list) { list->push_back(group); });
    }
    const auto is_older = [&](PodGroupId a, PodGroupId b) {
      return groups_.creation_rank[a] < groups_.creation_rank[b];
    };
    for (auto* list : lists) {
      const auto added = list->begin() + static_cast<ptrdiff_t>(kept[list]);
      std::sort(added, list->end(), is_older);
      std::inplace_merge(list->begin(), added, list->end(), is_older);
    }
    for (const QueueId queue : queues_)
      lists_.bounds_in[queue] = BoundsOf(lists_.may_lose_in[queue], groups_);
  }

  // Computes the bounds again for lists that many groups have left. Spread over these groups, the
  // cost is small.
  void LookThrough() {
    for (const QueueId queue : queues_) {
      PodGroupLists::Bounds& bounds = lists_.bounds_in[queue];
      const std::vector<PodGroupId>& may_lose = lists_.may_lose_in[queue];
      if (static_cast<size_t>(bounds.left) * kWorthwhile > may_lose.size())
        bounds = BoundsOf(may_lose, groups_);
    }
  }

 private:
  static constexpr size_t kWorthwhile = 16;

  // True: the group was in the list.
  bool TakeOff(PodGroupId group, std::vector<PodGroupId>* list) const {
    const auto at = PlaceByAge(group, *list, groups_);
    if (at == list->end() || *at != group) return false;
    list->erase(at);
    return true;
  }
  void Widen(const std::vector<PodGroupId>& list, std::vector<PodGroupId>::const_iterator place,
             PodGroupLists::Bounds* bounds) const {
    kai::Widen(*place, groups_, bounds);
    const bool follows =
        place == list.begin() || !groups_.IsVictimBefore(*std::prev(place), *place);
    const bool precedes =
        std::next(place) == list.end() || !groups_.IsVictimBefore(*place, *std::next(place));
    bounds->youngest_first = bounds->youngest_first && follows && precedes;
  }

  PodGroupColumns& groups_;
  PodGroupLists& lists_;
  Lister lister_;
  std::vector<QueueId> queues_;
};

}  // namespace

void RelistPodGroups(const Cluster& cluster, std::span<const PodGroupId> changed,
                     PodGroupColumns* groups) {
  groups->elastic_state.Resize(groups->size());
  groups->may_run.Resize(groups->size());
  groups->has_bare.Resize(groups->size());
  Relister relister(cluster, groups);
  if (changed.size() > kFew) return relister.RelistAll(changed);
  for (const PodGroupId group : changed) relister.Relist(group);
  relister.LookThrough();
}

}  // namespace kai
