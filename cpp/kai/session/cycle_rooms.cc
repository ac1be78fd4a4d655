#include "kai/session/cycle_rooms.h"

#include <algorithm>

#include "kai/session/arguments.h"
#include "kai/session/registry.h"

namespace kai {
namespace {

PlacementRules MakeRules(const Config& config, const Cluster& cluster,
                         const std::shared_ptr<ZoneLedger>& zones,
                         const std::shared_ptr<PolicyTables>& tables) {
  return {.checks = MakePodChecks(config, cluster),
          .filters = MakeFilters(config, cluster, zones, tables),
          .scorers = MakeScorers(config, cluster, zones, tables)};
}

// Null if no group has a topology constraint.
std::unique_ptr<DomainSearch> MakeDomainSearch(const Config& config, const Cluster& cluster) {
  if (!config.HasPlugin("topology") || cluster.topology_constraints().empty()) return nullptr;
  return std::make_unique<DomainSearch>(
      cluster, DomainSearch::Options{.whole_nodes = !config.switches.on(Switch::kPartialLabels),
                                     .stop_at_required = config.switches.on(Switch::kCommonDomain),
                                     .reports_levels = config.switches.on(Switch::kTopologyLevels),
                                     .best_fit = PlacesByBestFit(config)});
}

}  // namespace

CycleRooms::CycleRooms(const Config& config, const Cluster& cluster, bool always_scan,
                       GroupClasses::Sharing sharing)
    : cluster_(cluster),
      shares_gpus_(cluster.shares_gpus()),
      zones(MakeZoneLedger(config, cluster)),
      tables(MakePolicyTables(config, cluster)),
      placing(cluster, PlacingOrderOptions(config)),
      plans(cluster, MakeRules(config, cluster, zones, tables)),
      nodes(cluster, StrategiesOf(config)),
      order(placing, PodOrderOptions(config)),
      classes(order, sharing),
      search(&plans, &nodes, SearchOptions(config, always_scan)),
      room(cluster, &plans, &search.touched()),
      domains(MakeDomainSearch(config, cluster)) {}

bool CycleRooms::CanFollow() const {
  // Filters that count pods, or that have read all pods in their constructor.
  const bool counts_pods = !plans.listeners().empty() || !cluster_.affinity().empty() ||
                           !cluster_.volume_needs().empty() || !cluster_.claims().empty() ||
                           !cluster_.host_ports().empty() || zones != nullptr ||
                           domains != nullptr || !cluster_.topology_constraints().empty();
  return !counts_pods &&
         std::ranges::none_of(cluster_.pod_classes().info.raw(),
                              [](const PodClass& pods) { return pods.gpu.legacy_mig; });
}

bool CycleRooms::Follow(const ClusterDelta& delta) {
  if (delta.largest_differs || cluster_.shares_gpus() != shares_gpus_ || !CanFollow()) return false;
  plans.Grow();
  plans.Look(delta.other_nodes);
  if (delta.is_reordered) nodes.Reorder();
  search.Grow();
  room.Grow();
  for (const NodeId node : delta.other_nodes) nodes.Reclassify(node);
  for (const NodeId node : delta.nodes) search.Touch(node);
  for (const PodGroupId group : delta.groups) placing.Look(group);
  for (const PodGroupId group : delta.groups) order.Look(group);
  classes.Look(delta.groups);
  return true;
}

}  // namespace kai
