// The steps that the selectors of a claim take for all devices of a cluster, and their budget.
//
//   const bool cold = SelectorsCostTooMuch(std::vector{Request(expressions)}, slices);
//
// Every user who may create a claim writes selectors, so one claim must not stop the planning of
// all others (docs/decisions/0033-claims-have-budgets.md). The selectors of a request are evaluated
// for a device until one of them excludes it, and each selector counts once. Devices that are equal
// in what a selector reads count once, unless the evaluation is quick.
//
// Invariants: the answer follows from the requests and the devices, in any order; it is the same
// with and without answers that selectors have kept. Cost: at most the budget, about a tenth of a
// microsecond for five steps. Threads: a pure function.
#ifndef KAI_DRA_SELECTOR_COSTS_H_
#define KAI_DRA_SELECTOR_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kai/dra/device_claim.h"
#include "kai/dra/pools.h"

namespace kai {

// Steps for all selectors of one claim. Usual selectors take 5 to 50 steps for a device.
constexpr int64_t SelectorBudget(size_t devices) {
  return 100'000 + 200 * static_cast<int64_t>(devices);
}

bool SelectorsCostTooMuch(std::span<const DeviceRequest> requests,
                          std::span<const ResourceSlice> slices);

}  // namespace kai

#endif  // KAI_DRA_SELECTOR_COSTS_H_
