// Holdings: what pod groups hold on nodes and keep after a plan.
//
//   const std::vector<Holding> holdings = HoldingsOf(plan);
//
// Invariants: it depends on the plan alone; rows are sorted by group and node. GPUs are counted by
// device within a row: two groups that share a device both hold it. Cost: O(pods). Threads: a pure
// function of a plan that does not change.
#ifndef KAI_SESSION_HOLDINGS_H_
#define KAI_SESSION_HOLDINGS_H_

#include <cstdint>
#include <vector>

#include "kai/session/gpu_account.h"
#include "kai/session/plan.h"

namespace kai {

struct Holding {
  PodGroupId group;  // invalid: pods of no group, which no decision evicts
  NodeId node;
  int64_t pods = 0;
  PodId first = {};  // by name
  // By slot, in the units of the cluster; GPUs in billionths (device_sum.h).
  std::vector<double> amounts = {};
};

std::vector<Holding> HoldingsOf(const Plan& plan);

// By node, what is free after the plan and promised to no pod, with the same units; `leaving`: of
// pods that leave and are not overdue, and not promised. GPUs as in the account.
struct FreeAmounts {
  ResourceTable<NodeId> free;
  ResourceTable<NodeId> leaving;
};
FreeAmounts FreeAfter(const Plan& plan, const GpuAccount& account);

}  // namespace kai

#endif  // KAI_SESSION_HOLDINGS_H_
