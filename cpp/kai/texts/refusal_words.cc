#include "kai/texts/refusal_words.h"

#include <array>
#include <utility>

#include "kai/texts/refusal_messages.h"

namespace kai {
namespace {

struct Row {
  Refusal::Cause cause;
  RefusalWords words;
};
constexpr std::array<Row, Refusal::kVolumes + 1> kRows = {{
    {Refusal::kNodeUnschedulable, {"node_unschedulable", messages::kNodeUnschedulable}},
    {Refusal::kNodeNotReady, {"node_not_ready", messages::kNodeNotReady}},
    {Refusal::kNodeMemoryPressure, {"node_memory_pressure", messages::kNodeMemoryPressure}},
    {Refusal::kNodeDiskPressure, {"node_disk_pressure", messages::kNodeDiskPressure}},
    {Refusal::kNodePidPressure, {"node_pid_pressure", messages::kNodePidPressure}},
    {Refusal::kNodeNetworkUnavailable,
     {"node_network_unavailable", messages::kNodeNetworkUnavailable}},
    {Refusal::kUntoleratedTaints, {"untolerated_taints", messages::kUntoleratedTaints}},
    {Refusal::kNodeAffinityMismatch, {"node_affinity", messages::kNodeAffinityMismatch}},
    {Refusal::kPodAffinityMismatch, {"pod_affinity", messages::kPodAffinityMismatch}},
    {Refusal::kPodAntiAffinityMismatch, {"pod_anti_affinity", messages::kPodAntiAffinityMismatch}},
    {Refusal::kExistingAntiAffinity,
     {"existing_pods_anti_affinity", messages::kExistingAntiAffinity}},
    {Refusal::kMixedMigStrategy, {"mig_strategy_mixed", messages::kMixedMigStrategy}},
    {Refusal::kSingleMigStrategy, {"mig_strategy_single", messages::kSingleMigStrategy}},
    {Refusal::kNoMigNode, {"no_mig", messages::kNoMigNode}},
    {Refusal::kSharedOnDraNode, {"shared_gpus_on_dra_node", messages::kSharedOnDraNode}},
    {Refusal::kClaimsOnlyNode, {"gpus_only_for_claims", messages::kClaimsOnlyNode}},
    {Refusal::kGpuMemoryUnknown, {"gpu_memory_unknown", messages::kGpuMemoryUnknown}},
    {Refusal::kNotEnoughGpuMemory, {"gpu_memory", messages::kNotEnoughGpuMemory}},
    {Refusal::kNotEnoughPodSlots, {"pod_slots", messages::kNotEnoughPodSlots}},
    {Refusal::kNotGpuWorker, {"not_gpu_worker", messages::kNotGpuWorker}},
    {Refusal::kNotCpuWorker, {"not_cpu_worker", messages::kNotCpuWorker}},
    {Refusal::kNoFreePorts, {"host_ports", messages::kNoFreePorts}},
    {Refusal::kSpreadWithoutLabel, {"topology_spread_label", messages::kSpreadWithoutLabel}},
    {Refusal::kTooUneven, {"topology_spread", messages::kTooUneven}},
    {Refusal::kTooManyVolumes, {"volume_count", messages::kTooManyVolumes}},
    {Refusal::kOtherZone, {"volume_zone", messages::kOtherZone}},
    {Refusal::kNotNumaAligned, {"numa", messages::kNotNumaAligned}},
    {Refusal::kRefusedByPolicy, {"policy", messages::kRefusedByPolicy}},
    {Refusal::kWithoutText, {"claimed_gpus", {}}},
    {Refusal::kVolumes, {"volumes", {}}},
}};
constexpr bool IsInOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].cause) != i) return false;
  }
  return true;
}
static_assert(IsInOrder(), "kRows needs one row per Refusal::Cause, in the order of the enum");

}  // namespace

RefusalWords WordsOf(Refusal::Cause cause) {
  if (cause == Refusal::kShortage) return {"shortage", {}};
  return kRows[static_cast<size_t>(cause)].words;
}

std::string_view WordOf(const NamedRefusal& refusal) {
  static constexpr std::string_view kWords[] = {
      "legacy_mig", "legacy_mig_pods",  "queue",          "claim_elsewhere",
      "no_devices", "claim_expression", "deleted_claims", "storage"};
  static_assert(std::size(kWords) == std::variant_size_v<NamedRefusal>);
  return kWords[refusal.index()];
}

std::string_view WordOf(const PodRefusal& refusal) {
  static constexpr std::string_view kWords[] = {"volume_claim", "config_map",
                                                "larger_than_any_node", "resource_claim"};
  static_assert(std::size(kWords) == std::variant_size_v<PodRefusal>);
  return kWords[refusal.index()];
}

std::string_view WordOf(VolumeRefusal::Kind kind) {
  static constexpr std::string_view kWords[] = {"",        "not_found", "not_made_yet", "lost",
                                                "deleted", "not_owner", "unbound"};
  return kWords[static_cast<size_t>(kind)];
}

std::string_view WordOf(ClaimRefusalKind kind) {
  static constexpr std::string_view kWords[] = {"",
                                                "not_served",
                                                "not_made_yet",
                                                "not_found",
                                                "consumers",
                                                "no_queue_label",
                                                "wrong_queue_label",
                                                "no_device_class",
                                                "selector_costs"};
  return kWords[static_cast<size_t>(kind)];
}

}  // namespace kai
