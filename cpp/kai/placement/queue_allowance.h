// QueueAllowance: the number of GPUs that a queue allows one pod to count for. A pod that requests
// GPU memory counts for more GPUs on a node with smaller devices, so a limit can exclude only some
// nodes (spec 1 F79).
//
//   if (!allowance->Allows(gpus)) return node_report_.Count(allowance->Why(gpus));
//
// Invariants: if a number of GPUs is allowed, so are smaller numbers. Cost: a walk from a queue to
// the root. Threads: those that may read the queues' usage.
#ifndef KAI_PLACEMENT_QUEUE_ALLOWANCE_H_
#define KAI_PLACEMENT_QUEUE_ALLOWANCE_H_

#include "kai/model/reasons/refusal.h"

namespace kai {

class QueueAllowance {
 public:
  virtual ~QueueAllowance() = default;
  virtual bool Allows(double gpus) const = 0;
  virtual QueueRefuses Why(double gpus) const = 0;  // for a number that is not allowed
};

}  // namespace kai

#endif  // KAI_PLACEMENT_QUEUE_ALLOWANCE_H_
