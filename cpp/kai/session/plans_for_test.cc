#include "kai/session/plans_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "kai/base/text.h"
#include "kai/model/building/numbering.h"
#include "kai/testing/matchers/matchers.h"

namespace kai {
namespace {

// spec 1 F102: "1w2d3h4m5s6ms"; an invalid or negative value is 0.
int64_t Duration(const std::string& text) {
  const std::map<std::string, double> units = {{"ns", 1},      {"us", 1e3},    {"ms", 1e6},
                                               {"s", 1e9},     {"m", 60e9},    {"h", 3600e9},
                                               {"d", 86400e9}, {"w", 604800e9}};
  double sum = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    while (at < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.')) {
      ++at;
    }
    const std::string number = text.substr(begin, at - begin);
    const size_t unit_begin = at;
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0) ++at;
    const auto unit = units.find(text.substr(unit_begin, at - unit_begin));
    if (number.empty() || number == "." || unit == units.end()) return 0;
    sum += std::stod(number) * unit->second;
  }
  return static_cast<int64_t>(sum);
}

// Adds the numbers of queues, and the devices of pods.
void AppendNumbers(const Plan& plan, std::string* text) {
  const Cluster& cluster = *plan.cluster;
  for (const QueueId queue : InOrderOfNames(cluster.names(), cluster.queues())) {
    StrAppend(text, "\n", cluster.Text(cluster.queues().name[queue]));
    for (size_t i = 0; i < kQuotaResources; ++i) {
      const Share& share = plan.queues[queue][i];
      StrAppend(text, " ", std::to_string(share.fair_share), "/",
                std::to_string(cluster.queues().sums[queue].allocated[i]), "/",
                std::to_string(share.request));
    }
  }
  for (const auto& [pod, claims] : plan.claims) {
    StrAppend(text, "\n", cluster.PodName(pod), " gets");
    for (const GivenClaim& claim : claims) {
      for (const auto& given : claim.allocation->devices)
        StrAppend(text, " ", given.device.pool, "/", given.device.device);
    }
  }
}

}  // namespace

std::pair<uint64_t, uint64_t> Seeds(uint64_t usual) {
  const char* text = std::getenv("KAI_SEEDS");
  if (text == nullptr) return {0, usual};
  char* end = nullptr;
  const uint64_t first = std::strtoull(text, &end, 10);
  return {first, *end == ':' ? std::strtoull(end + 1, nullptr, 10) : first + 1};
}

Config ParseConfig(std::string_view json, bool as_kai) {
  absl::StatusOr<Config> config = Config::Parse(json, {.as_kai = as_kai});
  EXPECT_TRUE(config.ok()) << config.status().message();
  return *std::move(config);
}

