// Protection: what keeps the pods of a running group, until when and from which groups. Computed on
// request, for explanations.
//
//   made = ProtectionsOf(plan, config, groups).front();
//
// The rules are those of the actions `preempt` (spec 1 F99-F104) and `reclaim` (spec 1 F84-F94),
// for the amounts that queues hold after the plan. A group that may be evicted by these rules still
// needs a waiting group that is helped by its eviction.
//
// Invariants: it depends on plan and configuration alone. Cost: O(decisions + queues), O(queues *
// depth) for each different queue of the groups, and O(pods) of the groups. Threads: a pure
// function of a plan that does not change.
#ifndef KAI_SESSION_PROTECTION_H_
#define KAI_SESSION_PROTECTION_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kai/api/units.h"
#include "kai/session/config.h"
#include "kai/session/plan.h"

namespace kai {

struct Protection {
  struct Runtime {
    int64_t minimum_ns = 0;  // 0: none
    int64_t until_ns = 0;    // the end of the protection, also if it is over
  };
  enum class Share : uint8_t {
    kWithinQuota,  // of no resource more than its quota: it loses nothing
    kAboveQuota,   // it loses pods only to queues that stay within their quota
    kAboveShare,   // it loses pods to any queue that stays within its fair share
  };
  // A queue on the path of the group's queue, for the leaf queues below its siblings: they reclaim
  // from the group only what this queue may lose.
  struct Level {
    QueueId queue;
    Share share = Share::kWithinQuota;
    QuotaResource resource = kQuotaGpu;  // the first one with too much, GPUs before others
    double held = 0;                     // of `resource`, after the plan
    double bound = 0;  // kAboveShare: its fair share; otherwise its quota. -1: unlimited
    Runtime reclaim = {};
  };

  bool preemptible = false;        // false: no other group can take its place, the rest is empty
  bool may_be_preempted = false;   // the action runs
  bool preempts_by_order = false;  // also a better place in the order of groups is enough
  // To other nodes: consolidation and reclaim may do that to make room, whatever the levels are.
  bool may_be_moved = false;
  int32_t priority = 0;
  int64_t spare = 0;  // running pods above the minima: a minimum run time does not protect these
  Runtime preempt = {};
  std::vector<Level> levels = {};  // the queue of the group first; empty: nothing can be reclaimed
};

std::string_view WordOf(Protection::Share share);

std::vector<Protection> ProtectionsOf(const Plan& plan, const Config& config,
                                      std::span<const PodGroupId> groups);

// What each queue holds once the plan is carried out; promised places count, evicted pods do not.
IndexVector<QueueId, QuotaCount> HeldAfter(const Plan& plan);

}  // namespace kai

#endif  // KAI_SESSION_PROTECTION_H_
