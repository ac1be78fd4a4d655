#include "kai/placement/pod_order.h"

#include <algorithm>
#include <optional>

#include "kai/base/parse.h"

namespace kai {
namespace {

// spec 2 G12: labelled before unlabelled, integers before other values, larger integers first.
struct TaskPriority {
  int kind = 2;  // 0 integer, 1 not an integer, 2 no label
  int64_t value = 0;
};

TaskPriority TaskPriorityOf(const Cluster& cluster, PodId pod) {
  const NameId label = cluster.pods().task_priority[pod];
  if (!label.valid()) return {};
  const std::string_view text = cluster.Text(label);
  const std::optional<int64_t> number = ParseInteger(text);
  if (!number) return {.kind = 1, .value = 0};
  return {.kind = 0, .value = *number};
}

// Negative: a first; positive: b first; 0: no word.
int Compare(const Cluster& cluster, PodComparator comparator, PodId a, PodId b) {
  const PodColumns& pods = cluster.pods();
  switch (comparator) {
    case PodComparator::kKubeflow:
      return int{pods.is_kubeflow_lead[b]} - int{pods.is_kubeflow_lead[a]};
    case PodComparator::kRay:
      return int{pods.is_ray_head[b]} - int{pods.is_ray_head[a]};
    case PodComparator::kTaskPriority: {
      const TaskPriority pa = TaskPriorityOf(cluster, a);
      const TaskPriority pb = TaskPriorityOf(cluster, b);
      if (pa.kind != pb.kind) return pa.kind - pb.kind;
      return pa.value == pb.value ? 0 : (pa.value > pb.value ? -1 : 1);
    }
  }
  return 0;
}

}  // namespace

PodOrder::PodOrder(const Cluster& cluster, const Options& options)
    : cluster_(cluster),
      options_(options),
      ordered_(cluster.sub_groups().pod_list),
      known_(cluster.pod_groups().size()),
      next_request_(cluster.pod_groups().size()),
      elastic_state_(cluster.pod_groups().size()) {
  const PodColumns& pods = cluster.pods();
  const auto first = [&](PodId a, PodId b) {
    for (const PodComparator comparator : options_.comparators) {
      if (const int order = Compare(cluster_, comparator, a, b); order != 0) return order < 0;
    }
    if (pods.created_ns[a] != pods.created_ns[b]) return pods.created_ns[a] < pods.created_ns[b];
    return pods.uid_rank[a] < pods.uid_rank[b];
  };
  for (const Span32& range : cluster.sub_groups().pods.raw()) {
    if (range.size() > 1)
      std::sort(ordered_.begin() + range.begin, ordered_.begin() + range.end, first);
  }
}

std::span<const PodId> PodOrder::PodsOf(SubGroupId pod_set) const {
  const Span32 range = cluster_.sub_groups().pods[pod_set];
  return std::span(ordered_).subspan(static_cast<size_t>(range.begin),
                                     static_cast<size_t>(range.size()));
}

std::span<const SubGroupId> PodOrder::PodSetsOf(PodGroupId group) const {
  const Span32 range = cluster_.pod_groups().pod_sets[group];
  return std::span(cluster_.pod_groups().pod_set_list)
      .subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
}

int32_t PodOrder::SatisfiedChildren(SubGroupId set) const {
  const Span32 range = cluster_.sub_groups().children[set];
  int32_t satisfied = 0;
  for (int32_t i = range.begin; i < range.end; ++i) {
    satisfied +=
        AllocationSatisfied(cluster_.sub_groups().child_list[static_cast<size_t>(i)]) ? 1 : 0;
  }
  return satisfied;
}

bool PodOrder::AllocationSatisfied(SubGroupId set) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  if (sets.is_pod_set[set] != 0) return sets.counts[set].active_allocated() >= sets.minimum[set];
  return SatisfiedChildren(set) >= sets.minimum[set];
}

std::vector<SubGroupId> PodOrder::ChildrenOf(SubGroupId set) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  const Span32 range = sets.children[set];
  std::vector<SubGroupId> children(sets.child_list.begin() + range.begin,
                                   sets.child_list.begin() + range.end);
  if (children.size() < 2 || !options_.by_satisfaction) return children;
  struct Standing {
    SubGroupId id;
    double count = 0;
    double threshold = 0;
    bool below() const { return count < threshold; }
  };
  std::vector<Standing> standings;
  for (const SubGroupId child : children) {
    const int32_t count = sets.is_pod_set[child] != 0 ? sets.counts[child].active_allocated()
                                                      : SatisfiedChildren(child);
    standings.push_back({.id = child,
                         .count = static_cast<double>(count),
                         .threshold = static_cast<double>(sets.minimum[child])});
  }
  // spec 2 G11; children come by name, and a stable sort keeps that among equals.
  std::stable_sort(standings.begin(), standings.end(), [](const Standing& a, const Standing& b) {
    if (a.below() || b.below()) return a.below() && !b.below();
    if ((a.threshold > 0) != (b.threshold > 0)) return a.threshold > 0;
    if (a.threshold == 0) return a.count < b.count;
    return a.count / a.threshold < b.count / b.threshold;
  });
  for (size_t i = 0; i < children.size(); ++i) children[i] = standings[i].id;
  return children;
}

