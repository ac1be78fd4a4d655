// Storage as CSI drivers speak of it: how much is left of it where (CSIStorageCapacity, spec 3
// P12), how many volumes a node may have attached (CSINode), and what pods ask of both.
//
//   const int32_t capacity = map_.CapacityOn(node, need.storage_class);    // -1: none
//
// Invariants: nothing here changes in a cycle: the filters count what is taken meanwhile. Cost: a
// walk over the classes, or drivers, of one node. Threads: plain data: many readers.
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

// What the claims of a pod ask of the capacities of one storage class, in bytes.
struct StorageNeed {
  NameId storage_class;
  bool asks = false;   // some claim has to find room
  double request = 0;  // of those that have to
  // Once the pod stands somewhere: what it takes there by claims that are not bound, those that no
  // other pod names and, by name, those that others name too; and what goes with it when it leaves.
  double own = 0;
  std::vector<std::pair<NameId, double>> shared;
  double owned = 0;

  friend auto operator<=>(const StorageNeed&, const StorageNeed&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const StorageNeed& need) {
    return H::combine(std::move(h), need.storage_class, need.request, need.own, need.shared);
  }
};

// The volumes of a driver that a pod has attached to its node.
struct AttachedVolumes {
  NameId driver;
  int32_t own = 0;             // that no other pod uses
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
    int32_t nodes = 0;  // that can reach it
  };
  struct Limit {
    NameId driver;
    int64_t most_volumes = 0;
  };

  std::vector<Capacity> capacities;
  IndexVector<NodeId, std::vector<int32_t>> reached;  // by each node: one of a class at most
  IndexVector<NodeId, std::vector<Limit>> limits;
  bool any_need = false;  // some pod has a StorageNeed

  // The capacity of the class that the node can reach; -1: none.
  int32_t CapacityOn(NodeId node, NameId storage_class) const {
    for (const int32_t capacity : reached[node]) {
      if (capacities[static_cast<size_t>(capacity)].storage_class == storage_class) return capacity;
    }
    return -1;
  }
  // Null: any number of them.
  const Limit* LimitOn(NodeId node, NameId driver) const {
    const std::vector<Limit>& all = limits[node];
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Limit& each) { return each.driver == driver; });
    return found == all.end() ? nullptr : &*found;
  }
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_STORAGE_H_
