// ClusterDelta: what an update changed in a cluster, for data that is kept beside the cluster.
//
//   rooms_->Follow(live_->updater->delta())
//
// Invariants: nothing else changed, except new classes of pods and new names. Cost: the ids of what
// changed. Threads: plain values.
#ifndef KAI_MODEL_BUILDING_CLUSTER_DELTA_H_
#define KAI_MODEL_BUILDING_CLUSTER_DELTA_H_

#include "absl/container/flat_hash_set.h"
#include "kai/model/columns/ids.h"

namespace kai {

struct ClusterDelta {
  // Nodes that were added, removed or changed, or with other free resources. The last id may belong
  // to no node any more.
  absl::flat_hash_set<NodeId> nodes;
  absl::flat_hash_set<PodGroupId> groups;   // new or removed groups, and groups with changed pods
  absl::flat_hash_set<NodeId> other_nodes;  // of `nodes`: more than their free resources changed
  bool is_reordered = false;                // some were added or removed, or offer other resources
  bool largest_differs = false;             // the maximum of what nodes offer
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_DELTA_H_
