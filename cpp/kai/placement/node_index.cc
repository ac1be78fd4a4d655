#include "kai/placement/node_index.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "kai/base/heap_bytes.h"

namespace kai {
namespace {

// If more than one in kRebuildShare nodes must move, rebuilding the trees is cheaper.
constexpr size_t kRebuildShare = 3;

}  // namespace

double RoomOf(const Cluster& cluster, NodeId node, ResourceSlot slot) {
  return cluster.nodes().idle[node][slot.index()] + cluster.nodes().releasing[node][slot.index()];
}

double SpreadCountOf(const Cluster& cluster, NodeId node, ResourceSlot slot) {
  return slot == kGpuSlot ? cluster.nodes().gpu_count[node]
                          : cluster.nodes().allocatable[node][slot.index()];
}

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
      row_(2 * slots_ + 2) {
  const NodeColumns& nodes = cluster.nodes();
  size_t bands = 1;
  for (size_t i = 0; i < members.size(); ++i) {
    const NodeId node = members[i].node;
    place_[node] = static_cast<int32_t>(i);
    Entry& entry = entries_[i];
    entry.node = node;
    entry.class_bit = ClassBitOf(node);
    entry.group = static_cast<uint16_t>(
        GroupOf(nodes.cpu_only[node] != 0,
                strategy == Strategy::kSpread || nodes.allocatable[node][slot.index()] != 0) +
        kGroups * members[i].band);
    bands = std::max(bands, size_t{members[i].band} + 1);
  }
  trees_.resize(bands * kGroups, RoomTree(row_.size()));
  Build();
}

void NodeIndex::Build() {
  std::vector<std::vector<RoomTree::Item>> items(groups());
  for (size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].key = KeyOf(entries_[i].node);
    items[entries_[i].group].push_back(ItemOf(static_cast<int32_t>(i)));
  }
  for (size_t group = 0; group < groups(); ++group) {
    std::ranges::sort(items[group], RoomTree::IsBefore);
    trees_[group].Build(items[group], [this](int32_t place, std::span<double> row) {
      WriteRow(At(place).node, row);
    });
  }
  FindExtremes();
}

RoomTree::Item NodeIndex::ItemOf(int32_t place) const {
  const Entry& entry = At(place);
  return {.key = entry.key,
          .rank = cluster_.nodes().name_rank[entry.node],
          .place = place,
          .bits = entry.class_bit};
}

uint64_t NodeIndex::ClassBitOf(NodeId node) const {
  return uint64_t{1} << (cluster_.nodes().node_class[node].value() % 64);
}

double NodeIndex::KeyOf(NodeId node) const {
  const double room = RoomOf(cluster_, node, slot_);
  if (strategy_ == Strategy::kBinpack) {
    // Nodes without the resource always score zero.
    return cluster_.nodes().allocatable[node][slot_.index()] == 0 ? 0 : room;
  }
  const double count = SpreadCountOf(cluster_, node, slot_);
  return count == 0 ? 0 : -(room / count);
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

void NodeIndex::WriteRow(NodeId node, std::span<double> row) const {
  const std::span<const double> idle = cluster_.nodes().idle[node];
  const std::span<const double> releasing = cluster_.nodes().releasing[node];
  for (size_t i = 0; i < slots_; ++i) {
    const size_t at = 2 * ColumnOf(i);
    row[at] = idle[i];
    row[at + 1] = idle[i] + releasing[i];
  }
  const SharedRoom shared = SharedRoomOf(node);
  row[2 * slots_] = shared.mib;
  row[2 * slots_ + 1] = shared.portion;
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
  At(place).class_bit = ClassBitOf(node);
  Touch(node);
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
    RoomTree& tree = trees_[entry.group];
    const double key = KeyOf(entry.node);
    WriteRow(entry.node, row_);
    if (key == entry.key) {  // often after an undo
      tree.Update(ItemOf(place), row_);
      continue;
    }
    tree.Erase(ItemOf(place));  // it is there under the old key
    entry.key = key;
    tree.Insert(ItemOf(place), row_);
  }
  touched_.clear();
  FindExtremes();
}

NodeId NodeIndex::FirstFit(size_t group, std::span<const double> request,
                           std::span<const uint8_t> class_ok, Room room, const double* after,
                           const Test* test, const SharedRoom& shared) const {
  KAI_DCHECK(touched_.empty());
  uint64_t class_bits = 0;
  for (size_t i = 0; i < class_ok.size(); ++i) class_bits |= uint64_t{class_ok[i] != 0} << (i % 64);
  absl::InlinedVector<double, 16> wanted(2 * slots_);
  for (size_t i = 0; i < slots_; ++i) {
    const size_t at = 2 * ColumnOf(i);
    wanted[at] = room == Room::kNow ? request[i] : -SharedRoom::kUnlimitedRoom;
    wanted[at + 1] = request[i];
  }
  if (!SharedRoom().Covers(shared)) wanted.insert(wanted.end(), {shared.mib, shared.portion});
  const int32_t place = trees_[group].FirstCovering(
      {.wanted = wanted, .bits = class_bits, .after = after}, [&](int32_t at) {
        const NodeId node = At(at).node;
        return class_ok[cluster_.nodes().node_class[node].index()] != 0 &&
               (test == nullptr || (*test)(node));
      });
  return place < 0 ? NodeId() : At(place).node;
}

int64_t NodeIndex::CountKeys() const {
  int64_t keys = 0;
  for (size_t group = 0; group < groups(); ++group) {
    for (NodeId at = First(group); at.valid(); at = NextKey(group, key(at))) ++keys;
  }
  return keys;
}

void NodeIndex::FindExtremes() {
  bool any = false;
  for (size_t group = 0; group < groups(); ++group) {
    const size_t kind = group % kGroups;
    if (trees_[group].empty() || (kind != GroupOf(false, true) && kind != GroupOf(true, true)))
      continue;  // these nodes do not offer the resource
    const double least = trees_[group].First()->key;
    const double most = trees_[group].Last()->key;
    least_room_ = any ? std::min(least_room_, least) : least;
    most_room_ = any ? std::max(most_room_, most) : most;
    any = true;
  }
}

size_t NodeIndex::HeapBytes() const {
  return HeapBytesOfAll(trees_, entries_, place_, touched_, row_);
}

}  // namespace kai
