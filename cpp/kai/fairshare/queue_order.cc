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
      [&](size_t i) { return (*queue.share)[i].fair_share < (*queue.share)[i].allocated; });
}

bool Starved(const QueueContender& queue) {  // spec 1 F65
  return AllResources([&](size_t i) {
    return LessOrEqual((*queue.share)[i].allocated + queue.candidate[i],
                       (*queue.share)[i].deserved);
  });
}

bool TakesOfNothing(const QueueContender& queue) {  // spec 1 F67
  return !AllResources([&](size_t i) {
    const Share& share = (*queue.share)[i];
    return Allocatable(share) != 0 || share.allocated + queue.candidate[i] <= 0;
  });
}

QuotaVector Difference(const QuotaVector& a, const QuotaVector& b) {
  QuotaVector difference = a;
  difference -= b;
  return difference;
}

// What left and right may allocate, compared: -1 left has less somewhere and more nowhere, 1 the
// reverse, 0 neither (spec 1 F70).
int CompareAllocatable(const QueueShare& left, const QueueShare& right) {
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

double DominantShare(const QueueShare& share, const QuotaVector& more, const QuotaVector& total) {
  double dominant = 0;
  for (size_t i = 0; i < kQuotaResources; ++i) {
    double allocatable = Allocatable(share[i]);
    if (allocatable == kUnlimited) allocatable = total[i];
    const double allocated = share[i].allocated + more[i];
    dominant = std::max(
        dominant, allocatable == 0 ? allocated * kNothingAllocatable : allocated / allocatable);
  }
  return dominant;
}

bool GoesFirst(const QueueContender& left, const QueueContender& right, const QuotaVector& total) {
  if (const bool over = OverUtilised(left); over != OverUtilised(right)) return !over;
  if (const bool starved = Starved(left); starved != Starved(right)) return starved;
  if (left.priority != right.priority) return left.priority > right.priority;
  if (const bool violates = TakesOfNothing(left); violates != TakesOfNothing(right))
    return !violates;

  const double left_next =
      DominantShare(*left.share, Difference(left.candidate, left.victims), total);
  const double right_next =
      DominantShare(*right.share, Difference(right.candidate, right.victims), total);
  if (left_next != right_next) return left_next < right_next;  // spec 1 F68
  const double left_now = DominantShare(*left.share, {}, total);
  const double right_now = DominantShare(*right.share, {}, total);
  if (left_now != right_now) return left_now < right_now;  // spec 1 F69
  if (const int less = CompareAllocatable(*left.share, *right.share); less != 0) return less < 0;
  return left.created_ns < right.created_ns;  // spec 1 F71: no word for equals
}

}  // namespace kai
