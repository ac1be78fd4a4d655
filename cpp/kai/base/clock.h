// Time as an argument. The engine never reads a clock: each cycle gets the time, and optionally a
// stopwatch for its timings.
//
//   ManualClock clock;
//   clock.Advance(1'000'000);   // in tests: time moves only by such calls
//
// Invariants: NowNs() never decreases, provided that no caller advances by a negative number. Cost:
// at most one system call. Threads: a SystemClock is thread-safe, a ManualClock is not.
#ifndef KAI_BASE_CLOCK_H_
#define KAI_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace kai {

inline constexpr int64_t kSecondNs = 1'000'000'000;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowNs() const = 0;
};

// Monotonic time of this machine: it measures durations and is not a date.
class SystemClock final : public Clock {
 public:
  int64_t NowNs() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

class ManualClock final : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_; }
  void Advance(int64_t ns) { now_ns_ += ns; }

 private:
  int64_t now_ns_ = 0;
};

}  // namespace kai

#endif  // KAI_BASE_CLOCK_H_
