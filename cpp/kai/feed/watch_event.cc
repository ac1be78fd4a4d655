#include "kai/feed/watch_event.h"

#include <optional>
#include <utility>

#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/ingest/json_tokens.h"

namespace kai {
namespace {

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

std::optional<WatchEventType> TypeNamed(std::string_view name) {
  if (name == "ADDED") return WatchEventType::kAdded;
  if (name == "MODIFIED") return WatchEventType::kModified;
  if (name == "DELETED") return WatchEventType::kDeleted;
  if (name == "BOOKMARK") return WatchEventType::kBookmark;
  if (name == "ERROR") return WatchEventType::kError;
  return std::nullopt;
}

// A quoted part of a sentence, cut so that a peer cannot fill a log with it.
std::string Shown(std::string_view text) { return Quote(text.substr(0, 40)); }

absl::Status NoEvent(std::string_view why) {
  return absl::InvalidArgumentError(StrCat("a line of a watch ", why));
}

absl::Status NoList(std::string_view why) { return absl::InvalidArgumentError(StrCat("it ", why)); }

}  // namespace

std::string_view RawJson(const JsonPlace& value) {
  const JsonTokens& tokens = value.tokens();
  const char first = tokens.First(value.token());
  if (first != '{' && first != '[') return tokens.Text(value.token());
  const uint32_t begin = tokens.place[value.token()];
  const uint32_t closing = tokens.place[tokens.After(value.token()) - 1];
  return std::string_view(tokens.text + begin, closing + 1 - begin);
}

absl::StatusOr<WatchEvent> ReadWatchEvent(std::string_view line, JsonDocument* document) {
  const absl::StatusOr<JsonObject> top = document->Parse(line);
  if (!top.ok()) return NoEvent(std::string(top.status().message()));
  std::string type;
  bool has_object = false;
  WatchEvent event;
  const FieldStatus status = ForEachMember(*top, [&](std::string_view key, JsonValue& value) {
    if (key == "type") return ReadString(value, &type);
    if (key != "object") return Skip();
    has_object = true;
    return ReadObject(value, &event.object);
  });
  if (!status.ok())
    return NoEvent(StrCat("is not an event: ", status.field(), ": ", status.message()));
  const std::optional<WatchEventType> named = TypeNamed(type);
  if (!named) return NoEvent(StrCat("has the unknown type ", Shown(type)));
  if (!has_object) return NoEvent("has no object");
  event.type = *named;
  return event;
}

bool EndsInitialEvents(const WatchEvent& event) {
  bool ends = false;
  const FieldStatus unreadable =
      ForEachMember(event.object, [&](std::string_view key, JsonValue& value) {
        if (key != "metadata") return Skip();
        return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
          if (member != "annotations") return Skip();
          return ForEachEntry(part, [&](std::string_view name, JsonValue& text) {
            if (name == kInitialEventsEnd) ends = RawJson(text) == "\"true\"";
            return Skip();
          });
        });
      });
  return ends && unreadable.ok();
}

absl::StatusOr<ListPage> ReadListPage(std::string_view bytes, std::string_view of,
                                      JsonDocument* document) {
  const absl::StatusOr<JsonObject> top = document->Parse(bytes);
  if (!top.ok()) return NoList(std::string(top.status().message()));
  std::string kind;
  ListPage page;
  const FieldStatus status = ForEachMember(*top, [&](std::string_view key, JsonValue& value) {
    if (key == "kind") return ReadString(value, &kind);
    if (key == "metadata") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& text) {
        if (member == "resourceVersion") return ReadString(text, &page.version);
        return member == "continue" ? ReadString(text, &page.next) : Skip();
      });
    }
    if (key != "items") return Skip();
    page.has_items = true;
    page.items = value;
    return ForEachElement(value, [](JsonValue&) { return Skip(); });
  });
  if (!status.ok())
    return NoList(StrCat("is not a list: ", status.field(), ": ", status.message()));
  if (kind != StrCat(of, "List") && kind != "PartialObjectMetadataList")
    return NoList(StrCat("is not a list of ", of, ": its kind is ", Shown(kind)));
  // Members that are null are not visited: a list of nothing may have null items.
  const bool has_items = page.has_items || bytes.find("\"items\"") != bytes.npos;
  if (!has_items || page.version.empty()) return NoList("has no items or no version");
  return page;
}

}  // namespace kai
