#include "kai/fairshare/queue_order.h"

namespace kai {
namespace {

constexpr double kNothingAllocatable =
    1000;  // spec 1 F34: allocated times this where nothing may be allocated

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

// `next`: with the candidate.
bool Starved(const QueueContender& queue, const QuotaCount& next) {  // spec 1 F65
  return AllResources([&](size_t i) { return LessOrEqual(next[i], queue.queue[i].deserved); });
}

bool TakesOfNothing(const QueueContender& queue, const QuotaCount& next) {  // spec 1 F67
  return !AllResources([&](size_t i) { return Allocatable(queue.queue[i]) != 0 || next[i] <= 0; });
}

// What left and right may allocate, compared: -1 left has less somewhere and more nowhere, 1 the
// reverse, 0 neither (spec 1 F70).
int CompareAllocatable(const QueueView& left, const QueueView& right) {
  bool left_less = false;
  bool right_less = false;
  for (size_t i = 0; i < kQuotaResources; ++i) {
    left_less = left_less || Less(Allocatable(left[i]), Allocatable(right[i]));
    right_less = right_less || Less(Allocatable(right[i]), Allocatable(left[i]));
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

bool GoesFirst(const QueueContender& left, const QueueContender& right, const QuotaVector& total) {
  if (const bool over = OverUtilised(left); over != OverUtilised(right)) return !over;
  const QuotaCount left_with = left.queue.allocated() + left.candidate;
  const QuotaCount right_with = right.queue.allocated() + right.candidate;
  if (const bool starved = Starved(left, left_with); starved != Starved(right, right_with))
    return starved;
  if (left.priority != right.priority) return left.priority > right.priority;
  if (const bool takes = TakesOfNothing(left, left_with);
      takes != TakesOfNothing(right, right_with))
    return !takes;

  const double left_next = DominantShare(left.queue, left_with - left.victims, total);
  const double right_next = DominantShare(right.queue, right_with - right.victims, total);
  if (left_next != right_next) return left_next < right_next;  // spec 1 F68
  const double left_now = DominantShare(left.queue, left.queue.allocated(), total);
  const double right_now = DominantShare(right.queue, right.queue.allocated(), total);
  if (left_now != right_now) return left_now < right_now;  // spec 1 F69
  if (const int less = CompareAllocatable(left.queue, right.queue); less != 0) return less < 0;
  return left.created_ns < right.created_ns;  // spec 1 F71: no word for equals
}

}  // namespace kai
