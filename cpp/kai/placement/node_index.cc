#include "kai/placement/node_index.h"

#include <algorithm>

namespace kai {
namespace {

// With more than one node in so many to file anew, building the tree anew is less work.
constexpr size_t kRebuildShare = 8;

// A treap's priorities: fixed per node, so that the same cluster makes the same tree.
uint32_t Mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

}  // namespace

double RoomOf(const Cluster& cluster, NodeId node, ResourceSlot slot) {
  return cluster.nodes().idle[node][slot.index()] + cluster.nodes().releasing[node][slot.index()];
}

double SpreadCountOf(const Cluster& cluster, NodeId node, ResourceSlot slot) {
  return slot == kGpuSlot ? cluster.nodes().gpu_count[node]
                          : cluster.nodes().allocatable[node][slot.index()];
}

struct NodeIndex::Search {
  const double* request;
  const uint8_t* class_ok;
  uint64_t class_bits;  // of the allowed classes, modulo 64
  Room room;
  const double* after;
  const Test* test;
  SharedRoom shared;
};

NodeIndex::NodeIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy)
    : cluster_(cluster), slot_(slot), strategy_(strategy), slots_(cluster.slots().size()) {
  const NodeColumns& nodes = cluster.nodes();
  entries_.Resize(nodes.size());
  is_touched_.Resize(nodes.size());
  largest_.resize(nodes.size() * 2 * slots_);
  for (const NodeId node : nodes.name.ids()) {
    Entry& entry = entries_[node];
    entry.heap_priority = Mix(static_cast<uint32_t>(node.value()) + 1);
    entry.own_class = uint64_t{1} << (nodes.node_class[node].value() % 64);
    entry.group = static_cast<int8_t>(
        GroupOf(nodes.cpu_only[node] != 0,
                strategy == Strategy::kSpread || nodes.allocatable[node][slot.index()] != 0));
  }
  Build();
}

void NodeIndex::Build() {
  roots_.fill(-1);
  std::array<std::vector<int32_t>, kGroups> members;
  for (const NodeId node : entries_.ids()) {
    Entry& entry = entries_[node];
    entry.key = KeyOf(node);
    entry.own_shared = SharedRoomOf(node);
    entry.left = entry.right = -1;
    members[static_cast<size_t>(entry.group)].push_back(node.value());
  }
  for (size_t group = 0; group < kGroups; ++group) {
    // Built in order along the right spine: linear, unlike one insertion after the other.
    std::vector<int32_t>& order = members[group];
    std::sort(order.begin(), order.end(), [this](int32_t a, int32_t b) { return Before(a, b); });
    std::vector<int32_t> spine;
    for (const int32_t node : order) {
      int32_t below = -1;
      while (!spine.empty() &&
             entries_[NodeId(spine.back())].heap_priority < entries_[NodeId(node)].heap_priority) {
        below = spine.back();
        spine.pop_back();
        Pull(below);
      }
      entries_[NodeId(node)].left = below;
      if (!spine.empty()) entries_[NodeId(spine.back())].right = node;
      spine.push_back(node);
    }
    if (!spine.empty()) roots_[group] = spine.front();
    while (!spine.empty()) {
      Pull(spine.back());
      spine.pop_back();
    }
  }
  FindEnds();
}

double NodeIndex::KeyOf(NodeId node) const {
  const double room = RoomOf(cluster_, node, slot_);
  if (strategy_ == Strategy::kBinpack) {
    // Nodes without the resource all score zero, whatever else happens on them.
    return cluster_.nodes().allocatable[node][slot_.index()] == 0 ? 0 : room;
  }
  const double count = SpreadCountOf(cluster_, node, slot_);
  return count == 0 ? 0 : -(room / count);
}

bool NodeIndex::Before(int32_t a, int32_t b) const {
  const double key_a = entries_[NodeId(a)].key;
  const double key_b = entries_[NodeId(b)].key;
  if (key_a != key_b) return key_a < key_b;
  return cluster_.nodes().name_rank[NodeId(a)] < cluster_.nodes().name_rank[NodeId(b)];
}

