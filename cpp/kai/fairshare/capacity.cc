#include "kai/fairshare/capacity.h"

namespace kai {
namespace {

template <typename IsOver>
CapacityAnswer FirstOver(std::span<const QueueShare* const> path, const QuotaVector& requested,
                         CapacityReason reason, const IsOver& is_over) {
  for (size_t level = 0; level < path.size(); ++level) {
    for (size_t i = 0; i < kQuotaResources; ++i) {
      if (requested[i] > 0 && is_over((*path[level])[i], requested[i])) {
        return {.reason = reason, .level = level, .resource = static_cast<QuotaResource>(i)};
      }
    }
  }
  return {};
}

}  // namespace

CapacityAnswer CheckLimit(std::span<const QueueShare* const> path, const QuotaVector& requested,
                          double tolerance) {
  return FirstOver(path, requested, CapacityReason::kOverLimit,
                   [tolerance](const Share& share, double amount) {
                     return share.limit != kUnlimited &&
                            share.limit * (1 + tolerance) < share.allocated + amount;
                   });
}

CapacityAnswer CheckNonPreemptibleQuota(std::span<const QueueShare* const> path,
                                        const QuotaVector& requested, double tolerance) {
  return FirstOver(path, requested, CapacityReason::kNonPreemptibleOverQuota,
                   [tolerance](const Share& share, double amount) {
                     return share.deserved != kUnlimited &&
                            share.deserved * (1 + tolerance) <
                                share.allocated_non_preemptible + amount;
                   });
}

}  // namespace kai
