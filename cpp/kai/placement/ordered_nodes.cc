#include "kai/placement/ordered_nodes.h"

#include <algorithm>

#include "kai/base/heap_bytes.h"

namespace kai {
namespace {

// The number of scans of all nodes before an index is made.
constexpr int kSearchesWithoutIndex = 4;

}  // namespace

const NodeIndex* OrderedNodes::IndexFor(bool by_cpu) {
  LazyIndex& lazy = For(by_cpu);
  if (!lazy.index) {
    if (++lazy.searches <= kSearchesWithoutIndex) return nullptr;
    const ResourceSlot slot = by_cpu ? kCpuSlot : kGpuSlot;
    const Strategy strategy = by_cpu ? strategies_.cpu : strategies_.gpu;
    if (members_) {
      lazy.index.emplace(cluster_, slot, strategy, *members_);
    } else {
      lazy.index.emplace(cluster_, slot, strategy);
    }
  }
  lazy.index->Refresh();
  return &*lazy.index;
}

ScoreView OrderedNodes::ExtremesFor(bool by_cpu) {
  ScoreView view;
  if (LazyIndex& lazy = For(by_cpu); lazy.index) {
    lazy.index->Refresh();  // a scan does not refresh it
    view.least_room = lazy.index->least_room();
    view.most_room = lazy.index->most_room();
    return view;
  }
  const ResourceSlot slot = by_cpu ? kCpuSlot : kGpuSlot;
  bool any = false;
  const NodeColumns& nodes = cluster_.nodes();
  const size_t slots = nodes.idle.slots();
  const std::vector<double>&idle = nodes.idle.raw(), &releasing = nodes.releasing.raw();
  const auto look = [&](size_t at) {
    if (nodes.allocatable.raw()[at] == 0) return;
    const double room = idle[at] + releasing[at];
    view.least_room = any ? std::min(view.least_room, room) : room;
    view.most_room = any ? std::max(view.most_room, room) : room;
    any = true;
  };
  if (members_) {  // only the searched nodes (spec 3 T23)
    for (const Member& each : *members_) look(each.node.index() * slots + slot.index());
  } else {
    for (size_t at = slot.index(); at < idle.size(); at += slots) look(at);
  }
  return view;
}

int64_t OrderedNodes::CountKeys() const {
  int64_t keys = 0;
  for (const LazyIndex* lazy : {&gpu_, &cpu_}) {
    if (lazy->index) keys += lazy->index->CountKeys();
  }
  return keys;
}

size_t OrderedNodes::HeapBytes() const { return HeapBytesOfAll(members_, gpu_.index, cpu_.index); }

}  // namespace kai
