// Registry: plugin and action names -> what they bring into a cycle. Filled by the explicit calls
// in registry.cc and nothing else.
//
//   MakeAction(name, config)->Run(*cycle);
//
// Invariants: every name that Config knows has its part here; what is made refers to the cluster,
// which outlives it. Cost: that of what is made. Threads: pure functions of their arguments.
#ifndef KAI_SESSION_REGISTRY_H_
#define KAI_SESSION_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "kai/actions/action.h"
#include "kai/placement/numa/zone_ledger.h"
#include "kai/session/config.h"

namespace kai {

// What is left in NUMA zones; null: the configuration does not look at them, or no node reports
// any.
std::shared_ptr<ZoneLedger> MakeZoneLedger(const Config& config, const Cluster& cluster);
// Filters in the order in which a node is asked (spec 3 §7); without the plugin `predicates`
// at most that of NUMA zones.
std::vector<std::unique_ptr<Filter>> MakeFilters(const Config& config, const Cluster& cluster,
                                                 const std::shared_ptr<ZoneLedger>& zones);
// Those of them that look at nothing but the node and the pod.
std::vector<std::unique_ptr<Filter>> MakeNodeFilters(const Config& config, const Cluster& cluster);
std::vector<std::unique_ptr<PodCheck>> MakePodChecks(const Config& config, const Cluster& cluster);
// Scorers in plugin order: their scores are added in it.
std::vector<std::unique_ptr<Scorer>> MakeScorers(const Config& config, const Cluster& cluster,
                                                 const std::shared_ptr<ZoneLedger>& zones);
NodeSearch::Options SearchOptions(const Config& config, bool always_scan);
PlacingOrder::Options PlacingOrderOptions(const Config& config);
PodOrder::Options PodOrderOptions(const Config& config);
// Of the plugin `joborder`, for one cycle; null: the configuration does not have it.
std::unique_ptr<JobOrder> MakeJobOrder(const Config& config, const Cluster& cluster,
                                       const PodOrder& order, int64_t now_ns);
// `job_order` may be null, and has to outlive what is made.
Worklist::Options WorklistOptions(const Config& config, const JobOrder* job_order);
FairShares::Options FairShareOptions(const Config& config);
std::vector<ScenarioGenerator> GeneratorsOf(const Config& config);
std::unique_ptr<Action> MakeAction(const std::string& name, const Config& config);

}  // namespace kai

#endif  // KAI_SESSION_REGISTRY_H_
