#include "kai/session/best_domain.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "kai/session/device_sum.h"

namespace kai {
namespace {

const TopologyConstraint* ConstraintOf(const Cluster& cluster, PodGroupId group) {
  const TopologyConstraintId id = cluster.sub_groups().topology[cluster.pod_groups().root[group]];
  return id.valid() ? &cluster.topology_constraints()[id] : nullptr;
}

// The nodes of one domain, as rows of the survey.
std::vector<Standing::Obstacles> Within(const absl::flat_hash_set<NodeId>& nodes,
                                        std::span<const Standing::Obstacles> obstacles) {
  std::vector<Standing::Obstacles> rows;
  for (const Standing::Obstacles& each : obstacles) {
    Standing::Obstacles row = each;
    std::erase_if(row.nodes, [&](NodeId node) { return !nodes.contains(node); });
    if (!row.nodes.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

bool NeedsOneDomain(const Plan& plan, PodGroupId group) {
  const TopologyConstraint* wanted = ConstraintOf(*plan.cluster, group);
  return wanted != nullptr && wanted->tree.valid() &&
         wanted->required_depth > TopologyConstraint::kNoLevel;
}

std::optional<BestDomain> BestDomainOf(const Plan& plan, PodGroupId group,
                                       const GroupPlaces& places, const FreeAmounts& after) {
  const Cluster& cluster = *plan.cluster;
  if (!NeedsOneDomain(plan, group) || places.classes.size() != 1) return std::nullopt;
  for (const SubGroupId set : cluster.pod_groups().PodSetsOf(group)) {
    for (const PodId pod : cluster.sub_groups().PodsOf(set)) {
      if (cluster.pods().node[pod].valid()) return std::nullopt;
    }
  }
  const TopologyConstraint& wanted = *ConstraintOf(cluster, group);
  const DomainTree& tree = cluster.topologies()[wanted.tree];
  const GroupPlaces::Waiting& waiting = places.classes.front();
  const Standing& standing = waiting.places->standing;
  const absl::flat_hash_set<NodeId> possible(standing.possible.begin(), standing.possible.end());
  const auto free_on = [&](NodeId node) {
    return RoomFor(waiting.first, after.free[node], 1, cluster);
  };
  BestDomain best{.level = wanted.required};
  std::tuple<int64_t, int64_t> best_rooms(-1, -1);
  TopologyDomainId chosen;
  for (const TopologyDomainId domain : tree.ids()) {
    if (tree.DepthOf(domain) != wanted.required_depth) continue;
    ++best.domains;
    int64_t room = 0;
    int64_t most = 0;
    for (const NodeId node : tree.NodesOf(domain)) {
      if (possible.contains(node)) room += free_on(node).pods;
      const std::span<const double> all = cluster.nodes().allocatable[node];
      most += RoomFor(waiting.first, all, kNanoOfAGpu, cluster).pods;
    }
    if (std::tuple(room, most) <= best_rooms) continue;
    best_rooms = {room, most};
    chosen = domain;
  }
  if (!chosen.valid()) return std::nullopt;
  std::tie(best.room, best.most) = best_rooms;
  best.name = tree.Text(chosen, cluster.names());
  const std::span<const NodeId> nodes = tree.NodesOf(chosen);
  best.obstacles = Within({nodes.begin(), nodes.end()}, standing.obstacles);
  std::map<ResourceSlot, BestDomain::Lack> lacks;
  for (const NodeId node : nodes) {
    if (!possible.contains(node)) continue;
    best.nodes.push_back(node);
    const PodRoom room = free_on(node);
    if (room.pods > 0) continue;
    BestDomain::Lack& lack = lacks[room.slot];
    lack.slot = room.slot;
    const auto& ranks = cluster.nodes().name_rank;
    if (++lack.nodes == 1 || ranks[node] < ranks[lack.first]) lack.first = node;
  }
  for (const auto& [slot, lack] : lacks) best.lacks.push_back(lack);
  return best;
}

}  // namespace kai
