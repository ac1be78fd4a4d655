// Registry: maps plugin and action names to the objects that they add to a cycle. Only the explicit
// calls in registry.cc fill it.
//
//   for (const auto& [name, make] : rules.actions) {
//
// Invariants: every name that Config knows has an entry; the created objects refer to the cluster,
// which must outlive them. Cost: that of the created objects. Threads: pure functions of their
// arguments.
#ifndef KAI_SESSION_REGISTRY_H_
#define KAI_SESSION_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kai/actions/action.h"
#include "kai/placement/numa/zone_ledger.h"
#include "kai/placement/policy_tables.h"
#include "kai/session/config.h"

namespace kai {

// What is left of NUMA zones. Null: the configuration ignores zones, or no node reports any.
std::shared_ptr<ZoneLedger> MakeZoneLedger(const Config& config, const Cluster& cluster);
// Null: no policy is a function.
std::shared_ptr<PolicyTables> MakePolicyTables(const Config& config, const Cluster& cluster);
// Built-in filters in the order in which a node is checked (spec 3 P3a-P10), then filters that are
// functions. Without the plugin `predicates`, the only built-in filter is that of NUMA zones.
std::vector<std::unique_ptr<Filter>> MakeFilters(const Config& config, const Cluster& cluster,
                                                 const std::shared_ptr<ZoneLedger>& zones,
                                                 const std::shared_ptr<PolicyTables>& tables);
// Only the filters that depend on nothing but the node and the pod.
std::vector<std::unique_ptr<Filter>> MakeNodeFilters(const Config& config, const Cluster& cluster);
std::vector<std::unique_ptr<PodCheck>> MakePodChecks(const Config& config, const Cluster& cluster);
// Scorers in plugin order, which is the order in which their scores are added. Their names are
// texts of the configuration, which must outlive them.
std::vector<NamedScorer> MakeScorers(const Config& config, const Cluster& cluster,
                                     const std::shared_ptr<ZoneLedger>& zones,
                                     const std::shared_ptr<PolicyTables>& tables);
NodeSearch::Options SearchOptions(const Config& config, bool always_scan);
PlacingOrder::Options PlacingOrderOptions(const Config& config);
PodOrder::Options PodOrderOptions(const Config& config);
// For one cycle; null if neither the plugin `joborder` nor a policy orders pod groups.
std::unique_ptr<AttainedService> MakeAttainedService(const Config& config, const Cluster& cluster,
                                                     const PodOrder& order,
                                                     const PolicyTables* tables, int64_t now_ns);
// Of the plugin `joborder`, for one cycle; null if the configuration does not have it.
std::unique_ptr<JobOrder> MakeJobOrder(const Config& config, const Cluster& cluster,
                                       const PodOrder& order, const AttainedService* service);
// `job_order` may be null, and must outlive the result.
Worklist::Options WorklistOptions(const Config& config, const JobOrder* job_order);
FairShares::Options FairShareOptions(const Config& config);
std::vector<ScenarioGenerator> GeneratorsOf(const Config& config);

// Rules from the configuration that hold for every cycle. They are computed once, as looking up
// names and texts costs more than a small cycle.
struct CycleRules {
  explicit CycleRules(const Config& config);

  FairShares::Options fair_shares;
  GroupPlacer::Options placer;
  GroupClasses::Sharing sharing;
  bool has_depths = false;
  Worklist::Options worklist;
  std::vector<ScenarioGenerator> generators;
  bool has_queue_numbers = true;
  bool gives_claims = true;
  bool counts_reservations = true;  // new shared devices take pod slots for reservation pods
  bool keeps_promises = true;       // the next cycle keeps promised places
  // A group that lost the room of its victims evicts nothing for a while.
  bool minds_unkept_promises = true;
  // By name, in order; an action keeps no state between cycles.
  std::vector<std::pair<std::string, std::function<std::unique_ptr<Action>()>>> actions;
};

}  // namespace kai

#endif  // KAI_SESSION_REGISTRY_H_
