// DomainTotals: what the domains of a topology have to give, when a cycle begins.
//
//   shape->base = totals_.FindShape(largest);    // null: another shape
//
// Invariants: all nodes of a domain count, whatever a pod group may use of them (spec 4 A3);
// nothing changes in a cycle. Cost: O(nodes * slots) once for each tree and each shape; FindShape()
// walks over the few shapes. Threads: many readers.
#ifndef KAI_MODEL_TOPOLOGY_DOMAIN_TOTALS_H_
#define KAI_MODEL_TOPOLOGY_DOMAIN_TOTALS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kai/model/columns/resources.h"
#include "kai/model/topology/topology.h"

namespace kai {

class Cluster;

// Pods of one shape that fit now, on the node alone (spec 4 A4). `largest`: what each asks for.
int32_t CountPodsOn(const Cluster& cluster, NodeId node, std::span<const double> largest);

struct DomainTotals {
  using Counts = IndexVector<TopologyDomainId, int64_t>;
  // Pods of one shape, by node and by domain.
  struct Shape {
    Shape(const Cluster& cluster, const DomainTree& tree, std::span<const double> its_largest);

    std::vector<double> largest;
    IndexVector<NodeId, int32_t> of_node;
    Counts of_domain;
  };

  DomainTotals(const Cluster& cluster, const DomainTree& tree);

  // Null: it was not to be counted.
  const Shape* FindShape(std::span<const double> largest) const;

  ResourceTable<NodeId> of_node;  // idle and releasing
  ResourceTable<TopologyDomainId> free;
  std::vector<Shape> shapes;
};

// Of every topology, with the shapes that pods which wait ask in: each is counted once, for all
// pods that have it.
IndexVector<TopologyId, DomainTotals> SumDomains(const Cluster& cluster);

}  // namespace kai

#endif  // KAI_MODEL_TOPOLOGY_DOMAIN_TOTALS_H_
