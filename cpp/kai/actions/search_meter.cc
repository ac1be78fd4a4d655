#include "kai/actions/search_meter.h"

#include <algorithm>
#include <limits>

namespace kai {
namespace {

constexpr std::string_view NameOf(ScenarioGenerator generator) {
  return generator == ScenarioGenerator::kNodeLocalGreedy ? "NodeLocalGreedy" : "MultiNodeGang";
}

}  // namespace

bool SearchMeter::StartJob() {
  job_scenarios_ = 0;
  job_until_ns_ = 0;
  if (scenarios_ >= budgets_.action_scenarios) return false;
  constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
  const int64_t now_ns = Now();
  const int64_t left_ns = action_ns_ == 0 ? kForever : action_ns_ - (now_ns - start_ns_);
  const int64_t limit_ns = budgets_.job_ns == 0 ? left_ns : std::min(left_ns, budgets_.job_ns);
  const int64_t job_ns = std::max(limit_ns, budgets_.min_job_ns);  // spec 2 V5
  if (job_ns <= 0) return false;
  if (job_ns != kForever) job_until_ns_ = now_ns + job_ns;
  return true;
}

void SearchMeter::StartGenerator(ScenarioGenerator generator) {
  const int64_t limit_ns = budgets_.GeneratorNs(NameOf(generator));
  generator_until_ns_ = limit_ns == 0 ? 0 : Now() + limit_ns;
}

bool SearchMeter::JobIsSpent() const {
  return scenarios_ >= budgets_.action_scenarios || job_scenarios_ >= budgets_.job_scenarios ||
         (job_until_ns_ != 0 && Now() >= job_until_ns_);
}

bool SearchMeter::GeneratorIsSpent() const {
  return generator_until_ns_ != 0 && Now() >= generator_until_ns_;
}

bool SearchMeter::ActionIsSpent() const {
  return scenarios_ >= budgets_.action_scenarios ||
         (action_ns_ != 0 && budgets_.min_job_ns == 0 && Now() - start_ns_ >= action_ns_);
}

}  // namespace kai
