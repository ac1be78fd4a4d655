// AllocateDevices: finds devices for claims that are allocated together on one node, as Kubernetes'
// structured allocator does.
//
//   const auto found = AllocateDevices(pools, allocated, claims, options);
//   found->fits                                // false: the claims do not fit on this node now
//   found->claims[0].devices[0].device->name   // "gpu-1", for found->claims[0].devices[0].request
//
// The result is the first that a depth-first search finds: it tries claims, requests and their
// alternatives in their order, and devices in the order of the pools. So the same input gives the
// same devices, and the order in which a driver lists its devices decides which are used first.
//
// Rules: a device serves one request (of all claims), unless it allows multiple allocations; admin
// access is possible beside any other use, but a claim holds a device only once. A claim has up to
// 32 devices. Incomplete and invalid pools give no devices, and a request for all devices fails
// while there is such a pool. The devices that use one counter take no more than it has. A tainted
// device (NoSchedule, NoExecute) needs a toleration.
//
// Errors mean that the claim is wrong rather than the node. InvalidArgument: the claim is
// invalid, its class does not exist, a selector fails on a device, or a constraint excludes a
// device from a request for all of them. Unimplemented: it uses a feature that is off.
// FailedPrecondition: it requests all devices of a pool that is not ready, or nothing fits and a
// pool is invalid. ResourceExhausted: the search took more than options.budget steps.
//
// Invariants: a result that fits follows all these rules; the arguments do not change. Cost: one
// step per device that is tried at a place; each selector runs once per request and device. Without
// constraints and shared capacities the search rarely backtracks. Threads: a pure function,
// thread-safe.
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
  // Kubernetes features; KAI runs with all of them off (spec 3 D7).
  bool admin_access = false;
  bool consumable_capacity = false;    // shared devices, capacity requests, kDistinctAttribute
  bool device_taints = false;          // off: taints exclude no claim
  bool partitionable_devices = false;  // off: devices that use counters are not allocated
  bool prioritized_list = false;       // first_available

  int64_t budget = 1'000'000;
};

// What the existing claims hold, on any node, except devices held with admin access.
struct AllocatedDevices {
  std::set<DeviceId> devices;                // held by one claim alone
  std::map<DeviceId, CapacityShare> shared;  // how much of each shared device is taken
};

struct GivenDevice {
  std::string request;  // "request" or "request/alternative"
  const Device* device = nullptr;
  bool admin_access = false;
  bool shared = false;       // other claims may use it, too
  CapacityShare taken = {};  // if shared
};

struct ClaimDevices {
  std::vector<GivenDevice> devices;  // in the order of the requests
};

struct DeviceAllocation {
  bool fits = false;
  std::vector<ClaimDevices> claims;  // if it fits: one entry per claim, in their order
  int64_t steps = 0;
};

absl::StatusOr<DeviceAllocation> AllocateDevices(std::span<const Pool> pools,
                                                 const AllocatedDevices& allocated,
                                                 std::span<const DeviceClaim> claims,
                                                 const AllocatorOptions& options);

}  // namespace kai

#endif  // KAI_DRA_ALLOCATOR_H_