SharedRoom NodeIndex::SharedRoomOf(NodeId node) const {
  SharedRoom room;
  const int64_t capacity = cluster_.GpuCapacityMib(node);
  for (const SharedGpu& gpu : cluster_.nodes().shared_gpus[node]) {
    if (!gpu.IsOpen()) continue;
    const auto mib = static_cast<double>(capacity - gpu.allocated + gpu.releasing);
    room.Raise(
        {.mib = mib, .portion = (mib + 1) / static_cast<double>(std::max<int64_t>(capacity, 1))});
  }
  return room;
}

void NodeIndex::Pull(int32_t at) {
  Entry& entry = entries_[NodeId(at)];
  entry.class_below = entry.own_class;
  entry.shared_below = entry.own_shared;
  double* const now = largest_.data() + static_cast<size_t>(at) * 2 * slots_;
  double* const later = now + slots_;
  const std::span<const double> idle = cluster_.nodes().idle[NodeId(at)];
  const std::span<const double> releasing = cluster_.nodes().releasing[NodeId(at)];
  for (size_t i = 0; i < slots_; ++i) {
    now[i] = idle[i];
    later[i] = idle[i] + releasing[i];
  }
  for (const int32_t child : {entry.left, entry.right}) {
    if (child < 0) continue;
    entry.class_below |= entries_[NodeId(child)].class_below;
    entry.shared_below.Raise(entries_[NodeId(child)].shared_below);
    const double* const below = largest_.data() + static_cast<size_t>(child) * 2 * slots_;
    for (size_t i = 0; i < 2 * slots_; ++i) now[i] = std::max(now[i], below[i]);
  }
}

int32_t NodeIndex::Merge(int32_t left, int32_t right) {
  if (left < 0) return right;
  if (right < 0) return left;
  if (entries_[NodeId(left)].heap_priority > entries_[NodeId(right)].heap_priority) {
    entries_[NodeId(left)].right = Merge(entries_[NodeId(left)].right, right);
    Pull(left);
    return left;
  }
  entries_[NodeId(right)].left = Merge(left, entries_[NodeId(right)].left);
  Pull(right);
  return right;
}

void NodeIndex::SplitBefore(int32_t at, int32_t node, int32_t* left, int32_t* right) {
  if (at < 0) {
    *left = *right = -1;
    return;
  }
  Entry& entry = entries_[NodeId(at)];
  if (Before(at, node)) {
    int32_t middle = -1;
    SplitBefore(entry.right, node, &middle, right);
    entry.right = middle;
    *left = at;
  } else {
    int32_t middle = -1;
    SplitBefore(entry.left, node, left, &middle);
    entry.left = middle;
    *right = at;
  }
  Pull(at);
}

void NodeIndex::Insert(int32_t* root, int32_t node) {
  Entry& entry = entries_[NodeId(node)];
  if (*root < 0 || entries_[NodeId(*root)].heap_priority < entry.heap_priority) {
    SplitBefore(*root, node, &entry.left, &entry.right);
    *root = node;
  } else {
    Entry& here = entries_[NodeId(*root)];
    Insert(Before(node, *root) ? &here.left : &here.right, node);
  }
  Pull(*root);
}

void NodeIndex::Erase(int32_t* root, int32_t node) {
  KAI_DCHECK(*root >= 0);
  if (*root == node) {
    *root = Merge(entries_[NodeId(node)].left, entries_[NodeId(node)].right);
    return;
  }
  Entry& here = entries_[NodeId(*root)];
  Erase(Before(node, *root) ? &here.left : &here.right, node);
  Pull(*root);
}

void NodeIndex::Touch(NodeId node) {
  if (is_touched_[node] != 0) return;
  is_touched_[node] = 1;
  touched_.push_back(node);
}

void NodeIndex::PullPath(int32_t at, int32_t node) {
  Entry& here = entries_[NodeId(at)];
  if (at != node) PullPath(Before(node, at) ? here.left : here.right, node);
  Pull(at);
}

void NodeIndex::Refresh() {
  if (touched_.empty()) return;
  if (touched_.size() * kRebuildShare > entries_.size()) {
    for (const NodeId node : touched_) is_touched_[node] = 0;
    touched_.clear();
    return Build();
  }
  for (const NodeId node : touched_) {
    is_touched_[node] = 0;
    Entry& entry = entries_[node];
    int32_t* const root = &roots_[static_cast<size_t>(entry.group)];
    const double key = KeyOf(node);
    entry.own_shared = SharedRoomOf(node);
    if (key == entry.key) {  // often so after something was taken back
      PullPath(*root, node.value());
      continue;
    }
    Erase(root, node.value());  // finds it by the key it was filed under
    entry.key = key;
    entry.left = entry.right = -1;
    Insert(root, node.value());
  }
  touched_.clear();
  FindEnds();
}

