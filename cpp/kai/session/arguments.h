// What plugins' arguments mean, with KAI's fallback for each that makes no sense.
//
//   const MinRuntime::Options options = MinRuntimeOptions(config);
//
// Invariants: every argument has a value that makes sense; CheckArguments() warns of each that was
// replaced. Cost: a look-up and the parsing of short texts. Threads: pure functions, thread-safe.
#ifndef KAI_SESSION_ARGUMENTS_H_
#define KAI_SESSION_ARGUMENTS_H_

#include <string>
#include <vector>

#include "kai/fairshare/min_runtime.h"
#include "kai/placement/numa/zone_ledger.h"
#include "kai/session/config.h"

namespace kai {

// Plugin `minruntime` (spec 1 F102). Without the plugin nothing is protected, whatever queues say:
// that is for the caller to ask.
MinRuntime::Options MinRuntimeOptions(const Config& config);

// Argument `relcaimerSaturationMultiplier` of plugin `proportion` (spec 1 F93); 1 without it.
double SaturationMultiplier(const Config& config);

// Plugin `numa` (spec 3 §13), and the mend about pods that are leaving.
ZoneLedger::Options NumaOptions(const Config& config);

// Argument `placement` of plugin `topology`: `best-fit`, or `first-fit` as KAI does it (spec 4 W7).
bool PlacesByBestFit(const Config& config);

// A warning for every argument whose value is replaced by a fallback.
void CheckArguments(const Config& config, std::vector<std::string>* warnings);

}  // namespace kai

#endif  // KAI_SESSION_ARGUMENTS_H_
