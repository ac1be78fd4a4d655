#include "kai/sim/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::simulation_test {
namespace {

constexpr int64_t kGpu = 1'000'000;
constexpr int64_t kNever = Timeline::kNever;

QueueRow QueueNamed(std::string name, double deserved_gpus = 0) {
  QueueRow queue;
  queue.name = std::move(name);
  for (QuotaRow& quota : queue.resources)
    quota = {.quota = kUnlimited, .over_quota_weight = 1, .limit = kUnlimited};
  queue.resources[2].quota = deserved_gpus;
  return queue;
}

NodeRow NodeNamed(std::string name, int64_t gpus) {
  NodeRow node;
  node.name = std::move(name);
  node.allocatable = {
      {"cpu", 64'000}, {"memory", int64_t{1} << 40}, {"pods", 110}, {"nvidia.com/gpu", gpus}};
  node.ready = ConditionStatus::kTrue;
  return node;
}

SimWorkload Nodes(std::vector<int64_t> gpus) {
  SimWorkload workload;
  for (size_t i = 0; i < gpus.size(); ++i)
    workload.nodes.push_back(NodeNamed("n" + std::to_string(i), gpus[i]));
  workload.queues = {QueueNamed("q")};
  workload.priority_classes = {{.name = "train", .value = 50}, {.name = "urgent", .value = 90}};
  return workload;
}

SimJob JobOf(std::string name, int64_t arrival_s, int64_t duration_s, int32_t pods = 1,
             int64_t gpus = 1) {
  SimJob job;
  job.name = std::move(name);
  job.arrival_ns = arrival_s * kSecondNs;
  job.duration_ns = duration_s * kSecondNs;
  job.pods = job.min_pods = pods;
  job.micro_gpus = gpus * kGpu;
  job.priority_class = "train";
  return job;
}

struct Story {
  explicit Story(const SimWorkload& workload, SimOptions options = {},
                 std::string_view config = "{}")
      : simulation(Simulation::Make(workload, ParseConfig(config), ShardParams(), options)) {
    KAI_CHECK(simulation.ok()) << simulation.status().ToString();
    absl::StatusOr<bool> ended = false;
    while (ended.ok() && !*ended) ended = (*simulation)->Run(1000);
    KAI_CHECK(ended.ok()) << ended.status().ToString();
  }
  const Timeline& timeline() const { return (*simulation)->timeline(); }
  // Seconds, by the places of the input; -1: never.
  std::vector<int64_t> Starts() const { return ByInput(timeline().jobs.first_start_ns); }
  std::vector<int64_t> Ends() const { return ByInput(timeline().jobs.end_ns); }
  std::vector<int64_t> ByInput(const std::vector<int64_t>& times) const {
    std::vector<int64_t> seconds(times.size());
    for (size_t i = 0; i < times.size(); ++i) {
      seconds[static_cast<size_t>(timeline().jobs.input[i])] =
          times[i] == kNever ? -1 : times[i] / kSecondNs;
    }
    return seconds;
  }

  absl::StatusOr<std::unique_ptr<Simulation>> simulation;
};

using Seconds = std::vector<int64_t>;

TEST(SimulationTest, JobsWaitForTheGpuInTheOrderInWhichTheyCame) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("b", 5, 10), JobOf("a", 0, 10), JobOf("c", 6, 10)};
  const Story run(workload);
  EXPECT_EQ(run.Starts(), (Seconds{10, 0, 20}));
  EXPECT_EQ(run.Ends(), (Seconds{20, 10, 30}));
}

TEST(SimulationTest, ACycleRunsAtTheNextMultipleOfThePeriod) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 7, 10)};
  EXPECT_EQ(Story(workload, {.period_ns = 60 * kSecondNs}).Starts(), (Seconds{60}));
  EXPECT_EQ(Story(workload, {.period_ns = 0}).Starts(), (Seconds{7}));
}

TEST(SimulationTest, AGangStartsWhole) {
  SimWorkload workload = Nodes({2, 2});
  workload.jobs = {JobOf("a", 0, 10, 1, 1), JobOf("gang", 1, 10, 2, 2)};
  const Story run(workload);
  EXPECT_EQ(run.Starts(), (Seconds{0, 10}));
  EXPECT_EQ(run.Ends(), (Seconds{10, 20}));
}

TEST(SimulationTest, DelaysOfAPodComeBeforeItsWork) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 10)};
  const Story run(workload, {.bind_ns = kSecondNs, .startup_ns = 30 * kSecondNs});
  EXPECT_EQ(run.Ends(), (Seconds{41}));
  EXPECT_EQ(run.timeline().jobs.idle_ns[0], 31 * kSecondNs);
}

