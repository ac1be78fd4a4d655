// What a claim takes of the capacities of a device that several claims may share.
//
//   const CapacityShare share = *ShareOf(device, {{"memory", Amount("30Gi")}});
//   HasRoom(device, share, taken)
//   AddShare(share, &taken);
//
// What is asked for is rounded up to what the device's policy allows (least amount, steps, a list
// of values). A capacity that the request does not name is taken by the policy's fallback, or
// whole.
//
// Invariants: a share names every capacity of the device, and takes no less than the request asks.
// Cost: O(capacities of the device). Threads: pure functions, thread-safe.
#ifndef KAI_DRA_CAPACITY_SHARE_H_
#define KAI_DRA_CAPACITY_SHARE_H_

#include <optional>

#include "kai/base/quantity.h"
#include "kai/dra/device.h"

namespace kai {

using CapacityShare = ByDomain<Quantity>;

// Nothing: the device lacks a capacity that is asked for, or its policy allows no such amount.
std::optional<CapacityShare> ShareOf(const Device& device, const ByName<Quantity>& request);

// Does the share fit beside what is taken already?
bool HasRoom(const Device& device, const CapacityShare& share, const CapacityShare& taken);

void AddShare(const CapacityShare& share, CapacityShare* sum);

}  // namespace kai

#endif  // KAI_DRA_CAPACITY_SHARE_H_
