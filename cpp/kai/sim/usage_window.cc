#include "kai/sim/usage_window.h"

#include <cmath>

namespace kai {

absl::Status UsageWindow::Check() const {
  if (kind != Kind::kResets && size_ns <= 0)
    return absl::InvalidArgumentError("usage: the window has no length");
  if (kind == Kind::kResets && next_reset == nullptr)
    return absl::InvalidArgumentError("usage: the start of the window is unknown");
  if (fetch_ns <= 0) return absl::InvalidArgumentError("usage: the fetch interval has no length");
  if (!(half_life_ns >= 0 && std::isfinite(half_life_ns)))
    return absl::InvalidArgumentError("usage: the half-life is negative");
  return absl::OkStatus();
}

int64_t WindowBegin::At(int64_t now_ns) {
  switch (window_.kind) {
    case UsageWindow::Kind::kSliding:
      return now_ns - window_.size_ns;
    case UsageWindow::Kind::kTumbling: {
      const int64_t start_ns = window_.start_ns;
      if (now_ns <= start_ns) return now_ns;
      return start_ns + (now_ns - start_ns - 1) / window_.size_ns * window_.size_ns;
    }
    case UsageWindow::Kind::kResets:
      break;
  }
  if (!has_next_) next_ns_ = window_.next_reset(reset_ns_);
  has_next_ = true;
  while (next_ns_ < now_ns) {
    reset_ns_ = next_ns_;
    next_ns_ = window_.next_reset(reset_ns_);
  }
  return reset_ns_;
}

}  // namespace kai
