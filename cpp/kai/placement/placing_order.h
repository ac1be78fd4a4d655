// PlacingOrder: the pods of each pod set, first to place first, and how many pods or children each
// sub-group needs (spec 2 G5, G12).
//
//   const PlacingOrder placing(*cluster, {.comparators = std::move(comparators)});
//   placing.PodsOf(PodSetNamed(*cluster, "ns/g", "default"))
//
// Invariants: it depends on labels, ages, UIDs and pods that succeeded, and never on what is
// placed. It stays right from one cycle to the next until pods come, go or end. Cost: a copy of the
// lists of pods, and a sort of those pod sets in which some pod has a label that a comparator
// reads. Threads: many readers.
#ifndef KAI_PLACEMENT_PLACING_ORDER_H_
#define KAI_PLACEMENT_PLACING_ORDER_H_

#include <span>
#include <vector>

#include "kai/model/columns/cluster.h"

namespace kai {

enum class PodComparator : uint8_t { kKubeflow, kRay, kTaskPriority };

class PlacingOrder {
 public:
  struct Options {
    std::vector<PodComparator> comparators;  // in plugin order; then creation time, then UID
    bool count_completed = true;  // mend completed_pods: pods that succeeded lower the minimum
  };

  PlacingOrder(const Cluster& cluster, const Options& options);

  const Cluster& cluster() const { return cluster_; }
  std::span<const PodId> PodsOf(SubGroupId pod_set) const {
    return cluster_.sub_groups().pods[pod_set].Of(ordered_);
  }
  // Pods of a pod set, children of a set.
  const IndexVector<SubGroupId, int32_t>& minima() const { return minima_; }
  // Groups with a minimum that is not that of the cluster.
  std::span<const PodGroupId> lowered() const { return lowered_; }

 private:
  const Cluster& cluster_;
  std::vector<PodId> ordered_;  // the cluster's pod_list, each pod set in placing order
  IndexVector<SubGroupId, int32_t> minima_;
  std::vector<PodGroupId> lowered_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_PLACING_ORDER_H_
