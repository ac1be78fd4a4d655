// The stable codes for why something waits: programs may rely on them (docs/reference/reasons.md).
//
//   EXPECT_EQ(error.code, reason_codes::kOverLimit);
//
// Invariants: a code keeps its meaning. Cost: none. Threads: constants.
#ifndef KAI_MODEL_REASONS_REASON_CODES_H_
#define KAI_MODEL_REASONS_REASON_CODES_H_

#include <string_view>

namespace kai::reason_codes {

inline constexpr std::string_view kOverLimit = "over_limit";
inline constexpr std::string_view kNonPreemptibleOverQuota = "non_preemptible_over_quota";
inline constexpr std::string_view kGangIncomplete = "gang_incomplete";
inline constexpr std::string_view kNotEnoughGpus = "not_enough_gpus";
inline constexpr std::string_view kNotEnoughResources = "not_enough_resources";
inline constexpr std::string_view kNoMatchingNode = "no_matching_node";
inline constexpr std::string_view kTopologyTooSmall = "topology_too_small";
inline constexpr std::string_view kLargerThanAnyNode = "larger_than_any_node";
inline constexpr std::string_view kConfigMapMissing = "config_map_missing";
inline constexpr std::string_view kVolumeNotReady = "volume_not_ready";
inline constexpr std::string_view kResourceClaimNotReady = "resource_claim_not_ready";
inline constexpr std::string_view kSelectorCostsTooMuch = "selector_costs_too_much";
inline constexpr std::string_view kNoFreeDevices = "no_free_devices";
inline constexpr std::string_view kQueueDoesNotExist = "queue_does_not_exist";
inline constexpr std::string_view kQueueNotLeaf = "queue_not_leaf";
inline constexpr std::string_view kSubgroupDoesNotExist = "subgroup_does_not_exist";
inline constexpr std::string_view kNotReady = "not_ready";
inline constexpr std::string_view kNotBuilt = "not_built";
inline constexpr std::string_view kCompleted = "completed";
inline constexpr std::string_view kNoPods = "no_pods";
inline constexpr std::string_view kNotConsidered = "not_considered";
inline constexpr std::string_view kPreemptionDelay = "preemption_delay";
inline constexpr std::string_view kSearchBudgetSpent = "search_budget_spent";
inline constexpr std::string_view kEvicted = "evicted";
inline constexpr std::string_view kStale = "stale";

}  // namespace kai::reason_codes

#endif  // KAI_MODEL_REASONS_REASON_CODES_H_
