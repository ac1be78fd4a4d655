#include "kai/placement/fit_report.h"

#include <algorithm>
#include <utility>

#include "kai/base/rounding.h"
#include "kai/base/text.h"
#include "kai/model/messages.h"

namespace kai {

namespace {

// In kube-scheduler's order; what one node says counts as one reason.
std::string TextOfVolumes(int32_t code) {
  const auto bound = static_cast<VolumeAnswer::Bound>(code / 3);
  const auto delayed = static_cast<VolumeAnswer::Delayed>(code % 3);
  std::string text;
  const auto say = [&](bool holds, std::string_view reason) {
    if (holds) StrAppend(&text, text.empty() ? "" : ", ", reason);
  };
  say(bound == VolumeAnswer::Bound::kOutOfReach, messages::kVolumeOutOfReach);
  say(delayed == VolumeAnswer::Delayed::kNoVolume, messages::kNoVolumeToBind);
  say(delayed == VolumeAnswer::Delayed::kNoSpace, messages::kNotEnoughStorage);
  say(bound == VolumeAnswer::Bound::kGone, messages::kVolumeIsGone);
  return text;
}

std::string TextOfShortage(ResourceSlot slot, const ResourceSlots& slots) {
  if (slot == kGpuSlot) return std::string(messages::kNotEnoughGpus);
  if (slot == kCpuSlot) return std::string(messages::kNotEnoughCpu);
  if (slot == kMemorySlot) return std::string(messages::kNotEnoughMemory);
  if (slots.IsMig(slot)) return messages::NotEnoughOfMig(slots.Name(slot));
  return messages::NotEnoughOf(slots.Name(slot));
}

// By name; KAI lists them in any order.
std::string TextOfOverhead(const ResourceSlots& slots, std::span<const double> overhead) {
  std::map<std::string_view, std::string> amounts;
  for (size_t i = 0; i < overhead.size(); ++i) {
    if (overhead[i] == 0) continue;
    const std::string& name = slots.Name(ResourceSlot(i));
    const auto amount = static_cast<int64_t>(overhead[i]);
    const bool in_bytes = ResourceSlot(i) == kMemorySlot || messages::IsStorage(name);
    amounts[name] = in_bytes ? BytesAsQuantity(amount) : MillisAsQuantity(amount);
  }
  std::string text;
  for (const auto& [name, amount] : amounts) StrAppend(&text, " ", name, ": ", amount);
  return text;
}

}  // namespace

std::string Reason::Text(const ResourceSlots& slots, std::span<const double> overhead) const {
  switch (code_) {
    case kNodeUnschedulable:
      return std::string(messages::kNodeUnschedulable);
    case kNodeNotReady:
      return std::string(messages::kNodeNotReady);
    case kNodeMemoryPressure:
      return std::string(messages::kNodeMemoryPressure);
    case kNodeDiskPressure:
      return std::string(messages::kNodeDiskPressure);
    case kNodePidPressure:
      return std::string(messages::kNodePidPressure);
    case kNodeNetworkUnavailable:
      return std::string(messages::kNodeNetworkUnavailable);
    case kUntoleratedTaints:
      return std::string(messages::kUntoleratedTaints);
    case kNodeAffinityMismatch:
      return std::string(messages::kNodeAffinityMismatch);
    case kPodAffinityMismatch:
      return std::string(messages::kPodAffinityMismatch);
    case kPodAntiAffinityMismatch:
      return std::string(messages::kPodAntiAffinityMismatch);
    case kExistingAntiAffinity:
      return std::string(messages::kExistingAntiAffinity);
    case kMixedMigStrategy:
      return std::string(messages::kMixedMigStrategy);
    case kSingleMigStrategy:
      return std::string(messages::kSingleMigStrategy);
    case kNoMigNode:
      return std::string(messages::kNoMigNode);
    case kSharedOnDraNode:
      return std::string(messages::kSharedOnDraNode);
    case kGpuMemoryUnknown:
      return std::string(messages::kGpuMemoryUnknown);
    case kNotEnoughGpuMemory:
      return std::string(messages::kNotEnoughGpuMemory);
    case kNotEnoughPodSlots:
      return std::string(messages::kNotEnoughPodSlots);
    case kNotGpuWorker:
      return std::string(messages::kNotGpuWorker);
    case kNotCpuWorker:
      return std::string(messages::kNotCpuWorker);
    case kNoFreePorts:
      return std::string(messages::kNoFreePorts);
    case kSpreadWithoutLabel:
      return std::string(messages::kSpreadWithoutLabel);
    case kTooUneven:
      return std::string(messages::kTooUneven);
    case kTooManyVolumes:
      return std::string(messages::kTooManyVolumes);
    case kOtherZone:
      return std::string(messages::kOtherZone);
    case kNotNumaAligned:
      return std::string(messages::kNotNumaAligned);
    case kWithoutWords:  // never listed: it is what is said when there is nothing to list
      return std::string(messages::kNoNodeWithResources);
    default:
      break;
  }
  if (code_ < kFixedReasons) return TextOfVolumes(code_ - kVolumes + 1);
  const std::string text = TextOfShortage(ResourceSlot((code_ - kFixedReasons) / 2), slots);
  const bool for_overhead = (code_ - kFixedReasons) % 2 != 0;
  return for_overhead ? messages::DueToOverhead(text, TextOfOverhead(slots, overhead)) : text;
}

void FitReport::Add(const Reasons& reasons, int64_t times) {
  for (const uint16_t index : reasons.codes) {
    if (index >= counts_.size()) counts_.resize(index + size_t{1});
    counts_[index] += times;
  }
  if (!reasons.text.empty()) Count(reasons.text, times);
}

FitReport::Reasons FitReport::reasons() const {
  Reasons reasons;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) reasons.codes.push_back(static_cast<uint16_t>(i));
  }
  for (const auto& [text, count] : texts_) {
    if (count == 0) continue;
    reasons.text = text;
    break;
  }
  return reasons;
}

std::string FitReport::Text(const ResourceSlots& slots, std::span<const double> overhead) const {
  std::vector<std::pair<int64_t, std::string>> counted;
  bool any = false;
  for (const uint16_t index : reasons().codes) {
    any = true;
    if (index == Reason::kWithoutWords) continue;
    counted.emplace_back(counts_[index], Reason::AtIndex(index).Text(slots, overhead));
  }
  for (const auto& [text, count] : texts_) {
    if (count != 0) counted.emplace_back(count, text);
  }
  // Nodes that lack only what has been promised away refuse without a word (spec 2 M2).
  if (counted.empty() && !any) return std::string(messages::kUnableToSchedulePod);
  return messages::PodFitError("", counted);
}

}  // namespace kai
