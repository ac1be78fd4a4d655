// DomainRooms: what the domains of a topology have to give, kept up to date while pods come and go.
//
//   DomainRooms rooms(cluster, tree);
//   rooms.Touch(node);                      // its ledger changed
//   rooms.FreeOf(rack);                     // idle and releasing, of all its nodes together
//   const auto& counts = rooms.CountsFor(largest);
//   counts[rack];                           // pods that fit, if each asks for `largest`
//
// All nodes of a domain count, whatever a pod group may use of them (spec 4 A3). Cost: a change is
// a walk from a node to the root; counts for a new shape ask every node once.
#ifndef KAI_PLACEMENT_DOMAIN_ROOMS_H_
#define KAI_PLACEMENT_DOMAIN_ROOMS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kai/model/cluster.h"

namespace kai {

class DomainRooms {
 public:
  using Counts = IndexVector<TopologyDomainId, int64_t>;

  DomainRooms(const Cluster& cluster, const DomainTree& tree);

  void Touch(NodeId node) { touched_.push_back(node); }

  std::span<const double> FreeOf(TopologyDomainId domain);
  // `largest`: element-wise maximum of the pods' requests (spec 4 A4).
  const Counts& CountsFor(std::span<const double> largest);

 private:
  // Pods of one shape, by node and by domain.
  struct Shape {
    std::vector<double> largest;
    size_t seen = 0;  // of touched_
    IndexVector<NodeId, int32_t> of_node;
    Counts of_domain;
  };

  void Refresh();
  int32_t CountOn(NodeId node, std::span<const double> largest) const;
  void Recount(NodeId node, Shape* shape) const;

  const Cluster& cluster_;
  const DomainTree& tree_;
  std::vector<NodeId> touched_;  // every change so far, in order
  size_t seen_ = 0;
  ResourceTable<NodeId> node_free_;  // as summed up
  ResourceTable<TopologyDomainId> free_;
  std::vector<std::unique_ptr<Shape>> shapes_;  // the last one asked about in front
};

}  // namespace kai

#endif  // KAI_PLACEMENT_DOMAIN_ROOMS_H_
