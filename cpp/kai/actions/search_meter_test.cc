#include "kai/actions/search_meter.h"

#include <gtest/gtest.h>

namespace kai::search_meter_test {
namespace {

constexpr int64_t kMs = 1'000'000;

// Action 1 s, pod group 500 ms, at least 50 ms: the example of spec 2 V5.
SearchBudgets Example() {
  SearchBudgets budgets;
  budgets.action_ns = {{"default", 1000 * kMs}};
  budgets.job_ns = 500 * kMs;
  budgets.min_job_ns = 50 * kMs;
  budgets.generator_ns = {{"default", 0}};
  return budgets;
}

// The time that the next pod group may search, which then passes; -1: it does not start.
int64_t NextJobMs(SearchMeter* meter, ManualClock* clock) {
  if (!meter->StartJob("ns/g")) return -1;
  for (int64_t ms = 0;; ++ms, clock->Advance(kMs)) {
    if (meter->JobIsSpent()) return ms;
  }
}

TEST(SearchBudgetsTest, AreSetByNameOrByDefault) {
  SearchBudgets budgets;
  EXPECT_EQ(budgets.ActionNs("reclaim"), 5 * SearchBudgets::kMinuteNs);
  EXPECT_EQ(budgets.GeneratorNs("MultiNodeGang"), 2 * SearchBudgets::kMinuteNs);
  EXPECT_EQ(budgets.GeneratorNs("NodeLocalGreedy"), SearchBudgets::kMinuteNs / 2);
  budgets.action_ns["reclaim"] = 0;
  EXPECT_EQ(budgets.ActionNs("reclaim"), 0);
}

TEST(SearchMeterTest, APodGroupGetsItsShareOfTheRestOfTheAction) {  // spec 2 V5
  const SearchBudgets budgets = Example();
  ManualClock clock;
  SearchMeter meter(budgets, "reclaim", &clock);
  EXPECT_EQ(NextJobMs(&meter, &clock), 500);
  clock.Advance(250 * kMs);  // 750
  EXPECT_EQ(NextJobMs(&meter, &clock), 250);
}

TEST(SearchMeterTest, WithAFloorEveryPodGroupGetsTime) {  // spec 2 V5
  const SearchBudgets budgets = Example();
  ManualClock clock;
  SearchMeter meter(budgets, "reclaim", &clock);
  clock.Advance(980 * kMs);
  EXPECT_EQ(NextJobMs(&meter, &clock), 50);
  clock.Advance(170 * kMs);  // 1200
  EXPECT_EQ(NextJobMs(&meter, &clock), 50);
}

TEST(SearchMeterTest, WithoutAFloorNoSearchStartsAfterTheEndOfTheAction) {
  SearchBudgets budgets = Example();
  budgets.min_job_ns = 0;
  ManualClock clock;
  SearchMeter meter(budgets, "reclaim", &clock);
  clock.Advance(999 * kMs);
  EXPECT_EQ(NextJobMs(&meter, &clock), 1);
  EXPECT_EQ(NextJobMs(&meter, &clock), -1);
}

TEST(SearchMeterTest, TheActionMeasuresFromItsStart) {
  SearchBudgets budgets = Example();
  budgets.min_job_ns = 0;
  ManualClock clock;
  clock.Advance(5000 * kMs);
  SearchMeter meter(budgets, "reclaim", &clock);
  EXPECT_EQ(NextJobMs(&meter, &clock), 500);
}

TEST(SearchMeterTest, ActionsHaveTheirOwnLimits) {
  SearchBudgets budgets = Example();
  budgets.action_ns["preempt"] = 100 * kMs;
  ManualClock clock;
  SearchMeter preempt(budgets, "preempt", &clock);
  EXPECT_EQ(NextJobMs(&preempt, &clock), 100);
  SearchMeter reclaim(budgets, "reclaim", &clock);
  EXPECT_EQ(NextJobMs(&reclaim, &clock), 500);
}

TEST(SearchMeterTest, AGeneratorHasItsOwnLimitForEachSearch) {
  SearchBudgets budgets = Example();
  budgets.generator_ns = {{"default", 10 * kMs}, {"MultiNodeGang", 30 * kMs}};
  ManualClock clock;
  SearchMeter meter(budgets, "reclaim", &clock);
  ASSERT_TRUE(meter.StartJob("ns/g"));
  for (const auto& [generator, ms] : {std::pair(ScenarioGenerator::kNodeLocalGreedy, 10),
                                      std::pair(ScenarioGenerator::kMultiNodeGang, 30)}) {
    meter.StartGenerator(generator);
    clock.Advance((ms - 1) * kMs);
    EXPECT_FALSE(meter.GeneratorIsSpent()) << ms;
    clock.Advance(kMs);
    EXPECT_TRUE(meter.GeneratorIsSpent()) << ms;
  }
  EXPECT_FALSE(meter.JobIsSpent());
}

TEST(SearchMeterTest, ZeroIsNoLimit) {  // spec 2 V4
  SearchBudgets budgets;
  budgets.action_ns = {{"default", 0}};
  budgets.generator_ns = {{"default", 0}};
  budgets.job_ns = 0;
  ManualClock clock;
  SearchMeter meter(budgets, "reclaim", &clock);
  ASSERT_TRUE(meter.StartJob("ns/g"));
  meter.StartGenerator(ScenarioGenerator::kMultiNodeGang);
  clock.Advance(1'000'000 * SearchBudgets::kMinuteNs);
  EXPECT_FALSE(meter.JobIsSpent());
  EXPECT_FALSE(meter.GeneratorIsSpent());
  EXPECT_TRUE(meter.StartJob("ns/g"));
}

TEST(SearchMeterTest, WithoutAStopwatchNoTimePasses) {
  SearchBudgets budgets = Example();
  budgets.job_ns = 1;
  SearchMeter meter(budgets, "reclaim", nullptr);
  ASSERT_TRUE(meter.StartJob("ns/g"));
  EXPECT_FALSE(meter.JobIsSpent());
}

// ---- counts, for replays

TEST(SearchMeterTest, APodGroupHasALimitOfScenarios) {
  SearchBudgets budgets;
  budgets.job_scenarios = 2;
  SearchMeter meter(budgets, "reclaim", nullptr);
  for (int job = 0; job < 2; ++job) {
    ASSERT_TRUE(meter.StartJob("ns/g"));
    meter.Count();
    EXPECT_FALSE(meter.JobIsSpent());
    meter.Count();
    EXPECT_TRUE(meter.JobIsSpent());
  }
  EXPECT_EQ(meter.scenarios(), 4);
}

TEST(SearchMeterTest, AnActionHasALimitOfScenarios) {
  SearchBudgets budgets;
  budgets.action_scenarios = 3;
  SearchMeter meter(budgets, "reclaim", nullptr);
  ASSERT_TRUE(meter.StartJob("ns/g"));
  for (int i = 0; i < 2; ++i) meter.Count();
  ASSERT_TRUE(meter.StartJob("ns/g"));
  EXPECT_FALSE(meter.JobIsSpent());
  meter.Count();
  EXPECT_TRUE(meter.JobIsSpent());
  EXPECT_FALSE(meter.StartJob("ns/g"));
}

}  // namespace
TEST(SearchMeterTest, AReplayStopsAtTheSameScenarioAsTheOriginal) {
  SearchBudgets budgets;
  budgets.job_ns = 1000;
  budgets.generator_ns = {{"default", 100}};
  ManualClock clock;
  SearchMeter original(budgets, "reclaim", &clock);
  ASSERT_TRUE(original.StartJob("ns/g"));
  original.StartGenerator(ScenarioGenerator::kNodeLocalGreedy);
  original.Count();
  clock.Advance(100);
  EXPECT_TRUE(original.GeneratorIsSpent());
  original.StartGenerator(ScenarioGenerator::kMultiNodeGang);
  original.Count();
  clock.Advance(900);
  EXPECT_TRUE(original.JobIsSpent());
  const SearchMeter::Spent spent = {{"reclaim ns/g NodeLocalGreedy", 1}, {"reclaim ns/g", 2}};
  EXPECT_EQ(original.spent(), spent);

  budgets.searches.emplace(spent.begin(), spent.end());
  clock.Advance(1'000'000);
  SearchMeter again(budgets, "reclaim", &clock);
  ASSERT_TRUE(again.StartJob("ns/g"));
  again.StartGenerator(ScenarioGenerator::kNodeLocalGreedy);
  EXPECT_FALSE(again.GeneratorIsSpent());
  again.Count();
  EXPECT_TRUE(again.GeneratorIsSpent());
  again.StartGenerator(ScenarioGenerator::kMultiNodeGang);
  EXPECT_FALSE(again.JobIsSpent());
  again.Count();
  EXPECT_TRUE(again.JobIsSpent());
  EXPECT_EQ(again.spent(), spent);
}

TEST(SearchMeterTest, AReplayDistinguishesAnEmptySearchFromOneThatDidNotStart) {
  // The first search leaves time for others, the second ends the action.
  SearchBudgets budgets;
  budgets.action_ns = {{"default", 1000}};
  budgets.job_ns = 100;
  ManualClock clock;
  SearchMeter original(budgets, "reclaim", &clock);
  ASSERT_TRUE(original.StartJob("ns/slow"));
  clock.Advance(100);
  EXPECT_TRUE(original.JobIsSpent());
  clock.Advance(1000);
  EXPECT_FALSE(original.StartJob("ns/late"));

  budgets.searches.emplace(original.spent().begin(), original.spent().end());
  SearchMeter again(budgets, "reclaim", &clock);
  EXPECT_TRUE(again.StartJob("ns/slow"));
  EXPECT_TRUE(again.JobIsSpent());
  EXPECT_FALSE(again.StartJob("ns/late"));
  EXPECT_EQ(again.spent(), original.spent());
}

}  // namespace kai::search_meter_test
