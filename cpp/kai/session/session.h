// Session: runs one cycle. It is a function of cluster, configuration and time.
//
//   const Session session = SessionWith("");        // Session(config)
//   session.Run(cluster, kTestNowNs, nullptr)       // an absl::StatusOr<Plan>
//
// Invariants: the cluster is the same afterwards, and so is every further plan for that time,
// provided that no time budget ends a search. FailedPrecondition: another plan of this cluster is
// in progress. Aborted: a policy that is a function failed. Cost: O(nodes + pod groups + queues) at
// the start and the end, plus the actions. Threads: one or several sessions may plan several
// clusters at once; two plans of one cluster at once are an error.
#ifndef KAI_SESSION_SESSION_H_
#define KAI_SESSION_SESSION_H_

#include <functional>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kai/actions/cycle_time.h"
#include "kai/actions/promises.h"
#include "kai/base/clock.h"
#include "kai/session/config.h"
#include "kai/session/cycle_rooms.h"
#include "kai/session/plan.h"
#include "kai/session/registry.h"

namespace kai {

// The error of Run() while another plan is in progress.
absl::Status ClusterIsPlanned();

class Session {
 public:
  struct Options {
    // For comparison with the fast search: scan all nodes instead of using the index; simulate
    // every scenario instead of proving that some cannot succeed.
    bool always_scan = false;
    bool plain_search = false;
    // False: for callers that read decisions but no reasons. Plans have the same decisions,
    // evictions, timestamps, promises, times and numbers of queues, but no outcomes.
    bool explains = true;
    // Plans as if no other group had waiting pods: they request nothing, and are not tried.
    PodGroupId alone = PodGroupId();
    // Called with the cycle after all actions, before the rollback.
    std::function<void(const CycleView&)> inspect = {};
    // Records the scores of nodes for one pod of the cluster (placement/score_sheet.h); null: none.
    ScoreWatch* watch = nullptr;
  };

  explicit Session(Config config) : Session(std::move(config), Options{}) {}
  Session(Config config, const Options& options)
      : config_(std::move(config)), rules_(config_), options_(options) {
    rules_.placer.explains = options.explains;
  }

  // `stopwatch` may be null: then timings are zero.
  absl::StatusOr<Plan> Run(std::shared_ptr<Cluster> cluster, int64_t now_ns,
                           const Clock* stopwatch) const;
  // Uses the rooms that the previous cycle left, and leaves rooms for the next one. `kept` may hold
  // null before (then rooms are built) and afterwards. `promised`: by earlier cycles
  // (actions/promises.h). `time` has not been compared with any other yet.
  absl::StatusOr<Plan> Run(std::shared_ptr<Cluster> cluster, CycleTime time, const Clock* stopwatch,
                           std::unique_ptr<CycleRooms>* kept, const Promised& promised) const;

  // True if the next cycle keeps the places that a cycle promises.
  bool KeepsPromises() const { return rules_.keeps_promises; }

  // True if groups get room from each other in turns: by past usage, or by an order that decides
  // about preemption.
  bool GroupsTakeTurns(const Cluster& cluster) const;

  const Config& config() const { return config_; }

 private:
  Config config_;
  CycleRules rules_;
  Options options_;
};

}  // namespace kai

#endif  // KAI_SESSION_SESSION_H_
