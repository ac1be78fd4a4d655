#include "kai/sim/usage_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kai/testing/makers/random_cluster.h"

namespace kai::usage_history_test {
namespace {

using Kind = UsageWindow::Kind;

TEST(UsageHistoryTest, UsageIsTheHeldFractionOfTheCapacity) {
  UsageHistory history({.size_ns = 100, .fetch_ns = 1}, {{.name = "a"}});
  history.AddCapacity({8, 0, 0}, 0);
  history.Add(0, {4, 0, 0}, 50);
  EXPECT_EQ(history.At(100).at("a")[0], 0.25);
  EXPECT_EQ(history.At(150).at("a")[0], 0.5) << "the window slides";
  history.Add(0, {-4, 0, 0}, 150);
  EXPECT_EQ(history.At(250).at("a")[0], 0) << "exactly";
}

TEST(UsageHistoryTest, TheCapacityBeforeTheStartIsZero) {
  UsageHistory history({.size_ns = 1000, .fetch_ns = 1}, {{.name = "a"}});
  history.AddCapacity({8, 0, 0}, 0);
  history.Add(0, {8, 0, 0}, 0);
  EXPECT_EQ(history.At(10).at("a")[0], 1);
}

TEST(UsageHistoryTest, TheExampleOfTheSpecification) {
  // Spec 1 F119: with 10 GPUs and a window of 10 hours, 8 GPUs for 3 hours are 0.24.
  constexpr int64_t kHour = 3600;
  UsageHistory history({.size_ns = 10 * kHour, .fetch_ns = 60}, {{.name = "a"}});
  history.AddCapacity({10, 0, 0}, 0);
  history.Add(0, {8, 0, 0}, 4 * kHour);
  history.Add(0, {-8, 0, 0}, 7 * kHour);
  EXPECT_DOUBLE_EQ(history.At(10 * kHour).at("a")[0], 0.24);
}

TEST(UsageHistoryTest, TheUsageOfAParentIsTheSumOfItsQueues) {
  UsageHistory history({.size_ns = 100, .fetch_ns = 1},
                       {{.name = "a", .parent = 2}, {.name = "b", .parent = 2}, {.name = "top"}});
  history.AddCapacity({8, 4, 2}, 0);
  history.Add(0, {2, 0, 1}, 0);
  history.Add(1, {4, 1, 0}, 0);
  EXPECT_EQ(history.At(10).at("top"), (QuotaVector{0.75, 0.25, 0.5}));
  EXPECT_EQ(history.At(10).at("b"), (QuotaVector{0.5, 0.25, 0}));
}

TEST(UsageHistoryTest, TheUsageOfAMissingResourceIsZero) {
  UsageHistory history({.size_ns = 100, .fetch_ns = 1}, {{.name = "a"}});
  history.Add(0, {2, 0, 0}, 0);
  EXPECT_EQ(history.At(0).at("a"), QuotaVector{});
  EXPECT_EQ(history.At(10).at("a"), QuotaVector{});
}

TEST(UsageHistoryTest, AHalfLifeReducesOldUsage) {
  UsageHistory history({.size_ns = 1000, .half_life_ns = 10, .fetch_ns = 1}, {{.name = "a"}});
  history.AddCapacity({1, 0, 0}, 0);
  history.Add(0, {1, 0, 0}, 0);
  history.Add(0, {-1, 0, 0}, 10);
  // Ten of age 10 to 20 and ten of age 0 to 10: the older ones count half as much.
  EXPECT_NEAR(history.At(20).at("a")[0], 1.0 / 3, 1e-15);
}

// ---- comparison with a slow one -----------------------------------------------------------------

struct Step {
  int64_t at = 0;
  int32_t queue = 0;  // -1: the cluster
  QuotaVector amounts = {};
};

// Sums over the time steps of a window one by one; each counts until the next one.
PastUsages Slowly(const UsageWindow& window, const std::vector<UsageHistory::Queue>& queues,
                  const std::vector<Step>& steps, int64_t now) {
  int64_t begin = now - window.size_ns;
  if (window.kind == Kind::kTumbling) {
    begin = now;
    for (int64_t at = window.start_ns; at < now; at += window.size_ns) begin = at;
  } else if (window.kind == Kind::kResets) {
    begin = 0;
    for (int64_t at = window.next_reset(0); at < now; at = window.next_reset(at)) begin = at;
  }
  std::vector<QuotaVector> sums(queues.size());
  QuotaVector had = {};
  for (int64_t moment = std::max<int64_t>(begin, 0); moment < now; ++moment) {
    const double weight =
        window.half_life_ns > 0
            ? std::pow(0.5, static_cast<double>(now - moment) / window.half_life_ns)
            : 1;
    std::vector<QuotaVector> held(queues.size());
    QuotaVector there = {};
    for (const Step& step : steps) {
      if (step.at > moment) continue;
      for (size_t i = 0; i < had.size(); ++i) {
        if (step.queue < 0) there[i] += step.amounts[i];
        for (int32_t queue = step.queue; queue >= 0; queue = queues[size_t(queue)].parent)
          held[static_cast<size_t>(queue)][i] += step.amounts[i];
      }
    }
    for (size_t i = 0; i < had.size(); ++i) {
      had[i] += weight * there[i];
      for (size_t queue = 0; queue < sums.size(); ++queue)
        sums[queue][i] += weight * held[queue][i];
    }
  }
  PastUsages usages;
  for (size_t queue = 0; queue < queues.size(); ++queue) {
    QuotaVector& part = usages[queues[queue].name];
    for (size_t i = 0; i < had.size(); ++i) part[i] = had[i] > 0 ? sums[queue][i] / had[i] : 0;
  }
  return usages;
}

UsageWindow RandomWindow(Random* random) {
  UsageWindow window = {.size_ns = random->Between(1, 60), .fetch_ns = 1};
  const int64_t kind = random->Below(3);
  window.kind = static_cast<Kind>(kind);
  window.start_ns = random->Between(-50, 50);
  if (random->Coin()) window.half_life_ns = static_cast<double>(random->Between(1, 50));
  const int64_t every = random->Between(1, 40);
  // Intervals of different length, like months.
  window.next_reset = [every](int64_t after) { return (after / every + 1) * every + after % 3; };
  return window;
}

TEST(UsageHistoryPropertyTest, EqualsASumOverAllMomentsOfTheWindow) {
  const auto [first, end] = Seeds(300);
  for (uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    const UsageWindow window = RandomWindow(&random);
    const std::vector<UsageHistory::Queue> queues = {
        {.name = "a", .parent = 2}, {.name = "b", .parent = 2}, {.name = "top"}, {.name = "c"}};
    UsageHistory history(window, queues);
    std::vector<Step> steps;
    std::map<int32_t, QuotaVector> held;
    int64_t now = 0;
    for (int i = 0; i < 60; ++i) {
      now += random.Below(6);
      if (random.OneIn(3)) {
        const PastUsages expected = Slowly(window, queues, steps, now);
        for (const auto& [queue, parts] : history.At(now)) {
          for (size_t r = 0; r < parts.size(); ++r) {
            const double its = expected.at(queue)[r];
            EXPECT_NEAR(parts[r], its, 1e-11 * std::max(1.0, its)) << queue << " at " << now;
          }
        }
      }
      const auto which = static_cast<int32_t>(random.Between(-1, 3));
      Step step = {.at = now, .queue = which == 2 ? 0 : which};
      for (size_t r = 0; r < step.amounts.size(); ++r) {
        const auto target = static_cast<double>(random.Below(9));
        step.amounts[r] = target - held[step.queue][r];
        held[step.queue][r] = target;
      }
      steps.push_back(step);
      step.queue < 0 ? history.AddCapacity(step.amounts, now)
                     : history.Add(step.queue, step.amounts, now);
    }
  }
}

}  // namespace
}  // namespace kai::usage_history_test
