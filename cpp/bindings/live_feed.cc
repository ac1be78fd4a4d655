#include "live_feed.h"

#include <utility>

namespace kai::bindings {

LiveFeed::LiveFeed(std::shared_ptr<LiveCluster> cluster,
                   const std::optional<std::string>& scheduler)
    : cluster_(std::move(cluster)) {
  cluster_->WithStore([&](Store* store) {
    feed_ = std::make_unique<Feed>(store, scheduler.value_or(cluster_->scheduler_name()));
  });
}

LiveFeed::~LiveFeed() {
  cluster_->WithStore([&](Store*) { feed_ = nullptr; });
}

Feed::Drained LiveFeed::Drain() {
  return cluster_->WithStore([&](Store*) {
    const pybind11::gil_scoped_release release;
    return feed_->Drain(&inbox_);
  });
}

}  // namespace kai::bindings
