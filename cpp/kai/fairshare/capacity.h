// May this much more be placed for a queue? Limits hold for everything, the quota for what is not
// preemptible (spec 1 F76-F79).
//
//   AskedAmount asked(Adding::kExact);
//   for (const PodId pod : pods) asked += cluster.ClassOf(pod).gate_requested;
//   CheckLimit(shares.table(), queue, asked).fits()
//
// Invariants: equality passes; a resource that is not requested is not looked at; an answer names
// the lowest queue on the way up that refuses, and of this one the first resource. Cost: O(depth).
// Threads: pure functions, thread-safe.
#ifndef KAI_FAIRSHARE_CAPACITY_H_
#define KAI_FAIRSHARE_CAPACITY_H_

#include "kai/fairshare/share.h"

namespace kai {

enum class CapacityReason : uint8_t { kFits, kOverLimit, kNonPreemptibleOverQuota };

struct CapacityAnswer {
  CapacityReason reason = CapacityReason::kFits;
  QueueId queue;
  QuotaResource resource = kQuotaCpu;

  bool fits() const { return reason == CapacityReason::kFits; }
};

// KAI adds doubles, in which 0.2 and 0.1 GPUs are more than 0.3 (spec 1 W6).
enum class Adding : uint8_t { kExact, kAsKai };

// What pods ask for together, to be added to what a queue holds.
class AskedAmount {
 public:
  explicit AskedAmount(Adding adding, const QuotaCount& first = {})
      : adding_(adding), exact_(first), as_kai_(first.values()) {}

  AskedAmount& operator+=(const QuotaCount& more);
  double operator[](size_t resource) const { return as_kai_[resource]; }  // as messages write it
  double On(const QuotaCount& held, size_t resource) const {
    return adding_ == Adding::kAsKai ? held[resource] + as_kai_[resource]
                                     : (held + exact_)[resource];
  }

 private:
  Adding adding_;
  QuotaCount exact_;
  QuotaVector as_kai_;
};

// Of the queue and all above it.
CapacityAnswer CheckLimit(const QueueTable& queues, QueueId queue,
                          const AskedAmount& asked);  // spec 1 F77
CapacityAnswer CheckNonPreemptibleQuota(const QueueTable& queues, QueueId queue,
                                        const AskedAmount& asked);  // spec 1 F78

}  // namespace kai

#endif  // KAI_FAIRSHARE_CAPACITY_H_
