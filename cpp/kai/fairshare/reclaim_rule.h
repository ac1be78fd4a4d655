// ReclaimRule: decides if these victims may be evicted for that reclaimer (spec 1 F84-F94).
//
//   ReclaimRule rule(shares.table(), {.queue = reclaimer, .preemptible = true}, {});
//   rule.MayStart(request)                          // spec 1 F84
//   rule.MayBeVictim(victim, request)               // spec 1 F86
//   rule.Accepts(losses, request)                   // spec 1 F88-F94, after a what-if placement
//
// Each call reads the table: pass the current sums for spec 1 F84 and F86, and a copy from the
// start of the search for Accepts() (spec 1 F87). The order of `losses` matters, because each loss
// is tested before it is subtracted (spec 1 W8): callers list them in the order in which the
// victims were chosen.
//
// Invariants: a call changes nothing, and results do not depend on earlier calls. Cost: O(depth)
// for the first two; Accepts() O(losses * depth), and no allocation after the scratch has grown.
// Not thread-safe.
#ifndef KAI_FAIRSHARE_RECLAIM_RULE_H_
#define KAI_FAIRSHARE_RECLAIM_RULE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kai/fairshare/share.h"
#include "kai/model/columns/queue.h"

namespace kai {

struct Reclaimer {
  QueueId queue;
  bool preemptible = true;
};

// A loss of a victim queue: an elastic pod, or the core of a pod group (spec 1 F89).
struct QueueLoss {
  QueueId queue;  // leaf
  QuotaCount amount{};
  double whole_gpus = 0;  // the part of amount[kQuotaGpu] that is not MIG: only it makes GPUs
                          // "involved" (spec 1 F91)
};

// spec 1 F90 a and b, for a queue that keeps `remaining`.
bool ExceedsAllocatable(const QueueShare& share, const QuotaCount& remaining);
bool ExceedsDeserved(const QueueShare& share, const QuotaCount& remaining);
// The other half of spec 1 F90 b: whether the queue, with the request, holds at most what it
// deserves.
bool StaysWithinDeserved(const QueueView& queue, const QuotaCount& request);

// The children of the lowest common ancestor on the paths down to two queues, or the top queue of
// each path. Invalid: that queue is the common ancestor itself.
struct QueueFork {
  QueueId first;
  QueueId second;
};
QueueFork ForkOf(const QueueColumns& queues, QueueId first, QueueId second);

class ReclaimRule {
 public:
  struct Options {
    double saturation_multiplier = 1;  // spec 1 F93; smaller values count as 1
  };

  ReclaimRule(const QueueTable& queues, const Reclaimer& reclaimer, const Options& options);

  bool MayStart(const QuotaCount& request) const;
  bool MayBeVictim(QueueId victim, const QuotaCount& request) const;

  // `whole_gpus`: the GPUs in `request` that are not MIG (spec 1 F91); all if not given.
  bool Accepts(std::span<const QueueLoss> losses, const QuotaCount& request, double whole_gpus);
  bool Accepts(std::span<const QueueLoss> losses, const QuotaCount& request) {
    return Accepts(losses, request, request[kQuotaGpu]);
  }

  // spec 1 F88: the children of the lowest common ancestor on both paths. Both are the same queue
  // if one path ends inside the other.
  struct Leveled {
    QueueId reclaimer;
    QueueId victim;
  };
  Leveled LevelOf(QueueId victim) const;

 private:
  // A queue that has lost something, directly or below it.
  struct LossRow {
    QueueId queue;
    int32_t parent = -1;   // in loss_rows_; -1 above the top
    int32_t level = -1;    // in loss_rows_: the leveled victim queue; set for victims' own queues
    uint8_t involved = 0;  // a bit per resource
    QuotaCount remaining{};
    QuotaVector bound{};  // leveled victim queue: must have more of some resource
  };

  int32_t VictimRowOf(QueueId victim, const QuotaCount& request);
  int32_t RowOf(QueueId queue);
  bool StaysWithinQuota(const QuotaCount& request) const;
  bool StaysBelowSiblings(const QuotaCount& request, uint8_t involved) const;

  QueueTable queues_;
  Reclaimer reclaimer_;
  Options options_;

  // Scratch of Accepts.
  std::vector<LossRow> loss_rows_;
  IndexVector<QueueId, int32_t> row_;  // in loss_rows_, or -1
};

}  // namespace kai

#endif  // KAI_FAIRSHARE_RECLAIM_RULE_H_
