// Points in time as Kubernetes writes them: RFC 3339, "2024-02-01T00:19:05Z", with fractions and
// offsets allowed.
//
//   const absl::StatusOr<int64_t> time = ParseTimestamp(text);
//   *ParseTimestamp("0001-01-01T00:00:00Z")      // Go's zero time: the smallest int64
//
// Invariants: times that an int64 cannot count to become its ends, so that their order stays right.
// Cost: one pass over the text. Threads: a pure function, thread-safe.
#ifndef KAI_INGEST_TIMESTAMP_H_
#define KAI_INGEST_TIMESTAMP_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace kai {

// Nanoseconds since 1970 in UTC; what is finer is cut off. Years from 0 to 9999 are read, and those
// an int64 cannot count to (before 1678, after 2262) become its first or last moment, so that their
// order with others stays right: Go's zero time is the year 1.
absl::StatusOr<int64_t> ParseTimestamp(std::string_view text);

}  // namespace kai

#endif  // KAI_INGEST_TIMESTAMP_H_
