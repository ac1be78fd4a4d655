// A feed that Python holds: one thread adds bytes, and another one moves them into the store of a
// cluster.
//
// Threads: the thread that adds bytes never waits for a plan. All other calls wait for the
// cluster's mutex without the GIL.
#ifndef KAI_BINDINGS_LIVE_FEED_H_
#define KAI_BINDINGS_LIVE_FEED_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kai/feed/feed.h"
#include "live_cluster.h"

namespace kai::bindings {

class LiveFeed {
 public:
  LiveFeed(std::shared_ptr<LiveCluster> cluster, const std::optional<std::string>& scheduler);
  LiveFeed(const LiveFeed&) = delete;
  LiveFeed& operator=(const LiveFeed&) = delete;
  ~LiveFeed();

  Inbox& inbox() { return inbox_; }
  Feed::Drained Drain();
  // Calls read(feed) while nothing changes.
  template <typename Read>
  auto Look(const Read& read) {
    return cluster_->WithStore([&](Store*) { return read(*feed_); });
  }

 private:
  std::shared_ptr<LiveCluster> cluster_;
  Inbox inbox_;
  std::unique_ptr<Feed> feed_;
};

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_LIVE_FEED_H_
