// What plugins' arguments mean, with KAI's fallback for each that makes no sense.
//
//   const MinRuntime::Options options = MinRuntimeOptions(config);
//
// Invariants: every argument has a value that makes sense; ArgumentProblem() says what is wrong
// with one that was replaced. Cost: a look-up and the parsing of short texts. Threads: pure
// functions, thread-safe.
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

// Plugin `minruntime` (spec 1 F102). Without the plugin nothing is protected, whatever queues say:
// that is for the caller to ask.
MinRuntime::Options MinRuntimeOptions(const Config& config);

// Argument `relcaimerSaturationMultiplier` of plugin `proportion` (spec 1 F93); 1 without it.
double SaturationMultiplier(const Config& config);

// Plugin `numa` (spec 3 U1-U17), and the mend about pods that are leaving.
ZoneLedger::Options NumaOptions(const Config& config);

// Argument `placement` of plugin `topology`: `best-fit`, or `first-fit` as KAI does it (spec 4 W7).
bool PlacesByBestFit(const Config& config);

// Argument `kValue` of plugin `proportion` (spec 1 F46); 1 without it.
double KValue(const Config& config);

// Arguments `gpu` and `cpu` of plugin `nodeplacement`: anything but "spread" packs (spec 3 W5).
Strategies StrategiesOf(const Config& config);

// Plugin `placementpolicy`: which policy chooses nodes in place of packing.
PolicyOptions PolicyOptionsOf(const Config& config);

// Plugin `joborder`: the order of pod groups in a queue, and whether it decides preemption.
JobOrderOptions JobOrderOptionsOf(const Config& config);

// An argument that some plugin takes.
struct KnownArgument {
  std::string_view plugin;
  std::string_view name;
  std::string_view fallback;                       // "": what it is about is empty
  bool (*makes_sense)(std::string_view);           // null: any text does
  std::string_view complaint;                      // of a value that makes no sense
  std::span<const std::string_view> choices = {};  // the values, where there are a few
};

std::vector<std::string_view> ArgumentNames(std::string_view plugin);
// Null: the plugin takes no such argument.
const KnownArgument* FindKnownArgument(std::string_view plugin, std::string_view argument);
// What is wrong with a value that is replaced by the fallback, as a sentence; "": nothing.
std::string ArgumentProblem(const KnownArgument& argument, std::string_view value);

}  // namespace kai

#endif  // KAI_SESSION_ARGUMENTS_H_
