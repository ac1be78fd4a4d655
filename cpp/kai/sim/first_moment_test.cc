#include "kai/sim/first_moment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/session/plans_for_test.h"
#include "kai/sim/accounts_for_test.h"
#include "kai/sim/simulation.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::first_moment_test {
namespace {

std::shared_ptr<const FirstMoment> MomentOf(ClusterRows rows) {
  Store store;
  const ShardParams params = rows.params;
  AnyKind([&](const auto& kind) {
    for (auto& row : kind.in(&rows)) store.Upsert(std::move(row));
    return false;
  });
  return std::make_shared<const FirstMoment>(store, params, "");
}

// Each group runs for this many seconds.
SimWorkload WorkloadOf(std::shared_ptr<const FirstMoment> first, int64_t seconds) {
  SimWorkload workload;
  for (const QueueRow& row : first->store().RowsOfKind<QueueRow>()) workload.queues.push_back(row);
  for (const NodeRow& row : first->store().RowsOfKind<NodeRow>()) workload.nodes.push_back(row);
  std::ranges::sort(workload.queues, {}, &QueueRow::name);
  for (size_t i = 0; i < first->groups().size(); ++i) {
    const FirstMoment::Group& group = first->groups()[i];
    SimJob job;
    job.name = group.name;
    job.queue =
        static_cast<int32_t>(std::ranges::find(workload.queues, group.row.queue, &QueueRow::name) -
                             workload.queues.begin());
    job.duration_ns = seconds == 0 ? SimJob::kForever : seconds * kSecondNs;
    job.pods = static_cast<int32_t>(group.pods.size());
    job.min_pods = group.min_pods;
    job.given = static_cast<int32_t>(i);
    workload.jobs.push_back(std::move(job));
  }
  workload.first = std::move(first);
  return workload;
}

std::unique_ptr<Simulation> Simulated(const SimWorkload& workload, const Config& config,
                                      SimOptions options) {
  options.start_ns = kTestNowNs;
  auto made = Simulation::Make(workload, config, workload.first->params(), options);
  KAI_CHECK(made.ok()) << made.status().ToString();
  absl::StatusOr<bool> ended = false;
  while (ended.ok() && !*ended) ended = (*made)->Run(1000);
  KAI_CHECK(ended.ok()) << ended.status().ToString();
  return *std::move(made);
}

TEST(FirstMomentTest, JobsAreGroupsOfKnownQueuesWithLivePods) {
  const auto first = MomentOf(MakeCluster()
                                  .Queue("q", {})
                                  .Node("n", {.gpus = 4})
                                  .Running("q/runs", {.pods = 2, .gpus = 1, .node = "n"})
                                  .Pending("q/waits", {.pods = 3, .gpus = 1, .min_member = 3})
                                  .Rows());
  ASSERT_EQ(first->groups().size(), 2u);
  EXPECT_EQ(first->groups()[0].name, "q/runs");
  EXPECT_EQ(first->groups()[0].pods[1].node, "n");
  EXPECT_EQ(first->groups()[0].pods[1].micro_gpus, kMicroGpusOfOne);
  EXPECT_EQ(first->groups()[1].min_pods, 3);
  EXPECT_EQ(first->groups()[1].pods[0].node, "");
}

// Pods on nodes after the plan, without those that were leaving before.
using Places = std::map<std::string, std::string>;

Places PlannedPlaces(const FirstMoment& first, const Plan& plan) {
  Places places;
  std::set<std::string> leaving, known;
  for (const FirstMoment::Group& group : first.groups()) {
    for (const FirstMoment::Pod& pod : group.pods) {
      const std::string name = NameInTable(pod.row);
      known.insert(name);
      if (pod.row.deletion_ns) leaving.insert(name);
      if (first.store().Find<NodeRow>(pod.node) != nullptr) places[name] = pod.node;
    }
  }
  for (const oracle::Decision& decision : DecisionsOf(plan)) {
    if (!known.contains(decision.pod)) continue;
    if (decision.kind == oracle::Decision::Kind::kBind) places[decision.pod] = decision.node;
    if (decision.kind == oracle::Decision::Kind::kEvict) places.erase(decision.pod);
  }
  for (const std::string& pod : leaving) places.erase(pod);
  return places;
}

TEST(FirstMomentPropertyTest, TheFirstCycleIsThePlanOfTheCluster) {
  const auto [begin, end] = Seeds(300);
  int64_t bound = 0;
  for (uint64_t seed = begin; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const auto first = MomentOf(MakeRandomCluster(seed, {.sub_groups = seed % 2 == 0}));
    const SimWorkload workload = WorkloadOf(first, 0);
    const Config config = ParseConfig("{}");
    const auto run = Simulated(workload, config, {.until_ns = 0});
    EXPECT_EQ(run->timeline().cycles, 1);
    Places places;
    const Timeline::Stays& stays = run->timeline().stays;
    for (size_t i = 0; i < stays.job.size(); ++i) {
      if (stays.end[i] != static_cast<uint8_t>(StayEnd::kSimulationEnds)) continue;
      const auto input = run->timeline().jobs.input[static_cast<size_t>(stays.job[i])];
      const auto given = static_cast<size_t>(workload.jobs[static_cast<size_t>(input)].given);
      const FirstMoment::Pod& pod = first->groups()[given].pods[static_cast<size_t>(stays.pod[i])];
      places[NameInTable(pod.row)] = run->timeline().node_names[static_cast<size_t>(stays.node[i])];
    }
    ClusterRows rows = first->store().Rows();
    rows.params = first->params();
    const Plan plan = RunPlan(Session(config), std::move(rows).Build());
    EXPECT_EQ(places, PlannedPlaces(*first, plan));
    bound += std::ranges::count(plan.decisions, CycleLog::Decision::Kind::kBind,
                                &CycleLog::Decision::kind);
  }
  EXPECT_GT(bound, static_cast<int64_t>(end - begin) / 2);
}

TEST(FirstMomentPropertyTest, AccountsForAllJobsOfASimulationFromACluster) {
  const auto [begin, end] = Seeds(100);
  int64_t ended = 0;
  for (uint64_t seed = begin; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    const auto first = MomentOf(MakeRandomCluster(seed, {.sub_groups = seed % 2 == 0}));
    SimWorkload workload = WorkloadOf(first, 1);
    for (SimJob& job : workload.jobs) {
      job.duration_ns = random.Below(60) * kSecondNs;
      if (random.Coin()) job.checkpoint_ns = SimJob::kNeverSaved;
    }
    if (!workload.nodes.empty() && random.Coin()) {
      workload.windows = {{.node = random.Pick(workload.nodes).name,
                           .from_ns = 10 * kSecondNs,
                           .until_ns = 30 * kSecondNs,
                           .drains = true}};
    }
    const SimOptions options{.until_ns = 300 * kSecondNs,
                             .startup_ns = random.Below(3) * kSecondNs,
                             .terminate_ns = random.Below(3) * kSecondNs};
    const auto run = Simulated(workload, ParseConfig("{}"), options);
    ExpectTimeIsAccountedFor(workload, run->timeline());
    const std::vector<int64_t>& ends = run->timeline().jobs.end_ns;
    ended += std::ssize(ends) - std::ranges::count(ends, Timeline::kNever);
  }
  EXPECT_GT(ended, static_cast<int64_t>(end - begin));
}

}  // namespace
}  // namespace kai::first_moment_test
