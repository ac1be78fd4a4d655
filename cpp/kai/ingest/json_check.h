// CheckJson: one strict pass over JSON before anything is read from it.
//
//   const absl::Status status = CheckJson(text);
//
// simdjson on demand looks only at what it is asked for: a broken value in a skipped member goes
// unseen, and a misplaced bracket shifts what later members mean. So every text is checked whole
// first, and the readers behind may trust the grammar; what remains to be wrong is types and
// values.
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

// The first quote or backslash of a string's inside. There must be one.
const char* FindQuoteOrBackslash(const char* inside, const char* end);

}  // namespace kai

#endif  // KAI_INGEST_JSON_CHECK_H_
