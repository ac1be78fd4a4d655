#include "kai/placement/domain_rooms.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kai {
namespace {

constexpr size_t kMostShapes = 16;

}  // namespace

DomainRooms::DomainRooms(const Cluster& cluster, const DomainTree& tree)
    : cluster_(cluster),
      tree_(tree),
      node_free_(cluster.nodes().size(), cluster.slots().size()),
      free_(tree.size(), cluster.slots().size()) {
  const std::span<const NodeId> nodes = tree.NodesOf(DomainTree::kRoot);
  touched_.assign(nodes.begin(), nodes.end());
}

void DomainRooms::Refresh() {
  const NodeColumns& nodes = cluster_.nodes();
  for (; seen_ < touched_.size(); ++seen_) {
    const NodeId node = touched_[seen_];
    if (!node.valid()) continue;
    TopologyDomainId domain = tree_.DomainOf(node);
    if (!domain.valid()) continue;
    // Whole numbers all of them, so that a sum of differences is the sum.
    const std::span<double> known = node_free_[node];
    for (size_t i = 0; i < known.size(); ++i) {
      const double more = nodes.idle[node][i] + nodes.releasing[node][i] - known[i];
      if (more == 0) continue;
      known[i] += more;
      for (TopologyDomainId at = domain; at.valid(); at = tree_.ParentOf(at)) free_[at][i] += more;
    }
  }
}

std::span<const double> DomainRooms::FreeOf(TopologyDomainId domain) {
  Refresh();
  return free_[domain];
}

int32_t DomainRooms::CountOn(NodeId node, std::span<const double> largest) const {
  const NodeColumns& nodes = cluster_.nodes();
  double fit = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < largest.size(); ++i) {
    double room = nodes.idle[node][i] + nodes.releasing[node][i];
    if (i == kGpuSlot.index() && largest[i] > 0 && largest[i] < 1) {
      const auto capacity = static_cast<double>(cluster_.GpuCapacityMib(node));
      for (const SharedGpu& gpu : nodes.shared_gpus[node]) {
        if (gpu.used > 0)
          room +=
              (capacity - static_cast<double>(gpu.allocated) + static_cast<double>(gpu.releasing)) /
              capacity;
      }
    }
    if (largest[i] > room) return 0;
    if (largest[i] > 0) fit = std::min(fit, std::trunc(room / largest[i]));
  }
  return static_cast<int32_t>(fit);
}

void DomainRooms::Recount(NodeId node, Shape* shape) const {
  const TopologyDomainId domain = tree_.DomainOf(node);
  if (!domain.valid()) return;
  const int32_t count = CountOn(node, shape->largest);
  const int32_t more = count - shape->of_node[node];
  if (more == 0) return;
  shape->of_node[node] = count;
  for (TopologyDomainId at = domain; at.valid(); at = tree_.ParentOf(at))
    shape->of_domain[at] += more;
}

const DomainRooms::Counts& DomainRooms::CountsFor(std::span<const double> largest) {
  auto found = std::ranges::find_if(shapes_, [&](const std::unique_ptr<Shape>& shape) {
    return std::ranges::equal(shape->largest, largest);
  });
  if (found == shapes_.end()) {
    if (shapes_.size() == kMostShapes) shapes_.pop_back();
    auto shape = std::make_unique<Shape>();
    shape->largest.assign(largest.begin(), largest.end());
    shape->of_node.Resize(cluster_.nodes().size());
    shape->of_domain.Resize(tree_.size());
    for (const NodeId node : tree_.NodesOf(DomainTree::kRoot)) Recount(node, shape.get());
    shape->seen = touched_.size();
    shapes_.push_back(std::move(shape));
    found = shapes_.end() - 1;
  }
  std::rotate(shapes_.begin(), found, found + 1);
  Shape& shape = *shapes_.front();
  for (; shape.seen < touched_.size(); ++shape.seen) {
    if (touched_[shape.seen].valid()) Recount(touched_[shape.seen], &shape);
  }
  return shape.of_domain;
}

}  // namespace kai
