// Pools: what one node reaches of the devices in the cluster's ResourceSlices.
//
//   return GatherPools(slices, {.partitionable_devices = partitionable}, ...
//
// A driver publishes a pool in one or more slices and replaces them by slices of a higher
// generation. So a pool may be seen half replaced: then it is incomplete, and nothing is taken from
// it.
//
// Invariants: pools are in the order of driver and name, their slices in that of names, so that a
// driver can say by its names which device goes first; Kubernetes 1.35 leaves both orders to
// chance. Pools point into the slices. Cost: O(slices log slices + devices). Threads: a pure
// function; pools do not change.
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
  bool nodes_per_device = false;  // the nodes are chosen by each device, not by the slice
  std::vector<Device> devices = {};
  std::vector<CounterSet> counter_sets = {};

  friend bool operator==(const ResourceSlice&, const ResourceSlice&) = default;
};

struct Pool {
  enum class State : uint8_t {
    kReady,
    kIncomplete,  // slices are missing: they are just being replaced
    kInvalid,     // the slices contradict each other, however many there are; `problem` says how
  };

  std::string driver;
  std::string name;
  State state = State::kReady;
  std::string problem = {};
  std::vector<const Device*> devices = {};    // that the node reaches
  std::vector<const Device*> elsewhere = {};  // that it does not; they may take from the counters
  std::vector<const CounterSet*> counter_sets = {};
};

// Does the node reach the devices of this slice? Where nodes are chosen per device, it is asked for
// each with the device; otherwise once, with null. (spec.nodeName, allNodes, nodeSelector; false
// where none of them is set.)
using ReachesDevices = absl::FunctionRef<bool(const ResourceSlice& slice, const Device* device)>;

struct PoolOptions {
  // Counters, and nodes per device. Off: slices that choose nodes per device are left out.
  bool partitionable_devices = false;
};

std::vector<Pool> GatherPools(std::span<const ResourceSlice> slices, const PoolOptions& options,
                              ReachesDevices reaches);

}  // namespace kai

#endif  // KAI_DRA_POOLS_H_
