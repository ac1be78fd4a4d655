// Which of two sibling queues goes first (spec 1 F61-F71).
//
//   GoesFirst(left.contender(), right.contender(), kTotal)
//   DominantShare(queue, queue.allocated(), kTotal)      // 0.7 of what it may have
//
// Where a queue is compared many times, QueueStanding keeps what its comparisons have in common.
//
// Invariants: the answer need not be a strict order: queues of the same age and equal in all else
// are "right first" both ways (spec 1 F71), so what stands on top of a heap depends on how it was
// filled; base/lazy_heap.h reproduces that. Cost: a few comparisons for each of the three
// resources. Threads: pure functions, thread-safe.
#ifndef KAI_FAIRSHARE_QUEUE_ORDER_H_
#define KAI_FAIRSHARE_QUEUE_ORDER_H_

#include <cstdint>

#include "kai/fairshare/share.h"

namespace kai {

// A queue as it stands in a comparison.
struct QueueContender {
  QueueView queue;
  int64_t priority = 0;
  int64_t created_ns = 0;
  QuotaCount candidate{};  // what the pod group would add that the queue would place next
  QuotaCount victims{};    // what the victims already chosen in the queue would give back
};

// What comparisons of a queue read; good while the contender stays as it is. `total` is the whole
// cluster's, the yardstick of unlimited resources at every level (spec 1 F34).
struct QueueStanding {
  QueueStanding() = default;
  QueueStanding(const QueueContender& contender, const QuotaVector& total);

  bool over_utilised = false;     // spec 1 F64
  bool starved = false;           // spec 1 F65, with the candidate
  bool takes_of_nothing = false;  // spec 1 F67, with the candidate
  int64_t priority = 0;
  double next_share = 0;  // spec 1 F68: dominant, with the candidate and without the victims
  double share = 0;       // spec 1 F69: dominant, as it is
  int64_t created_ns = 0;
  QuotaVector allocatable = {};  // spec 1 F70
};

// True if `left` goes first.
bool GoesFirst(const QueueStanding& left, const QueueStanding& right);
bool GoesFirst(const QueueContender& left, const QueueContender& right, const QuotaVector& total);

// The largest, over the three resources, of what is allocated as a part of what is allocatable
// (spec 1 F34).
double DominantShare(const QueueView& queue, const QuotaCount& allocated, const QuotaVector& total);

}  // namespace kai

#endif  // KAI_FAIRSHARE_QUEUE_ORDER_H_
