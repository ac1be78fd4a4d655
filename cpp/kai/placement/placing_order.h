// PlacingOrder: the pods of each pod set in the order of placing, and the minima of sub-groups in
// pods or children (spec 2 G5, G12).
//
//   const PlacingOrder placing(*cluster, {.comparators = std::move(comparators)});
//   placing.PodsOf(PodSetNamed(*cluster, "ns/g", "default"))
//
// Invariants: it depends on labels, ages, UIDs and succeeded pods, and never on what is placed. It
// is valid from one cycle to the next until pods are added, removed or end; Look() then updates it
// for their group. Cost: a copy of the minima, and a sort of the pod sets with a pod that has a
// label that a comparator reads. Threads: many readers.
#ifndef KAI_PLACEMENT_PLACING_ORDER_H_
#define KAI_PLACEMENT_PLACING_ORDER_H_

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/model/columns/cluster.h"

namespace kai {

enum class PodComparator : uint8_t { kKubeflow, kRay, kTaskPriority };

class PlacingOrder {
 public:
  struct Options {
    std::vector<PodComparator> comparators;  // in plugin order; then creation time, then UID
    bool count_completed = true;  // switch completed_pods: succeeded pods lower the minimum
  };

  PlacingOrder(const Cluster& cluster, const Options& options);

  const Cluster& cluster() const { return cluster_; }
  std::span<const PodId> PodsOf(SubGroupId pod_set) const {
    if (!sorted_.empty()) {
      if (const auto sorted = sorted_.find(pod_set); sorted != sorted_.end()) return sorted->second;
    }
    return cluster_.sub_groups().PodsOf(pod_set);
  }
  // In pods for pod sets, in children for sets.
  const IndexVector<SubGroupId, int32_t>& minima() const { return minima_; }
  // Groups with a minimum that differs from the cluster's.
  const absl::flat_hash_set<PodGroupId>& lowered() const { return lowered_; }

  // The group is new, or pods of it were added, removed or ended.
  void Look(PodGroupId group);
  size_t HeapBytes() const;

 private:
  void Sort(SubGroupId pod_set);
  void LowerMinimum(SubGroupId pod_set);

  const Cluster& cluster_;
  Options options_;
  // For pod sets with another order than the cluster's.
  absl::flat_hash_map<SubGroupId, std::vector<PodId>> sorted_;
  IndexVector<SubGroupId, int32_t> minima_;
  absl::flat_hash_set<PodGroupId> lowered_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_PLACING_ORDER_H_
