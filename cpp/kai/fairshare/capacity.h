// Checks if a queue may place more pods. Limits apply to all pods, the quota to non-preemptible
// pods (spec 1 F76-F79).
//
//   RequestedAmount requested(Adding::kExact);
//   for (const PodId pod : pods) requested += cluster.ClassOf(pod).gate_requested;
//   CheckLimit(shares.table(), queue, requested).fits()
//
// Invariants: equality passes; a resource that is not requested is not checked; the answer of a
// check contains the lowest queue on the path up that refuses, and the first refused resource of
// it. Cost: O(depth). Threads: pure functions, thread-safe.
#ifndef KAI_FAIRSHARE_CAPACITY_H_
#define KAI_FAIRSHARE_CAPACITY_H_

#include <vector>

#include "kai/fairshare/share.h"

namespace kai {

enum class CapacityReason : uint8_t { kFits, kOverLimit, kNonPreemptibleOverQuota };

struct CapacityAnswer {
  CapacityReason reason = CapacityReason::kFits;
  QueueId queue;
  QuotaResource resource = kQuotaCpu;

  bool fits() const { return reason == CapacityReason::kFits; }
};

// KAI adds doubles: 0.2 + 0.1 GPUs are then more than 0.3 (spec 1 W6).
enum class Adding : uint8_t { kExact, kAsKai };

// The sum of the requests of pods, to be added to what a queue holds.
class RequestedAmount {
 public:
  explicit RequestedAmount(Adding adding, const QuotaCount& first = {})
      : adding_(adding), exact_(first), as_kai_(first.values()) {}

  RequestedAmount& operator+=(const QuotaCount& more);
  double operator[](size_t resource) const { return as_kai_[resource]; }  // the number in messages
  double On(const QuotaCount& held, size_t resource) const {
    return adding_ == Adding::kAsKai ? held[resource] + as_kai_[resource]
                                     : (held + exact_)[resource];
  }

 private:
  Adding adding_;
  QuotaCount exact_;
  QuotaVector as_kai_;
};

// Check the queue and all its ancestors.
CapacityAnswer CheckLimit(const QueueTable& queues, QueueId queue,
                          const RequestedAmount& requested);  // spec 1 F77
CapacityAnswer CheckNonPreemptibleQuota(const QueueTable& queues, QueueId queue,
                                        const RequestedAmount& requested);  // spec 1 F78
// All that refuse, the lowest queue first; the first is that of the check.
std::vector<CapacityAnswer> AllOverLimit(const QueueTable& queues, QueueId queue,
                                         const RequestedAmount& requested);
std::vector<CapacityAnswer> AllOverNonPreemptibleQuota(const QueueTable& queues, QueueId queue,
                                                       const RequestedAmount& requested);

}  // namespace kai

#endif  // KAI_FAIRSHARE_CAPACITY_H_
