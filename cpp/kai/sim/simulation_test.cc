#include "kai/sim/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kai/session/plans_for_test.h"
#include "kai/sim/accounts_for_test.h"
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
  // Seconds, in the order of the input; -1: never.
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

TEST(SimulationTest, JobsWaitForTheGpuInTheOrderOfTheirArrival) {
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

TEST(SimulationTest, AJobWorksOnlyAfterTheDelaysOfItsPods) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 10)};
  const Story run(workload, {.bind_ns = kSecondNs, .startup_ns = 30 * kSecondNs});
  EXPECT_EQ(run.Ends(), (Seconds{41}));
  EXPECT_EQ(run.timeline().jobs.idle_ns[0], 31 * kSecondNs);
}

TEST(SimulationTest, APreemptedJobLosesUnsavedWork) {
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

TEST(SimulationTest, AnOutageOfANodeEndsItsPods) {
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

TEST(SimulationTest, JobsWithPartsOfAGpuShareIt) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 10), JobOf("b", 0, 10), JobOf("c", 0, 10)};
  for (SimJob& job : workload.jobs) job.micro_gpus = kGpu / 2;
  EXPECT_EQ(Story(workload).Starts(), (Seconds{0, 0, 10}));
}

TEST(SimulationTest, AChangeOfAQueueStartsWaitingJobs) {
  SimWorkload workload = Nodes({2});
  workload.queues[0].resources[2].limit = 1;
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 0, 100)};
  workload.queue_changes = {{.at_ns = 30 * kSecondNs, .queue = QueueNamed("q", 2)}};
  EXPECT_EQ(Story(workload).Starts(), (Seconds{0, 30}));
}

// ---- past usage ---------------------------------------------------------------------------------

UsageWindow Minutes(int64_t minutes) {
  return {.size_ns = minutes * 60 * kSecondNs, .fetch_ns = 60 * kSecondNs};
}

constexpr std::string_view kStrong = R"({"plugins": {"proportion": {"kValue": 10}}})";

TEST(SimulationTest, AWaitingPodStartsWhenTheUsageOfItsQueueIsTheLowest) {
  SimWorkload workload = Nodes({4});
  workload.queues = {QueueNamed("a"), QueueNamed("b")};
  workload.jobs = {JobOf("first", 0, 100'000, 1, 4), JobOf("second", 10, 60, 1, 4)};
  workload.jobs[1].queue = 1;
  EXPECT_EQ(Story(workload, {.until_ns = 3600 * kSecondNs}, kStrong).Starts(), (Seconds{0, -1}));
  const Story run(workload, {.until_ns = 3600 * kSecondNs, .usage = Minutes(60)}, kStrong);
  // There is no other event before: the fetch itself causes the cycle that reclaims.
  EXPECT_EQ(run.Starts(), (Seconds{0, 61}));
  EXPECT_EQ(run.timeline().usage.at_ns[0], 60 * kSecondNs);
  EXPECT_EQ(run.timeline().usage.gpu[0], 1);
}

TEST(SimulationTest, UsageFetchesDoNotKeepASimulationRunning) {
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
  const UsageWindow usage = Minutes(100'000);  // so that each fetch differs
  EXPECT_GT(Story(workload, {.usage = usage}).timeline().cycles, cycles + 500);
  workload.jobs.pop_back();
  EXPECT_LE(Story(workload, {.usage = usage}).timeline().cycles, 5);
}

TEST(SimulationTest, ARemovedNodeIsNoCapacity) {
  SimWorkload workload = Nodes({2, 2});
  workload.jobs = {JobOf("a", 0, 600, 1, 2), JobOf("waits", 0, 10, 1, 3)};
  workload.outages = {{.node = "n1", .from_ns = 60 * kSecondNs}};
  const Story run(workload, {.usage = Minutes(1)});
  ASSERT_EQ(run.timeline().usage.gpu.size(), 2u);
  EXPECT_EQ(run.timeline().usage.gpu, (std::vector<double>{0.5, 1}));
}

TEST(SimulationTest, JobsThatRunAtTheEndAreRecordedAsRunning) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 1, 100)};
  const Story run(workload, {.until_ns = 60 * kSecondNs});
  EXPECT_EQ(run.timeline().end_ns, 60 * kSecondNs);
  EXPECT_EQ(run.Ends(), (Seconds{-1, -1}));
  ASSERT_EQ(run.timeline().stays.end.size(), 1u);
  EXPECT_EQ(run.timeline().stays.end[0], static_cast<uint8_t>(StayEnd::kSimulationEnds));
  EXPECT_EQ(run.timeline().jobs.kept_ns[0], 60 * kSecondNs);
}