bool PodOrder::MayBePlaced(PodId pod) const {
  const PodStatus status = cluster_.pods().status[pod];
  return status == PodStatus::kPending ||
         (status == PodStatus::kReleasing && cluster_.pods().is_virtual[pod] != 0);
}

void PodOrder::CollectPodSet(SubGroupId pod_set, std::vector<PodId>* pods) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  const int32_t missing = sets.minimum[pod_set] - sets.counts[pod_set].active_allocated();
  int32_t wanted = missing > 0 ? missing : 1;
  for (const PodId pod : PodsOf(pod_set)) {
    if (wanted == 0) return;
    if (!MayBePlaced(pod)) continue;
    pods->push_back(pod);
    --wanted;
  }
}

void PodOrder::Collect(SubGroupId set, std::vector<PodId>* pods) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  if (sets.is_pod_set[set] != 0) return CollectPodSet(set, pods);
  const std::vector<SubGroupId> children = ChildrenOf(set);
  if (!AllocationSatisfied(set)) {  // the gang phase: never elastic extras
    const size_t needed = std::min(static_cast<size_t>(sets.minimum[set]), children.size());
    for (size_t i = 0; i < needed; ++i) {
      if (!AllocationSatisfied(children[i])) Collect(children[i], pods);
    }
    return;
  }
  for (const SubGroupId child : children) {  // the elastic phase: one child at a time
    const size_t before = pods->size();
    Collect(child, pods);
    if (pods->size() > before) return;
  }
}

std::vector<PodId> PodOrder::PodsToPlace(PodGroupId group) const {
  std::vector<PodId> pods;
  Collect(cluster_.pod_groups().root[group], &pods);
  return pods;
}

const QuotaVector& PodOrder::NextRequest(PodGroupId group) {
  QuotaVector& request = next_request_[group];
  if ((known_[group] & kRequest) == 0) {
    known_[group] |= kRequest;
    request = {};
    for (const PodId pod : PodsToPlace(group)) request += cluster_.ClassOf(pod).requested;
  }
  return request;
}

ElasticState PodOrder::ElasticStateOf(PodGroupId group) {
  if ((known_[group] & kState) == 0) {
    known_[group] |= kState;
    elastic_state_[group] = FindElasticState(group);
  }
  return elastic_state_[group];
}

ElasticState PodOrder::FindElasticState(PodGroupId group) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  bool all_at = true;
  for (const SubGroupId pod_set : PodSetsOf(group)) {
    const int32_t active = sets.counts[pod_set].active_allocated();
    if (active < sets.minimum[pod_set]) return ElasticState::kBelow;
    all_at = all_at && active == sets.minimum[pod_set];
  }
  return all_at ? ElasticState::kAt : ElasticState::kAbove;
}

bool PodOrder::SetIsReady(SubGroupId set) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  if (sets.is_pod_set[set] != 0) {
    return sets.counts[set].alive() - sets.counts[set][PodStatus::kGated] >= sets.minimum[set];
  }
  const Span32 range = sets.children[set];
  int32_t ready = 0;
  for (int32_t i = range.begin; i < range.end; ++i)
    ready += SetIsReady(sets.child_list[static_cast<size_t>(i)]) ? 1 : 0;
  return ready >= sets.minimum[set];
}

bool PodOrder::HasStarted(PodGroupId group) const {
  for (const SubGroupId pod_set : PodSetsOf(group)) {
    if (cluster_.sub_groups().counts[pod_set].allocated() > 0) return true;
  }
  return false;
}

int32_t PodOrder::CountOf(PodGroupId group, PodStatus status) const {
  int32_t count = 0;
  for (const SubGroupId pod_set : PodSetsOf(group))
    count += cluster_.sub_groups().counts[pod_set][status];
  return count;
}

int32_t PodOrder::ActiveAllocated(PodGroupId group) const {
  int32_t active = 0;
  for (const SubGroupId pod_set : PodSetsOf(group))
    active += cluster_.sub_groups().counts[pod_set].active_allocated();
  return active;
}

void PodOrder::Applied(const Change& change, UndoStack*) {
  if (const PodGroupId group = cluster_.pods().group[change.pod]; group.valid())
    known_[group] = kNothing;
}
void PodOrder::Undone(const Change& change, UndoStack* undo) { Applied(change, undo); }

}  // namespace kai
