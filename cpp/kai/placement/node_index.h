// NodeIndex: all nodes in the order in which a placement strategy prefers them, with what fits
// where kept beside.
//
//   NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
//   index.Touch(node);       // its ledger changed
//   index.Refresh();
//   index.FirstFit(kWithGpus, request, all_ok, Room::kNow)
//
// For one class of pods the strategy's score is a function of a node's room alone, so
// that the best node is the first one, in the order of (room, name), that fits. Fit is no part of
// the order: a tree (room_tree.h) knows how much the nodes of each of its blocks have at most, and
// passes over blocks in which none can fit. Nodes whose other scores differ by kind or by topology
// domain stand in different groups, each a tree of its own.
//
// Invariants: after Refresh() the index equals a fresh one, whatever changed and however often,
// rollback included, provided that every node that changed was touched. Cost: building is O(nodes
// log nodes); a change and usually a search are O(log nodes), each step as many numbers as there
// are resources. Not thread-safe while it is touched or refreshed.
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

// Which room counts: what is idle and what is being freed together, or what is idle by itself as
// well. The two differ both ways: pods can be promised more than is being freed, out of what is
// idle (spec 2 T6), and then what is idle must not be given away.
enum class Room : uint8_t { kNow, kLater };

// Idle plus releasing of what placement goes by (spec 3 W3).
double RoomOf(const Cluster& cluster, NodeId node, ResourceSlot slot);
// What spreading divides that by: devices of the node, or its allocatable cpu (spec 3 W4).
double SpreadCountOf(const Cluster& cluster, NodeId node, ResourceSlot slot);

// Room that others that share devices leave on one of them; of a node, that of its roomiest device.
struct SharedRoom {
  double mib = -kUnlimitedRoom;
  double portion =
      -kUnlimitedRoom;  // of the device, and one MiB: what pods take is cut to whole MiB

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
  // Nodes with and without GPUs, that offer the resource or do not: four groups in every band.
  static constexpr size_t kGroups = 4;
  static constexpr size_t GroupOf(bool cpu_only, bool offers) {
    return (cpu_only ? 1 : 0) + (offers ? 0 : 2);
  }

  // A node, and how far behind the best ones its topology domain puts it: a band of nodes stands
  // behind the one before it wherever both have room.
  struct Member {
    NodeId node;
    uint8_t band = 0;
  };

  // Of all nodes, in one band.
  NodeIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy);
  NodeIndex(const Cluster& cluster, ResourceSlot slot, Strategy strategy,
            std::span<const Member> members);

  // Band by band.
  size_t groups() const { return trees_.size(); }
  static constexpr uint8_t BandOf(size_t group) { return static_cast<uint8_t>(group / kGroups); }

  // Nodes that are no members do not matter.
  void Touch(NodeId node);
  // It is of another class, with GPUs or without as before.
  void Reclassify(NodeId node);
  void Refresh();

  // The first node of the group, in order, that fits, whose class is allowed and that passes the
  // test, where one is given; only nodes with a key beyond `after`, likewise, and only some where
  // a shared device has that room.
  using Test = absl::FunctionRef<bool(NodeId)>;
  NodeId FirstFit(size_t group, std::span<const double> request, std::span<const uint8_t> class_ok,
                  Room room, const double* after = nullptr, const Test* test = nullptr,
                  const SharedRoom& shared = {}) const;

  // The order's key of a node: lower is better.
  double key(NodeId node) const { return entries_[static_cast<size_t>(place_[node])].key; }
  // The first node of the group in order, fit or not; invalid when the group is empty.
  NodeId First(size_t group) const { return NodeOf(trees_[group].First()); }
  // The first node of the group with a key beyond `key`, fit or not; invalid when there is none.
  NodeId NextKey(size_t group, double key) const { return NodeOf(trees_[group].FirstAfter(key)); }

  // Least and most room over the nodes that offer the resource (spec 3 W3).
  double least_room() const { return least_room_; }
  double most_room() const { return most_room_; }

  // How many (group, key) there are. Cost: O(nodes), for tests and timings.
  int64_t CountKeys() const;
  size_t HeapBytes() const;

 private:
  struct Entry {
    NodeId node;
    double key = 0;
    uint16_t group = 0;
    bool is_touched = false;
    uint64_t class_bit = 0;  // of the node's class, modulo 64
  };

  void Build();
  // What the node has: of each resource what is idle, and that plus what is releasing; then the
  // room on its shared devices.
  void WriteRow(NodeId node, std::span<double> row) const;
  // Which of the rows' pairs a resource has: the one that orders the nodes comes first, because it
  // is what most nodes lack.
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
  std::vector<RoomTree> trees_;  // by group; places are those of the entries
  double least_room_ = 0;
  double most_room_ = 0;
  std::vector<Entry> entries_;
  IndexVector<NodeId, int32_t> place_;  // -1: no member
  std::vector<int32_t> touched_;        // places
  std::vector<double> row_;             // scratch
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_INDEX_H_
