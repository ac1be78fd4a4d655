#include "kai/sim/usage_history.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace kai {
namespace {

// The largest relative difference of two integrals that differ by rounding only.
constexpr double kRounding = 1e-10;

}  // namespace

UsageHistory::UsageHistory(UsageWindow window, std::vector<Queue> queues)
    : begin_(std::move(window)),
      queues_(std::move(queues)),
      leading_(queues_.size() + 1),
      trailing_(queues_.size() + 1) {}

void UsageHistory::Add(int32_t queue, const QuotaVector& amounts, int64_t now_ns) {
  between_.push_back({.at_ns = now_ns, .queue = queue, .amounts = amounts});
  Apply(between_.back(), &leading_);
}

void UsageHistory::AddCapacity(const QuotaVector& amounts, int64_t now_ns) {
  Add(kCapacity, amounts, now_ns);
}

PastUsages UsageHistory::At(int64_t now_ns) {
  // Before the start of the simulation, nothing was held and there was no cluster.
  const int64_t begin_ns = std::max(int64_t{0}, begin_.At(now_ns));
  while (!between_.empty() && between_.front().at_ns <= begin_ns) {
    Apply(between_.front(), &trailing_);
    between_.pop_front();
  }
  const double decay = DecayIn(now_ns - begin_ns);
  const auto sum_of = [&](size_t place) {
    QuotaVector sum = SumAt(leading_[place], now_ns);
    const QuotaVector before = SumAt(trailing_[place], begin_ns);
    for (size_t i = 0; i < sum.size(); ++i) {
      const double in_window = sum[i] - decay * before[i];
      sum[i] = in_window > kRounding * sum[i] ? in_window : 0;
    }
    return sum;
  };
  const QuotaVector had = sum_of(queues_.size());
  PastUsages usages;
  for (size_t place = 0; place < queues_.size(); ++place) {
    QuotaVector part = sum_of(place);
    for (size_t i = 0; i < part.size(); ++i) part[i] = had[i] > 0 ? part[i] / had[i] : 0;
    usages.emplace(queues_[place].name, part);
  }
  return usages;
}

double UsageHistory::DecayIn(int64_t elapsed_ns) const {
  const double half_life_ns = begin_.window().half_life_ns;
  if (half_life_ns == 0) return 1;
  return std::exp2(-static_cast<double>(elapsed_ns) / half_life_ns);
}

double UsageHistory::WeightOf(int64_t elapsed_ns) const {
  const auto elapsed = static_cast<double>(elapsed_ns);
  const double half_life_ns = begin_.window().half_life_ns;
  if (half_life_ns == 0) return elapsed;
  // The integral of 0.5 ^ (age / half-life) from 0 to `elapsed`; computing 1 - 2 ^ -x directly
  // would lose digits.
  return -std::expm1(-elapsed / half_life_ns * std::numbers::ln2) * half_life_ns /
         std::numbers::ln2;
}

QuotaVector UsageHistory::SumAt(const Integral& integral, int64_t now_ns) const {
  QuotaVector sum = integral.sum;
  const int64_t elapsed_ns = now_ns - integral.at_ns;
  if (elapsed_ns == 0) return sum;
  const double decay = DecayIn(elapsed_ns);
  const double weight = WeightOf(elapsed_ns);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] * decay + integral.held[i] * weight;
  return sum;
}

void UsageHistory::Apply(const Change& change, Integrals* integrals) const {
  if (change.queue == kCapacity) ApplyTo(&integrals->back(), change);
  for (int32_t queue = change.queue; queue >= 0;) {
    const auto place = static_cast<size_t>(queue);
    ApplyTo(&(*integrals)[place], change);
    queue = queues_[place].parent;
  }
}

void UsageHistory::ApplyTo(Integral* integral, const Change& change) const {
  integral->sum = SumAt(*integral, change.at_ns);
  integral->at_ns = change.at_ns;
  for (size_t i = 0; i < integral->held.size(); ++i) integral->held[i] += change.amounts[i];
}

}  // namespace kai
