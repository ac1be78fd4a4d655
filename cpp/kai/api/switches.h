// Switches: each corrects one weakness of KAI that affects decisions. docs/compatibility.md has a
// row for each.
//
//   Switches switches;                           // all on: the default
//   switches.Set(Switch::kQueueDepth, false);   // decides as KAI does
//   switches.on(Switch::kQueueDepth)
//
// Invariants: kSwitchNames has one name per Switch, in the order of the enum. Cost: one bit per
// switch. Threads: a plain value; copies are independent.
#ifndef KAI_API_SWITCHES_H_
#define KAI_API_SWITCHES_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kai {

enum class Switch : uint8_t {
  kUnrelatedBlockers,  // only groups that can be placed are ordered in a what-if (spec 2 V13)
  kMinSubGroup,        // minSubGroup also counts for staleness and success (spec 2 W2)
  kSlowJob,            // a group that uses up its search budget does not end the action (spec 2 W4)
  kNotReadyWrites,     // annotations of groups that are not ready are written (spec 2 W5)
  kSignatureSkip,      // a group is skipped only if it is certain to fail again (spec 2 W6)
  kQueueDepth,         // the depth keeps the best pod groups of a queue (spec 2 W9)
  kCompletedPods,      // succeeded pods count towards their gang (spec 2 W21)
  kSameCycleEviction,  // a cycle does not evict what it placed or promised (spec 2 T8, V8)
  kQuotaEpsilon,       // requests of pods are added up exactly (spec 1 W6)
  kVictimShares,       // a victim counts once, in all queues above it (spec 1 W13)
  kConsolidationLimit,  // at most the configured number of groups is moved (spec 2 W10)
  kScenarioFilters,     // a scenario is left out only when it cannot work (spec 2 W7)
  kWholeGangs,          // neither victim batches nor its own search break a gang
  kProtectedMinimum,    // leaving pods do not count towards a protected minimum (spec 1 F106)
  kLeavingPods,         // a leaving pod frees its ports and repels no pod (spec 2 W11)
  kHeldGpus,            // part of a GPU is bound only when no pod holds all of it (spec 3 S4)
  kExactRollback,       // an undone attempt leaves no trace on shared GPUs (decision 0010)
  kCommonDomain,        // the search for domains starts at the required level (spec 4 W1)
  kPinnedSiblings,      // all placed pods of a group fix its required domain (spec 4 L3)
  kPartialLabels,       // a node that lacks a level is in the domains above it (spec 4 T6)
  // a topology without levels constrains nothing; wrong levels are reported (spec 4 W3)
  kTopologyLevels,
  kOptionalMembers,   // of K of N sub-groups, as many ready ones start as are missing (spec 4 W5)
  kSingleVictims,     // a pod is a victim only once in a what-if (spec 2 W8)
  kDeviceOrder,       // the same devices in another order are the same place (spec 3 S7)
  kPassedDevices,     // a pod may return to any devices that it still holds (spec 3 S7)
  kClaimBudgets,      // selectors and searches of claims have small budgets (decision 0033)
  kPromises,          // later cycles keep the promises of earlier ones (spec 2 T8, W20)
  kClaimsOnlyNodes,   // GPUs of device plugins are not on nodes with claims only (spec 3 P4)
  kBarePods,          // consolidation moves only pods that a controller creates again (spec 2 R2)
  kUnkeptPromises,    // a group that lost the room of its victims waits before it evicts again
  kReservationSlots,  // new shared devices take a pod slot each, known ones none (spec 3 P6)
  kLastingReclaim,    // no reclaim of what its victims could take back at once (spec 1 F90)
};
inline constexpr size_t kSwitches = 32;

// The names in the configuration, indexed by Switch.
inline constexpr std::array<std::string_view, kSwitches> kSwitchNames = {
    "unrelated_blockers", "min_sub_group",       "slow_job",
    "not_ready_writes",   "signature_skip",      "queue_depth",
    "completed_pods",     "same_cycle_eviction", "quota_epsilon",
    "victim_shares",      "consolidation_limit", "scenario_filters",
    "whole_gangs",        "protected_minimum",   "leaving_pods",
    "held_gpus",          "exact_rollback",      "common_domain",
    "pinned_siblings",    "partial_labels",      "topology_levels",
    "optional_members",   "single_victims",      "device_order",
    "passed_devices",     "claim_budgets",       "promises",
    "claims_only_nodes",  "bare_pods",           "unkept_promises",
    "reservation_slots",  "lasting_reclaim"};

class Switches {
 public:
  Switches() { on_.set(); }

  bool on(Switch which) const { return on_[static_cast<size_t>(which)]; }
  void Set(Switch which, bool on) { on_[static_cast<size_t>(which)] = on; }

 private:
  std::bitset<kSwitches> on_;
};

}  // namespace kai

#endif  // KAI_API_SWITCHES_H_