TEST(SimulationTest, APreemptedJobLosesWhatItHadNotSaved) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("low", 0, 100), JobOf("high", 35, 10)};
  workload.jobs[0].checkpoint_ns = 20 * kSecondNs;
  workload.jobs[1].priority_class = "urgent";
  const Story run(workload, {.terminate_ns = 2 * kSecondNs});
  EXPECT_EQ(run.Starts(), (Seconds{0, 37}));
  EXPECT_EQ(run.timeline().jobs.lost_ns[0], 15 * kSecondNs);
  EXPECT_EQ(run.timeline().jobs.restarts[0], 1);
  EXPECT_EQ(run.Ends(), (Seconds{47 + 80, 47}));
}

TEST(SimulationTest, ANodeThatGoesTakesItsPods) {
  SimWorkload workload = Nodes({1, 1});
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 0, 100)};
  for (SimJob& job : workload.jobs) job.checkpoint_ns = SimJob::kNeverSaved;
  workload.outages = {{.node = "n0", .from_ns = 50 * kSecondNs, .until_ns = 70 * kSecondNs}};
  const Story run(workload);
  Seconds ends = run.Ends();
  std::ranges::sort(ends);
  EXPECT_EQ(ends, (Seconds{100, 170}));
  EXPECT_EQ(run.timeline().nodes.is_there, (std::vector<uint8_t>{0, 1}));
}

TEST(SimulationTest, AJobRunsOnItsModelsAndAtTheirSpeed) {
  SimWorkload workload = Nodes({1, 1});
  workload.nodes[0].labels = {{"nvidia.com/gpu.product", "T4"}};
  workload.nodes[1].labels = {{"nvidia.com/gpu.product", "A100"}};
  workload.model_sets.push_back({"A100"});
  workload.speed_tables.push_back({{"A100", 4.0}});
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 1, 100)};
  for (SimJob& job : workload.jobs) job.models = job.speeds = 1;
  EXPECT_EQ(Story(workload).Ends(), (Seconds{25, 50}));
}

TEST(SimulationTest, PartsOfAGpuShareIt) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 10), JobOf("b", 0, 10), JobOf("c", 0, 10)};
  for (SimJob& job : workload.jobs) job.micro_gpus = kGpu / 2;
  EXPECT_EQ(Story(workload).Starts(), (Seconds{0, 0, 10}));
}

TEST(SimulationTest, AQueueThatChangesStartsWhatWaited) {
  SimWorkload workload = Nodes({2});
  workload.queues[0].resources[2].limit = 1;
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 0, 100)};
  workload.queue_changes = {{.at_ns = 30 * kSecondNs, .queue = QueueNamed("q", 2)}};
  EXPECT_EQ(Story(workload).Starts(), (Seconds{0, 30}));
}

// ---- the past counts ----------------------------------------------------------------------------

UsageWindow Minutes(int64_t minutes) {
  return {.size_ns = minutes * 60 * kSecondNs, .fetch_ns = 60 * kSecondNs};
}

constexpr std::string_view kStrong = R"({"plugins": {"proportion": {"kValue": 10}}})";

TEST(SimulationTest, APodThatWaitsStartsWhenTheUsageOfItsQueueHasBecomeTheLesserOne) {
  SimWorkload workload = Nodes({4});
  workload.queues = {QueueNamed("a"), QueueNamed("b")};
  workload.jobs = {JobOf("first", 0, 100'000, 1, 4), JobOf("second", 10, 60, 1, 4)};
  workload.jobs[1].queue = 1;
  EXPECT_EQ(Story(workload, {.until_ns = 3600 * kSecondNs}, kStrong).Starts(), (Seconds{0, -1}));
  const Story run(workload, {.until_ns = 3600 * kSecondNs, .usage = Minutes(60)}, kStrong);
  // No other event comes before: the fetch itself brings the cycle that reclaims.
  EXPECT_EQ(run.Starts(), (Seconds{0, 61}));
  EXPECT_EQ(run.timeline().usage.at_ns[0], 60 * kSecondNs);
  EXPECT_EQ(run.timeline().usage.gpu[0], 1);
}

TEST(SimulationTest, FetchesAloneKeepNoSimulationGoing) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("never", 0, 10, 1, 2), JobOf("a", 0, 600)};
  const Story run(workload, {.usage = Minutes(5)});
  EXPECT_EQ(run.Ends(), (Seconds{-1, 600}));
  EXPECT_LE(run.timeline().end_ns, 660 * kSecondNs);
}

TEST(SimulationTest, WhileNoPodWaitsNoCycleRunsForUsage) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 30, 36'000), JobOf("b", 90, 10)};
  const int64_t cycles = Story(workload).timeline().cycles;
  const UsageWindow usage = Minutes(100'000);  // so that it is another one at each fetch
  EXPECT_GT(Story(workload, {.usage = usage}).timeline().cycles, cycles + 500);
  workload.jobs.pop_back();
  EXPECT_LE(Story(workload, {.usage = usage}).timeline().cycles, 5);
}

