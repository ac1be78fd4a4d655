// MinRuntime: how long a pod group may run before it can be a victim (spec 1 §10).
//
//   MinRuntime min_runtime(queues, {.reclaim_ns = 60'000'000'000});
//   min_runtime.ForReclaim(waiting_queue, victim_queue);   // F105
//   if (MinRuntime::Protects(started_ns, runtime_ns, now_ns)) ...
#ifndef KAI_FAIRSHARE_MIN_RUNTIME_H_
#define KAI_FAIRSHARE_MIN_RUNTIME_H_

#include <cstdint>

#include "kai/model/queue.h"

namespace kai {

class MinRuntime {
 public:
  enum class Method : uint8_t { kLowestCommonAncestor, kQueue };  // `lca`, `queue`
  struct Options {
    int64_t preempt_ns = 0;  // where no queue says anything
    int64_t reclaim_ns = 0;
    Method method = Method::kLowestCommonAncestor;
  };

  MinRuntime(const QueueColumns& queues, const Options& options)
      : queues_(queues), options_(options) {}

  int64_t ForPreempt(QueueId victim) const;
  int64_t ForReclaim(QueueId reclaimer, QueueId victim) const;

  // F103: `started_ns` INT64_MIN: no start is known, and nothing is protected.
  static bool Protects(int64_t started_ns, int64_t runtime_ns, int64_t now_ns);

 private:
  const QueueColumns& queues_;
  Options options_;
};

}  // namespace kai

#endif  // KAI_FAIRSHARE_MIN_RUNTIME_H_
