// May this much more be placed for a queue? Limits hold for everything, the quota for what is not
// preemptible (spec 1 §7).
//
//   CheckLimit(path, {0, 0, 1}).fits()
//   CheckNonPreemptibleQuota(path, more, kQuotaTolerance).fits()
//
// Invariants: equality passes; a resource that is not requested is not looked at; an answer names
// the lowest queue of the path that refuses, and of this one the first resource. Cost: O(depth).
// Threads: pure functions, thread-safe.
#ifndef KAI_FAIRSHARE_CAPACITY_H_
#define KAI_FAIRSHARE_CAPACITY_H_

#include <span>
#include <string_view>

#include "kai/fairshare/share.h"

namespace kai {

enum class CapacityReason : uint8_t { kFits, kOverLimit, kNonPreemptibleOverQuota };

struct CapacityAnswer {
  CapacityReason reason = CapacityReason::kFits;
  size_t level = 0;  // of the path that was asked: 0 is the pod group's own queue
  QuotaResource resource = kQuotaCpu;

  bool fits() const { return reason == CapacityReason::kFits; }
};

// `path` is the pod group's queue and its ancestors, lowest first. Equality passes, and so does
// what exceeds by no more than that part of the limit: sums of parts of devices are not exact (spec
// 1 W6). A resource that is not asked for is not looked at.
CapacityAnswer CheckLimit(std::span<const QueueShare* const> path, const QuotaVector& requested,
                          double tolerance = 0);  // spec 1 F77
CapacityAnswer CheckNonPreemptibleQuota(std::span<const QueueShare* const> path,
                                        const QuotaVector& requested,
                                        double tolerance = 0);  // spec 1 F78
inline constexpr double kQuotaTolerance = 1e-9;

}  // namespace kai

#endif  // KAI_FAIRSHARE_CAPACITY_H_
