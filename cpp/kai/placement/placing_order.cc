#include "kai/placement/placing_order.h"

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

PlacingOrder::PlacingOrder(const Cluster& cluster, const Options& options)
    : cluster_(cluster),
      ordered_(cluster.sub_groups().pod_list),
      minima_(cluster.sub_groups().minimum) {
  // Pods come by age, then UID: only labels that a comparator reads change that.
  const auto first = [&](PodId a, PodId b) {
    for (const PodComparator comparator : options.comparators) {
      if (const int order = Compare(cluster, comparator, a, b); order != 0) return order < 0;
    }
    return false;
  };
  const SubGroupColumns& sets = cluster.sub_groups();
  for (const SubGroupId pod_set : sets.labelled) {
    const Span32 range = sets.pods[pod_set];
    std::stable_sort(ordered_.begin() + range.begin, ordered_.begin() + range.end, first);
  }
  if (!options.count_completed) return;
  for (const SubGroupId pod_set : sets.completed) {
    const int32_t completed = sets.counts[pod_set][PodStatus::kSucceeded];
    minima_[pod_set] = std::max(0, minima_[pod_set] - completed);
    lowered_.push_back(sets.group[pod_set]);
  }
}

}  // namespace kai
