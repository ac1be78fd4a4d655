#include "kai/model/building/pod_group_lists.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kai/model/building/pod_group_writer.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

bool AsksForMoreChildrenThanItHas(SubGroupId set, const SubGroupColumns& sets) {
  if (sets.is_pod_set[set] != 0) return false;
  const std::span<const SubGroupId> children = sets.ChildrenOf(set);
  return sets.minimum[set] > static_cast<int64_t>(children.size()) ||
         std::any_of(children.begin(), children.end(),
                     [&](SubGroupId child) { return AsksForMoreChildrenThanItHas(child, sets); });
}

// There is nothing to say of it.
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
  return active > 0 && !AsksForMoreChildrenThanItHas(groups.root[group], sets);
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

// A pod of it needs labels of namespaces that are not in the input: while such a pod waits it
// cannot run, and while it runs it could not be moved.
struct Strange {
  explicit Strange(const Cluster& cluster)
      : waits(cluster.pod_groups().size()), runs(cluster.pod_groups().size()) {
    const PodColumns& pods = cluster.pods();
    for (const PodId pod : pods.name.ids()) {
      if (!pods.group[pod].valid() || !cluster.ClassOf(pod).needs_namespaces) continue;
      const PodStatus status = pods.status[pod];
      if (IsActiveAllocated(status)) runs[pods.group[pod]] = 1;
      if (status == PodStatus::kPending || status == PodStatus::kGated) waits[pods.group[pod]] = 1;
    }
  }

  IndexVector<PodGroupId, uint8_t> waits;
  IndexVector<PodGroupId, uint8_t> runs;
};

PodGroupLists::Bounds BoundsOf(const std::vector<PodGroupId>& may_lose,
                               const PodGroupColumns& groups) {
  PodGroupLists::Bounds bounds;
  PodGroupId older;
  for (const PodGroupId group : may_lose) {
    bounds.highest_priority = std::max(bounds.highest_priority, groups.priority[group]);
    bounds.latest_start_ns = std::max(bounds.latest_start_ns, groups.last_start_ns[group]);
    if (older.valid() && groups.IsVictimBefore(older, group)) bounds.youngest_first = false;
    older = group;
  }
  return bounds;
}

// A pod without a UID has namespace/name (spec 2 O3).
bool HasLowerUid(const PodRow& a, const PodRow& b) {
  if (!a.uid.empty() && !b.uid.empty() && a.uid != b.uid) return a.uid < b.uid;
  const std::string uid_a = a.uid.empty() ? NameOf(a) : a.uid;
  const std::string uid_b = b.uid.empty() ? NameOf(b) : b.uid;
  return uid_a != uid_b ? uid_a < uid_b : NamespacedKey(a) < NamespacedKey(b);
}

}  // namespace

void SortPodsOf(SubGroupId pod_set, const PodColumns& pods, std::span<const PodRow* const> rows,
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
  const SubGroupColumns& sets = cluster.sub_groups();
  const Strange strange(cluster);
  PodGroupLists& lists = groups->lists;
  for (const PodGroupId group : groups->name.ids()) {
    groups->elastic_state.Add(ElasticStateOf(group, *groups, sets));
    groups->may_run.Add(strange.waits[group] == 0 ? 1 : 0);
  }
  lists.may_lose_in.Resize(cluster.queues().size());
  for (const PodGroupId group : InOrderOfCreation(*groups)) {
    int32_t waiting = 0;
    int32_t active = 0;
    for (const SubGroupId pod_set : groups->PodSetsOf(group)) {
      waiting += sets.counts[pod_set][PodStatus::kPending];
      active += sets.counts[pod_set].active_allocated();
    }
    if (waiting > 0) lists.waiting.push_back(group);
    const QueueId queue = groups->queue[group];
    if (active > 0 && groups->preemptible[group] != 0 && strange.runs[group] == 0 &&
        queue.valid() && cluster.queues().IsLeaf(queue)) {
      lists.may_lose.push_back(group);
      lists.may_lose_in[queue].push_back(group);
    }
    if (!IsSimplyRunning(group, *groups, sets)) lists.notable.push_back(group);
  }
  for (const std::vector<PodGroupId>& may_lose : lists.may_lose_in.raw())
    lists.bounds_in.Add(BoundsOf(may_lose, *groups));
}

}  // namespace kai
