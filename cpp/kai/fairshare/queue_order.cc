#include "kai/fairshare/queue_order.h"

namespace kai {
namespace {

constexpr double kNothingAllocatable =
    1000;  // spec 1 F34: the factor for what is allocated where nothing may be allocated

template <typename Test>
bool AllResources(const Test& test) {
  for (size_t i = 0; i < kQuotaResources; ++i) {
    if (!test(i)) return false;
  }
  return true;
}

bool OverUtilised(const QueueContender& queue) {  // spec 1 F64
  return AllResources(
      [&](size_t i) { return queue.queue[i].fair_share < queue.queue.allocated()[i]; });
}

// `next`: the amounts with the candidate.
bool Starved(const QueueContender& queue, const QuotaCount& next) {  // spec 1 F65
  return AllResources([&](size_t i) { return LessOrEqual(next[i], queue.queue[i].deserved); });
}

bool TakesOfNothing(const QueueContender& queue, const QuotaCount& next) {  // spec 1 F67
  return !AllResources([&](size_t i) { return Allocatable(queue.queue[i]) != 0 || next[i] <= 0; });
}

// -1: left has less of some resource and more of none; 1: the reverse; 0: neither (spec 1 F70).
int CompareAllocatable(const QuotaVector& left, const QuotaVector& right) {
  bool left_less = false;
  bool right_less = false;
  for (size_t i = 0; i < kQuotaResources; ++i) {
    left_less = left_less || Less(left[i], right[i]);
    right_less = right_less || Less(right[i], left[i]);
  }
  if (left_less == right_less) return 0;
  return left_less ? -1 : 1;
}

}  // namespace

double DominantShare(const QueueView& queue, const QuotaCount& allocated,
                     const QuotaVector& total) {
  double dominant = 0;
  for (size_t i = 0; i < kQuotaResources; ++i) {
    double allocatable = Allocatable(queue[i]);
    if (allocatable == kUnlimited) allocatable = total[i];
    const double held = allocated[i];
    dominant =
        std::max(dominant, allocatable == 0 ? held * kNothingAllocatable : held / allocatable);
  }
  return dominant;
}

QueueStanding::QueueStanding(const QueueContender& contender, const QuotaVector& total)
    : over_utilised(OverUtilised(contender)),
      priority(contender.priority),
      share(DominantShare(contender.queue, contender.queue.allocated(), total)),
      created_ns(contender.created_ns) {
  const QuotaCount next = contender.queue.allocated() + contender.candidate;
  starved = Starved(contender, next);
  takes_of_nothing = TakesOfNothing(contender, next);
  next_share = DominantShare(contender.queue, next - contender.victims, total);
  for (size_t i = 0; i < kQuotaResources; ++i) allocatable[i] = Allocatable(contender.queue[i]);
}

bool GoesFirst(const QueueStanding& left, const QueueStanding& right) {
  if (left.over_utilised != right.over_utilised) return right.over_utilised;
  if (left.starved != right.starved) return left.starved;
  if (left.priority != right.priority) return left.priority > right.priority;
  if (left.takes_of_nothing != right.takes_of_nothing) return right.takes_of_nothing;
  if (left.next_share != right.next_share) return left.next_share < right.next_share;
  if (left.share != right.share) return left.share < right.share;
  if (const int less = CompareAllocatable(left.allocatable, right.allocatable); less != 0)
    return less < 0;
  return left.created_ns < right.created_ns;  // spec 1 F71: not defined for equal queues
}

bool GoesFirst(const QueueContender& left, const QueueContender& right, const QuotaVector& total) {
  return GoesFirst(QueueStanding(left, total), QueueStanding(right, total));
}

}  // namespace kai
