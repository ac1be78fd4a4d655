// DomainRooms: the free resources of the domains of a topology, kept up to date while pods are
// placed and evicted.
//
//   std::vector<NodeId> touched;
//   DomainRooms rooms(*cluster, tree, cluster->domain_totals(id), &touched, 0);
//   touched.push_back(node);                // its ledger changed
//   rooms.FreeOf(rack)                      // idle and releasing, summed over its nodes
//   rooms.CountsFor(largest)[rack]          // pods that fit, if each requests `largest`
//
// It stores only the differences from the totals of the loaded cluster.
//
// Invariants: an answer equals a fresh count over all nodes, if the caller lists every changed node
// in `touched`. The list only grows: undoing a change is one more change. Cost: a change is a walk
// from a node to the root; counts for a shape without totals in the cluster check every node once.
// The last 16 shapes are kept. Not thread-safe: queries update the stored data.
#ifndef KAI_PLACEMENT_DOMAIN_ROOMS_H_
#define KAI_PLACEMENT_DOMAIN_ROOMS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/columns/cluster.h"

namespace kai {

class DomainRooms {
 public:
  using Counts = DomainTotals::Counts;

  // `totals`: of that tree, at the time when the first `seen` nodes had been touched.
  DomainRooms(const Cluster& cluster, const DomainTree& tree, const DomainTotals& totals,
              const std::vector<NodeId>* touched, size_t seen)
      : cluster_(cluster),
        tree_(tree),
        totals_(totals),
        touched_(*touched),
        first_(seen),
        seen_(seen),
        free_(totals.free) {}

  std::span<const double> FreeOf(TopologyDomainId domain);
  // `largest`: element-wise maximum of the pods' requests (spec 4 A4).
  const Counts& CountsFor(std::span<const double> largest);

 private:
  struct Shape {
    std::unique_ptr<DomainTotals::Shape> own;  // null: the shape is in the cluster's totals
    const DomainTotals::Shape* base = nullptr;
    size_t seen = 0;  // number of touched_ that are counted
    absl::flat_hash_map<NodeId, int32_t> changed;
    Counts of_domain;
  };

  void Refresh();
  void Recount(NodeId node, Shape* shape) const;

  const Cluster& cluster_;
  const DomainTree& tree_;
  const DomainTotals& totals_;
  const std::vector<NodeId>& touched_;  // every change so far, in order
  size_t first_;                        // the first of them that `totals_` does not include
  size_t seen_;                         // the number that `free_` includes
  absl::flat_hash_map<NodeId, std::vector<double>> changed_;  // the node's part in `free_`
  ResourceTable<TopologyDomainId> free_;
  std::vector<std::unique_ptr<Shape>> shapes_;  // the last one used in front
};

}  // namespace kai

#endif  // KAI_PLACEMENT_DOMAIN_ROOMS_H_
