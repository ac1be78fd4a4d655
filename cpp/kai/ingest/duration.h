// Durations as Go writes them, which is how Kubernetes objects do: "90s", "1h30m", "1.5h", "-5m",
// "0".
//
//   KAI_ASSIGN_OR_RETURN(const int64_t wait_ns, ParseDuration("1h30m"));
#ifndef KAI_INGEST_DURATION_H_
#define KAI_INGEST_DURATION_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace kai {

// Nanoseconds; what is finer is cut off. Units: ns, us (also with a micro sign), ms, s, m, h. More
// than an int64 holds (292 years) is an error.
absl::StatusOr<int64_t> ParseDuration(std::string_view text);

}  // namespace kai

#endif  // KAI_INGEST_DURATION_H_
