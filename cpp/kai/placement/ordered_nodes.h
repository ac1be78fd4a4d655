// OrderedNodes: the nodes of a search, all nodes or some in bands, with an index by GPUs and one by
// CPU.
//
//   OrderedNodes indexed(rooms_.cluster(), {});
//   indexed.Touch(n3_);                        // its ledger changed
//   nodes.IndexFor(false)                      // by GPUs; null: a scan is still cheaper
//   OrderedNodes some(rooms_.cluster(), {}, {{.node = n3_, .band = 0}, {.node = n1_, .band = 1}});
//
// Invariants: indices and extremes agree with the columns if Touch() is called for each node with a
// changed ledger, and Reclassify() or Reorder() for larger changes. So an object for all nodes can
// be kept from one cycle to the next; one for a domain is used as long as a search is confined to
// it.
//
// Cost: an index is made in O(nodes log nodes) after a few searches without it, because in small
// cycles it does not pay off; after that O(log nodes) for a change. Threads: one, because reading
// refreshes.
#ifndef KAI_PLACEMENT_ORDERED_NODES_H_
#define KAI_PLACEMENT_ORDERED_NODES_H_

#include <optional>
#include <utility>
#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/placement/node_index.h"
#include "kai/placement/scorer.h"

namespace kai {

// The strategies for pods with GPUs and for pods without.
struct Strategies {
  Strategy gpu = Strategy::kBinpack;
  Strategy cpu = Strategy::kBinpack;
};

class OrderedNodes {
 public:
  using Member = NodeIndex::Member;

  OrderedNodes(const Cluster& cluster, const Strategies& strategies)
      : cluster_(cluster), strategies_(strategies) {}
  // Only these nodes, sorted by band.
  OrderedNodes(const Cluster& cluster, const Strategies& strategies, std::vector<Member> members)
      : cluster_(cluster), strategies_(strategies), members_(std::move(members)) {}

  const Strategies& strategies() const { return strategies_; }
  // Null: all nodes, in one band.
  const std::vector<Member>* members() const { return members_ ? &*members_ : nullptr; }
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    if (members_) {
      for (const Member& each : *members_) visit(each.node);
    } else {
      for (const NodeId node : cluster_.nodes().name.ids()) visit(node);
    }
  }

  // Counts as a search; null: there is no index yet.
  const NodeIndex* IndexFor(bool by_cpu);
  // The values that binpack compares the room of a node with (spec 3 W3); the rest of the view is
  // empty.
  ScoreView ExtremesFor(bool by_cpu);

  void Touch(NodeId node) {
    for (LazyIndex* lazy : {&gpu_, &cpu_}) {
      if (lazy->index) lazy->index->Touch(node);
    }
  }

  // Between cycles: the node has another class.
  void Reclassify(NodeId node) {
    for (LazyIndex* lazy : {&gpu_, &cpu_}) {
      if (lazy->index) lazy->index->Reclassify(node);
    }
  }
  // Between cycles: nodes were added or removed, or offer other resources. The next search makes
  // new indices.
  void Reorder() {
    for (LazyIndex* lazy : {&gpu_, &cpu_}) lazy->index.reset();
  }

  // The number of different keys, over the existing indices.
  int64_t CountKeys() const;
  size_t HeapBytes() const;

 private:
  struct LazyIndex {
    int searches = 0;
    std::optional<NodeIndex> index;
  };
  LazyIndex& For(bool by_cpu) { return by_cpu ? cpu_ : gpu_; }

  const Cluster& cluster_;
  Strategies strategies_;
  std::optional<std::vector<Member>> members_;
  LazyIndex gpu_;
  LazyIndex cpu_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_ORDERED_NODES_H_
