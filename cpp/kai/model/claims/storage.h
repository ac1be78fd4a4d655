// Storage as CSI drivers report it: the free capacity and the nodes that reach it
// (CSIStorageCapacity, spec 3 P12), the most volumes that a node may have attached (CSINode), and
// the needs of pods.
//
//   const int32_t capacity = map_.CapacityOn(node, need.storage_class);    // -1: none
//
// Invariants: nothing here changes during a cycle: the filters count what pods take. Cost: a walk
// over the classes, or drivers, of one node. Threads: plain data: many readers.
#ifndef KAI_MODEL_CLAIMS_STORAGE_H_
#define KAI_MODEL_CLAIMS_STORAGE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kai/base/index_vector.h"
#include "kai/base/interner.h"
#include "kai/model/columns/ids.h"

namespace kai {

// The storage of one class that the claims of a pod need, in bytes.
struct StorageNeed {
  NameId storage_class;
  bool needs_room = false;  // some claim needs room
  double request = 0;       // of the claims that need room
  // For a pod on a node: the bytes of its claims that are not bound. `own`: claims that only this
  // pod uses; `shared`: claims that other pods use too, by name. `owned`: the bytes that are freed
  // when the pod leaves.
  double own = 0;
  std::vector<std::pair<NameId, double>> shared;
  double owned = 0;

  friend auto operator<=>(const StorageNeed&, const StorageNeed&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const StorageNeed& need) {
    return H::combine(std::move(h), need.storage_class, need.request, need.own, need.shared);
  }
};

// The volumes of a driver that a pod attaches to its node.
struct AttachedVolumes {
  NameId driver;
  int32_t own = 0;             // used by this pod only
  std::vector<NameId> shared;  // by name

  friend auto operator<=>(const AttachedVolumes&, const AttachedVolumes&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AttachedVolumes& each) {
    return H::combine(std::move(h), each.driver, each.own, each.shared);
  }
};

struct StorageMap {
  struct Capacity {
    NameId storage_class;
    double bytes = 0;
    int32_t nodes = 0;  // number of nodes that reach it
  };
  struct Limit {
    NameId driver;
    int64_t most_volumes = 0;
  };

  std::vector<Capacity> capacities;
  IndexVector<NodeId, std::vector<int32_t>> reached;  // by each node; at most one per class
  IndexVector<NodeId, std::vector<Limit>> limits;
  bool any_need = false;  // some pod has a StorageNeed

  // The capacity of the class that the node reaches; -1: none.
  int32_t CapacityOn(NodeId node, NameId storage_class) const {
    for (const int32_t capacity : reached[node]) {
      if (capacities[static_cast<size_t>(capacity)].storage_class == storage_class) return capacity;
    }
    return -1;
  }
  // Null: no limit.
  const Limit* LimitOn(NodeId node, NameId driver) const {
    const std::vector<Limit>& all = limits[node];
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Limit& each) { return each.driver == driver; });
    return found == all.end() ? nullptr : &*found;
  }
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_STORAGE_H_
