#include "kai/placement/domain_rooms.h"

#include <algorithm>

namespace kai {
namespace {

constexpr size_t kMostShapes = 16;

}  // namespace

void DomainRooms::Refresh() {
  const NodeColumns& nodes = cluster_.nodes();
  for (; seen_ < touched_.size(); ++seen_) {
    const NodeId node = touched_[seen_];
    if (!node.valid() || !tree_.DomainOf(node).valid()) continue;
    std::vector<double>& known = changed_[node];
    if (known.empty()) {
      const std::span<const double> start = totals_.of_node[node];
      known.assign(start.begin(), start.end());
    }
    // All amounts are whole numbers, so adding differences is exact.
    for (size_t i = 0; i < known.size(); ++i) {
      const double more = nodes.idle[node][i] + nodes.releasing[node][i] - known[i];
      if (more == 0) continue;
      known[i] += more;
      for (TopologyDomainId at = tree_.DomainOf(node); at.valid(); at = tree_.ParentOf(at))
        free_[at][i] += more;
    }
  }
}

std::span<const double> DomainRooms::FreeOf(TopologyDomainId domain) {
  Refresh();
  return free_[domain];
}

void DomainRooms::Recount(NodeId node, Shape* shape) const {
  if (!node.valid()) return;
  const TopologyDomainId domain = tree_.DomainOf(node);
  if (!domain.valid()) return;
  int32_t& known = shape->changed.try_emplace(node, shape->base->of_node[node]).first->second;
  const int32_t count = CountPodsOn(cluster_, node, shape->base->largest);
  const int32_t more = count - known;
  if (more == 0) return;
  known = count;
  for (TopologyDomainId at = domain; at.valid(); at = tree_.ParentOf(at))
    shape->of_domain[at] += more;
}

const DomainRooms::Counts& DomainRooms::CountsFor(std::span<const double> largest) {
  auto found = std::ranges::find_if(shapes_, [&](const std::unique_ptr<Shape>& shape) {
    return std::ranges::equal(shape->base->largest, largest);
  });
  if (found == shapes_.end()) {
    if (shapes_.size() == kMostShapes) shapes_.pop_back();
    auto shape = std::make_unique<Shape>();
    shape->base = totals_.FindShape(largest);
    shape->seen = first_;
    if (shape->base == nullptr) {
      shape->own = std::make_unique<DomainTotals::Shape>(cluster_, tree_, largest);
      shape->base = shape->own.get();
      shape->seen = touched_.size();
    }
    shape->of_domain = shape->base->of_domain;
    shapes_.push_back(std::move(shape));
    found = shapes_.end() - 1;
  }
  std::rotate(shapes_.begin(), found, found + 1);
  Shape& shape = *shapes_.front();
  for (; shape.seen < touched_.size(); ++shape.seen) Recount(touched_[shape.seen], &shape);
  return shape.of_domain;
}

}  // namespace kai
