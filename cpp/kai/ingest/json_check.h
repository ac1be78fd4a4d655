// CheckJson: checks byte by byte whether a text is JSON, and reports where it is not.
//
//   const absl::Status status = CheckJson(text);
//
// JsonDocument checks faster, and calls this only for the error message. This function defines what
// JsonDocument accepts, and does not use simdjson.
//
// Invariants: it accepts exactly the texts that are one JSON value in valid UTF-8, nested no deeper
// than kDeepestJson. Cost: about a millisecond per megabyte, and constant memory. Threads: a pure
// function, thread-safe.
#ifndef KAI_INGEST_JSON_CHECK_H_
#define KAI_INGEST_JSON_CHECK_H_

#include <string_view>

#include "absl/status/status.h"

namespace kai {

inline constexpr int kDeepestJson =
    1000;  // levels of objects and lists; Kubernetes' own objects need about 20

// OK if `text` is one JSON value in valid UTF-8. Otherwise an error of one sentence with the
// position: "byte 17: expected ',' or ']', found 'x'". Uses constant memory at any nesting.
absl::Status CheckJson(std::string_view text);

}  // namespace kai

#endif  // KAI_INGEST_JSON_CHECK_H_
