// JobProgress: how far the work of one job is, and what became of the time that its pods held
// their devices.
//
//   JobProgress job({.work_ns = 100, .min_pods = 2});
//   job.SetPods(Running(2), 10);
//   EXPECT_EQ(job.EndNs(), 60);
//
// With fewer pods than its minimum it stops, and what was not saved is lost.
//
// Time is counted in pod-nanoseconds: two pods for a second are two seconds.
//
// Invariants: held = working (kept or not saved yet) + lost + idle, at every moment. Cost: O(1).
// Not thread-safe.
#ifndef KAI_SIM_JOB_PROGRESS_H_
#define KAI_SIM_JOB_PROGRESS_H_

#include <cstdint>
#include <limits>

#include "kai/sim/workload.h"

namespace kai {

class JobProgress {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  struct Spec {
    int64_t work_ns = 0;  // of all pods together, at speed 1; kNever: it never ends
    int32_t min_pods = 1;
    int64_t checkpoint_ns = 0;  // as SimJob
    int64_t restart_ns = 0;
  };
  explicit JobProgress(const Spec& spec)
      : spec_(spec), min_pods_(spec.min_pods), left_ns_(spec.work_ns) {}

  struct Pods {
    int32_t held = 0;     // on nodes
    int32_t running = 0;  // of these
    double speed = 1;     // of the slowest that runs
  };
  // From now on. Times never decrease.
  void SetPods(const Pods& pods, int64_t now_ns);
  // From the next SetPods() on.
  void SetMinPods(int32_t min_pods) { min_pods_ = min_pods; }
  // The work is done, or the simulation ends: what was worked is kept.
  void Finish(int64_t now_ns);

  // When the work is done if nothing changes; kNever: it does not go on.
  int64_t EndNs() const;
  bool IsWorking() const { return pods_.running >= spec_.min_pods; }

  // Up to the last call.
  int64_t held_ns() const { return held_ns_; }
  int64_t kept_ns() const { return kept_ns_; }
  int64_t lost_ns() const { return lost_ns_; }
  int64_t unsaved_ns() const { return unsaved_ns_; }
  int64_t idle_ns() const { return held_ns_ - kept_ns_ - lost_ns_ - unsaved_ns_; }
  int64_t left_ns() const { return left_ns_; }        // work, at speed 1
  int64_t working_ns() const { return working_ns_; }  // time, whatever the number of pods
  int32_t restarts() const { return restarts_; }

 private:
  bool IsEndless() const { return spec_.work_ns == kNever; }
  int64_t WorkIn(int64_t elapsed_ns) const;
  void Advance(int64_t now_ns);
  void Work(int64_t elapsed_ns);
  void Stop();

  Spec spec_;
  int32_t min_pods_;
  Pods pods_;
  int64_t at_ns_ = 0;
  int64_t works_from_ns_ = 0;   // while it works: when the restart is over
  int64_t since_start_ns_ = 0;  // time that it worked since then
  int64_t left_ns_;
  int64_t unsaved_work_ns_ = 0;
  int64_t working_ns_ = 0;
  int64_t held_ns_ = 0;
  int64_t kept_ns_ = 0;
  int64_t lost_ns_ = 0;
  int64_t unsaved_ns_ = 0;
  int32_t restarts_ = 0;
  bool has_started_ = false;
};

}  // namespace kai

#endif  // KAI_SIM_JOB_PROGRESS_H_
