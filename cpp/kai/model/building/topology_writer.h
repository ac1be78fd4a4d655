// TopologyWriter: writes the trees of domains of Topologies, and the constraints of sets of
// sub-groups on them.
//
//   w_.topologies.Add(*row, w_.node_rows);
//
// Invariants: a constraint on an unknown topology is kept without a tree. Cost: Add() is O(nodes ·
// levels), ConstraintOf() O(topologies). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_TOPOLOGY_WRITER_H_
#define KAI_MODEL_BUILDING_TOPOLOGY_WRITER_H_

#include <map>
#include <string>
#include <vector>

#include "kai/base/interned.h"
#include "kai/model/columns/ids.h"
#include "kai/model/rows/rows.h"
#include "kai/model/topology/topology.h"

namespace kai {

class TopologyWriter {
 public:
  TopologyWriter(Interner* names, IndexVector<TopologyId, DomainTree>* trees,
                 Interned<TopologyConstraintId, TopologyConstraint>* constraints)
      : names_(*names), trees_(*trees), constraints_(*constraints) {}

  // `nodes`: by NodeId.
  void Add(const TopologyRow& row, const std::vector<const NodeRow*>& nodes);
  // Makes the trees again for the current nodes.
  void Regroup(const std::vector<const NodeRow*>& nodes);
  // Invalid: nothing is required or preferred (spec 4 C5). `domain_count` may be null.
  TopologyConstraintId ConstraintOf(const TopologyConstraintRow& row,
                                    const DomainCountRow* domain_count);

 private:
  DomainTree TreeOf(const TopologyRow& row, const std::vector<const NodeRow*>& nodes);
  DomainTree::Path PathOf(const NodeRow& node, const TopologyRow& topology);

  Interner& names_;
  IndexVector<TopologyId, DomainTree>& trees_;
  Interned<TopologyConstraintId, TopologyConstraint>& constraints_;
  std::vector<TopologyRow> rows_;                            // by TopologyId
  std::map<NameId, std::map<std::string, NameId>> aliases_;  // of levels, by topology
};

// The number of domains from the annotations of a pod group; null: not given or impossible.
const DomainCountRow* DomainCountOf(const CompactPodGroup& row, std::vector<Rejection>* rejections);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_TOPOLOGY_WRITER_H_
