// Inbox: bytes of lists and watches that wait to be taken in, while a plan may be running.
//
//   inbox.BeginList(Kind::kQueue);
//   inbox.TakePage(Kind::kQueue, page)     // an absl::StatusOr<Inbox::Page>
//   inbox.EndList(Kind::kQueue);
//   inbox.WatchBytes(Kind::kQueue, chunk)  // what the reader has to know to go on
//   std::deque<Inbox::Item> items = inbox.TakeAll();
//
// Chunks of a watch may end anywhere: complete lines go on, and the partial one stays until its
// rest comes. A line that is longer than any object goes on cut short, and is malformed.
//
// Invariants: items come out in the order in which they went in. Cost: one copy of the bytes; of a
// watch the last line is parsed, and those that are no events of objects; a page is parsed whole.
// Threads: one reader, which never waits for the one that takes all; Done() and is_full() for any.
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
    std::string next;  // empty: it is the last one
    int64_t items = 0;
  };
  struct Progress {
    std::string version;  // of the last event that is complete; empty: none is
    bool synced = false;  // the objects that there were have all been sent
    std::string error;    // the Status object of an ERROR event
  };

  void BeginList(Kind kind);
  // InvalidArgument: it is no list.
  absl::StatusOr<Page> TakePage(Kind kind, std::string_view bytes);
  void EndList(Kind kind);
  Progress WatchBytes(Kind kind, std::string_view bytes);
  void WatchEnded(Kind kind);

  // More waits than may: the reader had better pause.
  bool is_full() const { return waiting_ > kMostWaiting; }

  struct Item {
    enum class What : uint8_t { kBeginList, kPage, kEndList, kLines };
    What what{};
    Kind kind{};
    std::string bytes;
  };
  std::deque<Item> TakeAll();
  // So many bytes of what was taken wait no more.
  void Done(size_t bytes) { waiting_ -= bytes; }

 private:
  void Put(Item item);

  // Of the reader.
  struct Stream {
    std::string rest;          // of a line that is not complete
    bool is_too_long = false;  // `rest` is not all of it
  };
  std::array<Stream, kKinds> streams_;
  JsonDocument document_;
  std::vector<size_t> ends_;  // of the lines of a chunk

  std::atomic<size_t> waiting_ = 0;  // bytes
  std::mutex mutex_;                 // of items_, for as long as it takes to move them
  std::deque<Item> items_;
};

}  // namespace kai

#endif  // KAI_FEED_INBOX_H_