Plan RunPlan(const Session& session, std::shared_ptr<Cluster> cluster, const Clock* stopwatch,
             int64_t now_ns) {
  absl::StatusOr<Plan> plan = session.Run(std::move(cluster), now_ns, stopwatch);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

std::string DecidedText(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  std::string text = DecisionsText(plan);
  for (const CycleLog::Decision& decision : plan.decisions) {
    StrAppend(&text, "\n", decision.action, " ", MessageOf(plan, decision));
    if (decision.for_group.valid()) StrAppend(&text, " ", cluster.PodGroupName(decision.for_group));
  }
  // Groups are unordered.
  std::set<std::string> lines;
  for (const Plan::Eviction& eviction : plan.evictions)
    lines.insert(StrCat("\n", cluster.PodName(eviction.pod), " leaves ", eviction.decision));
  for (const auto& [group, writes] : plan.stamped) {
    lines.insert(StrCat("\n", cluster.PodGroupName(group), writes.last_start ? " starts" : "",
                        writes.last_eviction ? " evicted" : "",
                        std::to_string(static_cast<int>(writes.stale_since))));
  }
  for (const std::string& line : lines) text += line;
  for (const KeptPlace& kept : plan.kept_promises)
    StrAppend(&text, "\nkeeps ", kept.place, " ",
              kept.pod.valid() ? cluster.PodName(kept.pod) : "");
  lines.clear();
  for (const UnkeptPromise& each : plan.unkept_promises) {
    lines.insert(StrCat("\n", cluster.PodGroupName(each.group), " got no room, ", each.times, " ",
                        each.since_ns));
  }
  for (const std::string& line : lines) text += line;
  AppendNumbers(plan, &text);
  return text;
}

std::string TextOf(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  std::string text = DecidedText(plan);
  for (const PodGroupId group : InOrderOfNames(cluster.names(), cluster.pod_groups())) {
    const GroupOutcome& outcome = plan.OutcomeOf(group);
    StrAppend(&text, "\n", cluster.PodGroupName(group), ": ", VerdictName(outcome.verdict),
              outcome.writes.last_start ? " starts" : "",
              outcome.writes.last_eviction ? " evicted" : "",
              std::to_string(static_cast<int>(outcome.writes.stale_since)));
    for (const std::string& message : EventsOf(plan, group)) StrAppend(&text, "\n  says ", message);
    for (const ReportedReason& reason : ReasonsOf(plan, group)) {
      StrAppend(&text, "\n  ", reason.code, " ", reason.message, " ",
                reason.pod.valid() ? cluster.PodName(reason.pod) : "");
    }
  }
  for (const auto& [pod, message] : ConditionsOf(plan)) {
    StrAppend(&text, "\n", cluster.PodName(pod), ": ", message);
  }
  return text;
}

std::string FirstDifference(const std::string& one, const std::string& other) {
  const auto [a, b] = std::ranges::mismatch(one, other);
  if (a == one.end() && b == other.end()) return "";
  const auto line = [](const std::string& text, std::string::const_iterator at) {
    const auto begin = text.rfind('\n', static_cast<size_t>(at - text.begin()));
    const size_t first = begin == text.npos ? 0 : begin + 1;
    return text.substr(first, text.find('\n', first + 1) - first);
  };
  return StrCat(line(one, a), " | ", line(other, b));
}

std::vector<oracle::Decision> DecisionsOf(const Plan& plan) {
  using Kind = CycleLog::Decision::Kind;
  const Cluster& cluster = *plan.cluster;
  std::vector<oracle::Decision> decisions;
  for (const CycleLog::Decision& each : plan.decisions) {
    oracle::Decision decision{.pod = cluster.PodName(each.pod)};
    switch (each.kind) {
      case Kind::kBind:
        decision.kind = oracle::Decision::Kind::kBind;
        break;
      case Kind::kPipeline:
        decision.kind = oracle::Decision::Kind::kPipeline;
        break;
      case Kind::kEvict:
        decision.kind = oracle::Decision::Kind::kEvict;
        decision.action = each.action;
        if (each.for_group.valid()) decision.for_group = cluster.PodGroupName(each.for_group);
        break;
    }
    if (each.kind != Kind::kEvict)
      decision.node = std::string(cluster.Text(cluster.nodes().name[each.node]));
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

namespace oracle {
namespace {

JobOrderSettings JobOrderOf(const PluginConfig& plugin) {
  const auto text = [&](std::string_view argument, std::string_view fallback) {
    return std::string(plugin.Argument(argument, fallback));
  };
  JobOrderSettings order{.policy = text("policy", "fifo")};
  const std::set<std::string> preempting = {"srtf", "las", "2d-las", "finish-time"};
  order.preempts = text("preempts", preempting.contains(order.policy) ? "true" : "false") == "true";
  order.within_priority = text("within", "queue") == "priority";
  std::string thresholds = text("thresholds", "325,720,1800");
  std::ranges::replace(thresholds, ',', ' ');
  std::istringstream numbers(thresholds);
  for (double each = 0; numbers >> each;) order.thresholds_s.push_back(each);
  order.lease_s =
      static_cast<double>(Duration(text("lease", order.policy == "finish-time" ? "10m" : "0s"))) /
      1e9;
  order.weight_age = std::stod(text("weightAge", "1000"));
  order.weight_size = std::stod(text("weightSize", "1000"));
  order.weight_priority = std::stod(text("weightPriority", "10000"));
  order.max_age_s = static_cast<double>(Duration(text("maxAge", "7d"))) / 1e9;
  order.favor_small = text("favorSmall", "false") == "true";
  return order;
}

}  // namespace

Settings SettingsOf(const Config& config, int64_t now_ns) {
  Settings settings;
  settings.plugins.clear();
  for (const PluginConfig& plugin : config.plugins) settings.plugins.push_back(plugin.name);
  if (const PluginConfig* placement = config.FindPlugin("nodeplacement"); placement != nullptr) {
    settings.gpu_spread = placement->Argument("gpu", "binpack") == "spread";
    settings.cpu_spread = placement->Argument("cpu", "binpack") == "spread";
  }
  if (const PluginConfig* proportion = config.FindPlugin("proportion"); proportion != nullptr) {
    settings.k_value = std::max(0.0, std::stod(std::string(proportion->Argument("kValue", "1"))));
    settings.saturation_multiplier = std::max(
        1.0,
        std::strtod(std::string(proportion->Argument("relcaimerSaturationMultiplier", "1")).c_str(),
                    nullptr));
  }
  if (const PluginConfig* runtime = config.FindPlugin("minruntime"); runtime != nullptr) {
    settings.preempt_min_runtime_ns =
        Duration(std::string(runtime->Argument("defaultPreemptMinRuntime", "")));
    settings.reclaim_min_runtime_ns =
        Duration(std::string(runtime->Argument("defaultReclaimMinRuntime", "")));
    settings.reclaim_runtime_by_lca = runtime->Argument("reclaimResolveMethod", "lca") != "queue";
  }
  if (const PluginConfig* order = config.FindPlugin("joborder"); order != nullptr)
    settings.job_order = JobOrderOf(*order);
  for (const auto& [action, depth] : config.queue_depth) {
    if (action == "allocate") {
      settings.depth = depth;
    } else {
      settings.eviction_depths[action] = depth;
    }
  }
  settings.switches = config.switches;
  settings.extras = config.extras;
  settings.now_ns = now_ns;
  return settings;
}

}  // namespace oracle
}  // namespace kai
