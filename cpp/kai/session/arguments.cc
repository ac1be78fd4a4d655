#include "kai/session/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "kai/base/duration.h"
#include "kai/base/nearest.h"
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
    "relcaimerSaturationMultiplier";  // KAI's spelling

constexpr std::string_view kKValue = "kValue";
constexpr std::string_view kNodePlacement = "nodeplacement";
constexpr std::string_view kNuma = "numa";
constexpr std::string_view kTopology = "topology";
constexpr std::string_view kPlacement = "placement";
constexpr std::string_view kPlacementPolicy = "placementpolicy";
constexpr std::string_view kPolicy = "policy";
constexpr std::string_view kScores = "scores";
constexpr std::string_view kSeed = "seed";
constexpr std::string_view kTypicalPods = "typicalPods";
constexpr std::string_view kTypicalPercent = "typicalPercent";
constexpr std::string_view kJobOrder = "joborder";
constexpr std::string_view kPreempts = "preempts";
constexpr std::string_view kWithin = "within";
constexpr std::string_view kThresholds = "thresholds";
constexpr std::string_view kLease = "lease";
constexpr std::string_view kWeightAge = "weightAge";
constexpr std::string_view kWeightSize = "weightSize";
constexpr std::string_view kWeightPriority = "weightPriority";
constexpr std::string_view kMaxAge = "maxAge";
constexpr std::string_view kFavorSmall = "favorSmall";
constexpr std::string_view kIgnoreList = "ignoreList";
constexpr std::string_view kReconstruct = "reconstructAvailable";

// The argument's value; empty if it is missing or empty.
std::string_view ArgumentOf(const Config& config, std::string_view plugin,
                            std::string_view argument) {
  const PluginConfig* found = config.FindPlugin(plugin);
  return found == nullptr ? std::string_view() : found->Argument(argument, "");
}

// Each of these reads one value; the result is empty if the value is invalid.

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
  if (!(value >= 1)) return std::nullopt;  // also rejects NaN
  return value;
}

