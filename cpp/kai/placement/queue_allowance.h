// QueueAllowance: how many GPUs a queue lets one pod count. A pod that asks for GPU memory counts
// for more on a node with smaller devices, so that a limit can forbid some nodes only (spec 1 F79).
//
//   if (!allowance->Allows(gpus)) return node_report_.Count(allowance->Why(gpus));
//
// Invariants: what allows some GPUs allows fewer as well. Cost: a walk from a queue to the root.
// Threads: as many as read the queues' usage.
#ifndef KAI_PLACEMENT_QUEUE_ALLOWANCE_H_
#define KAI_PLACEMENT_QUEUE_ALLOWANCE_H_

#include "kai/model/reasons/refusal.h"

namespace kai {

class QueueAllowance {
 public:
  virtual ~QueueAllowance() = default;
  virtual bool Allows(double gpus) const = 0;
  virtual QueueRefuses Why(double gpus) const = 0;  // of GPUs that it does not allow
};

}  // namespace kai

#endif  // KAI_PLACEMENT_QUEUE_ALLOWANCE_H_
