// ReclaimRule: may these victims be taken for that reclaimer? (spec 1 §8)
//
//   ReclaimRule rule(queues, shares, {.queue = leaf, .preemptible = true}, {});
//   if (!rule.MayStart(request)) ...                     // F84
//   rule.MayBeVictim(victim_queue, request);             // F86
//   rule.Accepts(losses, request);                       // F88-F94, after a what-if placement
//
// `shares` are read when asked: hand in the live ones for F84 and F86, and a copy made when the
// search began for Accepts (F87). The order of `losses` counts, since each is tested before it is
// taken (spec 1 W8): callers list them in the order in which the victims were chosen.
#ifndef KAI_FAIRSHARE_RECLAIM_RULE_H_
#define KAI_FAIRSHARE_RECLAIM_RULE_H_

#include <span>

#include "kai/fairshare/share.h"
#include "kai/model/queue.h"

namespace kai {

struct Reclaimer {
  QueueId queue;
  bool preemptible = true;
};

// What a victim queue would lose in one piece: an elastic pod, or the core of a pod group (F89).
struct QueueLoss {
  QueueId queue;  // leaf
  QuotaVector amount{};
  double whole_gpus = 0;  // the part of amount[kQuotaGpu] that is not MIG: only it makes GPUs
                          // "involved" (F91)
};

// F90 a and b, for a queue of which `remaining` is left.
bool ExceedsAllocatable(const QueueShare& share, const QuotaVector& remaining);
bool ExceedsDeserved(const QueueShare& share, const QuotaVector& remaining);

class ReclaimRule {
 public:
  struct Options {
    double saturation_multiplier = 1;  // F93
  };

  ReclaimRule(const QueueColumns& queues, const IndexVector<QueueId, QueueShare>& shares,
              const Reclaimer& reclaimer, const Options& options)
      : queues_(queues), shares_(shares), reclaimer_(reclaimer), options_(options) {}

  bool MayStart(const QuotaVector& request) const;
  bool MayBeVictim(QueueId victim, const QuotaVector& request) const;
  bool Accepts(std::span<const QueueLoss> losses, const QuotaVector& request) const;

  // F88: the children of the lowest common ancestor on either path. Both are the same queue where
  // one path ends inside the other.
  struct Leveled {
    QueueId reclaimer;
    QueueId victim;
  };
  Leveled LevelOf(QueueId victim) const;

 private:
  const QueueColumns& queues_;
  const IndexVector<QueueId, QueueShare>& shares_;
  Reclaimer reclaimer_;
  Options options_;
};

}  // namespace kai

#endif  // KAI_FAIRSHARE_RECLAIM_RULE_H_
