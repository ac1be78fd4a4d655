#include "kai/model/reasons/reason.h"

#include <algorithm>
#include <type_traits>

namespace kai {
namespace {

template <typename... Alternatives>
bool HoldsAny(const auto& variant) {
  return (std::holds_alternative<Alternatives>(variant) || ...);
}

std::string_view CodeOfPodRefusals(const std::vector<PodRefusal>& refusals) {
  const auto any = [&]<typename Kind>(std::type_identity<Kind>) {
    return std::ranges::any_of(refusals,
                               [](const PodRefusal& each) { return HoldsAny<Kind>(each); });
  };
  if (any(std::type_identity<VolumeRefusal>())) return reason_codes::kVolumeNotReady;
  if (any(std::type_identity<MissingConfigMaps>())) return reason_codes::kConfigMapMissing;
  if (any(std::type_identity<LargerThanAnyNode>())) return reason_codes::kLargerThanAnyNode;
  const bool costs_too_much = std::ranges::any_of(refusals, [](const PodRefusal& each) {
    const auto* claim = std::get_if<ClaimRefusal>(&each);
    return claim != nullptr && claim->kind == ClaimRefusalKind::kSelectorsCostTooMuch;
  });
  return costs_too_much ? reason_codes::kSelectorCostsTooMuch
                        : reason_codes::kResourceClaimNotReady;
}

}  // namespace

// The most useful code first: missing GPUs, then other missing resources.
std::string_view CodeOf(const NoNodeCause& cause) {
  if (!cause.pod.empty()) return CodeOfPodRefusals(cause.pod);
  bool lacks_gpus = false, lacks_others = false, is_without_text = !cause.refusals.empty();
  for (const auto& [refusal, nodes] : cause.refusals) {
    const bool is_shortage = refusal.cause() == Refusal::kShortage;
    lacks_gpus |= is_shortage && refusal.slot() == kGpuSlot;
    lacks_others |= is_shortage || refusal.cause() == Refusal::kNotEnoughGpuMemory;
    is_without_text &= refusal.cause() == Refusal::kWithoutText;
  }
  if (lacks_gpus) return reason_codes::kNotEnoughGpus;
  if (lacks_others) return reason_codes::kNotEnoughResources;
  if (is_without_text && cause.named.empty()) return reason_codes::kNotEnoughGpus;
  const bool lacks_devices = std::ranges::any_of(cause.named, [](const auto& each) {
    return HoldsAny<ClaimIsElsewhere, NoDevicesForClaims, ClaimsFail>(each.first);
  });
  return lacks_devices ? reason_codes::kNoFreeDevices : reason_codes::kNoMatchingNode;
}

std::string_view CodeOf(const Reason& reason) {
  return std::visit(
      []<typename Kind>(const Kind& each) {
        if constexpr (std::is_same_v<Kind, NoNode>) {
          return CodeOf(*each.cause);
        } else {
          return Kind::kCode;
        }
      },
      reason);
}

PodId PodOf(const Reason& reason) {
  if (const auto* no_node = std::get_if<NoNode>(&reason)) return no_node->pod;
  if (const auto* no_subgroup = std::get_if<NoSubgroup>(&reason)) return no_subgroup->pod;
  return PodId();
}

}  // namespace kai
