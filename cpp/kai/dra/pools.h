// Pools: the devices in the cluster's ResourceSlices that one node can use.
//
//   return GatherPools(slices, {.partitionable_devices = partitionable}, ...
//
// A driver publishes a pool in one or more slices and replaces them by slices of a higher
// generation. So the scheduler may see a pool that is only partly replaced; such a pool is
// incomplete, and its devices are not allocated.
//
// Invariants: pools are ordered by driver and name, and their slices by name, so that a driver can
// decide by names which device is used first; Kubernetes 1.35 defines neither order. Pools point
// into the slices. Cost: O(slices log slices + devices). Threads: a pure function; pools do not
// change.
#ifndef KAI_DRA_POOLS_H_
#define KAI_DRA_POOLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kai/dra/device.h"

namespace kai {

struct ResourceSlice {
  std::string name;
  std::string driver;
  std::string pool;
  int64_t generation = 0;
  int64_t slices_in_pool = 1;
  bool nodes_per_device = false;  // each device selects its nodes, not the slice
  std::vector<Device> devices = {};
  std::vector<CounterSet> counter_sets = {};

  friend bool operator==(const ResourceSlice&, const ResourceSlice&) = default;
};

struct Pool {
  enum class State : uint8_t {
    kReady,
    kIncomplete,  // slices are missing: the driver is replacing them
    kInvalid,     // the slices contradict each other; `problem` has the details
  };

  std::string driver;
  std::string name;
  State state = State::kReady;
  std::string problem = {};
  std::vector<const Device*> devices = {};    // that the node can use
  std::vector<const Device*> elsewhere = {};  // that it cannot use; may share counters
  std::vector<const CounterSet*> counter_sets = {};
};

// True if the node can use the devices of this slice (spec.nodeName, allNodes, nodeSelector; false
// if none is set). If each device selects its nodes, it is called for each device; otherwise once
// with null.
using ReachesDevices = absl::FunctionRef<bool(const ResourceSlice& slice, const Device* device)>;

struct PoolOptions {
  // Enables counters and slices whose devices select their nodes; if off, such slices are ignored.
  bool partitionable_devices = false;
};

std::vector<Pool> GatherPools(std::span<const ResourceSlice> slices, const PoolOptions& options,
                              ReachesDevices reaches);

}  // namespace kai

#endif  // KAI_DRA_POOLS_H_
