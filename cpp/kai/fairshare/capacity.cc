#include "kai/fairshare/capacity.h"

namespace kai {
namespace {

// Finds the first queue, from this one up, with a bound below the sum of what it holds and what is
// requested.
CapacityAnswer FirstOver(const QueueTable& queues, QueueId queue, const RequestedAmount& requested,
                         CapacityReason reason, double Share::* bound,
                         QuotaCount QueueSums::* held) {
  for (; queue.valid(); queue = queues.tree.parent[queue]) {
    const QueueView view = queues[queue];
    for (size_t i = 0; i < kQuotaResources; ++i) {
      const double most = view[i].*bound;
      if (most != kUnlimited && requested[i] > 0 && most < requested.On(view.sums->*held, i))
        return {.reason = reason, .queue = queue, .resource = static_cast<QuotaResource>(i)};
    }
  }
  return {};
}

}  // namespace

RequestedAmount& RequestedAmount::operator+=(const QuotaCount& more) {
  exact_ += more;
  for (size_t i = 0; i < kQuotaResources; ++i) as_kai_[i] += more[i];
  return *this;
}

CapacityAnswer CheckLimit(const QueueTable& queues, QueueId queue,
                          const RequestedAmount& requested) {
  return FirstOver(queues, queue, requested, CapacityReason::kOverLimit, &Share::limit,
                   &QueueSums::allocated);
}

CapacityAnswer CheckNonPreemptibleQuota(const QueueTable& queues, QueueId queue,
                                        const RequestedAmount& requested) {
  return FirstOver(queues, queue, requested, CapacityReason::kNonPreemptibleOverQuota,
                   &Share::deserved, &QueueSums::allocated_non_preemptible);
}

}  // namespace kai
