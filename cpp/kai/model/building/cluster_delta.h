// ClusterDelta: what an update of a cluster touched, for what is kept beside the cluster.
//
//   rooms_->Follow(live_->updater->delta())
//
// Invariants: nothing else changed, but for new classes of pods and names. Cost: as many ids as
// were touched. Threads: plain values.
#ifndef KAI_MODEL_BUILDING_CLUSTER_DELTA_H_
#define KAI_MODEL_BUILDING_CLUSTER_DELTA_H_

#include "absl/container/flat_hash_set.h"
#include "kai/model/columns/ids.h"

namespace kai {

struct ClusterDelta {
  // What is free there, what they are, or that they came or went: the last id may be of no node any
  // more.
  absl::flat_hash_set<NodeId> nodes;
  absl::flat_hash_set<PodGroupId> groups;   // new ones, ones that are gone, and where pods changed
  absl::flat_hash_set<NodeId> other_nodes;  // of `nodes`: not just something else is free there
  bool is_reordered = false;                // some of them came, went, or offer something else
  bool largest_differs = false;             // the most that any node offers
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_DELTA_H_
