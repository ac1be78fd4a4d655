// JsonDocument: JSON bytes, checked and ready to be walked.
//
//   JsonDocument document;
//   absl::StatusOr<JsonObject> object = document.Parse(json);
//   NameOf(*object)
//
// simdjson's first stage finds where the tokens stand. One walk over them checks the grammar and
// links every opening bracket to its closing one, so that readers jump over what they do not read.
//
// Invariants: what CheckJson() refuses is refused, with its words. The text has to stay where it is
// for as long as it is read. Buffers are kept for the next Parse(), which ends the life of
// everything the last one gave. Cost: about 0.5 ms per megabyte, and 8 bytes per token. Not
// thread-safe.
#ifndef KAI_INGEST_JSON_DOCUMENT_H_
#define KAI_INGEST_JSON_DOCUMENT_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "kai/ingest/json_reader.h"

namespace kai {

class JsonDocument {
 public:
  JsonDocument();
  ~JsonDocument();

  // The object that `json` is.
  absl::StatusOr<JsonObject> Parse(std::string_view json);
  // Of its buffers.
  size_t HeapBytes() const;

 private:
  struct State;
  // Finds the tokens; not OK: there is not enough memory, or CheckJson() knows why.
  absl::Status Index(std::string_view json);

  std::unique_ptr<State> state_;
};

}  // namespace kai

#endif  // KAI_INGEST_JSON_DOCUMENT_H_
