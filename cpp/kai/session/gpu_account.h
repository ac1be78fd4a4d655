// GpuAccount: what a plan leaves of GPUs, on nodes and to queues, once its decisions are carried
// out.
//
//   AccountOf(plan, TableOf(plan))
//   account.free                      // how much is free on one node, and on how many nodes
//
// Invariants: it depends on the plan alone; sums of parts of devices are exact. Cost: O(nodes +
// pods + decisions). Threads: a pure function of a plan that does not change.
#ifndef KAI_SESSION_GPU_ACCOUNT_H_
#define KAI_SESSION_GPU_ACCOUNT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/group_story.h"

namespace kai {

// Devices, or parts of them, in billionths: 0.3 is 300,000,000. What has more digits is cut, so
// that three thirds are no more than a whole.
int64_t NanoGpus(double gpus);

struct GpuAccount {
  Amounts capacity;  // of nodes
  // Of nodes, what is free after the cycle and promised to no pod. Promises are kept out of what is
  // leaving, and out of what is free where that is too little.
  Amounts free;
  // What queues of pod groups get or are promised beside what they hold, less what leaves them; in
  // billionths.
  std::vector<std::pair<QueueId, int64_t>> gained;
  // Queues that pod groups can run in, as they then are: how many have any GPUs, and how many have
  // more than their fair share; the first of these by name, with what they have in billionths.
  static constexpr size_t kShown = 3;
  int64_t queues_in_use = 0;
  int64_t queues_above = 0;
  std::vector<std::pair<QueueId, int64_t>> first_above;
};

GpuAccount AccountOf(const Plan& plan, const DecisionTable& decisions);

}  // namespace kai

#endif  // KAI_SESSION_GPU_ACCOUNT_H_
