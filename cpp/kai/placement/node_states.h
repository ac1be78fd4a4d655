// NodeStates: groups nodes that are alike now: of one class of nodes, with the same room and the
// same resources in use. All nodes of one state give the same answer to a pod that depends on
// nothing else.
//
//   NodeStates states(rooms.cluster(), &rooms.search().touched());
//   states.Refresh();
//   EXPECT_EQ(states.Of(rooms.Node("a")), states.Of(rooms.Node("b")));
//
// Invariants: nodes of one state are equal in everything that the state contains; a state keeps its
// number until generation() changes. Cost: hashing the room of each node that was touched since the
// last call. Threads: one, because visits of TouchedNodes write.
#ifndef KAI_PLACEMENT_NODE_STATES_H_
#define KAI_PLACEMENT_NODE_STATES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/touched_nodes.h"

namespace kai {

class NodeStates {
 public:
  // Both must live longer than this object.
  NodeStates(const Cluster& cluster, const TouchedNodes* touched)
      : cluster_(cluster), touched_(*touched) {}

  // Updates the states of touched nodes.
  void Refresh();
  int32_t Of(NodeId node) const { return of_node_[node]; }
  size_t size() const { return states_.size(); }
  // The number of times that all states got new numbers: old states are removed from time to time.
  int64_t generation() const { return generation_; }
  size_t HeapBytes() const;

 private:
  void NumberAll();
  void Number(NodeId node);

  const Cluster& cluster_;
  const TouchedNodes& touched_;
  TouchedNodes::Version version_ = TouchedNodes::kNone;
  int64_t generation_ = 0;
  IndexVector<NodeId, int32_t> of_node_;
  absl::flat_hash_map<std::string, int32_t> states_;  // by the bytes of their content
  std::string key_;                                   // scratch
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_STATES_H_
