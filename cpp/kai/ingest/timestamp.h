// Timestamps of Kubernetes objects: RFC 3339, "2024-02-01T00:19:05Z", optionally with fractions and
// offsets.
//
//   const absl::StatusOr<int64_t> time = ParseTimestamp(text);
//   *ParseTimestamp("0001-01-01T00:00:00Z")      // Go's zero time: the smallest int64
//
// Invariants: times beyond the range of int64 become its ends, so that their order stays right.
// Cost: one pass over the text. Threads: a pure function, thread-safe.
#ifndef KAI_INGEST_TIMESTAMP_H_
#define KAI_INGEST_TIMESTAMP_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace kai {

// Nanoseconds since 1970 in UTC; finer digits are cut off. Accepts years from 0 to 9999. Times
// before 1678 and after 2262 do not fit an int64 and become its first or last value, so that their
// order with others stays right. Go's zero time is in year 1.
absl::StatusOr<int64_t> ParseTimestamp(std::string_view text);

}  // namespace kai

#endif  // KAI_INGEST_TIMESTAMP_H_
