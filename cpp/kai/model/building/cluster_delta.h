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
  absl::flat_hash_set<NodeId> nodes;       // what is free there
  absl::flat_hash_set<PodGroupId> groups;  // new ones, ones that are gone, and where pods changed
  bool reclassified = false;               // some node is of another class
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_DELTA_H_
