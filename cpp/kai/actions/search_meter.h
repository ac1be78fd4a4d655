// SearchMeter: how much of its budget one action's search for victims has used (spec 2 V4-V6).
//
// Scenarios are counted, so that a replay with a count stops where the original stopped; time comes
// from a stopwatch that the caller may inject. Without one, and without counts, a search ends when
// there is nothing left to try.
#ifndef KAI_ACTIONS_SEARCH_METER_H_
#define KAI_ACTIONS_SEARCH_METER_H_

#include <string_view>

#include "kai/actions/search_budgets.h"
#include "kai/base/clock.h"

namespace kai {

// How victims are put together into scenarios (spec 2 V9).
enum class ScenarioGenerator : uint8_t { kNodeLocalGreedy, kMultiNodeGang };

class SearchMeter {
 public:
  SearchMeter(const SearchBudgets& budgets, std::string_view action, const Clock* stopwatch)
      : budgets_(budgets),
        action_ns_(budgets.ActionNs(action)),
        stopwatch_(stopwatch),
        start_ns_(Now()) {}

  // False: nothing is left for another pod group.
  bool StartJob();
  void StartGenerator(ScenarioGenerator generator);

  void Count() {
    ++scenarios_;
    ++job_scenarios_;
  }
  bool JobIsSpent() const;
  bool GeneratorIsSpent() const;
  // Nothing is left of the action's own share: another group could not start either.
  bool ActionIsSpent() const;
  int64_t scenarios() const { return scenarios_; }

 private:
  int64_t Now() const { return stopwatch_ == nullptr ? 0 : stopwatch_->NowNs(); }

  const SearchBudgets& budgets_;
  int64_t action_ns_;
  const Clock* stopwatch_;
  int64_t start_ns_;
  int64_t job_until_ns_ = 0;  // 0: no end
  int64_t generator_until_ns_ = 0;
  int64_t scenarios_ = 0;
  int64_t job_scenarios_ = 0;
};

}  // namespace kai

#endif  // KAI_ACTIONS_SEARCH_METER_H_
