#include "kai/fairshare/capacity.h"

namespace kai {
namespace {

// A kind of bound, and what counts towards it.
struct Kind {
  CapacityReason reason;
  double Share::* bound;
  QuotaCount QueueSums::* held;
};
constexpr Kind kLimits = {CapacityReason::kOverLimit, &Share::limit, &QueueSums::allocated};
constexpr Kind kQuotas = {CapacityReason::kNonPreemptibleOverQuota, &Share::deserved,
                          &QueueSums::allocated_non_preemptible};

// Visits the bounds below the sum of what a queue holds and what is requested, from this queue up,
// until `visit` returns false.
void VisitOver(const QueueTable& queues, QueueId queue, const RequestedAmount& requested,
               const Kind& kind, auto visit) {
  for (; queue.valid(); queue = queues.tree.parent[queue]) {
    const QueueView view = queues[queue];
    for (size_t i = 0; i < kQuotaResources; ++i) {
      const double most = view[i].*kind.bound;
      if (most == kUnlimited || requested[i] <= 0) continue;
      if (most >= requested.On(view.sums->*kind.held, i)) continue;
      if (!visit(CapacityAnswer{kind.reason, queue, static_cast<QuotaResource>(i)})) return;
    }
  }
}

CapacityAnswer FirstOver(const QueueTable& queues, QueueId queue, const RequestedAmount& requested,
                         const Kind& kind) {
  CapacityAnswer first;
  VisitOver(queues, queue, requested, kind, [&](const CapacityAnswer& answer) {
    first = answer;
    return false;
  });
  return first;
}

std::vector<CapacityAnswer> AllOver(const QueueTable& queues, QueueId queue,
                                    const RequestedAmount& requested, const Kind& kind) {
  std::vector<CapacityAnswer> all;
  VisitOver(queues, queue, requested, kind, [&](const CapacityAnswer& answer) {
    all.push_back(answer);
    return true;
  });
  return all;
}

}  // namespace

RequestedAmount& RequestedAmount::operator+=(const QuotaCount& more) {
  exact_ += more;
  for (size_t i = 0; i < kQuotaResources; ++i) as_kai_[i] += more[i];
  return *this;
}

CapacityAnswer CheckLimit(const QueueTable& queues, QueueId queue,
                          const RequestedAmount& requested) {
  return FirstOver(queues, queue, requested, kLimits);
}

CapacityAnswer CheckNonPreemptibleQuota(const QueueTable& queues, QueueId queue,
                                        const RequestedAmount& requested) {
  return FirstOver(queues, queue, requested, kQuotas);
}

std::vector<CapacityAnswer> AllOverLimit(const QueueTable& queues, QueueId queue,
                                         const RequestedAmount& requested) {
  return AllOver(queues, queue, requested, kLimits);
}

std::vector<CapacityAnswer> AllOverNonPreemptibleQuota(const QueueTable& queues, QueueId queue,
                                                       const RequestedAmount& requested) {
  return AllOver(queues, queue, requested, kQuotas);
}

}  // namespace kai