// Adds a pool of nodes p-0, p-1, ... with one GPU each. The `first` ones exist at the start.
void AddPool(SimWorkload* workload, int32_t count, int32_t first = 0, int32_t least = 0) {
  SimNodePool pool{.name = "p", .nodes = {}, .first = first, .least = least};
  pool.ready_ns = 30 * kSecondNs;
  pool.idle_ns = 50 * kSecondNs;
  for (int32_t i = 0; i < count; ++i) {
    pool.nodes.push_back("p-" + std::to_string(i));
    workload->nodes.push_back(NodeNamed(pool.nodes.back(), 1));
  }
  workload->pools.push_back(std::move(pool));
}

// The seconds of one kind of node event.
Seconds Happened(const Timeline& timeline, NodeEvent event) {
  Seconds at;
  for (size_t i = 0; i < timeline.node_events.at_ns.size(); ++i) {
    if (timeline.node_events.event[i] == static_cast<uint8_t>(event))
      at.push_back(timeline.node_events.at_ns[i] / kSecondNs);
  }
  return at;
}

TEST(SimulationTest, NodesAreAddedForWaitingJobsAndRemovedWhenIdle) {
  SimWorkload workload = Nodes({1});
  AddPool(&workload, 3);
  workload.jobs = {JobOf("a", 0, 100), JobOf("gang", 5, 10, 2), JobOf("late", 300, 10)};
  const Story run(workload);
  EXPECT_EQ(Happened(run.timeline(), NodeEvent::kOrdered), (Seconds{10, 10}));
  EXPECT_EQ(Happened(run.timeline(), NodeEvent::kReady), (Seconds{40, 40}));
  EXPECT_EQ(run.Starts(), (Seconds{0, 40, 300}));
  EXPECT_EQ(Happened(run.timeline(), NodeEvent::kRemoved), (Seconds{100, 100}));
}

TEST(SimulationTest, NoNodeIsAddedForAJobAboveTheLimitOfItsQueue) {
  SimWorkload workload = Nodes({1});
  AddPool(&workload, 3);
  workload.queues[0].resources[2].limit = 1;
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 0, 100)};
  const Story run(workload);
  EXPECT_EQ(run.Starts(), (Seconds{0, 100}));
  EXPECT_TRUE(run.timeline().node_events.at_ns.empty());
}

TEST(SimulationTest, APoolKeepsToItsMinimumAndItsMaximum) {
  SimWorkload workload = Nodes({});
  AddPool(&workload, 2, 1, 1);
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 0, 100), JobOf("c", 0, 100), JobOf("d", 999, 1)};
  const Story run(workload);
  EXPECT_EQ(run.Starts(), (Seconds{0, 40, 100, 999}));
  EXPECT_EQ(Happened(run.timeline(), NodeEvent::kRemoved), (Seconds{190}));
}

TEST(SimulationTest, AClosedNodeAcceptsNoNewPodsAndADrainEvictsItsPods) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 1, 100)};
  workload.windows = {
      {.node = "n0", .from_ns = 50 * kSecondNs, .until_ns = 200 * kSecondNs, .drains = false}};
  EXPECT_EQ(Story(workload).Ends(), (Seconds{100, 300}));
  workload.windows[0].drains = true;
  const Story run(workload, {.terminate_ns = 5 * kSecondNs});
  EXPECT_EQ(run.Ends(), (Seconds{250, 350}));
  EXPECT_EQ(run.timeline().stays.end[0], static_cast<uint8_t>(StayEnd::kDrained));
  EXPECT_EQ(run.timeline().stays.to_ns[0], 55 * kSecondNs);
  EXPECT_EQ(Happened(run.timeline(), NodeEvent::kUncordoned), (Seconds{200}));
}

