// DomainRooms: what the domains of a topology have to give, kept up to date while pods come and go.
//
//   std::vector<NodeId> touched;
//   DomainRooms rooms(*cluster, tree, cluster->domain_totals(id), &touched, 0);
//   touched.push_back(node);                // its ledger changed
//   rooms.FreeOf(rack)                      // idle and releasing, of all its nodes together
//   rooms.CountsFor(largest)[rack]          // pods that fit, if each asks for `largest`
//
// It keeps what differs from the totals of the cluster as it was loaded.
//
// Invariants: an answer equals a fresh count over all nodes, as long as the caller lists in
// `touched` every node that changed. The list only grows: a change that is undone is one more
// change. Cost: a change is a walk from a node to the root; counts for a shape that the cluster has
// no totals of look at every node once. The last 16 shapes are kept. Not thread-safe: questions
// refresh what is kept.
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

  // `totals`: of that tree, as the cluster was when the first `seen` nodes had been touched.
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
    std::unique_ptr<DomainTotals::Shape> own;  // null: the cluster has it
    const DomainTotals::Shape* base = nullptr;
    size_t seen = 0;  // of touched_
    absl::flat_hash_map<NodeId, int32_t> changed;
    Counts of_domain;
  };

  void Refresh();
  void Recount(NodeId node, Shape* shape) const;

  const Cluster& cluster_;
  const DomainTree& tree_;
  const DomainTotals& totals_;
  const std::vector<NodeId>& touched_;  // every change so far, in order
  size_t first_;                        // of those, that `totals_` does not know
  size_t seen_;                         // how many `free_` knows
  absl::flat_hash_map<NodeId, std::vector<double>> changed_;  // what `free_` counts of the node
  ResourceTable<TopologyDomainId> free_;
  std::vector<std::unique_ptr<Shape>> shapes_;  // the last one asked about in front
};

}  // namespace kai

#endif  // KAI_PLACEMENT_DOMAIN_ROOMS_H_
