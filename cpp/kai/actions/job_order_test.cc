#include "kai/actions/job_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kai/base/clock.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::job_order_test {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kHourNs = 3600 * kSecondNs;

JobOrderOptions Options(JobPolicy policy) {
  return {.policy = policy,
          .preempts = true,
          .thresholds_ns = {100 * kSecondNs, 1000 * kSecondNs},
          .weight_age = 1000,
          .max_age_ns = kHourNs};
}

// A pod group with whole GPUs, in one queue; times are seconds before now.
struct Job {
  std::string name;
  int64_t age_s = 0;
  int64_t estimate_s = -1;
  int64_t run_s = 0;  // before the last eviction
  int64_t started_s = -1;
  int gpus = 1;
  int64_t priority = 50;
};

// All groups in the order of the policy, and the JobOrder itself.
struct Rig {
  Rig(const std::vector<Job>& jobs, const JobOrderOptions& options, int64_t later_ns = 0) {
    ClusterMaker maker = MakeCluster().Queue("q").Node("n", {.gpus = 16});
    for (const Job& job : jobs) {
      const std::string name = "q/" + job.name;
      const PodsSpec spec{.pods = job.gpus, .gpus = 1, .node = "n", .priority = job.priority};
      if (job.started_s >= 0) {
        maker.Running(name, spec);
      } else {
        PodsSpec waiting = spec;
        waiting.node.clear();
        maker.Pending(name, waiting);
      }
      PodGroupRow& row = maker.rows().pod_groups.back();
      row.created_ns = kTestNowNs - job.age_s * kSecondNs;
      if (job.estimate_s >= 0) row.estimate_ns = job.estimate_s * kSecondNs;
      row.service.run_ns = job.run_s * kSecondNs;
      row.service.gpu_ns = job.run_s * job.gpus * kSecondNs;
      if (job.started_s >= 0) row.last_start_ns = kTestNowNs - job.started_s * kSecondNs;
    }
    cluster = maker.Build();
    placing.emplace(*cluster, PlacingOrder::Options{.comparators = {}, .count_completed = true});
    pods.emplace(*placing, PodOrder::Options());
    service.emplace(*cluster, *pods, kTestNowNs + later_ns);
    order.emplace(*cluster, *pods, options, *service);
  }
  PodGroupId Group(const std::string& name) const { return PodGroupNamed(*cluster, "q/" + name); }
  std::vector<std::string> Names() const {
    std::vector<PodGroupId> groups = InOrderOfCreation(cluster->pod_groups());
    std::ranges::sort(groups, {}, [&](PodGroupId group) { return order->places()[group]; });
    std::vector<std::string> names;
    for (const PodGroupId group : groups)
      names.emplace_back(cluster->Text(cluster->pod_groups().name[group]));
    return names;
  }
  bool IsBetter(const std::string& a, const std::string& b) const {
    return order->IsBetter(Group(a), Group(b));
  }
  // Nanoseconds from now; -1: never.
  int64_t NextChange(bool every) const {
    CycleTime time(kTestNowNs);
    order->NoteChanges(every, &time);
    return time.holds().until_ns == CycleTime::kNever ? -1 : time.holds().until_ns - kTestNowNs;
  }

  std::unique_ptr<Cluster> cluster;
  std::optional<PlacingOrder> placing;
  std::optional<PodOrder> pods;
  std::optional<AttainedService> service;
  std::optional<JobOrder> order;
};

TEST(JobOrderTest, EachPolicyHasAName) {
  for (const std::string_view name : kJobPolicyNames) EXPECT_TRUE(JobPolicyOf(name)) << name;
  EXPECT_EQ(JobPolicyOf("2d-las"), JobPolicy::kLeastGpuService);
  EXPECT_EQ(JobPolicyOf("lifo"), std::nullopt);
}

TEST(JobOrderTest, FifoSortsByAgeThenByName) {
  const Rig rig({{.name = "b", .age_s = 5}, {.name = "c", .age_s = 9}, {.name = "a", .age_s = 5}},
                Options(JobPolicy::kFifo));
  EXPECT_THAT(rig.Names(), ElementsAre("c", "a", "b"));
  EXPECT_FALSE(rig.IsBetter("a", "b") || rig.IsBetter("b", "a")) << "equal keys";
}

TEST(JobOrderTest, ShortestFirstSortsByEstimateAndPutsGroupsWithoutOneLast) {
  const std::vector<Job> jobs = {{.name = "unknown", .age_s = 90},
                                 {.name = "long", .age_s = 50, .estimate_s = 700},
                                 {.name = "short", .age_s = 5, .estimate_s = 30},
                                 {.name = "begun", .estimate_s = 600, .run_s = 580}};
  EXPECT_THAT(Rig(jobs, Options(JobPolicy::kShortest)).Names(),
              ElementsAre("short", "begun", "long", "unknown"));
  EXPECT_THAT(Rig(jobs, Options(JobPolicy::kShortestRemaining)).Names(),
              ElementsAre("begun", "short", "long", "unknown"));
}

