// NodeSubset: all nodes, or a list of them by id.
//
//   const NodeSubset some = NodeSubset::Of({NodeId(4), NodeId(2)});
//   some.Holds(NodeId(2))               // true
//   NodeSubset::All().Holds(NodeId(3))  // true
//
// Invariants: the list is sorted by id, and empty for all nodes. Cost: O(log nodes) for a check, a
// sort to make one. Threads: a value that does not change, thread-safe.
#ifndef KAI_PLACEMENT_NODE_SUBSET_H_
#define KAI_PLACEMENT_NODE_SUBSET_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "kai/model/columns/ids.h"

namespace kai {

class NodeSubset {
 public:
  static NodeSubset All() { return NodeSubset(true, {}); }
  static NodeSubset Of(std::vector<NodeId> nodes) {
    std::sort(nodes.begin(), nodes.end());
    return NodeSubset(false, std::move(nodes));
  }

  bool all() const { return all_; }
  const std::vector<NodeId>& nodes() const& { return nodes_; }  // empty for all nodes
  const std::vector<NodeId>& nodes() const&& = delete;          // it would dangle
  bool Holds(NodeId node) const {
    return all_ || std::binary_search(nodes_.begin(), nodes_.end(), node);
  }

 private:
  NodeSubset(bool all, std::vector<NodeId> nodes) : all_(all), nodes_(std::move(nodes)) {}

  bool all_;
  std::vector<NodeId> nodes_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_SUBSET_H_
