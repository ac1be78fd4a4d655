// DeviceMap: the devices that ResourceSlices publish, and the nodes that reach them.
//
//   devices_.Gather(node, *nodes_, *names_)
//
// The number of a pool is its position in the order of driver and name. A local slice belongs to
// one node, even if its pool has other slices.
//
// Invariants: nothing changes after construction; pools point into it. Cost: Gather() is O(slices
// that are not local, and those of the node); the caller keeps the result. Threads: many readers.
#ifndef KAI_MODEL_CLAIMS_DEVICE_MAP_H_
#define KAI_MODEL_CLAIMS_DEVICE_MAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/interner.h"
#include "kai/dra/allocator.h"
#include "kai/dra/pools.h"
#include "kai/model/claims/claim.h"
#include "kai/model/columns/node.h"
#include "kai/model/columns/pod_group.h"

namespace kai {

// The pools that one node reaches, and their numbers.
struct NodePools {
  std::vector<Pool> pools;
  std::vector<int32_t> numbers;
};

class DeviceMap {
 public:
  // The nodes that reach a slice.
  struct Reach {
    NodeId node;
    bool is_local = false;  // only `node`; invalid: an unknown node
    bool all = false;
    std::vector<NodeTerm> terms;  // otherwise: nodes that match any term
  };

  DeviceMap() = default;
  // `slices`: sorted by driver, pool and name; `reach`: an element per slice.
  DeviceMap(std::vector<ResourceSlice> slices, std::vector<Reach> reach);
  DeviceMap(DeviceMap&&) = default;
  DeviceMap& operator=(DeviceMap&&) = default;

  size_t pools() const { return slices_of_pool_.size(); }
  int32_t PoolOf(const DeviceId& device) const;  // -1: no slice publishes such a pool
  // True: some devices are not bound to one node.
  bool has_wide_pools() const { return !wide_pools_.empty(); }
  const std::vector<Reach>& reach() const { return reach_; }
  const std::vector<ResourceSlice>& slices() const { return slices_; }

  NodePools Gather(NodeId node, const NodeColumns& nodes, const Interner& names) const;
  // Makes an allocation, with the nodes that reach all of these devices.
  ClaimAllocationPtr AllocationOf(const ClaimDevices& given, const NodeColumns& nodes,
                                  NameId node_name_field) const;

 private:
  std::vector<ResourceSlice> slices_;
  std::vector<Reach> reach_;
  std::vector<Span32> slices_of_pool_;
  std::map<std::pair<std::string, std::string>, int32_t> pool_by_name_;  // driver, pool
  std::vector<int32_t> wide_pools_;                                      // some slice is not local
  absl::flat_hash_map<NodeId, std::vector<int32_t>> local_pools_;
  absl::flat_hash_map<const Device*, size_t> slice_of_;
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_DEVICE_MAP_H_
