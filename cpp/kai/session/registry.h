// Registry: plugin and action names -> what they bring into a cycle. Filled by the explicit calls
// in registry.cc and nothing else.
//
//   for (const auto& [name, make] : rules.actions) {
//
// Invariants: every name that Config knows has its part here; what is made refers to the cluster,
// which outlives it. Cost: that of what is made. Threads: pure functions of their arguments.
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

// What is left in NUMA zones; null: the configuration does not look at them, or no node reports
// any.
std::shared_ptr<ZoneLedger> MakeZoneLedger(const Config& config, const Cluster& cluster);
// Null: no policy is a function.
std::shared_ptr<PolicyTables> MakePolicyTables(const Config& config, const Cluster& cluster);
// Filters in the order in which a node is asked (spec 3 P3a-P10); without the plugin `predicates`
// at most that of NUMA zones; then those given as functions.
std::vector<std::unique_ptr<Filter>> MakeFilters(const Config& config, const Cluster& cluster,
                                                 const std::shared_ptr<ZoneLedger>& zones,
                                                 const std::shared_ptr<PolicyTables>& tables);
// Those of them that look at nothing but the node and the pod.
std::vector<std::unique_ptr<Filter>> MakeNodeFilters(const Config& config, const Cluster& cluster);
std::vector<std::unique_ptr<PodCheck>> MakePodChecks(const Config& config, const Cluster& cluster);
// Scorers in plugin order: their scores are added in it.
std::vector<std::unique_ptr<Scorer>> MakeScorers(const Config& config, const Cluster& cluster,
                                                 const std::shared_ptr<ZoneLedger>& zones,
                                                 const std::shared_ptr<PolicyTables>& tables);
NodeSearch::Options SearchOptions(const Config& config, bool always_scan);
PlacingOrder::Options PlacingOrderOptions(const Config& config);
PodOrder::Options PodOrderOptions(const Config& config);
// For one cycle; null: neither the plugin `joborder` nor a policy orders pod groups.
std::unique_ptr<AttainedService> MakeAttainedService(const Config& config, const Cluster& cluster,
                                                     const PodOrder& order,
                                                     const PolicyTables* tables, int64_t now_ns);
// Of the plugin `joborder`, for one cycle; null: the configuration does not have it.
std::unique_ptr<JobOrder> MakeJobOrder(const Config& config, const Cluster& cluster,
                                       const PodOrder& order, const AttainedService* service);
// `job_order` may be null, and has to outlive what is made.
Worklist::Options WorklistOptions(const Config& config, const JobOrder* job_order);
FairShares::Options FairShareOptions(const Config& config);
std::vector<ScenarioGenerator> GeneratorsOf(const Config& config);

// What a configuration says of each cycle, found once: its names and texts cost more than a small
// cycle.
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
  bool keeps_promises = true;  // places that a cycle promises are kept by the next one
  // By name, in order; an action keeps nothing from one cycle to the next.
  std::vector<std::pair<std::string, std::function<std::unique_ptr<Action>()>>> actions;
};

}  // namespace kai

#endif  // KAI_SESSION_REGISTRY_H_
