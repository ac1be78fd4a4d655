#include "kai/actions/search_meter.h"

#include <algorithm>
#include <limits>

#include "kai/base/text.h"

namespace kai {
namespace {

constexpr std::string_view NameOf(ScenarioGenerator generator) {
  return generator == ScenarioGenerator::kNodeLocalGreedy ? "NodeLocalGreedy" : "MultiNodeGang";
}

}  // namespace

int64_t SearchMeter::ReplayOf(const std::string& search) const {
  if (!budgets_.searches) return SearchBudgets::kUnlimitedScenarios;
  const auto found = budgets_.searches->find(search);
  return found == budgets_.searches->end() ? SearchBudgets::kUnlimitedScenarios : found->second;
}

void SearchMeter::Keep(const std::string& search, int64_t scenarios) {
  if (spent_.empty() || spent_.back().first != search) spent_.emplace_back(search, scenarios);
}

bool SearchMeter::StartJob(std::string_view group) {
  search_ = StrCat(action_, " ", group);
  job_scenarios_ = 0;
  job_until_ns_ = 0;
  job_replay_ = ReplayOf(search_);
  constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
  const int64_t now_ns = Now();
  const int64_t left_ns = action_ns_ == 0 ? kForever : action_ns_ - (now_ns - start_ns_);
  const int64_t limit_ns = budgets_.job_ns == 0 ? left_ns : std::min(left_ns, budgets_.job_ns);
  const int64_t job_ns = std::max(limit_ns, budgets_.min_job_ns);  // spec 2 V5
  if (job_ns <= 0 || job_replay_ == SearchBudgets::kNotBegun ||
      scenarios_ >= budgets_.action_scenarios) {
    Keep(search_, SearchBudgets::kNotBegun);
    return false;
  }
  if (job_ns != kForever) job_until_ns_ = now_ns + job_ns;
  return true;
}

void SearchMeter::StartGenerator(ScenarioGenerator generator) {
  const int64_t limit_ns = budgets_.GeneratorNs(NameOf(generator));
  generator_until_ns_ = limit_ns == 0 ? 0 : Now() + limit_ns;
  generator_scenarios_ = 0;
  generator_ = StrCat(search_, " ", NameOf(generator));
  generator_replay_ = ReplayOf(generator_);
}

bool SearchMeter::JobIsSpent() {
  const bool is_spent = scenarios_ >= budgets_.action_scenarios ||
                        job_scenarios_ >= std::min(budgets_.job_scenarios, job_replay_) ||
                        (job_until_ns_ != 0 && Now() >= job_until_ns_);
  if (is_spent) Keep(search_, job_scenarios_);
  return is_spent;
}

bool SearchMeter::GeneratorIsSpent() {
  const bool is_spent = generator_scenarios_ >= generator_replay_ ||
                        (generator_until_ns_ != 0 && Now() >= generator_until_ns_);
  if (is_spent) Keep(generator_, generator_scenarios_);
  return is_spent;
}

}  // namespace kai
