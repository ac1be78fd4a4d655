// Decides which of two sibling queues goes first (spec 1 F61-F71).
//
//   GoesFirst(left.contender(), right.contender(), kTotal)
//   DominantShare(queue, queue.allocated(), kTotal)      // 0.7 of what it may have
//
// If a queue is compared many times, a QueueStanding caches the values that its comparisons have in
// common.
//
// Invariants: the result need not be a strict order: for two queues of the same age that are equal
// in everything else, each one goes first if it is the right argument (spec 1 F71). So the top of a
// heap depends on how the heap was filled; base/lazy_heap.h reproduces that. Cost: a few
// comparisons for each of the three resources. Threads: pure functions, thread-safe.
#ifndef KAI_FAIRSHARE_QUEUE_ORDER_H_
#define KAI_FAIRSHARE_QUEUE_ORDER_H_

#include <cstdint>

#include "kai/fairshare/share.h"

namespace kai {

// A queue in a comparison.
struct QueueContender {
  QueueView queue;
  int64_t priority = 0;
  int64_t created_ns = 0;
  QuotaCount candidate{};  // of the pod group that the queue would place next
  QuotaCount victims{};    // freed by the victims already chosen in the queue
};

// The values that comparisons of a queue read; valid while the contender does not change. `total`
// is that of the whole cluster, which is the measure for unlimited resources at every level (spec 1
// F34).
struct QueueStanding {
  QueueStanding() = default;
  QueueStanding(const QueueContender& contender, const QuotaVector& total);

  bool over_utilised = false;     // spec 1 F64
  bool starved = false;           // spec 1 F65, with the candidate
  bool takes_of_nothing = false;  // spec 1 F67, with the candidate
  int64_t priority = 0;
  double next_share = 0;  // spec 1 F68: dominant, with the candidate and without the victims
  double share = 0;       // spec 1 F69: dominant, as it is now
  int64_t created_ns = 0;
  QuotaVector allocatable = {};  // spec 1 F70
};

// True if `left` goes first.
bool GoesFirst(const QueueStanding& left, const QueueStanding& right);
bool GoesFirst(const QueueContender& left, const QueueContender& right, const QuotaVector& total);

// The largest part, over the three resources, of the allocatable amount that is allocated (spec 1
// F34).
double DominantShare(const QueueView& queue, const QuotaCount& allocated, const QuotaVector& total);

}  // namespace kai

#endif  // KAI_FAIRSHARE_QUEUE_ORDER_H_
