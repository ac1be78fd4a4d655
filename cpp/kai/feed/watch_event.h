// Parses what an API server sends: a line of a watch stream, and a page of a list.
//
//   const absl::StatusOr<WatchEvent> event = ReadWatchEvent(line, &document);
//   const absl::StatusOr<ListPage> page = ReadListPage(bytes, "Pod", &document);
//
// A line is {"type": "ADDED", "object": {...}}, a page {"kind": "PodList", "metadata":
// {"resourceVersion", "continue"}, "items": [...]}. Items have no kind.
//
// Invariants: results point into the text and the document. For other texts, the result is
// InvalidArgument with a reason of one sentence. Cost: that of JsonDocument::Parse(). Threads:
// functions of their own document.
#ifndef KAI_FEED_WATCH_EVENT_H_
#define KAI_FEED_WATCH_EVENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kai/ingest/json_document.h"
#include "kai/ingest/json_reader.h"

namespace kai {

enum class WatchEventType : uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type{};
  JsonObject object;
};
absl::StatusOr<WatchEvent> ReadWatchEvent(std::string_view line, JsonDocument* document);

// True for the bookmark after all objects that existed at the start of the watch.
bool EndsInitialEvents(const WatchEvent& event);

struct ListPage {
  std::string version;
  std::string next;  // metadata.continue; empty: it is the last page
  bool has_items = false;
  JsonValue items;  // set only if has_items
};
// `kind`: of the objects. Half a page, such as one without items, is not a list: it must not count
// as an empty cluster.
absl::StatusOr<ListPage> ReadListPage(std::string_view bytes, std::string_view kind,
                                      JsonDocument* document);

// The complete text of a value.
std::string_view RawJson(const JsonPlace& value);

}  // namespace kai

#endif  // KAI_FEED_WATCH_EVENT_H_
