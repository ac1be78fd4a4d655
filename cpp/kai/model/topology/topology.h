// DomainTree: the zones, blocks and racks of one Topology, and the nodes in each (spec 4 T5-T8).
//
//   tree().Next(Named("z1.r1"))                // its sibling
//   tree().NodesOf(Named("z1.r1"))             // a piece of one array
//   tree().AncestorAt(Named("z1.r2"), 1)       // its zone
//
// Invariants: domains are numbered depth first, siblings by their label value. So the domains below
// a domain are a range of ids, and its nodes are a range of one list. The root, depth 0, contains
// the whole tree; the largest domains have depth 1. Nothing changes during a cycle. Cost: O(1), and
// O(depth) for an ancestor; O(nodes log nodes) to make. Threads: many readers.
#ifndef KAI_MODEL_TOPOLOGY_TOPOLOGY_H_
#define KAI_MODEL_TOPOLOGY_TOPOLOGY_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/index_vector.h"
#include "kai/base/interner.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/pod_group.h"

namespace kai {

class DomainTree {
 public:
  static constexpr TopologyDomainId kRoot{0};

  // The values of a node's labels, from the top level down to the last before the first missing
  // label.
  using Path = std::vector<NameId>;

  DomainTree() = default;
  // `levels`: label keys, from the top level down. A node belongs to the domains of its path; a
  // path may be empty.
  DomainTree(NameId name, std::vector<NameId> levels, const IndexVector<NodeId, Path>& paths,
             const Interner& names);
  // The same tree with only the nodes that have the labels of all levels (spec 4 T6).
  DomainTree OfWholeNodes(const Interner& names) const;

  NameId name() const { return name_; }
  // The number of levels, without the root.
  int32_t depth() const { return static_cast<int32_t>(levels_.size()); }
  // The depth of a level by its label; -1: unknown.
  int32_t DepthOf(NameId label) const;

  size_t size() const { return parent_.size(); }
  IdRange<TopologyDomainId> ids() const { return parent_.ids(); }
  int32_t DepthOf(TopologyDomainId domain) const { return depth_[domain]; }
  TopologyDomainId ParentOf(TopologyDomainId domain) const { return parent_[domain]; }
  // The first id that is not below the domain.
  TopologyDomainId EndOf(TopologyDomainId domain) const { return end_[domain]; }
  bool Holds(TopologyDomainId domain, TopologyDomainId other) const {
    return domain <= other && other < end_[domain];
  }
  TopologyDomainId FirstChild(TopologyDomainId domain) const {
    const TopologyDomainId next(domain.index() + 1);
    return next < end_[domain] ? next : TopologyDomainId();
  }
  // The next sibling.
  TopologyDomainId Next(TopologyDomainId domain) const {
    const TopologyDomainId next = end_[domain];
    return domain != kRoot && next < end_[parent_[domain]] ? next : TopologyDomainId();
  }
  // The domain itself or its ancestor with this depth.
  TopologyDomainId AncestorAt(TopologyDomainId domain, int32_t depth) const;
  TopologyDomainId CommonOf(TopologyDomainId a, TopologyDomainId b) const;

  // In the order of their lowest domains, then by id.
  std::span<const NodeId> NodesOf(TopologyDomainId domain) const {
    return nodes_[domain].Of(node_list_);
  }
  // The lowest domain of a node; invalid: the node lacks the label of the top level.
  TopologyDomainId DomainOf(NodeId node) const { return domain_of_[node]; }
  // True: the node has the labels of all levels.
  bool IsWhole(NodeId node) const {
    const TopologyDomainId domain = domain_of_[node];
    return domain.valid() && depth_[domain] == depth();
  }

  // The node's label of a level; invalid: it lacks that label or one of a level above.
  NameId ValueAt(NodeId node, int32_t depth) const {
    const TopologyDomainId domain = domain_of_[node];
    return domain.valid() && depth_[domain] >= depth ? value_[AncestorAt(domain, depth)] : NameId();
  }

  // Label values from the top level down, separated by dots; "root" for the root (spec 4 T7).
  std::string Text(TopologyDomainId domain, const Interner& names) const;

  size_t HeapBytes() const;

 private:
  NameId name_;
  std::vector<NameId> levels_;
  IndexVector<TopologyDomainId, NameId> value_;
  IndexVector<TopologyDomainId, int32_t> depth_;
  IndexVector<TopologyDomainId, TopologyDomainId> parent_;
  IndexVector<TopologyDomainId, TopologyDomainId> end_;
  IndexVector<TopologyDomainId, Span32> nodes_;
  std::vector<NodeId> node_list_;
  IndexVector<NodeId, TopologyDomainId> domain_of_;
};

// The topology constraint of a set of sub-groups (spec 4 C5), with names looked up and aliases
// resolved.
struct TopologyConstraint {
  static constexpr int32_t kNoLevel = 0;
  static constexpr int32_t kUnknownLevel = -1;  // the topology has no such level

  NameId topology;  // as written
  NameId required;  // labels; invalid: not given
  NameId preferred;
  TopologyId tree;  // invalid: unknown topology
  int32_t required_depth = kNoLevel;
  int32_t preferred_depth = kNoLevel;
  // The number of domains of the preferred level for the pods; 0: any number.
  int32_t least_domains = 0;
  int32_t most_domains = 0;
  bool balanced = false;  // the numbers of pods per domain differ by at most 1

  bool CountsDomains() const { return least_domains > 1 || most_domains > 0 || balanced; }
  bool HasLevel() const { return required_depth != kNoLevel || preferred_depth != kNoLevel; }

  friend auto operator<=>(const TopologyConstraint&, const TopologyConstraint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const TopologyConstraint& each) {
    return H::combine(std::move(h), each.topology, each.required, each.preferred,
                      each.least_domains, each.most_domains);
  }
};

}  // namespace kai

#endif  // KAI_MODEL_TOPOLOGY_TOPOLOGY_H_
