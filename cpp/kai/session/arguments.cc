#include "kai/session/arguments.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "kai/base/duration.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

constexpr std::string_view kMinRuntime = "minruntime";
constexpr std::string_view kPreemptMinRuntime = "defaultPreemptMinRuntime";
constexpr std::string_view kReclaimMinRuntime = "defaultReclaimMinRuntime";
constexpr std::string_view kReclaimMethod = "reclaimResolveMethod";
constexpr std::string_view kProportion = "proportion";
constexpr std::string_view kSaturationMultiplier =
    "relcaimerSaturationMultiplier";  // so KAI spells

constexpr std::string_view kNuma = "numa";
constexpr std::string_view kTopology = "topology";
constexpr std::string_view kPlacement = "placement";
constexpr std::string_view kIgnoreList = "ignoreList";
constexpr std::string_view kReconstruct = "reconstructAvailable";

// The argument's value; nothing when it is missing or empty.
std::string_view ArgumentOf(const Config& config, std::string_view plugin,
                            std::string_view argument) {
  const PluginConfig* found = config.FindPlugin(plugin);
  return found == nullptr ? std::string_view() : found->Argument(argument, "");
}

// Each reads one value, or says no to one that makes no sense.

std::optional<int64_t> ReadRuntime(std::string_view text) {
  const absl::StatusOr<int64_t> nanos = ParseLongDuration(text);
  if (!nanos.ok() || *nanos < 0) return std::nullopt;
  return *nanos;
}

std::optional<MinRuntime::Method> ReadMethod(std::string_view text) {
  if (text == "lca") return MinRuntime::Method::kLowestCommonAncestor;
  if (text == "queue") return MinRuntime::Method::kQueue;
  return std::nullopt;
}

std::optional<double> ReadMultiplier(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= 1)) return std::nullopt;  // not a number, too
  return value;
}

// As Go's strconv.ParseBool.
std::optional<bool> ReadFlag(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

// Whether it is the best fit.
std::optional<bool> ReadPlacement(std::string_view text) {
  if (text == "best-fit") return true;
  if (text == "first-fit") return false;
  return std::nullopt;
}

// What stands between commas, without the space around it.
std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const size_t first = part.find_first_not_of(" \t");
    if (first == part.npos) continue;
    parts.emplace_back(part.substr(first, part.find_last_not_of(" \t") - first + 1));
  }
  return parts;
}

// The argument's value as `read` reads it, or the fallback.
template <typename Value>
Value ValueOf(const Config& config, std::string_view plugin, std::string_view argument,
              std::optional<Value> (*read)(std::string_view), Value fallback) {
  const std::string_view text = ArgumentOf(config, plugin, argument);
  return text.empty() ? fallback : read(text).value_or(fallback);
}

template <typename Value>
void Check(const Config& config, std::string_view plugin, std::string_view argument,
           std::optional<Value> (*read)(std::string_view), std::string_view complaint,
           std::vector<std::string>* warnings) {
  const std::string_view text = ArgumentOf(config, plugin, argument);
  if (text.empty() || read(text).has_value()) return;
  warnings->push_back(
      StrCat("plugin ", plugin, ": argument ", argument, " ", Quote(text), " ", complaint));
}

}  // namespace

MinRuntime::Options MinRuntimeOptions(const Config& config) {
  return {.preempt_ns = ValueOf(config, kMinRuntime, kPreemptMinRuntime, &ReadRuntime, int64_t{0}),
          .reclaim_ns = ValueOf(config, kMinRuntime, kReclaimMinRuntime, &ReadRuntime, int64_t{0}),
          .method = ValueOf(config, kMinRuntime, kReclaimMethod, &ReadMethod,
                            MinRuntime::Method::kLowestCommonAncestor)};
}

double SaturationMultiplier(const Config& config) {
  return ValueOf(config, kProportion, kSaturationMultiplier, &ReadMultiplier, 1.0);
}

ZoneLedger::Options NumaOptions(const Config& config) {
  return {.ignored = SplitList(ArgumentOf(config, kNuma, kIgnoreList)),
          .reconstruct = ValueOf(config, kNuma, kReconstruct, &ReadFlag, true),
          .wait_for_leaving = config.mends.on(Mend::kLeavingPods)};
}

bool PlacesByBestFit(const Config& config) {
  return ValueOf(config, kTopology, kPlacement, &ReadPlacement, false);
}

void CheckArguments(const Config& config, std::vector<std::string>* warnings) {
  constexpr std::string_view kNoRuntime = "is not a duration such as 30m or 1d, and counts as 0";
  Check(config, kMinRuntime, kPreemptMinRuntime, &ReadRuntime, kNoRuntime, warnings);
  Check(config, kMinRuntime, kReclaimMinRuntime, &ReadRuntime, kNoRuntime, warnings);
  Check(config, kMinRuntime, kReclaimMethod, &ReadMethod,
        "is neither lca nor queue, and counts as lca", warnings);
  Check(config, kProportion, kSaturationMultiplier, &ReadMultiplier,
        "is not a number of 1 or above, and counts as 1", warnings);
  Check(config, kTopology, kPlacement, &ReadPlacement,
        "is neither first-fit nor best-fit, and counts as first-fit", warnings);
  Check(config, kNuma, kReconstruct, &ReadFlag, "is neither true nor false, and counts as true",
        warnings);
}

}  // namespace kai
