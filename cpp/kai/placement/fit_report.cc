#include "kai/placement/fit_report.h"

#include <algorithm>
#include <utility>

#include "kai/model/messages.h"

namespace kai {

std::string Reason::Text(const ResourceSlots& slots) const {
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
    case kNotGpuWorker:
      return std::string(messages::kNotGpuWorker);
    case kNotCpuWorker:
      return std::string(messages::kNotCpuWorker);
    default:
      break;
  }
  const ResourceSlot slot(code_ - kFixedReasons);
  if (slot == kGpuSlot) return std::string(messages::kNotEnoughGpus);
  if (slot == kCpuSlot) return std::string(messages::kNotEnoughCpu);
  if (slot == kMemorySlot) return std::string(messages::kNotEnoughMemory);
  return messages::NotEnoughOf(slots.Name(slot));
}

bool FitReport::empty() const {
  return base_.empty() &&
         std::all_of(counts_.begin(), counts_.end(), [](int64_t count) { return count == 0; });
}

std::string FitReport::Text(const ResourceSlots& slots) const {
  std::vector<std::pair<int64_t, std::string>> reasons;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const Reason reason = i < Reason::kFixedReasons
                              ? Reason(static_cast<Reason::Fixed>(i))
                              : Reason::NotEnough(ResourceSlot(i - Reason::kFixedReasons));
    reasons.emplace_back(counts_[i], reason.Text(slots));
  }
  if (reasons.empty() && base_.empty()) return std::string(messages::kUnableToSchedulePod);
  return messages::PodFitError(base_, reasons);
}

}  // namespace kai
