// Properties of plans with a job order: crowded random clusters (the seed is printed).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kai/actions/job_order.h"
#include "kai/base/text.h"
#include "kai/session/arguments.h"
#include "kai/session/plans_for_test.h"
#include "kai/session/session.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/matchers/matchers.h"
#include "kai/testing/oracle/slow_evictions.h"

namespace kai::job_order_properties_test {
namespace {

// Adds estimates and attained service that job orders can compare, and copies of waiting groups
// with the same requests.
void AddHistories(Random* random, ClusterRows* rows) {
  const std::vector<int64_t> seconds = {0, 30, 60, 300, 400, 720, 900, 3600};
  const auto some_ns = [&] { return random->Pick(seconds) * kSecondNs; };
  for (PodGroupRow& group : rows->pod_groups) {
    if (group.created_ns && !random->OneIn(4))
      group.created_ns = kTestNowNs - 600 * kSecondNs - some_ns();
    if (!random->OneIn(4)) group.estimate_ns = some_ns();
    if (random->OneIn(3)) {
      group.service.run_ns = some_ns();
      group.service.gpu_ns = group.service.run_ns * random->Between(1, 4);
      if (random->Coin()) group.service.until_ns = kTestNowNs - some_ns();
    }
  }
  const std::vector<PodGroupRow> groups = rows->pod_groups;
  const std::vector<PodRow> pods = rows->pods;
  for (const PodGroupRow& group : groups) {
    if (!random->OneIn(3)) continue;
    PodGroupRow twin = group;
    twin.name += "-twin";
    if (random->Coin()) twin.estimate_ns = some_ns();
    if (random->Coin()) twin.service.run_ns = twin.service.gpu_ns = some_ns();
    bool waits = true;
    std::vector<PodRow> its;
    for (PodRow pod : pods) {
      if (pod.namespace_name != group.namespace_name || pod.pod_group != group.name) continue;
      waits = waits && pod.phase == Phase::kPending && pod.node_name.empty();
      pod.name += "-twin";
      pod.uid += "-twin";
      pod.pod_group = twin.name;
      its.push_back(std::move(pod));
    }
    if (!waits) continue;
    rows->pod_groups.push_back(std::move(twin));
    rows->pods.insert(rows->pods.end(), its.begin(), its.end());
  }
}

std::string WithJobOrder(std::string config, std::string_view policy, Random* random) {
  std::string arguments = StrCat(R"("policy": ")", policy, R"(")");
  if (random->OneIn(3))
    StrAppend(&arguments, R"(, "preempts": ")", random->Coin() ? "true" : "false", R"(")");
  if (random->OneIn(4)) arguments += R"(, "within": "priority")";
  if (random->OneIn(3)) arguments += R"(, "thresholds": "60, 900")";
  if (random->OneIn(4)) arguments += R"(, "lease": "60s")";
  if (random->OneIn(3)) arguments += R"(, "weightPriority": "100", "maxAge": "30m")";
  if (random->OneIn(3)) arguments += R"(, "favorSmall": "true")";
  const std::string plugin = StrCat(R"({"name": "joborder", "arguments": {)", arguments, "}}, ");
  constexpr std::string_view kList = R"("plugins": [)";
  config.insert(config.find(kList) + kList.size(), plugin);
  return config;
}

struct Sample {
  Sample(uint64_t seed, std::string_view policy, bool as_kai) {
    Random random(seed);
    CrowdedClusterOptions shape;
    shape.pod_affinity = random.OneIn(3);
    if (random.OneIn(4)) shape.topology = RandomTopologyOptions();
    CrowdedCluster crowded = MakeCrowdedCluster(seed, shape);
    rows = std::move(crowded.rows);
    AddHistories(&random, &rows);
    config = ParseConfig(WithJobOrder(crowded.config_json, policy, &random), as_kai);
    cluster = rows.Build();
  }

