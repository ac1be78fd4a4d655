// CheckJson: whether a text is JSON, byte by byte, and where it stops being that.
//
//   const absl::Status status = CheckJson(text);
//
// JsonDocument finds out faster, and comes here only for the words. This is the definition of what
// it accepts, and knows nothing of simdjson.
//
// Invariants: it accepts exactly what is one JSON value in valid UTF-8, no deeper than
// kDeepestJson. Cost: about a millisecond per megabyte, and constant memory. Threads: a pure
// function, thread-safe.
#ifndef KAI_INGEST_JSON_CHECK_H_
#define KAI_INGEST_JSON_CHECK_H_

#include <string_view>

#include "absl/status/status.h"

namespace kai {

inline constexpr int kDeepestJson =
    1000;  // levels of objects and lists; Kubernetes' own objects need about 20

// OK when `text` is one JSON value in valid UTF-8. Otherwise one sentence, with the place: "byte
// 17: expected ',' or ']', found 'x'". Uses constant memory, whatever the nesting.
absl::Status CheckJson(std::string_view text);

}  // namespace kai

#endif  // KAI_INGEST_JSON_CHECK_H_
