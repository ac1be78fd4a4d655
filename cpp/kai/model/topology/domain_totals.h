// DomainTotals: the free resources of the domains of a topology at the start of a cycle.
//
//   shape->base = totals_.FindShape(largest);    // null: another shape
//
// Invariants: all nodes of a domain count, even those that a pod group may not use (spec 4 A3);
// nothing changes during a cycle. Cost: O(nodes * slots) once for each tree and each shape;
// FindShape() walks over the few shapes. Threads: many readers.
#ifndef KAI_MODEL_TOPOLOGY_DOMAIN_TOTALS_H_
#define KAI_MODEL_TOPOLOGY_DOMAIN_TOTALS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kai/model/columns/resources.h"
#include "kai/model/topology/topology.h"

namespace kai {

class Cluster;

// The number of pods of one shape that fit on the node now, ignoring other nodes (spec 4 A4).
// `largest`: the request of each pod.
int32_t CountPodsOn(const Cluster& cluster, NodeId node, std::span<const double> largest);

struct DomainTotals {
  using Counts = IndexVector<TopologyDomainId, int64_t>;
  // The number of pods of one shape that fit, by node and by domain.
  struct Shape {
    Shape(const Cluster& cluster, const DomainTree& tree, std::span<const double> its_largest);

    std::vector<double> largest;
    IndexVector<NodeId, int32_t> of_node;
    Counts of_domain;
  };

  DomainTotals(const Cluster& cluster, const DomainTree& tree);

  // Null: this shape was not counted.
  const Shape* FindShape(std::span<const double> largest) const;

  ResourceTable<NodeId> of_node;  // idle and releasing
  ResourceTable<TopologyDomainId> free;
  std::vector<Shape> shapes;
};

// For every topology, with the shapes of waiting pods: each shape is counted once, for all pods
// that have it.
IndexVector<TopologyId, DomainTotals> SumDomains(const Cluster& cluster);

}  // namespace kai

#endif  // KAI_MODEL_TOPOLOGY_DOMAIN_TOTALS_H_