  ClusterRows rows;
  Config config;
  std::shared_ptr<Cluster> cluster;
};

class JobOrderPropertyTest : public testing::TestWithParam<std::string_view> {
 protected:
  template <typename Check>
  void ForSamples(uint64_t usual, const Check& check) const {
    ForSeeds(usual, [&](uint64_t seed) { check(Sample(seed, GetParam(), seed % 4 == 3)); });
  }
};

INSTANTIATE_TEST_SUITE_P(Policy, JobOrderPropertyTest, testing::ValuesIn(kJobPolicyNames),
                         [](const auto& policy) {
                           std::string name(policy.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(JobOrderPropertyTest, DecidesLikeThePlainSchedulerOneByOne) {
  int decisions = 0;
  ForSamples(60, [&](const Sample& sample) {
    const Plan plan = RunPlan(Session(sample.config), sample.cluster);
    oracle::World world(sample.rows, oracle::SettingsOf(sample.config));
    EXPECT_EQ(DecisionsOf(plan), oracle::RunCycle(&world, sample.config.actions));
    decisions += static_cast<int>(plan.decisions.size());
  });
  EXPECT_GT(decisions, 20);
}

TEST_P(JobOrderPropertyTest, TheShortcutsChangeNothing) {
  ForSamples(80, [&](const Sample& sample) {
    const Session plain(sample.config, {.always_scan = true, .plain_search = true});
    EXPECT_EQ(FirstDifference(TextOf(RunPlan(Session(sample.config), sample.cluster)),
                              TextOf(RunPlan(plain, sample.cluster))),
              "");
  });
}

TEST_P(JobOrderPropertyTest, APlanIsUnchangedUntilItsEnd) {
  int ends = 0;
  ForSamples(60, [&](const Sample& sample) {
    Config config = sample.config;
    config.actions = {"allocate", "preempt", "stalegangeviction"};  // job_order.h gives the reason
    const Session session(config);
    const Plan plan = RunPlan(session, sample.cluster);
    if (plan.holds.at_once) return;
    const bool is_for_ever = plan.holds.until_ns == CycleTime::kNever;
    ends += is_for_ever ? 0 : 1;
    const int64_t last_ns = is_for_ever ? kTestNowNs + 7200 * kSecondNs : plan.holds.until_ns - 1;
    for (const int64_t at_ns : {last_ns, kTestNowNs + (last_ns - kTestNowNs) / 3}) {
      EXPECT_EQ(
          FirstDifference(TextOf(plan), TextOf(RunPlan(session, sample.cluster, nullptr, at_ns))),
          "")
          << (at_ns - kTestNowNs) / 1e9;
    }
  });
  const bool moves = GetParam() != "fifo" && GetParam() != "sjf";
  EXPECT_GT(ends, moves ? 5 : -1);
}

TEST_P(JobOrderPropertyTest, NoGroupIsPreemptedForALaterOne) {
  int by_key = 0;  // the victim's priority is not lower
  ForSamples(100, [&](const Sample& sample) {
    const auto look = [&](const CycleView& cycle) {
      const JobOrder& order = *cycle.job_order();
      const PodGroupColumns& groups = cycle.cluster->pod_groups();
      for (const CycleLog::Decision& each : cycle.log->decisions) {
        if (each.action != "preempt") continue;
        const PodGroupId victim = cycle.cluster->pods().group[each.pod];
        if (groups.priority[victim] < groups.priority[each.for_group]) {
          if (order.options().within_priority) continue;
        } else {
          ++by_key;
          EXPECT_TRUE(order.options().preempts && order.IsBetter(each.for_group, victim));
        }
        EXPECT_FALSE(order.IsBetter(victim, each.for_group)) << cycle.cluster->PodName(each.pod);
      }
    };
    RunPlan(Session(sample.config, {.inspect = look}), sample.cluster);
  });
  const JobOrderOptions usual = JobOrderOptionsOf(
      ParseConfig(StrCat(R"({"plugins": {"joborder": {"policy": ")", GetParam(), R"("}}})")));
  EXPECT_GT(by_key, usual.preempts ? 0 : -1);
}

TEST_P(JobOrderPropertyTest, ServiceIsWrittenForGroupsThatLosePods) {
  int written = 0;
  ForSamples(60, [&](const Sample& sample) {
    const Plan plan = RunPlan(Session(sample.config), sample.cluster);
    const PodGroupColumns& groups = plan.cluster->pod_groups();
    std::map<PodGroupId, int> lost;
    for (const CycleLog::Decision& each : plan.decisions) {
      if (each.kind == CycleLog::Decision::Kind::kEvict)
        ++lost[plan.cluster->pods().group[each.pod]];
    }
    for (const PodGroupId group : groups.name.ids()) {
      const GroupOutcome outcome = plan.OutcomeOf(group);
      if (!outcome.writes.service) continue;
      ++written;
      const ServiceRow& before = groups.service[group];
      EXPECT_GE(outcome.writes.service->run_ns, before.run_ns);
      EXPECT_GE(outcome.writes.service->gpu_ns, before.gpu_ns);
      EXPECT_EQ(outcome.writes.service->until_ns, kTestNowNs);
      if (!lost.contains(group)) {
        EXPECT_EQ(outcome.writes.service->evictions, before.evictions);
      }
    }
  });
  EXPECT_GT(written, 10);
}

}  // namespace
}  // namespace kai::job_order_properties_test
