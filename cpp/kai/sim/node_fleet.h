// NodeFleet: which nodes of a simulation exist, and which of them take new pods.
//
//   if (!fleet_.Goes(node, now_ns_)) return;  // two outages overlap
//
// A node exists if it is provided (from the start, or ordered and ready) and has no outage. It
// takes new pods if it is in no maintenance window. Outages and windows may overlap. Changes are
// written to the store and the timeline; when nodes come or go, a callback is called.
//
// Invariants: an outage affects only a node that is provided when it begins. Cost: that of a row of
// the store for each change. Not thread-safe.
#ifndef KAI_SIM_NODE_FLEET_H_
#define KAI_SIM_NODE_FLEET_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/rows/rows.h"
#include "kai/sim/timeline.h"
#include "kai/store/store.h"

namespace kai {

class NodeFleet {
 public:
  enum class Supply : uint8_t { kAbsent, kOrdered, kProvided };

  // Called for each node that comes or goes.
  using OnPresence = std::function<void(int32_t node, bool is_there)>;

  // `nodes`, sorted by name, must stay in place; all arguments must outlive it.
  NodeFleet(const std::vector<NodeRow>& nodes, Store* store, Timeline* timeline,
            OnPresence on_presence)
      : nodes_(nodes), store_(*store), timeline_(*timeline), on_presence_(std::move(on_presence)) {}

  // All nodes exist from now on, except the `absent` ones (flags by index).
  void Fill(const std::vector<uint8_t>& absent);

  int32_t Find(std::string_view name) const { return place_.at(name); }
  size_t size() const { return states_.size(); }
  bool IsThere(int32_t node) const {
    return Of(node).supply == Supply::kProvided && Of(node).outages == 0;
  }
  bool TakesPods(int32_t node) const { return IsThere(node) && Of(node).windows == 0; }
  Supply SupplyOf(int32_t node) const { return Of(node).supply; }

  // The start and the end of an outage. Goes() returns whether the node existed before.
  bool Goes(int32_t node, int64_t now_ns);
  void Comes(int32_t node, int64_t now_ns);
  // The start and the end of a maintenance window.
  void Close(int32_t node, int64_t now_ns);
  void Open(int32_t node, int64_t now_ns);
  // For the autoscaler. A node that becomes ready takes pods, unless it is in a window.
  void Order(int32_t node, int64_t now_ns);
  void MakeReady(int32_t node, int64_t now_ns);
  void Remove(int32_t node, int64_t now_ns);

 private:
  struct State {
    Supply supply = Supply::kProvided;
    int32_t outages = 0;  // outages since it was provided
    int32_t windows = 0;
  };
  const State& Of(int32_t node) const { return states_[static_cast<size_t>(node)]; }
  State& Of(int32_t node) { return states_[static_cast<size_t>(node)]; }
  const NodeRow& RowOf(int32_t node) const { return nodes_[static_cast<size_t>(node)]; }
  void Write(int32_t node);
  void RecordPresence(int32_t node, int64_t now_ns);
  void WritePresence(int32_t node, bool is_there, int64_t now_ns);
  void Record(int32_t node, NodeEvent event, int64_t now_ns);

  const std::vector<NodeRow>& nodes_;
  Store& store_;
  Timeline& timeline_;
  OnPresence on_presence_;
  std::vector<State> states_;
  absl::flat_hash_map<std::string_view, int32_t> place_;  // by name
};

}  // namespace kai

#endif  // KAI_SIM_NODE_FLEET_H_
