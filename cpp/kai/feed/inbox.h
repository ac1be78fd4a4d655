// Inbox: a queue of bytes from lists and watches. A reader fills it while a plan may be running.
//
//   inbox.BeginList(Kind::kQueue);
//   inbox.TakePage(Kind::kQueue, page)     // an absl::StatusOr<Inbox::Page>
//   inbox.EndList(Kind::kQueue);
//   inbox.WatchBytes(Kind::kQueue, chunk)  // returns what the reader needs to continue
//   std::deque<Inbox::Item> items = inbox.TakeAll();
//
// Chunks of a watch may end anywhere: complete lines are passed on, and a partial line waits for
// its rest. A line that is longer than any object is cut, passed on, and then rejected as
// malformed.
//
// Invariants: items come out in the order in which they went in. Cost: one copy of the bytes; the
// last line of a watch's chunk is parsed, and all lines that are not events about objects; pages
// are parsed whole. Threads: one reader, which never waits for the thread that calls TakeAll();
// Done() and is_full() are for any thread.
#ifndef KAI_FEED_INBOX_H_
#define KAI_FEED_INBOX_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/ingest/json_document.h"
#include "kai/ingest/kinds.h"

namespace kai {

class Inbox {
 public:
  static constexpr size_t kMostWaiting = size_t{64} << 20;
  static constexpr size_t kLongestLine = size_t{64} << 20;

  struct Page {
    std::string version;
    std::string next;  // empty: this is the last page
    int64_t items = 0;
  };
  struct Progress {
    std::string version;  // of the last complete event; empty: there was none
    bool synced = false;  // all objects that existed at the start have been sent
    std::string error;    // the Status object of an ERROR event
  };

  void BeginList(Kind kind);
  // InvalidArgument if it is not a list.
  absl::StatusOr<Page> TakePage(Kind kind, std::string_view bytes);
  void EndList(Kind kind);
  Progress WatchBytes(Kind kind, std::string_view bytes);
  void WatchEnded(Kind kind);

  // True if more bytes wait than allowed: the reader should pause.
  bool is_full() const { return waiting_ > kMostWaiting; }

  struct Item {
    enum class What : uint8_t { kBeginList, kPage, kEndList, kLines };
    What what{};
    Kind kind{};
    std::string bytes;
    std::string version;  // of a page, or of the last event of the lines; empty: unknown
  };
  std::deque<Item> TakeAll();
  // Reports that this many bytes have been processed.
  void Done(size_t bytes) { waiting_ -= bytes; }

 private:
  void Put(Item item);

  // The state of one watch.
  struct Stream {
    std::string rest;          // of the incomplete last line
    bool is_too_long = false;  // the line was longer than `rest`
  };
  std::array<Stream, kKinds> streams_;
  JsonDocument document_;
  std::vector<size_t> ends_;  // ends of the lines of a chunk

  std::atomic<size_t> waiting_ = 0;  // bytes
  std::mutex mutex_;                 // guards items_, held only to move items
  std::deque<Item> items_;
};

}  // namespace kai

#endif  // KAI_FEED_INBOX_H_
