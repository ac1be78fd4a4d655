// NodeIndex: all nodes in the order of a placement strategy, with their free resources.
//
//   NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
//   index.Touch(node);       // its ledger changed
//   index.Refresh();
//   index.FirstFit(kWithGpus, request, all_ok, Room::kNow)
//
// For one class of pods the score of the strategy depends only on a node's room. So the best node
// is the first one, in the order of (room, name), that fits. The order does not depend on the fit:
// a tree (room_tree.h) stores the largest amounts in each of its blocks of nodes, and skips blocks
// in which no node can fit. Nodes with other scores that differ by kind or by topology domain are
// in different groups, and each group has a tree of its own.
//
// Invariants: after Refresh() the index equals a new one, after any changes and rollbacks, if every
// changed node was touched. Cost: building is O(nodes log nodes); a change and usually a search are
// O(log nodes), where each step compares one number per resource. Not thread-safe while it is
// touched or refreshed.
#ifndef KAI_PLACEMENT_NODE_INDEX_H_
#define KAI_PLACEMENT_NODE_INDEX_H_

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/room_tree.h"

namespace kai {

enum class Strategy : uint8_t { kBinpack, kSpread };

// Which room counts. kLater: idle plus releasing resources. kNow: idle resources alone must also
// suffice. kNow needs both tests: more may be promised than is being freed; idle resources then
// cover the rest (spec 2 T6) and must not be used again.
enum class Room : uint8_t { kNow, kLater };

// Idle plus releasing, of the resource of the placement strategy (spec 3 W3).
double RoomOf(const Cluster& cluster, NodeId node, ResourceSlot slot);
// The divisor of that room for spreading: devices of the node, or its allocatable cpu (spec 3 W4).
double SpreadCountOf(const Cluster& cluster, NodeId node, ResourceSlot slot);

// Free room on one shared device; for a node, the room of its roomiest device.
struct SharedRoom {
  double mib = -kUnlimitedRoom;
  double portion = -kUnlimitedRoom;  // of the device, plus one MiB, because the amounts of pods are
                                     // cut to whole MiB

  static constexpr double kUnlimitedRoom = std::numeric_limits<double>::infinity();
  bool Covers(const SharedRoom& wanted) const {
    return mib >= wanted.mib && portion >= wanted.portion;
  }
  void Raise(const SharedRoom& other) {
    mib = std::max(mib, other.mib);
    portion = std::max(portion, other.portion);
  }
};

class NodeIndex {
 public:
  // Nodes with and without GPUs, that offer the resource or not: four groups in every band.
  static constexpr size_t kGroups = 4;
  static constexpr size_t GroupOf(bool cpu_only, bool offers) {
    return (cpu_only ? 1 : 0) + (offers ? 0 : 2);
  }

  // A node and its band. The topology domain of a node determines its band: nodes of one band come
  // after all fitting nodes of the band before it.
  struct Member {
    NodeId node;
    uint8_t band = 0;
  };

  // Contains all nodes, in one band.
  NodeIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy);
  NodeIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy,
            std::span<const Member> members);

  // Band by band.
  size_t groups() const { return trees_.size(); }
  static constexpr uint8_t BandOf(size_t group) { return static_cast<uint8_t>(group / kGroups); }

  // Ignores nodes that are not members.
  void Touch(NodeId node);
  // The node has another class, but still has GPUs or still has none.
  void Reclassify(NodeId node);
  void Refresh();

  // The first node of the group, in order, that fits, has an allowed class and passes `test`, if
  // one is given. `after`: only nodes with a larger key. `shared`: only nodes with that room on a
  // shared device.
  using Test = absl::FunctionRef<bool(NodeId)>;
  NodeId FirstFit(size_t group, std::span<const double> request, std::span<const uint8_t> class_ok,
                  Room room, const double* after = nullptr, const Test* test = nullptr,
                  const SharedRoom& shared = {}) const;

  // The key of a node in the order: lower is better.
  double key(NodeId node) const { return entries_[static_cast<size_t>(place_[node])].key; }
  // The first node of the group, even if it does not fit; invalid: the group is empty.
  NodeId First(size_t group) const { return NodeOf(trees_[group].First()); }
  // The first node of the group with a larger key, even if it does not fit; invalid: none.
  NodeId NextKey(size_t group, double key) const { return NodeOf(trees_[group].FirstAfter(key)); }

  // The least and the most room over the nodes that offer the resource (spec 3 W3).
  double least_room() const { return least_room_; }
  double most_room() const { return most_room_; }

  // The number of different (group, key) pairs. Cost: O(nodes), for tests and timings.
  int64_t CountKeys() const;
  size_t HeapBytes() const;

 private:
  struct Entry {
    NodeId node;
    double key = 0;
    uint16_t group = 0;
    bool is_touched = false;
    uint64_t class_bit = 0;  // for the node's class, modulo 64
  };

  void Build();
  // Writes the amounts of the node: for each resource the idle amount, and idle plus releasing;
  // then the room on its shared devices.
  void WriteRow(NodeId node, std::span<double> row) const;
  // The pair of a resource in a row. The resource that orders the nodes comes first, because most
  // nodes lack it.
  size_t ColumnOf(size_t slot) const {
    if (slot == slot_.index()) return 0;
    return slot < slot_.index() ? slot + 1 : slot;
  }
  RoomTree::Item ItemOf(int32_t place) const;
  void FindExtremes();
  double KeyOf(NodeId node) const;
  uint64_t ClassBitOf(NodeId node) const;
  SharedRoom SharedRoomOf(NodeId node) const;

  Entry& At(int32_t place) { return entries_[static_cast<size_t>(place)]; }
  const Entry& At(int32_t place) const { return entries_[static_cast<size_t>(place)]; }
  NodeId NodeOf(const RoomTree::Item* item) const {
    return item == nullptr ? NodeId() : At(item->place).node;
  }

  const Cluster& cluster_;
  ResourceSlot slot_;
  Strategy strategy_;
  size_t slots_;
  std::vector<RoomTree> trees_;  // by group; places are indices of entries_
  double least_room_ = 0;
  double most_room_ = 0;
  std::vector<Entry> entries_;
  IndexVector<NodeId, int32_t> place_;  // index in entries_; -1: not a member
  std::vector<int32_t> touched_;        // indices of entries_
  std::vector<double> row_;             // scratch
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_INDEX_H_