TEST(JobOrderTest, TheRemainingTimeOfARunningGroupShrinks) {
  const std::vector<Job> jobs = {{.name = "runs", .estimate_s = 100, .started_s = 60},
                                 {.name = "waits", .estimate_s = 45}};
  EXPECT_TRUE(Rig(jobs, Options(JobPolicy::kShortestRemaining)).IsBetter("runs", "waits"));
  const std::vector<Job> later = {{.name = "runs", .estimate_s = 100, .started_s = 10},
                                  {.name = "waits", .estimate_s = 45}};
  const Rig rig(later, Options(JobPolicy::kShortestRemaining));
  EXPECT_TRUE(rig.IsBetter("waits", "runs"));
  EXPECT_EQ(rig.NextChange(true), 45 * kSecondNs) << "then both have 45 s left";
  EXPECT_EQ(rig.NextChange(false), 90 * kSecondNs)
      << "the waiting group gains nothing by that; then the estimate is used up";
}

TEST(JobOrderTest, LeastServiceSortsByLevel) {
  const std::vector<Job> jobs = {
      {.name = "two", .age_s = 9, .run_s = 99, .started_s = 1, .gpus = 2},
      {.name = "one", .age_s = 8, .run_s = 60, .started_s = 10},
      {.name = "old", .age_s = 99, .run_s = 1000},
      {.name = "new", .age_s = 1}};
  // 100 s, 70 s, 1000 s, 0 s: levels end at 100 and 1000 seconds.
  EXPECT_THAT(Rig(jobs, Options(JobPolicy::kLeastService)).Names(),
              ElementsAre("one", "new", "two", "old"));
  // 200, 70, 1000 and 0 GPU-seconds.
  const Rig gpus(jobs, Options(JobPolicy::kLeastGpuService));
  EXPECT_THAT(gpus.Names(), ElementsAre("one", "new", "two", "old"));
  EXPECT_FALSE(gpus.IsBetter("one", "new") || gpus.IsBetter("new", "one"));
  EXPECT_EQ(gpus.NextChange(false), 30 * kSecondNs) << "one reaches 100 GPU-seconds";
}

