// UsageWindow: the part of the past that counts for time-based fair share (spec 1 F116, F120).
//
//   UsageWindow window = {.kind = UsageWindow::Kind::kTumbling, .size_ns = 60};
//
// Times are nanoseconds since the start of the simulation.
//
// Invariants: the beginning of the window never moves back. Cost: O(1), and a call of `next_reset`
// for each window that has begun. Not thread-safe.
#ifndef KAI_SIM_USAGE_WINDOW_H_
#define KAI_SIM_USAGE_WINDOW_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace kai {

struct UsageWindow {
  enum class Kind : uint8_t {
    kSliding,   // the last `size_ns`
    kTumbling,  // since the last of `start_ns` + k * `size_ns`
    kResets,    // since the last time of a list, such as that of a cron string
  };
  Kind kind = Kind::kSliding;
  int64_t size_ns = 0;
  int64_t start_ns = 0;                             // may be before the simulation
  double half_life_ns = 0;                          // 0: the whole window counts equally
  int64_t fetch_ns = 0;                             // usage is fetched at multiples of this
  std::function<int64_t(int64_t)> next_reset = {};  // the next time of the list

  // InvalidArgument: "usage: the window has no length".
  absl::Status Check() const;
};

// Computes when the window begins, as time goes on.
class WindowBegin {
 public:
  explicit WindowBegin(UsageWindow window) : window_(std::move(window)) {}

  // The beginning of the window that contains `now_ns`: strictly before `now_ns`, even if a new
  // window begins then. Equal to `now_ns` if tumbling windows begin later, so that nothing counts.
  // Times never decrease.
  int64_t At(int64_t now_ns);

  const UsageWindow& window() const { return window_; }

 private:
  UsageWindow window_;
  int64_t reset_ns_ = 0;  // of kResets; times before the simulation have no effect
  bool has_next_ = false;
  int64_t next_ns_ = 0;
};

}  // namespace kai

#endif  // KAI_SIM_USAGE_WINDOW_H_
