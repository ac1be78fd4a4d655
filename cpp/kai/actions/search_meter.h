// SearchMeter: the used part of the budgets of one action's searches for victims (spec 2 V4-V6).
//
//   SearchMeter meter(budgets, "reclaim", &clock);
//   meter.StartJob("ns/g")                          // false: no budget for another group
//   meter.StartGenerator(generator);
//   meter.JobIsSpent()
//
// The caller may give a stopwatch for the time. Without one, and without limits on scenarios, a
// search ends when there is nothing left to try. If a search ends early, its number of scenarios is
// recorded, so that a replay stops at the same place.
//
// Invariants: a used-up budget stays used up until the next job or generator starts; with the
// numbers of a replay no time applies. Cost: reading the stopwatch once per check. Not thread-safe.
#ifndef KAI_ACTIONS_SEARCH_METER_H_
#define KAI_ACTIONS_SEARCH_METER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/actions/search_budgets.h"
#include "kai/base/clock.h"

namespace kai {

// How scenarios are made of victims (spec 2 V9).
enum class ScenarioGenerator : uint8_t { kNodeLocalGreedy, kMultiNodeGang };

class SearchMeter {
 public:
  SearchMeter(const SearchBudgets& budgets, std::string_view action, const Clock* stopwatch)
      : budgets_(budgets),
        action_(action),
        action_ns_(budgets.ActionNs(action)),
        stopwatch_(budgets.searches ? nullptr : stopwatch),
        start_ns_(Now()) {}

  // False: no budget is left for this pod group ("namespace/name").
  bool StartJob(std::string_view group);
  void StartGenerator(ScenarioGenerator generator);

  void Count() {
    ++scenarios_;
    ++job_scenarios_;
    ++generator_scenarios_;
  }
  bool JobIsSpent();
  bool GeneratorIsSpent();
  int64_t scenarios() const { return scenarios_; }
  // Searches, and generators in them, that ended early, with the number of scenarios that they
  // tried: input for SearchBudgets::searches in a replay.
  using Spent = std::vector<std::pair<std::string, int64_t>>;
  const Spent& spent() const { return spent_; }

 private:
  // The number of scenarios in a replay; unlimited in other cycles.
  int64_t ReplayOf(const std::string& search) const;
  void Keep(const std::string& search, int64_t scenarios);
  int64_t Now() const { return stopwatch_ == nullptr ? 0 : stopwatch_->NowNs(); }

  const SearchBudgets& budgets_;
  std::string action_;
  int64_t action_ns_;
  const Clock* stopwatch_;
  int64_t start_ns_;
  int64_t job_until_ns_ = 0;  // 0: no end
  int64_t generator_until_ns_ = 0;
  int64_t scenarios_ = 0;
  int64_t job_scenarios_ = 0;
  int64_t generator_scenarios_ = 0;
  std::string search_;
  std::string generator_;  // of search_
  int64_t job_replay_ = 0;
  int64_t generator_replay_ = 0;
  Spent spent_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_SEARCH_METER_H_