TEST(JobOrderTest, AThresholdIsReachedSoonerWithMoreGpus) {
  const Rig rig({{.name = "wide", .run_s = 10, .started_s = 0, .gpus = 3}, {.name = "waits"}},
                Options(JobPolicy::kLeastGpuService));
  // 30 of 100 GPU-seconds; 70 more take 23 1/3 s.
  EXPECT_EQ(rig.NextChange(false), 23'333'333'334);
}

TEST(JobOrderTest, FinishTimeFairnessIsTheRatioToTheRunTimeAlone) {
  const std::vector<Job> jobs = {{.name = "a", .age_s = 100, .estimate_s = 100},
                                 {.name = "b", .age_s = 90, .estimate_s = 50},
                                 {.name = "wide", .age_s = 90, .estimate_s = 50, .gpus = 8}};
  // (100 + 100) / 100 = 2, (90 + 50) / 50 = 2.8, and with 8 GPUs instead of its part of 16 / 3: 140
  // / 75.
  const Rig rig(jobs, Options(JobPolicy::kFinishTime));
  EXPECT_THAT(rig.Names(), ElementsAre("b", "a", "wide"));
  // a: (200 + t) / 100 and wide: (140 + t) / 75 meet at t = 40.
  EXPECT_EQ(rig.NextChange(true), 40 * kSecondNs);
  EXPECT_EQ(rig.NextChange(false), -1) << "no running group can be overtaken";
}

TEST(JobOrderTest, AGroupThatWaitsOvertakesOneThatRuns) {
  const Rig rig({{.name = "runs", .age_s = 100, .estimate_s = 100, .started_s = 40},
                 {.name = "waits", .age_s = 20, .estimate_s = 100}},
                Options(JobPolicy::kFinishTime));
  // 160 / 100 as long as it runs; (120 + t) / 100 for the waiting group.
  EXPECT_TRUE(rig.IsBetter("runs", "waits"));
  EXPECT_EQ(rig.NextChange(false), 40 * kSecondNs + 1);
  EXPECT_EQ(rig.NextChange(true), 40 * kSecondNs);
}

TEST(JobOrderTest, MultifactorAddsAgeSizeAndPriority) {
  JobOrderOptions options = Options(JobPolicy::kMultifactor);
  const std::vector<Job> jobs = {{.name = "old", .age_s = 1800},
                                 {.name = "older", .age_s = 7200},
                                 {.name = "wide", .age_s = 1, .gpus = 8},
                                 {.name = "urgent", .age_s = 0, .priority = 100}};
  EXPECT_THAT(Rig(jobs, options).Names(), ElementsAre("older", "old", "wide", "urgent"));
  options.weight_size = 1500;  // 8 of 16 GPUs: 750 more
  EXPECT_THAT(Rig(jobs, options).Names(), ElementsAre("older", "wide", "old", "urgent"));
  options.favor_small = true;  // 1406, and 750 for the wide one
  EXPECT_THAT(Rig(jobs, options).Names(), ElementsAre("older", "old", "urgent", "wide"));
  options.weight_priority = 2000;  // half of that for the others
  EXPECT_THAT(Rig(jobs, options).Names(), ElementsAre("older", "urgent", "old", "wide"));
}

TEST(JobOrderTest, AgeCountsUpToTheMaximum) {
  const Rig rig({{.name = "a", .age_s = 3500}, {.name = "b", .age_s = 4000}},
                Options(JobPolicy::kMultifactor));
  EXPECT_THAT(rig.Names(), ElementsAre("b", "a"));
  EXPECT_EQ(rig.NextChange(true), 100 * kSecondNs) << "then they are equal";
}

TEST(JobOrderTest, WithoutWaitingGroupsThereIsNoNextChange) {
  for (const auto policy : {JobPolicy::kLeastService, JobPolicy::kFinishTime})
    EXPECT_EQ(Rig({{.name = "a", .started_s = 5}}, Options(policy)).NextChange(true), -1);
}

// ---- random jobs

std::vector<Job> RandomJobs(Random* random) {
  std::vector<Job> jobs;
  for (int64_t i = random->Between(2, 7); i > 0; --i) {
    Job job{.name = "j" + std::to_string(i), .age_s = random->Between(0, 4000)};
    if (!random->OneIn(5)) job.estimate_s = random->Between(0, 2000);
    if (random->Coin()) job.run_s = random->Between(0, 1500);
    if (random->Coin()) job.started_s = random->Between(0, job.age_s);
    job.gpus = static_cast<int>(random->Between(1, 4));
    job.priority = random->Between(1, 99);
    jobs.push_back(job);
  }
  return jobs;
}

TEST(JobOrderTest, OrdersAreTotalAndDoNotDependOnTheOrderOfTheInput) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    std::vector<Job> jobs = RandomJobs(&random);
    for (size_t policy = 0; policy < kJobPolicyNames.size(); ++policy) {
      const JobOrderOptions options = Options(static_cast<JobPolicy>(policy));
      const Rig rig(jobs, options);
      const std::vector<std::string> names = rig.Names();
      for (size_t i = 0; i + 1 < names.size(); ++i) {
        ASSERT_FALSE(rig.IsBetter(names[i + 1], names[i])) << kJobPolicyNames[policy];
        if (rig.IsBetter(names[i], names[i + 1])) continue;
        const auto job = [&](const std::string& name) {
          return *std::ranges::find(jobs, name, &Job::name);
        };
        const Job a = job(names[i]), b = job(names[i + 1]);
        ASSERT_TRUE(a.age_s > b.age_s || (a.age_s == b.age_s && a.name < b.name));
      }
      std::vector<Job> shuffled = jobs;
      random.Shuffle(&shuffled);
      ASSERT_EQ(Rig(shuffled, options).Names(), names) << kJobPolicyNames[policy];
    }
  }
}

// For every pair of names, whether the first is better: what NoteChanges() reports.
std::map<std::pair<std::string, std::string>, bool> Pairs(const Rig& rig, bool only_gains) {
  std::map<std::pair<std::string, std::string>, bool> pairs;
  for (const std::string& a : rig.Names()) {
    for (const std::string& b : rig.Names()) {
      const auto runs = [&](const std::string& name) {
        return rig.service->Of(rig.Group(name)).is_active;
      };
      if (!only_gains || (!runs(a) && runs(b))) pairs[{a, b}] = rig.IsBetter(a, b);
    }
  }
  return pairs;
}

TEST(JobOrderTest, TheOrderStaysUntilItsNextChange) {
  int changes = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    const std::vector<Job> jobs = RandomJobs(&random);
    const bool any_waits =
        std::ranges::any_of(jobs, [](const Job& job) { return job.started_s < 0; });
    if (!any_waits) continue;
    for (size_t policy = 0; policy < kJobPolicyNames.size(); ++policy) {
      const JobOrderOptions options = Options(static_cast<JobPolicy>(policy));
      const Rig now(jobs, options);
      for (const bool every : {true, false}) {
        const auto pairs = Pairs(now, !every);
        const int64_t until_ns = now.NextChange(every);
        const int64_t most_ns = until_ns < 0 ? 5000 * kSecondNs : until_ns - 1;
        for (const int64_t later_ns : {most_ns, random.Between(0, most_ns)}) {
          for (const auto& [names, better] : Pairs(Rig(jobs, options, later_ns), !every)) {
            // Without `every` only gains of waiting groups count.
            if (every || !pairs.at(names)) {
              ASSERT_EQ(better, pairs.at(names)) << kJobPolicyNames[policy] << " " << names.first
                                                 << " " << names.second << " " << later_ns;
            }
          }
        }
        changes += until_ns >= 0 && Pairs(Rig(jobs, options, until_ns), !every) != pairs ? 1 : 0;
      }
    }
  }
  EXPECT_GT(changes, 300);
}

}  // namespace
}  // namespace kai::job_order_test