bool NodeIndex::MayFit(int32_t at, const Search& search) const {
  if ((entries_[NodeId(at)].class_below & search.class_bits) == 0 ||
      !entries_[NodeId(at)].shared_below.Covers(search.shared))
    return false;
  const double* const now = largest_.data() + static_cast<size_t>(at) * 2 * slots_;
  const double* const later = now + slots_;
  for (size_t i = 0; i < slots_; ++i) {
    if (search.request[i] > later[i] || (search.room == Room::kNow && search.request[i] > now[i]))
      return false;
  }
  return true;
}

bool NodeIndex::DoesFit(int32_t at, const Search& search) const {
  const NodeId node(at);
  if (search.after != nullptr && entries_[node].key <= *search.after) return false;
  const NodeColumns& nodes = cluster_.nodes();
  if (search.class_ok[nodes.node_class[node].index()] == 0 ||
      !entries_[node].own_shared.Covers(search.shared))
    return false;
  const std::span<const double> request(search.request, slots_);
  return FitsSum(request, nodes.idle[node], nodes.releasing[node]) &&
         (search.room == Room::kLater || Fits(request, nodes.idle[node])) &&
         (search.test == nullptr || (*search.test)(node));
}

int32_t NodeIndex::FirstFitBelow(int32_t at, const Search& search) const {
  while (at >= 0 && MayFit(at, search)) {
    const Entry& entry = entries_[NodeId(at)];
    // Left of a key that is not beyond `after` there is nothing beyond it.
    if (search.after == nullptr || entry.key > *search.after) {
      const int32_t found = FirstFitBelow(entry.left, search);
      if (found >= 0) return found;
      if (DoesFit(at, search)) return at;
    }
    at = entry.right;
  }
  return -1;
}

NodeId NodeIndex::FirstFit(size_t group, std::span<const double> request,
                           std::span<const uint8_t> class_ok, Room room, const double* after,
                           const Test* test, const SharedRoom& shared) const {
  KAI_DCHECK(touched_.empty());
  uint64_t class_bits = 0;
  for (size_t i = 0; i < class_ok.size(); ++i) class_bits |= uint64_t{class_ok[i] != 0} << (i % 64);
  const Search search{.request = request.data(),
                      .class_ok = class_ok.data(),
                      .class_bits = class_bits,
                      .room = room,
                      .after = after,
                      .test = test,
                      .shared = shared};
  return NodeId(FirstFitBelow(roots_[group], search));
}

int64_t NodeIndex::CountKeys() const {
  int64_t keys = 0;
  for (size_t group = 0; group < kGroups; ++group) {
    for (NodeId at = first_[group]; at.valid(); at = NextKey(group, entries_[at].key)) ++keys;
  }
  return keys;
}

NodeId NodeIndex::NextKey(size_t group, double key) const {
  int32_t found = -1;
  for (int32_t at = roots_[group]; at >= 0;) {
    const Entry& entry = entries_[NodeId(at)];
    if (entry.key > key) {
      found = at;
      at = entry.left;
    } else {
      at = entry.right;
    }
  }
  return NodeId(found);
}

void NodeIndex::FindEnds() {
  bool any = false;
  for (size_t group = 0; group < kGroups; ++group) {
    first_[group] = NodeId();
    if (roots_[group] < 0) continue;
    int32_t first = roots_[group];
    while (entries_[NodeId(first)].left >= 0) first = entries_[NodeId(first)].left;
    int32_t last = roots_[group];
    while (entries_[NodeId(last)].right >= 0) last = entries_[NodeId(last)].right;
    first_[group] = NodeId(first);
    if (group != GroupOf(false, true) && group != GroupOf(true, true))
      continue;  // does not offer the resource
    const double least = entries_[NodeId(first)].key;
    const double most = entries_[NodeId(last)].key;
    least_room_ = any ? std::min(least_room_, least) : least;
    most_room_ = any ? std::max(most_room_, most) : most;
    any = true;
  }
}

}  // namespace kai
