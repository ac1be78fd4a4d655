// Counts the pods on a node, and the leaving pods among them: for filters that need these counts.
//
//   const PodCountChange by = PodCountChangeOf(change);
//   counts[change.to_node].all += by.all;          // -= to undo the change
//   counts[change.to_node].leaving += by.leaving;
//
// Invariants: a change affects only the counts of its `to_node`: a pod that moves stays on its old
// node as a leaving pod. Cost: O(1) per change; ForEachPlacedPod() reads every pod. Threads: pure
// functions of their arguments.
#ifndef KAI_PLACEMENT_PLACED_PODS_H_
#define KAI_PLACEMENT_PLACED_PODS_H_

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"

namespace kai {

struct PodCountChange {
  int32_t all = 0;
  int32_t leaving = 0;
};

inline PodCountChange PodCountChangeOf(const Change& change) {
  if (!change.to_node.valid()) return {};
  const bool was_there = change.Stays();
  const auto leaves = [](PodStatus status) { return status == PodStatus::kReleasing ? 1 : 0; };
  return {.all = was_there ? 0 : 1,
          .leaving = leaves(change.to) - (was_there ? leaves(change.from) : 0)};
}

// Calls visit(pod, node, is_leaving) for every pod that is on a node before a cycle.
template <typename Visit>
void ForEachPlacedPod(const Cluster& cluster, const Visit& visit) {
  const PodColumns& pods = cluster.pods();
  for (const PodId pod : pods.status.ids()) {
    if (IsActiveUsed(pods.status[pod]) && pods.node[pod].valid())
      visit(pod, pods.node[pod], pods.status[pod] == PodStatus::kReleasing);
  }
}

}  // namespace kai

#endif  // KAI_PLACEMENT_PLACED_PODS_H_
