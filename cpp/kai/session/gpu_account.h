// GpuAccount: the GPUs on nodes and of queues after a plan's decisions are carried out.
//
//   AccountOf(plan, TableOf(plan))
//   account.free                      // amounts of free GPUs, and how many nodes have each amount
//
// Invariants: it depends on the plan alone; sums of parts of devices are exact; on nodes, devices
// that pods share through a claim count once (spec 3 D6), in queues for each pod (spec 1 F22).
// Cost: O(nodes + pods + decisions). Threads: a pure function of a plan that does not change.
#ifndef KAI_SESSION_GPU_ACCOUNT_H_
#define KAI_SESSION_GPU_ACCOUNT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/group_story.h"

namespace kai {

struct GpuAccount {
  Amounts capacity;  // of nodes: GPUs, and how many nodes have as many
  // The same for what is free after the cycle and not promised. Promises first use what is being
  // released, and then what is free if that is not enough.
  Amounts free;
  IndexVector<NodeId, int64_t> free_on;     // the same by node, in billionths
  IndexVector<NodeId, int64_t> leaving_on;  // of pods that leave, and not promised; in billionths
  double leaving = 0;                       // on all nodes
  // By queue with pod groups: what it gets or is promised beside what it holds, minus what it
  // loses; in billionths.
  std::vector<std::pair<QueueId, int64_t>> gained;
  // Leaf queues after the cycle: how many have any GPUs, how many have more than their fair share,
  // and the first of those above their share by name, with what they hold in billionths.
  static constexpr size_t kShown = 3;
  int64_t queues_in_use = 0;
  int64_t queues_above = 0;
  std::vector<std::pair<QueueId, int64_t>> first_above;
};

GpuAccount AccountOf(const Plan& plan, const DecisionTable& decisions);

}  // namespace kai

#endif  // KAI_SESSION_GPU_ACCOUNT_H_
