#include "kai/feed/inbox.h"

#include <utility>

#include "kai/feed/watch_event.h"

namespace kai {
namespace {

constexpr size_t kCutLine = 200;  // how much of a line that is too long is kept

// True if the line is surely an event about an object, in the format of an API server. False for
// some others, too.
bool IsOfAnObject(std::string_view line) {
  constexpr std::string_view kStart = R"({"type":")";
  if (!line.starts_with(kStart)) return false;
  line.remove_prefix(kStart.size());
  return line.starts_with("ADDED\"") || line.starts_with("MODIFIED\"") ||
         line.starts_with("DELETED\"");
}

}  // namespace

void Inbox::Put(Item item) {
  waiting_ += item.bytes.size();
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(item));
}

std::deque<Inbox::Item> Inbox::TakeAll() {
  std::deque<Item> all;
  const std::lock_guard lock(mutex_);
  all.swap(items_);
  return all;
}

void Inbox::BeginList(Kind kind) {
  Put({.what = Item::What::kBeginList, .kind = kind, .bytes = {}, .version = {}});
}

void Inbox::EndList(Kind kind) {
  Put({.what = Item::What::kEndList, .kind = kind, .bytes = {}, .version = {}});
}

absl::StatusOr<Inbox::Page> Inbox::TakePage(Kind kind, std::string_view bytes) {
  absl::StatusOr<ListPage> read = ReadListPage(bytes, NameOf(kind), &document_);
  if (!read.ok()) return read.status();
  Page page{.version = std::move(read->version), .next = std::move(read->next)};
  if (read->has_items) {
    const FieldStatus counted = ForEachElement(read->items, [&](JsonValue&) {
      ++page.items;
      return Skip();
    });
  }
  Put({.what = Item::What::kPage,
       .kind = kind,
       .bytes = std::string(bytes),
       .version = page.version});
  return page;
}

Inbox::Progress Inbox::WatchBytes(Kind kind, std::string_view bytes) {
  Stream& stream = streams_[static_cast<size_t>(kind)];
  Progress progress;
  // Searches forwards: a backward search for a byte is ten times slower.
  ends_.clear();
  for (size_t at = bytes.find('\n'); at != bytes.npos; at = bytes.find('\n', at + 1))
    ends_.push_back(at);
  std::string_view rest = bytes;
  if (!ends_.empty()) {
    rest.remove_prefix(ends_.back() + 1);
    const size_t cut = stream.is_too_long ? ends_.front() : 0;
    stream.is_too_long = false;
    std::string lines = std::exchange(stream.rest, {});
    const size_t before = lines.size();
    lines.append(bytes.substr(cut, ends_.back() + 1 - cut));
    // Starts with the last line, as its version is the latest.
    for (size_t i = ends_.size(); i-- > 0;) {
      const size_t begin = i == 0 ? 0 : before + ends_[i - 1] + 1 - cut;
      const std::string_view line =
          std::string_view(lines).substr(begin, before + ends_[i] - cut - begin);
      if (!progress.version.empty() && IsOfAnObject(line)) continue;
      const absl::StatusOr<WatchEvent> event = ReadWatchEvent(line, &document_);
      if (!event.ok()) continue;
      if (event->type == WatchEventType::kError) {
        progress.error = RawJson(event->object);
        continue;
      }
      if (event->type == WatchEventType::kBookmark && EndsInitialEvents(*event))
        progress.synced = true;
      JsonObject object = event->object;
      if (progress.version.empty()) progress.version = IdentityOf(object).version;
    }
    Put({.what = Item::What::kLines,
         .kind = kind,
         .bytes = std::move(lines),
         .version = progress.version});
  }
  if (stream.is_too_long) return progress;
  stream.rest.append(rest);
  if (stream.rest.size() > kLongestLine) {
    stream.is_too_long = true;
    stream.rest.resize(kCutLine);
    stream.rest.shrink_to_fit();
  }
  return progress;
}

void Inbox::WatchEnded(Kind kind) { streams_[static_cast<size_t>(kind)] = Stream(); }

}  // namespace kai