TEST(SimulationTest, ANodeThatReturnsInAMaintenanceWindowStaysClosedUntilItsEnd) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 30, 10)};
  workload.outages = {{.node = "n0", .from_ns = 10 * kSecondNs, .until_ns = 40 * kSecondNs}};
  workload.windows = {{.node = "n0", .from_ns = 20 * kSecondNs, .until_ns = 60 * kSecondNs},
                      {.node = "n0", .from_ns = 50 * kSecondNs, .until_ns = 90 * kSecondNs}};
  EXPECT_EQ(Story(workload).Starts(), (Seconds{90}));
}

TEST(SimulationTest, AJobWithFewerPodsTakesLongerAndLosesNothing) {
  SimWorkload workload = Nodes({4});
  workload.jobs = {JobOf("a", 10, 100, 4), JobOf("b", 20, 10, 2)};
  workload.jobs[0].checkpoint_ns = SimJob::kNeverSaved;
  workload.jobs[0].resizes = {{.after_ns = 50 * kSecondNs, .pods = 2, .min_pods = 1}};
  const Story run(workload);
  EXPECT_EQ(run.Ends(), (Seconds{160, 70}));
  EXPECT_EQ(run.timeline().jobs.lost_ns[0], 0);
  EXPECT_EQ(run.timeline().jobs.evictions[0], 0);
  EXPECT_EQ(run.timeline().stays.end[0], static_cast<uint8_t>(StayEnd::kResized));
}

TEST(SimulationTest, AJobWithMorePodsIsFasterOnceTheyRun) {
  SimWorkload workload = Nodes({4});
  workload.jobs = {JobOf("a", 0, 100, 2)};
  workload.jobs[0].resizes = {{.after_ns = 50 * kSecondNs, .pods = 4, .min_pods = 2},
                              {.after_ns = 60 * kSecondNs, .pods = 1, .min_pods = 1},
                              {.after_ns = 62 * kSecondNs, .pods = 4, .min_pods = 1}};
  // 200 - 100 - 40 - 2 are left.
  EXPECT_EQ(Story(workload).Ends(), (Seconds{76}));
  // Three pods leave until 65, and are created again when they are gone: 2, 2 x 1 s, 55 are left.
  const Story run(workload, {.terminate_ns = 5 * kSecondNs});
  EXPECT_EQ(run.Ends(), (Seconds{78}));
}

TEST(SimulationTest, InvalidInputIsRejectedByName) {
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
  workload.outages.clear();
  workload.windows = {{.node = "n0", .from_ns = 5, .until_ns = 5}};
  EXPECT_EQ(error(workload), "maintenance of node n0: it ends before it begins");
  workload.windows.clear();
  AddPool(&workload, 2, 1, 2);
  EXPECT_EQ(error(workload), "node pool p: it starts with 1 nodes instead of 2 to 2");
  workload.pools.clear();
  workload.jobs = {JobOf("a", 0, 10)};
  workload.jobs[0].resizes = {{.after_ns = 1, .pods = 1, .min_pods = 2}};
  EXPECT_EQ(error(workload), "job a: a resize has min_pods 2, and pods 1");
}

// ---- job orders (the rest is in tests/unit/sim/test_job_orders.py) ------------------------------

constexpr std::string_view kLeastService =
    R"({"plugins": {"joborder": {"policy": "las", "thresholds": "30"}}})";

TEST(SimulationTest, WithLeastServiceALongJobIsPreemptedAtItsThreshold) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("long", 0, 100), JobOf("short", 5, 10), JobOf("next", 6, 40)};
  const Story run(workload, {}, kLeastService);
  // The only event at 30 is that its 30 seconds are over; it is evicted, and the other one starts
  // with the next cycle.
  EXPECT_EQ(run.Starts(), (Seconds{0, 31, 41}));
  EXPECT_EQ(run.Ends()[1], 41);
  EXPECT_EQ(run.Ends()[2], 81) << "from 71 on both have one level: the running one goes on";
  EXPECT_EQ(run.Ends()[0], 151);
}

