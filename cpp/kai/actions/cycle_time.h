// CycleTime: the time of a cycle. It notes every time that the cycle compares it with, and so
// records for how long the same objects would give the same decisions.
//
//   time.HasCome(160, WakeReason::kPodOverdue)
//   EXPECT_EQ(time.holds().until_ns, 160) << "the first check that changes";
//
// A cycle uses the time only through these checks. So its decisions hold until the first checked
// time that had not come, and back to the last one that had.
//
// Invariants: from_ns <= now < until_ns. Cost: two comparisons per check. Not thread-safe.
#ifndef KAI_ACTIONS_CYCLE_TIME_H_
#define KAI_ACTIONS_CYCLE_TIME_H_

#include <cstdint>
#include <limits>
#include <string_view>

namespace kai {

// What happens at a time that has not come yet.
enum class WakeReason : uint8_t {
  kPodOverdue,       // a pod is overdue on its node: its room does not count as releasing any more
  kGangStale,        // a gang has been incomplete for too long: its pods are evicted
  kPreemptionDelay,  // a pod group may evict others
  kMinRuntime,       // a pod group may lose pods
  kPromiseEnds,      // a place is no longer held for a pod that has not come back
  kJobOrder,         // the order of pod groups changes
};

// The name for programs: "gang_stale".
constexpr std::string_view WakeReasonName(WakeReason reason) {
  switch (reason) {
    case WakeReason::kPodOverdue:
      return "pod_overdue";
    case WakeReason::kGangStale:
      return "gang_stale";
    case WakeReason::kPreemptionDelay:
      return "preemption_delay";
    case WakeReason::kMinRuntime:
      return "min_runtime";
    case WakeReason::kPromiseEnds:
      return "promise_ends";
    case WakeReason::kJobOrder:
      return "job_order";
  }
  return "";
}

class CycleTime {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kAlways = std::numeric_limits<int64_t>::min();

  // The times for which a cycle decides the same, and what happens at their end.
  struct Holds {
    int64_t from_ns = kAlways;
    int64_t until_ns = kNever;
    WakeReason then{};  // unused if they do not end

    bool at_once = false;  // the plan contains the time, so every other time gives another plan

    bool Covers(int64_t now_ns) const { return !at_once && from_ns <= now_ns && now_ns < until_ns; }
  };

  explicit CycleTime(int64_t now_ns) : now_ns_(now_ns) {}

  // To compute times only; use HasCome() to compare.
  int64_t now_ns() const { return now_ns_; }
  // The plan contains a time that is relative to now.
  void ExpireAtOnce() { holds_.at_once = true; }
  const Holds& holds() const { return holds_; }

  bool HasCome(int64_t moment_ns, WakeReason reason) {
    if (moment_ns <= now_ns_) {
      if (holds_.from_ns < moment_ns) holds_.from_ns = moment_ns;
      return true;
    }
    if (moment_ns < holds_.until_ns) {
      holds_.until_ns = moment_ns;
      holds_.then = reason;
    }
    return false;
  }

 private:
  int64_t now_ns_;
  Holds holds_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_CYCLE_TIME_H_
