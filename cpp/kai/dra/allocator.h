// AllocateDevices: devices for claims that are allocated together, on one node, as Kubernetes'
// structured allocator finds them.
//
//   const auto found = AllocateDevices(pools, allocated, claims, options);
//   found->fits                                // false: not on this node, and not now
//   found->claims[0].devices[0].device->name   // "gpu-1", for found->claims[0].devices[0].request
//
// The answer is the first that a depth-first search finds: claims, requests and their alternatives
// in their order, devices in that of the pools. So the same input gives the same devices, and a
// driver decides by its order what goes first.
//
// Rules: a device serves one request (of all claims), unless it allows multiple allocations; admin
// access goes beside any other use, but a claim holds a device once. A claim has up to 32 devices.
// Nothing is taken from pools that are incomplete or invalid, and a request for all devices fails
// while there are any. The devices that take from one counter take no more than it has. A tainted
// device (NoSchedule, NoExecute) needs a toleration.
//
// Errors mean that the claim is at fault rather than the node. InvalidArgument: the claim makes no
// sense, its class does not exist, a selector fails on a device, or a constraint forbids a device
// of a request for all of them. Unimplemented: it asks for a feature that is switched off.
// FailedPrecondition: it asks for all devices of a pool that is not ready, or nothing fits and a
// pool is invalid. ResourceExhausted: the search took more than options.budget steps.
//
// Invariants: an answer that fits keeps all these rules; nothing that is passed changes. Cost: a
// step per device that is looked at for a place; each asks every selector once per request and
// device. Without constraints and shared capacities the search hardly ever goes back. Threads: a
// pure function, thread-safe.
#ifndef KAI_DRA_ALLOCATOR_H_
#define KAI_DRA_ALLOCATOR_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/dra/capacity_share.h"
#include "kai/dra/device.h"
#include "kai/dra/device_claim.h"
#include "kai/dra/pools.h"

namespace kai {

inline constexpr int64_t kMostDevicesPerClaim = 32;

struct AllocatorOptions {
  // Features of Kubernetes; KAI runs with none of them (spec 3 D7).
  bool admin_access = false;
  bool consumable_capacity = false;    // shared devices, capacity requests, kDistinctAttribute
  bool device_taints = false;          // off: taints keep no claim away
  bool partitionable_devices = false;  // off: no device that takes from counters is given away
  bool prioritized_list = false;       // first_available

  int64_t budget = 1'000'000;
};

// What claims hold already, on any node. Without devices that were given for admin access.
struct AllocatedDevices {
  std::set<DeviceId> devices;                // by one claim alone
  std::map<DeviceId, CapacityShare> shared;  // what is taken of those that several may use
};

struct GivenDevice {
  std::string request;  // "request" or "request/alternative"
  const Device* device = nullptr;
  bool admin_access = false;
  bool shared = false;       // others may use it as well
  CapacityShare taken = {};  // if shared
};

struct ClaimDevices {
  std::vector<GivenDevice> devices;  // in the order of the requests
};

struct DeviceAllocation {
  bool fits = false;
  std::vector<ClaimDevices> claims;  // if it fits: one per claim, in their order
  int64_t steps = 0;
};

absl::StatusOr<DeviceAllocation> AllocateDevices(std::span<const Pool> pools,
                                                 const AllocatedDevices& allocated,
                                                 std::span<const DeviceClaim> claims,
                                                 const AllocatorOptions& options);

}  // namespace kai

#endif  // KAI_DRA_ALLOCATOR_H_
