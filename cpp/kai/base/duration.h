// Durations in Go's format, which Kubernetes objects use: "90s", "1h30m", "1.5h", "-5m", "0".
//
//   const absl::StatusOr<int64_t> duration = ParseDuration(text);   // "1h30m": 5400 * kSecondNs
//   ParseLongDuration("1w")
//   FormatDuration(kSecondNs)                                       // "1s"
//
// Invariants: nothing overflows silently: a duration that does not fit an int64 of nanoseconds is
// an error. Cost: one pass over the text. Threads: pure functions, thread-safe.
#ifndef KAI_BASE_DURATION_H_
#define KAI_BASE_DURATION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace kai {

// In nanoseconds; smaller fractions are cut off. Units: ns, us (also with a micro sign), ms, s, m,
// h. A duration that does not fit an int64 (292 years) is an error.
absl::StatusOr<int64_t> ParseDuration(std::string_view text);

// Also accepts days of 24 hours and weeks of 7 days: "1w2d12h". KAI reads some plugin arguments
// this way (spec 1 F102).
absl::StatusOr<int64_t> ParseLongDuration(std::string_view text);

// Go's format: from one second on, hours, minutes and seconds ("1h0m0.5s"); below, the largest unit
// with a whole part ("1.5ms").
std::string FormatDuration(int64_t nanos);

}  // namespace kai

#endif  // KAI_BASE_DURATION_H_