TEST(SimulationTest, AttainedServiceCountsAfterAnEviction) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 100), JobOf("b", 10, 100), JobOf("c", 200, 5)};
  const Story run(workload, {}, R"({"plugins": {"joborder": {"policy": "las",
                                    "thresholds": "30, 60"}}})");
  const Timeline::Stays& stays = run.timeline().stays;
  std::map<std::string, std::string> ran;
  for (size_t i = 0; i < stays.job.size(); ++i) {
    std::string& text = ran[workload.jobs[static_cast<size_t>(stays.job[i])].name];
    text += std::to_string(stays.from_ns[i] / kSecondNs) + "-" +
            std::to_string(stays.to_ns[i] / kSecondNs) + " ";
  }
  EXPECT_EQ(ran["a"], "0-30 92-162 ") << "at 91, b has run for 60 seconds and a for 30";
  EXPECT_EQ(ran["b"], "31-91 162-200 206-208 ");
  EXPECT_EQ(ran["c"], "201-206 ");
}

TEST(SimulationTest, WithoutEstimatesShortestFirstSortsByAge) {
  SimWorkload workload = Nodes({1});
  workload.jobs = {JobOf("a", 0, 10), JobOf("b", 1, 50), JobOf("c", 2, 5)};
  constexpr std::string_view kShortest = R"({"plugins": {"joborder": {"policy": "sjf"}}})";
  EXPECT_EQ(Story(workload, {}, kShortest).Starts(), (Seconds{0, 10, 60}));
  for (SimJob& job : workload.jobs) job.estimate_ns = job.duration_ns;
  EXPECT_EQ(Story(workload, {}, kShortest).Starts(), (Seconds{0, 15, 10}));
}

// ---- random workloads ---------------------------------------------------------------------------

// Adds pools, maintenance, and jobs that change their size.
void AddLife(Random* random, SimWorkload* workload) {
  if (random->OneIn(3)) {
    const auto most = static_cast<int32_t>(random->Between(1, 4));
    const auto first = static_cast<int32_t>(random->Between(0, most));
    AddPool(workload, most, first, static_cast<int32_t>(random->Between(0, first)));
    workload->pools[0].ready_ns = random->Below(30) * kSecondNs;
    workload->pools[0].idle_ns = random->Below(60) * kSecondNs;
    if (random->Coin())
      workload->outages.push_back(
          {.node = "p-0", .from_ns = 20 * kSecondNs, .until_ns = 45 * kSecondNs});
  }
  const int64_t windows = random->OneIn(3) ? random->Between(1, 4) : 0;
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t from_s = random->Below(60);
    const auto node = static_cast<size_t>(random->Below(std::ssize(workload->nodes)));
    workload->windows.push_back({.node = workload->nodes[node].name,
                                 .from_ns = from_s * kSecondNs,
                                 .until_ns = (from_s + random->Between(1, 40)) * kSecondNs,
                                 .drains = random->Coin()});
  }
  for (SimJob& job : workload->jobs) {
    if (!random->OneIn(4)) continue;
    for (int64_t i = random->Between(1, 3); i > 0; --i) {
      const auto pods = static_cast<int32_t>(random->Between(1, 4));
      job.resizes.push_back({.after_ns = random->Below(60) * kSecondNs,
                             .pods = pods,
                             .min_pods = static_cast<int32_t>(random->Between(1, pods))});
    }
  }
}

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
  AddLife(&random, &workload);
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

// The GPUs in use on a node never exceed its GPUs, and a pod is in one place at a time.
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

// By node, in order: when it changed, and the state from then on.
using Changes = std::map<int32_t, std::vector<std::pair<int64_t, bool>>>;

// True if the state held all the time, including the end.
bool HoldsFrom(const Changes& changes, int32_t node, int64_t from_ns, int64_t to_ns,
               bool at_first) {
  bool is_so = at_first;
  const auto found = changes.find(node);
  if (found == changes.end()) return is_so;
  for (const auto& [at_ns, now_so] : found->second) {
    if (at_ns > from_ns && at_ns < to_ns && !now_so) return false;
    if (at_ns <= from_ns) is_so = now_so;
  }
  return is_so;
}

