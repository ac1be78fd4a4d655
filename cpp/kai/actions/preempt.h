// Preempt: inside a queue, more important groups evict less important ones (spec 2 R4, spec 1 F99).
//
//   return [options] { return MakePreempt(options); };
//
// Invariants: a victim is in the queue of the group that evicts it, and has a lower priority; with
// a job order it may instead have a worse key (job_order.h), and never has a better one. Cost: a
// search for victims (victim_search.h) for each waiting group. Threads: those of action.h.
#ifndef KAI_ACTIONS_PREEMPT_H_
#define KAI_ACTIONS_PREEMPT_H_

#include <memory>
#include <optional>

#include "kai/actions/action.h"
#include "kai/fairshare/min_runtime.h"

namespace kai {

struct PreemptOptions {
  int64_t depth = -1;                              // the most pod groups per leaf queue; -1: all
  bool check_capacity = true;                      // false without the plugin
  std::optional<MinRuntime::Options> min_runtime;  // nothing: no group is protected
};

std::unique_ptr<Action> MakePreempt(const PreemptOptions& options);

}  // namespace kai

#endif  // KAI_ACTIONS_PREEMPT_H_
