// Session: one cycle from start to end. A function of cluster, configuration and time.
//
//   const Session session = SessionWith("");        // Session(config)
//   session.Run(cluster, kTestNowNs, nullptr)       // an absl::StatusOr<Plan>
//
// Invariants: the cluster is the same afterwards, and so is every further plan for that time, as
// long as no budget of time cuts a search. FailedPrecondition: another plan for this cluster is
// being made. Aborted: a policy that is a function failed. Cost: O(nodes + pod groups + queues) to
// open and to close, plus what its actions do. Threads: several sessions, or one, may plan several
// clusters at once; two plans on one cluster at once are refused.
#ifndef KAI_SESSION_SESSION_H_
#define KAI_SESSION_SESSION_H_

#include <functional>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kai/actions/promises.h"
#include "kai/base/clock.h"
#include "kai/session/config.h"
#include "kai/session/cycle_rooms.h"
#include "kai/session/plan.h"
#include "kai/session/registry.h"

namespace kai {

// What Run() says to a second plan at once.
absl::Status ClusterIsPlanned();

class Session {
 public:
  struct Options {
    // Plain ways, for comparison with the fast ones: scan all nodes instead of asking the index;
    // simulate every scenario instead of proving that some cannot work.
    bool always_scan = false;
    bool plain_search = false;
    // False: for callers that read what is decided, and no reasons. Plans have the same decisions,
    // evictions, stamps, promises, times and queues' numbers, and no outcomes.
    bool explains = true;
    // Shown the cycle when all actions are done and nothing is rolled back yet.
    std::function<void(const CycleView&)> inspect = {};
  };

  explicit Session(Config config) : Session(std::move(config), Options{}) {}
  Session(Config config, const Options& options)
      : config_(std::move(config)), rules_(config_), options_(options) {
    rules_.placer.explains = options.explains;
  }

  // `stopwatch` may be null: then timings are zero.
  absl::StatusOr<Plan> Run(std::shared_ptr<Cluster> cluster, int64_t now_ns,
                           const Clock* stopwatch) const;
  // With rooms that the cycle before has left, and leaves rooms for the next one. `kept` may hold
  // null, before and afterwards: then rooms are made. `promised`: places that earlier cycles have
  // promised (actions/promises.h).
  absl::StatusOr<Plan> Run(std::shared_ptr<Cluster> cluster, int64_t now_ns, const Clock* stopwatch,
                           std::unique_ptr<CycleRooms>* kept,
                           std::span<const PromisedPlace> promised) const;

  // Places that a cycle promises are kept by the next one.
  bool KeepsPromises() const { return rules_.keeps_promises; }

  const Config& config() const { return config_; }

 private:
  Config config_;
  CycleRules rules_;
  Options options_;
};

}  // namespace kai

#endif  // KAI_SESSION_SESSION_H_
