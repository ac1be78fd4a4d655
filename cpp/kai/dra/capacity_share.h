// How much a claim takes of the capacities of a device that several claims may share.
//
//   const CapacityShare share = *ShareOf(device, {{"memory", Amount("30Gi")}});
//   HasRoom(device, share, taken)
//   AddShare(share, &taken);
//
// A requested amount is rounded up to one that the device's policy allows (least amount, steps, a
// list of values). If the request does not name a capacity, it takes the policy's fallback, or all
// of it.
//
// Invariants: a share has every capacity of the device, and at least the amounts of the request.
// Cost: O(capacities of the device). Threads: pure functions, thread-safe.
#ifndef KAI_DRA_CAPACITY_SHARE_H_
#define KAI_DRA_CAPACITY_SHARE_H_

#include <optional>

#include "kai/base/quantity.h"
#include "kai/dra/device.h"

namespace kai {

using CapacityShare = ByDomain<Quantity>;

// Empty if the device lacks a requested capacity, or its policy allows no such amount.
std::optional<CapacityShare> ShareOf(const Device& device, const ByName<Quantity>& request);

// True if the share fits beside what is already taken.
bool HasRoom(const Device& device, const CapacityShare& share, const CapacityShare& taken);

void AddShare(const CapacityShare& share, CapacityShare* sum);

}  // namespace kai

#endif  // KAI_DRA_CAPACITY_SHARE_H_