TEST(SimulationTest, ANodeThatIsGoneIsNoCapacity) {
  SimWorkload workload = Nodes({2, 2});
  workload.jobs = {JobOf("a", 0, 600, 1, 2), JobOf("waits", 0, 10, 1, 3)};
  workload.outages = {{.node = "n1", .from_ns = 60 * kSecondNs}};
  const Story run(workload, {.usage = Minutes(1)});
  ASSERT_EQ(run.timeline().usage.gpu.size(), 2u);
  EXPECT_EQ(run.timeline().usage.gpu, (std::vector<double>{0.5, 1}));
}

TEST(SimulationTest, WhatRunsWhenItEndsIsRecordedAsSuch) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 1, 100)};
  const Story run(workload, {.until_ns = 60 * kSecondNs});
  EXPECT_EQ(run.timeline().end_ns, 60 * kSecondNs);
  EXPECT_EQ(run.Ends(), (Seconds{-1, -1}));
  ASSERT_EQ(run.timeline().stays.end.size(), 1u);
  EXPECT_EQ(run.timeline().stays.end[0], static_cast<uint8_t>(StayEnd::kSimulationEnds));
  EXPECT_EQ(run.timeline().jobs.kept_ns[0], 60 * kSecondNs);
}

TEST(SimulationTest, WhatMakesNoSenseIsRefusedByName) {
  const auto error = [](const SimWorkload& workload) {
    return std::string(
        Simulation::Make(workload, ParseConfig("{}"), ShardParams(), {}).status().message());
  };
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 10), JobOf("a", 0, 10)};
  EXPECT_EQ(error(workload), "job a: two jobs have this name");
  workload.jobs = {JobOf("a", 0, 10, 2)};
  workload.jobs[0].min_pods = 3;
  EXPECT_EQ(error(workload), "job a: min_pods is 3, and pods 2");
  workload.jobs = {JobOf("a", 0, 10)};
  workload.jobs[0].micro_gpus = kGpu + 1;
  EXPECT_EQ(error(workload), "job a: its GPUs are neither whole nor a part of one");
  workload.jobs.clear();
  workload.outages = {{.node = "x", .from_ns = 0, .until_ns = 1}};
  EXPECT_EQ(error(workload), "outage: node x does not exist");
}

// ---- random workloads ---------------------------------------------------------------------------

SimWorkload RandomWorkload(uint64_t seed) {
  Random random(seed);
  SimWorkload workload = Nodes({});
  const int64_t nodes = random.Between(1, 4);
  for (int64_t i = 0; i < nodes; ++i)
    workload.nodes.push_back(NodeNamed("n" + std::to_string(i), random.Between(1, 4)));
  workload.queues = {QueueNamed("a", static_cast<double>(random.Below(4))), QueueNamed("b", 1)};
  const int64_t jobs = random.Between(1, 20);
  for (int64_t i = 0; i < jobs; ++i) {
    SimJob job = JobOf("j" + std::to_string(i), random.Below(60), random.Below(40),
                       static_cast<int32_t>(random.Between(1, 3)), random.Between(0, 3));
    if (random.OneIn(4)) job.micro_gpus = random.Between(1, 3) * kGpu / 4;
    job.min_pods = static_cast<int32_t>(random.Between(1, job.pods));
    job.queue = static_cast<int32_t>(random.Below(2));
    if (random.OneIn(3)) job.priority_class = "urgent";
    if (random.Coin()) job.checkpoint_ns = random.Between(-1, 10) * kSecondNs;
    if (job.checkpoint_ns < 0) job.checkpoint_ns = SimJob::kNeverSaved;
    if (random.OneIn(3)) job.restart_ns = random.Below(5) * kSecondNs;
    workload.jobs.push_back(std::move(job));
  }
  if (random.OneIn(3)) {
    const int64_t from_s = random.Below(60);
    workload.outages = {{.node = "n0",
                         .from_ns = from_s * kSecondNs,
                         .until_ns = (from_s + random.Between(1, 60)) * kSecondNs}};
  }
  return workload;
}

SimOptions RandomOptions(uint64_t seed) {
  Random random(seed + 1);
  SimOptions options;
  options.period_ns = random.Below(4) * kSecondNs;
  options.until_ns = 400 * kSecondNs;
  if (random.Coin()) options.startup_ns = random.Below(4) * kSecondNs;
  if (random.Coin()) options.bind_ns = random.Below(2) * kSecondNs;
  if (random.Coin()) options.terminate_ns = random.Below(4) * kSecondNs;
  if (random.Coin()) {
    UsageWindow usage = {.size_ns = random.Between(1, 90) * kSecondNs};
    if (random.Coin()) usage.kind = UsageWindow::Kind::kTumbling;
    if (random.Coin()) usage.half_life_ns = static_cast<double>(random.Between(1, 60) * kSecondNs);
    usage.fetch_ns = random.Between(1, 20) * kSecondNs;
    options.usage = usage;
  }
  return options;
}

