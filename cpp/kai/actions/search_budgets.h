// SearchBudgets: limits for the searches for victims of the eviction actions (spec 2 V4).
//
//   SearchBudgets budgets;
//   budgets.ActionNs("reclaim")           // 0: no limit
//   budgets.GeneratorNs("MultiNodeGang")
//
// Times are wall-clock; only a search with a stopwatch uses them. Numbers of scenarios are for
// replays: they stop a search at the same place on any machine where a time budget stopped it in a
// cluster.
//
// Invariants: `action_ns` and `generator_ns` have a row "default". Cost: a look-up by name.
// Threads: a plain value; many readers.
#ifndef KAI_ACTIONS_SEARCH_BUDGETS_H_
#define KAI_ACTIONS_SEARCH_BUDGETS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kai {

struct SearchBudgets {
  static constexpr int64_t kMinuteNs = 60'000'000'000;
  static constexpr int64_t kUnlimitedScenarios = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kNotBegun = -1;

  // Nanoseconds; 0: no limit. "default" is for missing names.
  using ByName = std::map<std::string, int64_t, std::less<>>;

  ByName action_ns = {{"default", 5 * kMinuteNs}};
  int64_t job_ns = 4 * kMinuteNs;  // for one pod group in one action; 0: no limit
  int64_t min_job_ns = 0;          // time for a group even if the action's time is used up
  ByName generator_ns = {{"default", 2 * kMinuteNs},
                         {"NodeLocalGreedy", kMinuteNs / 2},
                         {"MultiNodeGang", 2 * kMinuteNs}};
  int64_t action_scenarios = kUnlimitedScenarios;  // tried in one action
  int64_t job_scenarios = kUnlimitedScenarios;     // tried for one pod group in one action
  // For a replay: the number of scenarios that each search tried before it ended early, by "action
  // namespace/group", or by "action namespace/group generator" if only the budget of one generator
  // was used up; kNotBegun: the action ended there. If set, no time budget applies.
  std::optional<ByName> searches;

  int64_t ActionNs(std::string_view action) const { return Of(action_ns, action); }
  int64_t GeneratorNs(std::string_view generator) const { return Of(generator_ns, generator); }

  friend bool operator==(const SearchBudgets&, const SearchBudgets&) = default;

 private:
  static int64_t Of(const ByName& limits, std::string_view name) {
    const auto found = limits.find(name);
    return found != limits.end() ? found->second : limits.find("default")->second;
  }
};

}  // namespace kai

#endif  // KAI_ACTIONS_SEARCH_BUDGETS_H_
