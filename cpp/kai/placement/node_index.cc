#include "kai/placement/node_index.h"

#include <algorithm>

#include "kai/base/heap_bytes.h"

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

namespace {

std::vector<NodeIndex::Member> AllNodes(const Cluster& cluster) {
  std::vector<NodeIndex::Member> members;
  members.reserve(cluster.nodes().size());
  for (const NodeId node : cluster.nodes().name.ids()) members.push_back({.node = node, .band = 0});
  return members;
}

}  // namespace

NodeIndex::NodeIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy)
    : NodeIndex(cluster, slot, strategy, AllNodes(cluster)) {}

NodeIndex::NodeIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy,
                     std::span<const Member> members)
    : cluster_(cluster),
      slot_(slot),
      strategy_(strategy),
      slots_(cluster.slots().size()),
      entries_(members.size()),
      place_(cluster.nodes().size(), -1),
      largest_(members.size() * 2 * slots_) {
  const NodeColumns& nodes = cluster.nodes();
  size_t bands = 1;
  for (size_t i = 0; i < members.size(); ++i) {
    const NodeId node = members[i].node;
    place_[node] = static_cast<int32_t>(i);
    Entry& entry = entries_[i];
    entry.node = node;
    entry.heap_priority = Mix(static_cast<uint32_t>(node.value()) + 1);
    entry.own_class = ClassBitOf(node);
    entry.group = static_cast<uint16_t>(
        GroupOf(nodes.cpu_only[node] != 0,
                strategy == Strategy::kSpread || nodes.allocatable[node][slot.index()] != 0) +
        kGroups * members[i].band);
    bands = std::max(bands, size_t{members[i].band} + 1);
  }
  roots_.resize(bands * kGroups);
  first_.resize(bands * kGroups);
  Build();
}

void NodeIndex::Build() {
  std::ranges::fill(roots_, -1);
  std::vector<std::vector<int32_t>> places(groups());
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    entry.key = KeyOf(entry.node);
    entry.own_shared = SharedRoomOf(entry.node);
    entry.left = entry.right = -1;
    places[entry.group].push_back(static_cast<int32_t>(i));
  }
  for (size_t group = 0; group < groups(); ++group) {
    // Built in order along the right spine: linear, unlike one insertion after the other.
    std::vector<int32_t>& order = places[group];
    std::sort(order.begin(), order.end(), [this](int32_t a, int32_t b) { return Before(a, b); });
    std::vector<int32_t> spine;
    for (const int32_t place : order) {
      int32_t below = -1;
      while (!spine.empty() && At(spine.back()).heap_priority < At(place).heap_priority) {
        below = spine.back();
        spine.pop_back();
        Pull(below);
      }
      At(place).left = below;
      if (!spine.empty()) At(spine.back()).right = place;
      spine.push_back(place);
    }
    if (!spine.empty()) roots_[group] = spine.front();
    while (!spine.empty()) {
      Pull(spine.back());
      spine.pop_back();
    }
  }
  FindEnds();
}

uint64_t NodeIndex::ClassBitOf(NodeId node) const {
  return uint64_t{1} << (cluster_.nodes().node_class[node].value() % 64);
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
  const Entry &left = At(a), &right = At(b);
  if (left.key != right.key) return left.key < right.key;
  const auto& rank = cluster_.nodes().name_rank;
  return rank[left.node] < rank[right.node];
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
  Entry& entry = At(at);
  entry.class_below = entry.own_class;
  entry.shared_below = entry.own_shared;
  double* const now = largest_.data() + static_cast<size_t>(at) * 2 * slots_;
  double* const later = now + slots_;
  const std::span<const double> idle = cluster_.nodes().idle[entry.node];
  const std::span<const double> releasing = cluster_.nodes().releasing[entry.node];
  for (size_t i = 0; i < slots_; ++i) {
    now[i] = idle[i];
    later[i] = idle[i] + releasing[i];
  }
  for (const int32_t child : {entry.left, entry.right}) {
    if (child < 0) continue;
    entry.class_below |= At(child).class_below;
    entry.shared_below.Raise(At(child).shared_below);
    const double* const below = largest_.data() + static_cast<size_t>(child) * 2 * slots_;
    for (size_t i = 0; i < 2 * slots_; ++i) now[i] = std::max(now[i], below[i]);
  }
}

int32_t NodeIndex::Merge(int32_t left, int32_t right) {
  if (left < 0) return right;
  if (right < 0) return left;
  if (At(left).heap_priority > At(right).heap_priority) {
    At(left).right = Merge(At(left).right, right);
    Pull(left);
    return left;
  }
  At(right).left = Merge(left, At(right).left);
  Pull(right);
  return right;
}