// Accepts what Go's strconv.ParseBool accepts.
std::optional<bool> ReadFlag(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

// True for best fit.
std::optional<bool> ReadPlacement(std::string_view text) {
  if (text == "best-fit") return true;
  if (text == "first-fit") return false;
  return std::nullopt;
}

// The parts between commas, without white space around them.
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

// The argument's value as `read` returns it, or the fallback.
template <typename Value>
Value ValueOf(const Config& config, std::string_view plugin, std::string_view argument,
              std::optional<Value> (*read)(std::string_view), Value fallback) {
  const std::string_view text = ArgumentOf(config, plugin, argument);
  return text.empty() ? fallback : read(text).value_or(fallback);
}

template <typename Value, std::optional<Value> (*read)(std::string_view)>
bool MakesSense(std::string_view text) {
  return read(text).has_value();
}

std::optional<bool> ReadStrategy(std::string_view text) {
  if (text == "spread") return true;
  if (text == "binpack") return false;
  return std::nullopt;
}

// True for exact scores.
std::optional<bool> ReadScores(std::string_view text) {
  if (text == "exact") return true;
  if (text == "whole") return false;
  return std::nullopt;
}

template <typename Number>
std::optional<Number> Parsed(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "GPUs CPUs weight"; GPUs below 1 are a part of one GPU.
std::optional<packing::TypicalPod> ReadTypicalPod(std::string_view text) {
  std::array<std::string_view, 3> words;
  size_t count = 0;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (text.empty()) break;
    if (count == words.size()) return std::nullopt;
    words[count] = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(words[count++].size());
  }
  constexpr double kMost = 1e6;
  const std::optional<double> gpus = Parsed<double>(words[0]);
  const std::optional<double> cpus = Parsed<double>(words[1]);
  const std::optional<int64_t> weight = Parsed<int64_t>(words[2]);
  const auto is_amount = [](std::optional<double> amount) {
    return amount && *amount >= 0 && *amount <= kMost;
  };
  const bool makes_sense = is_amount(gpus) && is_amount(cpus) && weight && *weight >= 1 &&
                           *weight <= int64_t{1'000'000'000} &&
                           (*gpus < 1 || *gpus == std::floor(*gpus));
  if (!makes_sense) return std::nullopt;
  packing::PodShape pod{.cpu_milli = std::llround(*cpus * 1000)};
  pod.gpus = static_cast<int32_t>(std::ceil(*gpus));
  pod.gpu_milli =
      *gpus >= 1 ? packing::kWholeGpu : static_cast<int32_t>(std::ceil(*gpus * packing::kWholeGpu));
  return packing::TypicalPod{.pod = pod, .weight = *weight};
}

std::optional<packing::PodMix> ReadPodMix(std::string_view text) {
  packing::PodMix mix;
  for (const std::string& part : SplitList(text)) {
    const std::optional<packing::TypicalPod> pod = ReadTypicalPod(part);
    if (!pod) return std::nullopt;
    mix.push_back(*pod);
  }
  if (mix.empty()) return std::nullopt;
  return mix;
}

std::optional<uint64_t> ReadCount(std::string_view text) { return Parsed<uint64_t>(text); }

std::optional<int> ReadPercent(std::string_view text) {
  const std::optional<uint64_t> value = ReadCount(text);
  if (!value || *value < 1 || *value > 100) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<double> ReadNumber(std::string_view text) {
  const std::string number(text);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (*end != '\0' || std::isnan(value)) return std::nullopt;
  return value;
}

// True for "priority".
std::optional<bool> ReadWithin(std::string_view text) {
  if (text == "priority") return true;
  if (text == "queue") return false;
  return std::nullopt;
}

// Ascending seconds or GPU-seconds; as nanoseconds.
std::optional<std::vector<int64_t>> ReadThresholds(std::string_view text) {
  constexpr double kMost = 1e9;
  std::vector<int64_t> thresholds;
  for (const std::string& part : SplitList(text)) {
    const std::optional<double> seconds = Parsed<double>(part);
    if (!seconds || !(*seconds > 0) || *seconds > kMost) return std::nullopt;
    const int64_t threshold_ns = std::llround(*seconds * 1e9);
    if (!thresholds.empty() && threshold_ns <= thresholds.back()) return std::nullopt;
    thresholds.push_back(threshold_ns);
  }
  if (thresholds.empty()) return std::nullopt;
  return thresholds;
}

std::optional<int64_t> ReadWeight(std::string_view text) {
  constexpr int64_t kMost = 1'000'000'000;
  const std::optional<int64_t> weight = Parsed<int64_t>(text);
  return weight && *weight >= 0 && *weight <= kMost ? weight : std::nullopt;
}

std::optional<int64_t> ReadMaxAge(std::string_view text) {
  const std::optional<int64_t> age_ns = ReadRuntime(text);
  return age_ns && *age_ns > 0 ? age_ns : std::nullopt;
}

constexpr std::string_view kNoRuntime = "is not a duration such as 30m or 1d, and counts as 0";
constexpr std::string_view kNoStrategy = "is neither binpack nor spread, and counts as binpack";

constexpr std::string_view kStrategies[] = {"binpack", "spread"};
constexpr std::string_view kMethods[] = {"lca", "queue"};
constexpr std::string_view kPlacements[] = {"first-fit", "best-fit"};
constexpr std::string_view kScoreKinds[] = {"whole", "exact"};
constexpr std::string_view kWithins[] = {"queue", "priority"};
constexpr std::string_view kNoWeight =
    "is not a whole number from 0 to 1000000000, and counts as its default";
constexpr int64_t kDefaultAgeWeight = 1000;
constexpr int64_t kDefaultSizeWeight = 1000;
constexpr int64_t kDefaultPriorityWeight = 10'000;
constexpr int64_t kDefaultMaxAgeNs = int64_t{7} * 24 * 3600 * 1'000'000'000;
constexpr int64_t kDefaultLeaseNs = int64_t{600} * 1'000'000'000;

constexpr KnownArgument kArguments[] = {
    {kProportion, kKValue, "1", &MakesSense<double, &ReadNumber>,
     "is not a number, and counts as 1"},
    {kProportion, kSaturationMultiplier, "1", &MakesSense<double, &ReadMultiplier>,
     "is not a number of 1 or above, and counts as 1"},
    {kNodePlacement, "gpu", "binpack", &MakesSense<bool, &ReadStrategy>, kNoStrategy, kStrategies},
    {kNodePlacement, "cpu", "binpack", &MakesSense<bool, &ReadStrategy>, kNoStrategy, kStrategies},
    {kMinRuntime, kPreemptMinRuntime, "0s", &MakesSense<int64_t, &ReadRuntime>, kNoRuntime},
    {kMinRuntime, kReclaimMinRuntime, "0s", &MakesSense<int64_t, &ReadRuntime>, kNoRuntime},
    {kMinRuntime, kReclaimMethod, "lca", &MakesSense<MinRuntime::Method, &ReadMethod>,
     "is neither lca nor queue, and counts as lca", kMethods},
    {kTopology, kPlacement, "first-fit", &MakesSense<bool, &ReadPlacement>,
     "is neither first-fit nor best-fit, and counts as first-fit", kPlacements},
    {kNuma, kIgnoreList, "", nullptr, ""},
    {kNuma, kReconstruct, "true", &MakesSense<bool, &ReadFlag>,
     "is neither true nor false, and counts as true"},
    {kPlacementPolicy, kPolicy, "fgd", &MakesSense<packing::Policy, &packing::PolicyOf>,
     "is not a placement policy, and counts as fgd", packing::kPolicyNames},
    {kPlacementPolicy, kScores, "whole", &MakesSense<bool, &ReadScores>,
     "is neither whole nor exact, and counts as whole", kScoreKinds},
    {kPlacementPolicy, kSeed, "0", &MakesSense<uint64_t, &ReadCount>,
     "is not a whole number of 0 or above, and counts as 0"},
    {kPlacementPolicy, kTypicalPods, "", &MakesSense<packing::PodMix, &ReadPodMix>,
     "is not a list of GPUs, CPUs and weights such as \"0.5 4 30, 8 96 1\", and counts as empty"},
    {kPlacementPolicy, kTypicalPercent, "95", &MakesSense<int, &ReadPercent>,
     "is not a whole number from 1 to 100, and counts as 95"},
    {kJobOrder, kPolicy, "fifo", &MakesSense<JobPolicy, &JobPolicyOf>,
     "is not a job order, and counts as fifo", kJobPolicyNames},
    {kJobOrder, kPreempts, "", &MakesSense<bool, &ReadFlag>,
     "is neither true nor false, and counts as missing"},
    {kJobOrder, kWithin, "queue", &MakesSense<bool, &ReadWithin>,
     "is neither queue nor priority, and counts as queue", kWithins},
    {kJobOrder, kThresholds, "325,720,1800", &MakesSense<std::vector<int64_t>, &ReadThresholds>,
     "is not a list of ascending numbers above 0 such as 325,720,1800, and counts as that one"},
    {kJobOrder, kLease, "", &MakesSense<int64_t, &ReadRuntime>,
     "is not a duration such as 30m or 1d, and counts as missing"},
    {kJobOrder, kWeightAge, "1000", &MakesSense<int64_t, &ReadWeight>, kNoWeight},
    {kJobOrder, kWeightSize, "1000", &MakesSense<int64_t, &ReadWeight>, kNoWeight},
    {kJobOrder, kWeightPriority, "10000", &MakesSense<int64_t, &ReadWeight>, kNoWeight},
    {kJobOrder, kMaxAge, "7d", &MakesSense<int64_t, &ReadMaxAge>,
     "is not a duration above 0 such as 12h or 7d, and counts as 7d"},
    {kJobOrder, kFavorSmall, "false", &MakesSense<bool, &ReadFlag>,
     "is neither true nor false, and counts as false"},
};

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
          .wait_for_leaving = config.switches.on(Switch::kLeavingPods)};
}

PolicyOptions PolicyOptionsOf(const Config& config) {
  PolicyOptions options{.policy = ValueOf(config, kPlacementPolicy, kPolicy, &packing::PolicyOf,
                                          packing::Policy::kFgd),
                        .exact = ValueOf(config, kPlacementPolicy, kScores, &ReadScores, false),
                        .seed = ValueOf(config, kPlacementPolicy, kSeed, &ReadCount, uint64_t{0}),
                        .typical_percent = ValueOf(config, kPlacementPolicy, kTypicalPercent,
                                                   &ReadPercent, packing::kTypicalPercent)};
  const std::string_view pods = ArgumentOf(config, kPlacementPolicy, kTypicalPods);
  if (!pods.empty()) options.typical_pods = ReadPodMix(pods);
  return options;
}

JobOrderOptions JobOrderOptionsOf(const Config& config) {
  const JobPolicy policy = ValueOf(config, kJobOrder, kPolicy, &JobPolicyOf, JobPolicy::kFifo);
  const bool usually_preempts =
      policy == JobPolicy::kShortestRemaining || policy == JobPolicy::kLeastService ||
      policy == JobPolicy::kLeastGpuService || policy == JobPolicy::kFinishTime;
  const int64_t usual_lease_ns = policy == JobPolicy::kFinishTime ? kDefaultLeaseNs : 0;
  constexpr int64_t kSecond = 1'000'000'000;
  const std::vector<int64_t> levels = {325 * kSecond, 720 * kSecond, 1800 * kSecond};
  return {.policy = policy,
          .preempts = ValueOf(config, kJobOrder, kPreempts, &ReadFlag, usually_preempts),
          .within_priority = ValueOf(config, kJobOrder, kWithin, &ReadWithin, false),
          .thresholds_ns = ValueOf(config, kJobOrder, kThresholds, &ReadThresholds, levels),
          .lease_ns = ValueOf(config, kJobOrder, kLease, &ReadRuntime, usual_lease_ns),
          .weight_age = ValueOf(config, kJobOrder, kWeightAge, &ReadWeight, kDefaultAgeWeight),
          .weight_size = ValueOf(config, kJobOrder, kWeightSize, &ReadWeight, kDefaultSizeWeight),
          .weight_priority =
              ValueOf(config, kJobOrder, kWeightPriority, &ReadWeight, kDefaultPriorityWeight),
          .max_age_ns = ValueOf(config, kJobOrder, kMaxAge, &ReadMaxAge, kDefaultMaxAgeNs),
          .favor_small = ValueOf(config, kJobOrder, kFavorSmall, &ReadFlag, false)};
}

bool PlacesByBestFit(const Config& config) {
  return ValueOf(config, kTopology, kPlacement, &ReadPlacement, false);
}

double KValue(const Config& config) {
  // spec 1 F46
  return std::max(0.0, ValueOf(config, kProportion, kKValue, &ReadNumber, 1.0));
}

Strategies StrategiesOf(const Config& config) {
  const auto strategy = [&](std::string_view resource) {
    return ValueOf(config, kNodePlacement, resource, &ReadStrategy, false) ? Strategy::kSpread
                                                                           : Strategy::kBinpack;
  };
  return {.gpu = strategy("gpu"), .cpu = strategy("cpu")};
}

std::vector<std::string_view> ArgumentNames(std::string_view plugin) {
  std::vector<std::string_view> names;
  for (const KnownArgument& each : kArguments) {
    if (each.plugin == plugin) names.push_back(each.name);
  }
  return names;
}

const KnownArgument* FindKnownArgument(std::string_view plugin, std::string_view argument) {
  const auto* found = std::find_if(
      std::begin(kArguments), std::end(kArguments),
      [&](const KnownArgument& each) { return each.plugin == plugin && each.name == argument; });
  return found == std::end(kArguments) ? nullptr : found;
}

std::string ArgumentProblem(const KnownArgument& argument, std::string_view value) {
  if (value.empty() || argument.makes_sense == nullptr || argument.makes_sense(value)) return "";
  std::string problem = StrCat("plugin ", argument.plugin, ": argument ", argument.name, " ",
                               Quote(value), " ", argument.complaint);
  if (!argument.choices.empty()) problem += DidYouMean(value, argument.choices);
  return problem;
}

}  // namespace kai