// A pod is only on a node that exists, and never comes to one that takes no pods.
void ExpectPodsAreWhereTheyMayBe(const Timeline& timeline) {
  Changes there, open;
  for (size_t i = 0; i < timeline.nodes.at_ns.size(); ++i)
    there[timeline.nodes.node[i]].emplace_back(timeline.nodes.at_ns[i],
                                               timeline.nodes.is_there[i] != 0);
  for (size_t i = 0; i < timeline.node_events.at_ns.size(); ++i) {
    const auto event = static_cast<NodeEvent>(timeline.node_events.event[i]);
    if (event != NodeEvent::kCordoned && event != NodeEvent::kUncordoned) continue;
    open[timeline.node_events.node[i]].emplace_back(timeline.node_events.at_ns[i],
                                                    event == NodeEvent::kUncordoned);
  }
  const Timeline::Stays& stays = timeline.stays;
  for (size_t i = 0; i < stays.job.size(); ++i) {
    EXPECT_TRUE(HoldsFrom(there, stays.node[i], stays.from_ns[i], stays.to_ns[i], true));
    EXPECT_TRUE(HoldsFrom(open, stays.node[i], stays.from_ns[i], stays.from_ns[i], true));
  }
}

// A job never has more pods on nodes than it may have at that time.
void ExpectNoJobHasTooManyPods(const SimWorkload& workload, const Timeline& timeline) {
  const Timeline::Stays& stays = timeline.stays;
  for (size_t i = 0; i < stays.job.size(); ++i) {
    const auto input = timeline.jobs.input[static_cast<size_t>(stays.job[i])];
    const SimJob& job = workload.jobs[static_cast<size_t>(input)];
    // The size of the job when the pod came.
    int32_t pods = job.pods;
    int64_t last_ns = -1;
    for (const SimResize& resize : job.resizes) {
      const int64_t at_ns = job.arrival_ns + resize.after_ns;
      if (at_ns > stays.from_ns[i] || at_ns < last_ns) continue;
      pods = resize.pods;
      last_ns = at_ns;
    }
    EXPECT_LT(stays.pod[i], pods) << job.name;
  }
}

TEST(SimulationPropertyTest, TimelinesOfRandomWorkloadsAreConsistent) {
  const auto [first, end] = Seeds(150);
  for (uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const SimWorkload workload = RandomWorkload(seed);
    const Story run(workload, RandomOptions(seed));
    ExpectNoNodeIsOverfull(workload, run.timeline());
    ExpectTimeIsAccountedFor(workload, run.timeline());
    ExpectPodsAreWhereTheyMayBe(run.timeline());
    ExpectNoJobHasTooManyPods(workload, run.timeline());
    if (run.timeline().end_ns < 400 * kSecondNs) {
      for (size_t i = 0; i < workload.jobs.size(); ++i) {
        if (run.timeline().jobs.end_ns[i] != kNever) continue;
        if (!workload.jobs[static_cast<size_t>(run.timeline().jobs.input[i])].resizes.empty())
          continue;
        EXPECT_EQ(run.timeline().jobs.working_ns[i], 0) << "it stopped for ever";
      }
    }
  }
}

TEST(SimulationPropertyTest, TheOrderOfTheInputDoesNotMatter) {
  const auto [first, end] = Seeds(60);
  for (uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const SimWorkload workload = RandomWorkload(seed);
    SimWorkload shuffled = workload;
    Random random(seed + 2);
    random.Shuffle(&shuffled.jobs);
    random.Shuffle(&shuffled.nodes);
    random.Shuffle(&shuffled.windows);
    random.Shuffle(&shuffled.outages);
    const Story one(workload, RandomOptions(seed));
    const Story other(shuffled, RandomOptions(seed));
    EXPECT_EQ(one.timeline().stays.node, other.timeline().stays.node);
    EXPECT_EQ(one.timeline().stays.to_ns, other.timeline().stays.to_ns);
    EXPECT_EQ(one.timeline().jobs.end_ns, other.timeline().jobs.end_ns);
    EXPECT_EQ(one.timeline().queues.fair_share, other.timeline().queues.fair_share);
    EXPECT_EQ(one.timeline().node_events.node, other.timeline().node_events.node);
    EXPECT_EQ(one.timeline().nodes.at_ns, other.timeline().nodes.at_ns);
    EXPECT_EQ(one.timeline().usage.gpu, other.timeline().usage.gpu);
    EXPECT_EQ(one.timeline().cycles, other.timeline().cycles);
  }
}

}  // namespace
}  // namespace kai::simulation_test