// GPUs in use on every node never exceed what it has, and a pod is in one place at a time.
void ExpectNoNodeIsOverfull(const SimWorkload& workload, const Timeline& timeline) {
  std::map<int32_t, std::vector<std::tuple<int64_t, int64_t>>> changes;  // by node
  std::map<std::pair<int32_t, int32_t>, int64_t> last_end;
  const Timeline::Stays& stays = timeline.stays;
  for (size_t i = 0; i < stays.job.size(); ++i) {
    ASSERT_LE(stays.from_ns[i], stays.to_ns[i]);
    const SimJob& job =
        workload.jobs[static_cast<size_t>(timeline.jobs.input[static_cast<size_t>(stays.job[i])])];
    changes[stays.node[i]].emplace_back(stays.from_ns[i], job.micro_gpus);
    changes[stays.node[i]].emplace_back(stays.to_ns[i], -job.micro_gpus);
    int64_t& end = last_end[{stays.job[i], stays.pod[i]}];
    EXPECT_LE(end, stays.from_ns[i]) << job.name;
    end = stays.to_ns[i];
  }
  for (auto& [node, its] : changes) {
    std::ranges::sort(its);
    int64_t used = 0;
    for (const auto& [at, change] : its) {
      used += change;
      EXPECT_LE(used, workload.nodes[static_cast<size_t>(node)].allocatable.back().second * kGpu);
    }
  }
}

// Of each job: what its pods held is what they kept, lost and held in vain; and a job that has
// ended did its work once.
void ExpectTimeIsAccountedFor(const SimWorkload& workload, const Timeline& timeline) {
  std::vector<int64_t> held(workload.jobs.size());
  for (size_t i = 0; i < timeline.stays.job.size(); ++i) {
    held[static_cast<size_t>(timeline.stays.job[i])] +=
        timeline.stays.to_ns[i] - timeline.stays.from_ns[i];
  }
  const Timeline::Jobs& jobs = timeline.jobs;
  for (size_t i = 0; i < held.size(); ++i) {
    const SimJob& job = workload.jobs[static_cast<size_t>(jobs.input[i])];
    EXPECT_EQ(held[i], jobs.kept_ns[i] + jobs.lost_ns[i] + jobs.idle_ns[i]) << job.name;
    EXPECT_GE(jobs.idle_ns[i], 0) << job.name;
    if (jobs.end_ns[i] == kNever) continue;
    EXPECT_GE(jobs.kept_ns[i], job.duration_ns * job.pods) << job.name;
    // The last nanosecond may be more than was left to do.
    EXPECT_LT(jobs.kept_ns[i], job.duration_ns * job.pods + job.pods) << job.name;
  }
}

TEST(SimulationPropertyTest, NothingIsLostAndNothingIsMadeUp) {
  const auto [first, end] = Seeds(150);
  for (uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const SimWorkload workload = RandomWorkload(seed);
    const Story run(workload, RandomOptions(seed));
    ExpectNoNodeIsOverfull(workload, run.timeline());
    ExpectTimeIsAccountedFor(workload, run.timeline());
    if (run.timeline().end_ns < 400 * kSecondNs) {
      for (size_t i = 0; i < workload.jobs.size(); ++i) {
        if (run.timeline().jobs.end_ns[i] != kNever) continue;
        EXPECT_EQ(run.timeline().jobs.working_ns[i], 0) << "it stopped for ever";
      }
    }
  }
}

TEST(SimulationPropertyTest, TheOrderOfTheInputMakesNoDifference) {
  const auto [first, end] = Seeds(60);
  for (uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const SimWorkload workload = RandomWorkload(seed);
    SimWorkload shuffled = workload;
    Random random(seed + 2);
    random.Shuffle(&shuffled.jobs);
    random.Shuffle(&shuffled.nodes);
    const Story one(workload, RandomOptions(seed));
    const Story other(shuffled, RandomOptions(seed));
    EXPECT_EQ(one.timeline().stays.node, other.timeline().stays.node);
    EXPECT_EQ(one.timeline().stays.to_ns, other.timeline().stays.to_ns);
    EXPECT_EQ(one.timeline().jobs.end_ns, other.timeline().jobs.end_ns);
    EXPECT_EQ(one.timeline().queues.fair_share, other.timeline().queues.fair_share);
    EXPECT_EQ(one.timeline().usage.gpu, other.timeline().usage.gpu);
    EXPECT_EQ(one.timeline().cycles, other.timeline().cycles);
  }
}

}  // namespace
}  // namespace kai::simulation_test
