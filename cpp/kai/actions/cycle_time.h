// CycleTime: the time of a cycle. It notes every time that the cycle compares it with, and so
// records for how long the same objects would give the same decisions.
//
//   time.HasCome(160, WakeReason::kPodOverdue)
//   EXPECT_EQ(time.holds().until_ns, 160) << "the first check that changes";
//
// A cycle uses the time only through these checks. So its decisions hold until the first checked
// time that had not come, and back to the last one that had.
//
// Durations may count within bounds only (TrustedTime), because a clock has jumped or is in doubt.
//
// Invariants: from_ns <= now < until_ns, unless the time is in doubt: then now counts as the time
// at which the doubt began. Cost: two comparisons per check. Not thread-safe.
#ifndef KAI_ACTIONS_CYCLE_TIME_H_
#define KAI_ACTIONS_CYCLE_TIME_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "kai/base/saturating.h"

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

// The part of the time in which durations count: a duration that began before `from_ns` counts from
// there, and none ends after `until_ns`. So no gang, run time or delay ends early because a clock
// has jumped.
struct TrustedTime {
  int64_t from_ns = std::numeric_limits<int64_t>::min();
  int64_t until_ns = std::numeric_limits<int64_t>::max();

  // The time up to which durations have come at `now_ns`.
  int64_t Reached(int64_t now_ns) const { return std::min(now_ns, until_ns); }
  bool operator==(const TrustedTime&) const = default;
};

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

  explicit CycleTime(int64_t now_ns, const TrustedTime& trusted = {})
      : now_ns_(now_ns), reached_ns_(trusted.Reached(now_ns)), trusted_from_ns_(trusted.from_ns) {}

  // To compute times only; use HasCome() to compare.
  int64_t now_ns() const { return now_ns_; }
  // The plan contains a time that is relative to now.
  void ExpireAtOnce() { holds_.at_once = true; }
  const Holds& holds() const { return holds_; }
  // The end of a duration that would end at `end_ns` by its time stamp. kAlways stays.
  int64_t EndOf(int64_t end_ns, int64_t length_ns) const {
    return end_ns == kAlways ? end_ns
                             : std::max(end_ns, AddSaturating(trusted_from_ns_, length_ns));
  }

  bool HasCome(int64_t moment_ns, WakeReason reason) {
    if (moment_ns <= reached_ns_) {
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
  int64_t reached_ns_;
  int64_t trusted_from_ns_;
  Holds holds_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_CYCLE_TIME_H_
