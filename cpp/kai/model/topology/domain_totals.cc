#include "kai/model/topology/domain_totals.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kai/model/columns/cluster.h"

namespace kai {

int32_t CountPodsOn(const Cluster& cluster, NodeId node, std::span<const double> largest) {
  const NodeColumns& nodes = cluster.nodes();
  double fit = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < largest.size(); ++i) {
    double room = nodes.idle[node][i] + nodes.releasing[node][i];
    if (i == kGpuSlot.index() && largest[i] > 0 && largest[i] < 1) {
      const auto capacity = static_cast<double>(cluster.GpuCapacityMib(node));
      for (const SharedGpu& gpu : nodes.shared_gpus[node]) {
        if (gpu.used > 0)
          room +=
              (capacity - static_cast<double>(gpu.allocated) + static_cast<double>(gpu.releasing)) /
              capacity;
      }
    }
    if (largest[i] > room) return 0;
    if (largest[i] > 0) fit = std::min(fit, std::trunc(room / largest[i]));
  }
  return static_cast<int32_t>(fit);
}

DomainTotals::Shape::Shape(const Cluster& cluster, const DomainTree& tree,
                           std::span<const double> its_largest)
    : largest(its_largest.begin(), its_largest.end()),
      of_node(cluster.nodes().size()),
      of_domain(tree.size()) {
  for (const NodeId node : tree.NodesOf(DomainTree::kRoot)) {
    of_node[node] = CountPodsOn(cluster, node, largest);
    of_domain[tree.DomainOf(node)] += of_node[node];
  }
  for (size_t i = tree.size(); i-- > 1;)
    of_domain[tree.ParentOf(TopologyDomainId(i))] += of_domain[TopologyDomainId(i)];
}

DomainTotals::DomainTotals(const Cluster& cluster, const DomainTree& tree)
    : of_node(cluster.nodes().size(), cluster.slots().size()),
      free(tree.size(), cluster.slots().size()) {
  const NodeColumns& nodes = cluster.nodes();
  const auto add = [](std::span<const double> more, std::span<double> sum) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  };
  for (const NodeId node : tree.NodesOf(DomainTree::kRoot)) {
    add(nodes.idle[node], of_node[node]);
    add(nodes.releasing[node], of_node[node]);
    add(of_node[node], free[tree.DomainOf(node)]);
  }
  for (size_t i = tree.size(); i-- > 1;)
    add(free[TopologyDomainId(i)], free[tree.ParentOf(TopologyDomainId(i))]);
}

const DomainTotals::Shape* DomainTotals::FindShape(std::span<const double> largest) const {
  const auto found = std::ranges::find_if(
      shapes, [&](const Shape& shape) { return std::ranges::equal(shape.largest, largest); });
  return found == shapes.end() ? nullptr : &*found;
}

IndexVector<TopologyId, DomainTotals> SumDomains(const Cluster& cluster) {
  constexpr size_t kMostShapes = 8;  // shapes that are counted per topology
  IndexVector<TopologyId, DomainTotals> totals;
  for (const DomainTree& tree : cluster.topologies().raw()) totals.Add(DomainTotals(cluster, tree));
  const SubGroupColumns& sets = cluster.sub_groups();
  for (const PodId pod : cluster.pods().name.ids()) {
    if (cluster.pods().status[pod] != PodStatus::kPending) continue;
    for (SubGroupId set = cluster.pods().pod_set[pod]; set.valid(); set = sets.parent[set]) {
      if (!sets.topology[set].valid()) continue;
      const TopologyId tree = cluster.topology_constraints()[sets.topology[set]].tree;
      if (!tree.valid()) continue;
      DomainTotals& of_tree = totals[tree];
      const std::span<const double> request = cluster.RequestOf(pod);
      if (of_tree.shapes.size() < kMostShapes && of_tree.FindShape(request) == nullptr)
        of_tree.shapes.emplace_back(cluster, cluster.topologies()[tree], request);
    }
  }
  return totals;
}

}  // namespace kai
