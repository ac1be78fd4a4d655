// The values of plugins' arguments, with KAI's fallback for each invalid one.
//
//   const MinRuntime::Options options = MinRuntimeOptions(config);
//
// Invariants: every argument has a valid value; ArgumentProblem() describes what was wrong with one
// that was replaced. Cost: a look-up and the parsing of short texts. Threads: pure functions,
// thread-safe.
#ifndef KAI_SESSION_ARGUMENTS_H_
#define KAI_SESSION_ARGUMENTS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kai/actions/job_order.h"
#include "kai/fairshare/min_runtime.h"
#include "kai/placement/numa/zone_ledger.h"
#include "kai/placement/ordered_nodes.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/session/config.h"

namespace kai {

// Plugin `minruntime` (spec 1 F102). Callers have to check first that the plugin runs: without it
// no group is protected, whatever the queues contain.
MinRuntime::Options MinRuntimeOptions(const Config& config);

// Argument `relcaimerSaturationMultiplier` of plugin `proportion` (spec 1 F93); default 1.
double SaturationMultiplier(const Config& config);

// Plugin `numa` (spec 3 U1-U17), and the switch `leaving_pods`.
ZoneLedger::Options NumaOptions(const Config& config);

// Argument `placement` of plugin `topology`: `best-fit`, or `first-fit` as KAI does it (spec 4 W7).
bool PlacesByBestFit(const Config& config);

// Argument `kValue` of plugin `proportion` (spec 1 F46); default 1.
double KValue(const Config& config);

// Arguments `gpu` and `cpu` of plugin `nodeplacement`: any value but "spread" packs (spec 3 W5).
Strategies StrategiesOf(const Config& config);

// Plugin `placementpolicy`: the policy that chooses nodes instead of packing.
PolicyOptions PolicyOptionsOf(const Config& config);

// Plugin `joborder`: the order of pod groups in a queue, and whether it also decides preemption.
JobOrderOptions JobOrderOptionsOf(const Config& config);

// An argument of a plugin.
struct KnownArgument {
  std::string_view plugin;
  std::string_view name;
  std::string_view fallback;                       // "": the default is empty
  bool (*makes_sense)(std::string_view);           // null: any text is valid
  std::string_view complaint;                      // about an invalid value
  std::span<const std::string_view> choices = {};  // all values, if there are a few
};

std::vector<std::string_view> ArgumentNames(std::string_view plugin);
// Null if the plugin has no such argument.
const KnownArgument* FindKnownArgument(std::string_view plugin, std::string_view argument);
// Why a value is replaced by the fallback, as a sentence; "" if it is valid.
std::string ArgumentProblem(const KnownArgument& argument, std::string_view value);

}  // namespace kai

#endif  // KAI_SESSION_ARGUMENTS_H_
