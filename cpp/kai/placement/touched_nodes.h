// TouchedNodes: the list of changed nodes, in order. Code that caches data of all nodes only has to
// check these again.
//
//   touched.Touch(NodeId(2));
//   *touched.Since(later, kNodes)        // no value: check all nodes
//
// Invariants: the version increases with each change, also with one of a pod without a node. Cost:
// O(1) per change; old entries are dropped when there are more later changes than nodes. Threads:
// one, because visits write.
#ifndef KAI_PLACEMENT_TOUCHED_NODES_H_
#define KAI_PLACEMENT_TOUCHED_NODES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kai/base/heap_bytes.h"
#include "kai/model/columns/ids.h"

namespace kai {

class TouchedNodes {
 public:
  using Version = int64_t;
  static constexpr Version kNone = -1;  // nothing was computed yet

  Version version() const { return first_ + static_cast<Version>(touched_.size()); }
  // An invalid node: a change without a node.
  void Touch(NodeId node) { touched_.push_back(node); }
  // The node of the last change; invalid: none is known.
  NodeId last() const { return touched_.empty() ? NodeId() : touched_.back(); }

  // Some nodes may be in it twice, some may be invalid. Nothing: it is cheaper to check all `nodes`
  // nodes.
  std::optional<std::span<const NodeId>> Since(Version version, size_t nodes) const {
    if (version < first_) return std::nullopt;
    const auto known = static_cast<size_t>(version - first_);
    if (touched_.size() - known > nodes) return std::nullopt;
    return std::span(touched_).subspan(known);
  }

  // Visits each node that was touched since, once. False, without a visit: check all nodes.
  template <typename Visit>
  bool VisitSince(Version version, size_t nodes, const Visit& visit) const {
    const auto touched = Since(version, nodes);
    if (!touched) return false;
    ++visits_;
    for (const NodeId node : *touched) {
      if (!node.valid()) continue;
      if (node.index() >= seen_.size()) seen_.resize(node.index() + 1);
      if (std::exchange(seen_[node.index()], visits_) != visits_) visit(node);
    }
    return true;
  }

  // Between cycles: drops old entries.
  void Trim(size_t nodes) {
    if (touched_.size() <= 2 * nodes) return;
    const size_t old = touched_.size() - nodes;
    first_ += static_cast<Version>(old);
    touched_.erase(touched_.begin(), touched_.begin() + static_cast<ptrdiff_t>(old));
  }

  size_t HeapBytes() const {
    return BlockBytes(touched_.capacity() * sizeof(NodeId)) +
           BlockBytes(seen_.capacity() * sizeof(int64_t));
  }

 private:
  Version first_ = 0;
  std::vector<NodeId> touched_;
  // By the index of a node: the number of its last visit.
  mutable std::vector<int64_t> seen_;
  mutable int64_t visits_ = 0;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_TOUCHED_NODES_H_