void NodeIndex::SplitBefore(int32_t at, int32_t place, int32_t* left, int32_t* right) {
  if (at < 0) {
    *left = *right = -1;
    return;
  }
  Entry& entry = At(at);
  if (Before(at, place)) {
    int32_t middle = -1;
    SplitBefore(entry.right, place, &middle, right);
    entry.right = middle;
    *left = at;
  } else {
    int32_t middle = -1;
    SplitBefore(entry.left, place, left, &middle);
    entry.left = middle;
    *right = at;
  }
  Pull(at);
}

void NodeIndex::Insert(int32_t* root, int32_t place) {
  Entry& entry = At(place);
  if (*root < 0 || At(*root).heap_priority < entry.heap_priority) {
    SplitBefore(*root, place, &entry.left, &entry.right);
    *root = place;
  } else {
    Entry& here = At(*root);
    Insert(Before(place, *root) ? &here.left : &here.right, place);
  }
  Pull(*root);
}

void NodeIndex::Erase(int32_t* root, int32_t place) {
  KAI_DCHECK(*root >= 0);
  if (*root == place) {
    *root = Merge(At(place).left, At(place).right);
    return;
  }
  Entry& here = At(*root);
  Erase(Before(place, *root) ? &here.left : &here.right, place);
  Pull(*root);
}

void NodeIndex::Touch(NodeId node) {
  const int32_t place = place_[node];
  if (place < 0 || At(place).is_touched) return;
  At(place).is_touched = true;
  touched_.push_back(place);
}

void NodeIndex::Reclassify(NodeId node) {
  const int32_t place = place_[node];
  if (place < 0) return;
  At(place).own_class = ClassBitOf(node);
  Touch(node);
}

void NodeIndex::PullPath(int32_t at, int32_t place) {
  Entry& here = At(at);
  if (at != place) PullPath(Before(place, at) ? here.left : here.right, place);
  Pull(at);
}

void NodeIndex::Refresh() {
  if (touched_.empty()) return;
  for (const int32_t place : touched_) At(place).is_touched = false;
  if (touched_.size() * kRebuildShare > entries_.size()) {
    touched_.clear();
    return Build();
  }
  for (const int32_t place : touched_) {
    Entry& entry = At(place);
    int32_t* const root = &roots_[entry.group];
    const double key = KeyOf(entry.node);
    entry.own_shared = SharedRoomOf(entry.node);
    if (key == entry.key) {  // often so after something was taken back
      PullPath(*root, place);
      continue;
    }
    Erase(root, place);  // finds it by the key it was filed under
    entry.key = key;
    entry.left = entry.right = -1;
    Insert(root, place);
  }
  touched_.clear();
  FindEnds();
}

bool NodeIndex::MayFit(int32_t at, const Search& search) const {
  if ((At(at).class_below & search.class_bits) == 0 || !At(at).shared_below.Covers(search.shared))
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
  const Entry& entry = At(at);
  const NodeId node = entry.node;
  const NodeColumns& nodes = cluster_.nodes();
  if (search.class_ok[nodes.node_class[node].index()] == 0 ||
      !entry.own_shared.Covers(search.shared))
    return false;
  const std::span<const double> request(search.request, slots_);
  return FitsSum(request, nodes.idle[node], nodes.releasing[node]) &&
         (search.room == Room::kLater || Fits(request, nodes.idle[node])) &&
         (search.test == nullptr || (*search.test)(node));
}

int32_t NodeIndex::FirstFitBelow(int32_t at, const Search& search) const {
  while (at >= 0 && MayFit(at, search)) {
    const Entry& entry = At(at);
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
  return NodeAt(FirstFitBelow(roots_[group], search));
}

int64_t NodeIndex::CountKeys() const {
  int64_t keys = 0;
  for (size_t group = 0; group < groups(); ++group) {
    for (NodeId at = first_[group]; at.valid(); at = NextKey(group, key(at))) ++keys;
  }
  return keys;
}

NodeId NodeIndex::NextKey(size_t group, double key) const {
  int32_t found = -1;
  for (int32_t at = roots_[group]; at >= 0;) {
    const Entry& entry = At(at);
    if (entry.key > key) {
      found = at;
      at = entry.left;
    } else {
      at = entry.right;
    }
  }
  return NodeAt(found);
}

void NodeIndex::FindEnds() {
  bool any = false;
  for (size_t group = 0; group < groups(); ++group) {
    first_[group] = NodeId();
    if (roots_[group] < 0) continue;
    int32_t first = roots_[group];
    while (At(first).left >= 0) first = At(first).left;
    int32_t last = roots_[group];
    while (At(last).right >= 0) last = At(last).right;
    first_[group] = At(first).node;
    const size_t kind = group % kGroups;
    if (kind != GroupOf(false, true) && kind != GroupOf(true, true))
      continue;  // does not offer the resource
    const double least = At(first).key;
    const double most = At(last).key;
    least_room_ = any ? std::min(least_room_, least) : least;
    most_room_ = any ? std::max(most_room_, most) : most;
    any = true;
  }
}

size_t NodeIndex::HeapBytes() const {
  return HeapBytesOfAll(roots_, first_, entries_, place_, largest_, touched_);
}

}  // namespace kai
