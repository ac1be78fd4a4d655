// OrderedNodes: the nodes that a search looks at, all of them or some in bands, with an index by
// GPUs and one by CPU.
//
//   OrderedNodes indexed(rooms_.cluster(), {});
//   indexed.Touch(n3_);                        // its ledger changed
//   nodes.IndexFor(false)                      // by GPUs; null: a scan is cheaper so far
//   OrderedNodes some(rooms_.cluster(), {}, {{.node = n3_, .band = 0}, {.node = n1_, .band = 1}});
//
// Invariants: after a Touch() of each node whose ledger changed, and a Reclassify() or Reorder()
// where more did, the indices and extremes are those of the columns. Those of all nodes therefore
// stay good from one cycle to the next; those of a domain last as long as a search is confined to
// it.
//
// Cost: an index is made in O(nodes log nodes) after a few searches without it, because small
// cycles end before that pays; afterwards O(log nodes) a change. Threads: one, because reading
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

// How nodes are ordered for pods with GPUs, and for those without.
struct Strategies {
  Strategy gpu = Strategy::kBinpack;
  Strategy cpu = Strategy::kBinpack;
};

class OrderedNodes {
 public:
  using Member = NodeIndex::Member;

  OrderedNodes(const Cluster& cluster, const Strategies& strategies)
      : cluster_(cluster), strategies_(strategies) {}
  // Of these nodes alone, which stand band by band.
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

  // Counts as a search; null: none has been made yet.
  const NodeIndex* IndexFor(bool by_cpu);
  // What binpack compares the room of a node with (spec 3 W3); the rest of the view is empty.
  ScoreView ExtremesFor(bool by_cpu);

  void Touch(NodeId node) {
    for (LazyIndex* lazy : {&gpu_, &cpu_}) {
      if (lazy->index) lazy->index->Touch(node);
    }
  }

  // Between cycles: the node is of another class.
  void Reclassify(NodeId node) {
    for (LazyIndex* lazy : {&gpu_, &cpu_}) {
      if (lazy->index) lazy->index->Reclassify(node);
    }
  }
  // Between cycles: nodes came, went, or offer something else. The next search makes new indices.
  void Reorder() {
    for (LazyIndex* lazy : {&gpu_, &cpu_}) lazy->index.reset();
  }

  // Different places in the order, over the indices that were made.
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
