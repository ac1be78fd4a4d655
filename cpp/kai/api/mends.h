// The weaknesses of KAI's that we mend, and whether a cycle mends them. Every mend that
// changes a decision is one switch; docs/compatibility.md has a row for each.
//
//   Mends mends;                           // all on: the default
//   mends.Set(Mend::kQueueDepth, false);   // as KAI does it
//   mends.on(Mend::kQueueDepth)
//
// Invariants: kMendNames has one name per Mend, in the order of the enum. Cost: one bit per mend.
// Threads: a plain value; copies are independent.
#ifndef KAI_API_MENDS_H_
#define KAI_API_MENDS_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kai {

enum class Mend : uint8_t {
  kUnrelatedBlockers,  // only groups that can be placed are ordered in a what-if (spec 2 V13)
  kMinSubGroup,        // minSubGroup holds for staleness and success as well (spec 2 W2)
  kSlowJob,            // a job that used up its own budget does not end the action (spec 2 W4)
  kNotReadyWrites,     // groups that are not ready keep their annotations (spec 2 W5)
  kSignatureSkip,      // only what is certain to fail again is skipped (spec 2 W6)
  kQueueDepth,         // the depth keeps the best pod groups of a queue (spec 2 W9)
  kCompletedPods,      // pods that have succeeded count towards their gang (spec 2 W21)
  kSameCycleEviction,  // what this cycle placed or promised is no victim of it (spec 2 T8, V8)
  kQuotaEpsilon,       // what pods ask for is added up exactly (spec 1 W6)
  kVictimShares,       // what was chosen from a queue counts once, in all queues above (spec 1 W13)
  kConsolidationLimit,  // the limit of moved pod groups is the limit (spec 2 W10)
  kScenarioFilters,     // a scenario is left out only when it cannot work (spec 2 W7)
  kWholeGangs,          // no gang is left broken: not by its batches' order, nor by its own search
  kProtectedMinimum,    // pods that leave anyway do not count towards what must stay (spec 1 F106)
  kLeavingPods,         // a leaving pod frees ports and keeps no pod away (spec 2 W11)
  kHeldGpus,            // a part of a GPU is bound only once no pod holds it whole (spec 3 S4)
  kExactRollback,       // what was only tried leaves no trace on shared GPUs (decision 0010)
  kCommonDomain,        // domains are looked for from the required level on (spec 4 W1)
  kPinnedSiblings,      // a required domain holds whatever stands already (spec 4 L3)
  kPartialLabels,       // a node that lacks a level counts for those above it (spec 4 T6)
  // a topology without a level asks for nothing; wrong levels are reported (spec 4 W3)
  kTopologyLevels,
  kOptionalMembers,  // of K sub-groups of N only the missing ones, and those that can (spec 4 W5)
  kSingleVictims,    // a pod is a victim once in a what-if (spec 2 W8)
  kDeviceOrder,      // a pod's devices in another order are the same place (spec 3 S7)
  kPassedDevices,    // a pod returns to any devices it still stands on (spec 3 S7)
  kPromises,         // what was promised is kept in the next cycles (spec 2 T8, W20)
};
inline constexpr size_t kMends = 26;

// By Mend, as configurations name them.
inline constexpr std::array<std::string_view, kMends> kMendNames = {"unrelated_blockers",
                                                                    "min_sub_group",
                                                                    "slow_job",
                                                                    "not_ready_writes",
                                                                    "signature_skip",
                                                                    "queue_depth",
                                                                    "completed_pods",
                                                                    "same_cycle_eviction",
                                                                    "quota_epsilon",
                                                                    "victim_shares",
                                                                    "consolidation_limit",
                                                                    "scenario_filters",
                                                                    "whole_gangs",
                                                                    "protected_minimum",
                                                                    "leaving_pods",
                                                                    "held_gpus",
                                                                    "exact_rollback",
                                                                    "common_domain",
                                                                    "pinned_siblings",
                                                                    "partial_labels",
                                                                    "topology_levels",
                                                                    "optional_members",
                                                                    "single_victims",
                                                                    "device_order",
                                                                    "passed_devices",
                                                                    "promises"};

class Mends {
 public:
  Mends() { on_.set(); }

  bool on(Mend mend) const { return on_[static_cast<size_t>(mend)]; }
  void Set(Mend mend, bool on) { on_[static_cast<size_t>(mend)] = on; }

 private:
  std::bitset<kMends> on_;
};

}  // namespace kai

#endif  // KAI_API_MENDS_H_
