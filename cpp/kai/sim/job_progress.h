// JobProgress: the progress of one job, and how the time that its pods held devices was used.
//
//   JobProgress job({.work_ns = 100, .min_pods = 2});
//   job.SetPods(Running(2), 10);
//   EXPECT_EQ(job.EndNs(), 60);
//
// With fewer running pods than its minimum, a job stops and loses its unsaved work.
//
// Time is counted in pod-nanoseconds: two pods for one second count as two seconds.
//
// Invariants: at any time, held = working (kept or not saved yet) + lost + idle. Cost: O(1). Not
// thread-safe.
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
    int64_t work_ns = 0;  // of all pods together, at speed 1; kNever: no end
    int32_t min_pods = 1;
    int64_t checkpoint_ns = 0;  // as in SimJob
    int64_t restart_ns = 0;
  };
  explicit JobProgress(const Spec& spec)
      : spec_(spec), min_pods_(spec.min_pods), left_ns_(spec.work_ns) {}

  struct Pods {
    int32_t held = 0;     // pods on nodes
    int32_t running = 0;  // running pods among them
    double speed = 1;     // of the slowest running pod
  };
  // Takes effect now. Times never decrease.
  void SetPods(const Pods& pods, int64_t now_ns);
  // Takes effect at the next SetPods().
  void SetMinPods(int32_t min_pods) { min_pods_ = min_pods; }
  // The work is done, or the simulation ends: unsaved work counts as kept.
  void Finish(int64_t now_ns);

  // When the work will be done if nothing changes; kNever if it is stopped.
  int64_t EndNs() const;
  bool IsWorking() const { return pods_.running >= spec_.min_pods; }

  // Sums up to the last call.
  int64_t held_ns() const { return held_ns_; }
  int64_t kept_ns() const { return kept_ns_; }
  int64_t lost_ns() const { return lost_ns_; }
  int64_t unsaved_ns() const { return unsaved_ns_; }
  int64_t idle_ns() const { return held_ns_ - kept_ns_ - lost_ns_ - unsaved_ns_; }
  int64_t left_ns() const { return left_ns_; }        // work at speed 1
  int64_t working_ns() const { return working_ns_; }  // wall time, for any number of pods
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
  int64_t works_from_ns_ = 0;   // while working: the end of the restart
  int64_t since_start_ns_ = 0;  // working time since then
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
