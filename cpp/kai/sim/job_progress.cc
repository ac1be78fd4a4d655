#include "kai/sim/job_progress.h"

#include <algorithm>
#include <cmath>

namespace kai {

int64_t JobProgress::WorkIn(int64_t elapsed_ns) const {
  const int64_t pod_ns = pods_.running * elapsed_ns;
  if (pods_.speed == 1) return pod_ns;
  return static_cast<int64_t>(std::floor(static_cast<double>(pod_ns) * pods_.speed));
}

void JobProgress::Work(int64_t elapsed_ns) {
  const int64_t worked_ns = pods_.running * elapsed_ns;
  const int64_t work_ns = WorkIn(elapsed_ns);
  if (!IsEndless()) left_ns_ = std::max<int64_t>(left_ns_ - work_ns, 0);
  const int64_t before_ns = since_start_ns_;
  since_start_ns_ += elapsed_ns;
  if (spec_.checkpoint_ns == 0) {
    kept_ns_ += worked_ns;
    return;
  }
  if (spec_.checkpoint_ns > 0 &&
      since_start_ns_ / spec_.checkpoint_ns > before_ns / spec_.checkpoint_ns) {
    // Work after the last checkpoint is not saved yet.
    const int64_t tail_ns = since_start_ns_ % spec_.checkpoint_ns;
    kept_ns_ += unsaved_ns_ + worked_ns - pods_.running * tail_ns;
    unsaved_ns_ = pods_.running * tail_ns;
    unsaved_work_ns_ = std::min(WorkIn(tail_ns), work_ns);
    return;
  }
  unsaved_ns_ += worked_ns;
  unsaved_work_ns_ += work_ns;
}

void JobProgress::Advance(int64_t now_ns) {
  held_ns_ += pods_.held * (now_ns - at_ns_);
  if (IsWorking()) {
    working_ns_ += now_ns - at_ns_;
    const int64_t from_ns = std::max(at_ns_, works_from_ns_);
    if (now_ns > from_ns) Work(now_ns - from_ns);
  }
  at_ns_ = now_ns;
}

void JobProgress::Stop() {
  lost_ns_ += unsaved_ns_;
  if (!IsEndless()) left_ns_ += unsaved_work_ns_;
  unsaved_ns_ = unsaved_work_ns_ = since_start_ns_ = 0;
}

void JobProgress::SetPods(const Pods& pods, int64_t now_ns) {
  Advance(now_ns);
  const bool worked = IsWorking();
  pods_ = pods;
  spec_.min_pods = min_pods_;
  if (worked && !IsWorking()) Stop();
  if (!worked && IsWorking()) {
    works_from_ns_ = now_ns + (has_started_ ? spec_.restart_ns : 0);
    restarts_ += has_started_ ? 1 : 0;
    has_started_ = true;
  }
}

void JobProgress::Finish(int64_t now_ns) {
  Advance(now_ns);
  kept_ns_ += unsaved_ns_;
  unsaved_ns_ = unsaved_work_ns_ = 0;
  pods_ = {};
}

int64_t JobProgress::EndNs() const {
  if (!IsWorking() || IsEndless()) return kNever;
  const int64_t from_ns = std::max(at_ns_, works_from_ns_);
  if (pods_.speed == 1) return from_ns + (left_ns_ + pods_.running - 1) / pods_.running;
  auto elapsed_ns = static_cast<int64_t>(
      std::floor(static_cast<double>(left_ns_) / (pods_.running * pods_.speed)));
  while (WorkIn(elapsed_ns) < left_ns_) ++elapsed_ns;  // corrects rounding: one or two steps
  return from_ns + elapsed_ns;
}

}  // namespace kai
