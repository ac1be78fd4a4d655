// MinRuntime: how long a pod group may run before it can be a victim (spec 1 F102-F106).
//
//   MinRuntime(queues, options).ForReclaim(waiting_queue, victim_queue)  // ns (spec 1 F105)
//   MinRuntime::EndOf(started_ns, runtime_ns)               // protected until then (spec 1 F103)
//   MinRuntime::MayLose(elastic, is_protected, losses)      // for a scenario (spec 1 F106)
//
// A pod group is elastic if one of its pod sets has more pods, of any status, than its minimum.
// Such a group may be considered as a victim while it is protected, and may lose only the pods
// above its minima.
//
// Invariants: it has no state except its options; an unknown queue has the defaults. Cost: O(depth)
// to resolve a runtime, O(pod sets) for MayLose(). Threads: thread-safe.
#ifndef KAI_FAIRSHARE_MIN_RUNTIME_H_
#define KAI_FAIRSHARE_MIN_RUNTIME_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "kai/base/saturating.h"
#include "kai/model/columns/queue.h"

namespace kai {

class MinRuntime {
 public:
  enum class Method : uint8_t { kLowestCommonAncestor, kQueue };  // `lca`, `queue`
  struct Options {
    int64_t preempt_ns = 0;  // if no queue sets one
    int64_t reclaim_ns = 0;
    Method method = Method::kLowestCommonAncestor;
  };

  MinRuntime(const QueueColumns& queues, const Options& options)
      : queues_(queues), options_(options) {}

  // An invalid queue is unknown: the default.
  int64_t ForPreempt(QueueId victim) const;
  int64_t ForReclaim(QueueId reclaimer, QueueId victim) const;

  // spec 1 F103: the end of the group's protection. INT64_MIN: the start is unknown, so the group
  // is not protected.
  static int64_t EndOf(int64_t started_ns, int64_t runtime_ns) {
    if (started_ns == std::numeric_limits<int64_t>::min()) return started_ns;
    return AddSaturating(started_ns, runtime_ns);
  }

  // What a scenario evicts from a pod set; pods that are only moved count as victims.
  struct PodSetLoss {
    int64_t min_available = 0;
    int64_t active = 0;  // active-used, including pods that already leave
    int64_t victims = 0;
  };
  // spec 1 F106, for one pod group.
  static bool MayLose(bool elastic, bool is_protected, std::span<const PodSetLoss> pod_sets);

 private:
  using Column = IndexVector<QueueId, std::optional<int64_t>>;
  int64_t Inherited(const Column& runtime_ns, QueueId from, int64_t otherwise_ns) const;

  const QueueColumns& queues_;
  Options options_;
};

}  // namespace kai

#endif  // KAI_FAIRSHARE_MIN_RUNTIME_H_
