#include "kai/placement/placing_order.h"

#include <algorithm>
#include <optional>

#include "kai/base/heap_bytes.h"
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

// Negative: a first; positive: b first; 0: equal.
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

PlacingOrder::PlacingOrder(const Cluster& cluster, const Options& options)
    : cluster_(cluster), options_(options), minima_(cluster.sub_groups().minimum) {
  for (const SubGroupId pod_set : cluster.sub_groups().labelled) Sort(pod_set);
  for (const SubGroupId pod_set : cluster.sub_groups().completed) LowerMinimum(pod_set);
}

void PlacingOrder::Sort(SubGroupId pod_set) {
  // Pods are sorted by age, then UID; only labels that a comparator reads change this.
  const std::span<const PodId> pods = cluster_.sub_groups().PodsOf(pod_set);
  std::vector<PodId>& sorted = sorted_[pod_set];
  sorted.assign(pods.begin(), pods.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](PodId a, PodId b) {
    for (const PodComparator comparator : options_.comparators) {
      if (const int order = Compare(cluster_, comparator, a, b); order != 0) return order < 0;
    }
    return false;
  });
}

void PlacingOrder::LowerMinimum(SubGroupId pod_set) {
  if (!options_.count_completed) return;
  const int32_t completed = cluster_.sub_groups().counts[pod_set][PodStatus::kSucceeded];
  if (completed == 0) return;
  minima_[pod_set] = std::max(0, minima_[pod_set] - completed);
  lowered_.insert(cluster_.sub_groups().group[pod_set]);
}

void PlacingOrder::Look(PodGroupId group) {
  const SubGroupColumns& sets = cluster_.sub_groups();
  for (size_t id = minima_.size(); id < sets.size(); ++id)
    minima_.Add(sets.minimum[SubGroupId(id)]);
  lowered_.erase(group);
  for (const SubGroupId pod_set : cluster_.pod_groups().PodSetsOf(group)) {
    sorted_.erase(pod_set);
    if (std::ranges::find(sets.labelled, pod_set) != sets.labelled.end()) Sort(pod_set);
    minima_[pod_set] = sets.minimum[pod_set];
    LowerMinimum(pod_set);
  }
}

size_t PlacingOrder::HeapBytes() const { return HeapBytesOfAll(sorted_, minima_, lowered_); }

}  // namespace kai
