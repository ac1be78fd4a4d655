// Properties of every plan that evicts: crowded random clusters (the seed is printed), with KAI's
// weaknesses corrected and as in KAI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/fairshare/min_runtime.h"
#include "kai/model/columns/cluster.h"
#include "kai/session/config.h"
#include "kai/session/plans_for_test.h"
#include "kai/session/session.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/makers/statement_columns.h"
#include "kai/testing/matchers/matchers.h"
#include "kai/testing/oracle/slow_evictions.h"

namespace kai::eviction_properties_test {
namespace {

using Kind = CycleLog::Decision::Kind;

// ---- clusters and plans -------------------------------------------------------------------------

CrowdedClusterOptions ShapeFor(uint64_t seed) {
  Random random(seed + 1);
  CrowdedClusterOptions options;
  options.pod_affinity = random.OneIn(3);
  if (random.OneIn(8)) {  // sometimes more, so that searches take several steps
    options.max_nodes = 8;
    options.max_node_gpus = 8;
    options.max_running_groups = 20;
    options.max_pods = 7;
  }
  if (random.OneIn(3)) options.topology = RandomTopologyOptions();
  return options;
}

struct Sample {
  explicit Sample(uint64_t which)
      : seed(which), crowded(MakeCrowdedCluster(which, ShapeFor(which))), cluster(rows().Build()) {}
  const ClusterRows& rows() const { return crowded.rows; }

  uint64_t seed;
  CrowdedCluster crowded;
  std::shared_ptr<Cluster> cluster;
};

// With all switches on, or as KAI.
class EvictionPropertyTest : public testing::TestWithParam<bool> {
 protected:
  bool as_kai() const { return GetParam(); }

  // Calls `check` for a number of clusters, until a check fails.
  template <typename Check>
  void ForSamples(uint64_t usual, const Check& check) const {
    ForSeeds(usual, [&](uint64_t seed) {
      const Sample sample(seed);
      check(sample, ParseConfig(sample.crowded.config_json, as_kai()));
    });
  }
  template <typename Check>
  void ForPlans(uint64_t usual, const Check& check) const {
    ForSamples(usual, [&](const Sample& sample, const Config& config) {
      check(RunPlan(Session(config), sample.cluster), sample, config);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Mode, EvictionPropertyTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "AsKai" : "Fixed");
});

// ---- comparison with the plain search -----------------------------------------------------------

TEST_P(EvictionPropertyTest, TheShortcutsChangeNothing) {
  ForSamples(300, [&](const Sample& sample, const Config& config) {
    const Session plain(config, {.always_scan = true, .plain_search = true});
    EXPECT_EQ(TextOf(RunPlan(Session(config), sample.cluster)),
              TextOf(RunPlan(plain, sample.cluster)));
  });
}

// A full cluster in which most victims are alike, as where every job takes whole nodes: sibling
// queues hold nearly what they deserve, and waiting groups come before or after the victims.
ClusterRows MakeUniformCluster(uint64_t seed) {
  Random random(seed);
  ClusterMaker maker;
  const int64_t queues = random.Between(2, 3);
  const int64_t nodes = random.Between(40, 60);
  const int64_t gpus = random.Between(2, 4);  // of a node and of a victim
  const auto queue = [&] { return "q" + std::to_string(random.Below(queues)); };
  const auto priority = [&]() -> std::optional<int64_t> {
    return random.OneIn(8) ? std::optional<int64_t>(random.Coin() ? 40 : 60) : std::nullopt;
  };
  const auto wait = [&](const std::string& name, int64_t least) {
    const int64_t pods = random.OneIn(5) ? 2 : 1;
    maker.Pending(queue() + "/" + name, {.pods = static_cast<int>(pods),
                                         .gpus = random.Between(least, gpus),
                                         .min_member = random.OneIn(6) ? 1 : pods,
                                         .priority = priority()});
  };
  if (random.OneIn(3)) wait("old", 1);
  std::map<std::string, int64_t> held;
  const bool has_odd = random.OneIn(4);
  for (int64_t i = 0; i < nodes; ++i) {
    const std::string name = std::to_string(i);
    const bool is_odd = has_odd && random.OneIn(30);
    const std::string holder = "q" + std::to_string(i % queues);
    held[holder] += gpus;
    maker.Node("n" + name, {.gpus = gpus, .cordoned = random.OneIn(300)});
    maker.Running(holder + "/r" + name, {.gpus = is_odd && random.Coin() ? 1 : gpus,
                                         .millicpu = is_odd && random.Coin() ? 2000 : 1000,
                                         .node = is_odd && random.OneIn(3) ? "lost" : "n" + name,
                                         .priority = priority()});
  }
  for (int64_t i = random.Between(1, 3); i > 0; --i) wait("large" + std::to_string(i), gpus);
  for (int64_t i = random.Between(2, 5); i > 0; --i) wait("new" + std::to_string(i), 1);
  const std::string parent = random.OneIn(4) ? "all" : "";
  if (!parent.empty()) maker.Queue(parent, {.deserved_gpus = kUnlimited});
  const bool by_weight = random.OneIn(3);
  for (int64_t i = 0; i < queues; ++i) {
    const std::string name = "q" + std::to_string(i);
    const auto near = static_cast<double>(held[name] + random.Between(-gpus, gpus));
    maker.Queue(name, {.parent = parent,
                       .deserved_gpus = by_weight ? 0 : near,
                       .limit_gpus = random.OneIn(10) ? near : kUnlimited,
                       .weight_gpus = by_weight ? near : 1,
                       .priority = random.OneIn(9) ? 200 : 100});
  }
  return maker.Rows();
}

TEST_P(EvictionPropertyTest, TheShortcutsChangeNothingWhereVictimsAreAlike) {
  ForSeeds(300, [&](uint64_t seed) {
    const std::shared_ptr<Cluster> cluster = MakeUniformCluster(seed).Build();
    const Config config = ParseConfig("{}", as_kai());
    const Session plain(config, {.always_scan = true, .plain_search = true});
    EXPECT_EQ(
        FirstDifference(TextOf(RunPlan(Session(config), cluster)), TextOf(RunPlan(plain, cluster))),
        "");
  });
}

// Adds one or two copies of some waiting groups, each a little younger than the one before.
ClusterRows WithTwins(ClusterRows rows, uint64_t seed) {
  Random random(seed);
  std::set<std::pair<std::string, std::string>> placed;
  for (const PodRow& pod : rows.pods) {
    if (pod.phase != Phase::kPending || !pod.node_name.empty())
      placed.emplace(pod.namespace_name, pod.pod_group);
  }
  const std::vector<PodGroupRow> groups = rows.pod_groups;
  const std::vector<PodRow> pods = rows.pods;
  for (const PodGroupRow& group : groups) {
    if (placed.contains({group.namespace_name, group.name})) continue;
    for (int64_t i = random.Below(3); i > 0; --i) {
      const std::string suffix = "-twin" + std::to_string(i);
      PodGroupRow twin = group;
      twin.name += suffix;
      if (twin.created_ns) *twin.created_ns += random.Below(3) * 1'000'000'000;
      rows.pod_groups.push_back(std::move(twin));
      for (PodRow pod : pods) {
        if (pod.namespace_name != group.namespace_name || pod.pod_group != group.name) continue;
        pod.name += suffix;
        pod.uid += suffix;
        pod.pod_group += suffix;
        rows.pods.push_back(std::move(pod));
      }
    }
  }
  return rows;
}

TEST_P(EvictionPropertyTest, ReasonsOfOneGroupHoldForEqualGroups) {
  ForSamples(200, [&](const Sample& sample, const Config& config) {
    const std::shared_ptr<Cluster> cluster = WithTwins(sample.rows(), sample.seed).Build();
    const Session plain(config, {.always_scan = true, .plain_search = true});
    EXPECT_EQ(
        FirstDifference(TextOf(RunPlan(Session(config), cluster)), TextOf(RunPlan(plain, cluster))),
        "");
  });
}

TEST_P(EvictionPropertyTest, DecidesLikeThePlainSchedulerOneByOne) {
  ForPlans(60, [&](const Plan& plan, const Sample& sample, const Config& config) {
    oracle::World world(sample.rows(), oracle::SettingsOf(config));
    EXPECT_EQ(DecisionsOf(plan), oracle::RunCycle(&world, config.actions));
  });
}

// ---- the state of the cluster after the decisions -----------------------------------------------

// The oracle's world after carrying out the decisions one by one.
oracle::World WorldAfter(const Plan& plan, const Sample& sample, const Config& config) {
  oracle::World world(sample.rows(), oracle::SettingsOf(config));
  for (const oracle::Decision& each : DecisionsOf(plan)) {
    switch (each.kind) {
      case oracle::Decision::Kind::kBind:
        world.Place(each.pod, each.node);
        break;
      case oracle::Decision::Kind::kPipeline:
        world.Pipeline(each.pod, each.node);
        break;
      case oracle::Decision::Kind::kEvict:
        world.Evict(each.pod);
        break;
    }
  }
  return world;
}

double AmountOf(const oracle::Amounts& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

TEST_P(EvictionPropertyTest, LedgersAndQueuesAgreeWithTheDecisions) {
  ForSamples(60, [&](const Sample& sample, const Config& with_any) {
    Config config = with_any;
    config.switches.Set(Switch::kSingleVictims, true);  // decisions do not show second charges
    std::map<std::string, double> seen;
    const auto look = [&](const CycleView& cycle) {
      const Cluster& cluster = *cycle.cluster;
      const NodeColumns& nodes = cluster.nodes();
      for (const NodeId node : nodes.name.ids()) {
        for (size_t i = 0; i < nodes.idle.slots(); ++i) {
          const std::string at =
              StrCat(cluster.Text(nodes.name[node]), " ", cluster.slots().Name(ResourceSlot(i)));
          seen[at + " idle"] = nodes.idle[node][i];
          seen[at + " releasing"] = nodes.releasing[node][i];
          seen[at + " used"] = nodes.used[node][i];
        }
      }
      if (!config.HasPlugin("proportion")) return;  // without it nothing is counted
      for (const QueueId queue : cluster.queues().name.ids()) {
        const QueueView numbers = (*cycle.shares)[queue];
        for (size_t i = 0; i < kQuotaResources; ++i) {
          const std::string at = StrCat(cluster.Text(cluster.queues().name[queue]), " ", i);
          seen[at + " allocated"] = numbers.allocated()[i];
          seen[at + " non-preemptible"] = numbers.allocated_non_preemptible()[i];
        }
      }
    };
    const Plan plan = RunPlan(Session(config, {.inspect = look}), sample.cluster);
    const oracle::World world = WorldAfter(plan, sample, config);
    std::map<std::string, double> expected;
    const NodeColumns& nodes = plan.cluster->nodes();
    for (const std::string& node : world.Nodes()) {
      const oracle::Amounts idle = world.Idle(node);
      const oracle::Amounts releasing = world.Releasing(node);
      const oracle::Amounts used = world.Used(node);
      for (size_t i = 0; i < nodes.idle.slots(); ++i) {
        const std::string name(plan.cluster->slots().Name(ResourceSlot(i)));
        const std::string its = i == kGpuSlot.index() ? "gpu" : name;
        expected[StrCat(node, " ", name, " idle")] = AmountOf(idle, its);
        expected[StrCat(node, " ", name, " releasing")] = AmountOf(releasing, its);
        expected[StrCat(node, " ", name, " used")] = AmountOf(used, its);
      }
    }
    for (const auto& [queue, numbers] : oracle::NumbersOf(world)) {
      if (!config.HasPlugin("proportion")) break;
      for (size_t i = 0; i < kQuotaResources; ++i) {
        expected[StrCat(queue, " ", i, " allocated")] = numbers.allocated[i];
        expected[StrCat(queue, " ", i, " non-preemptible")] = numbers.allocated_non_preemptible[i];
      }
    }
    EXPECT_EQ(seen, expected);
  });
}

TEST_P(EvictionPropertyTest, ACycleRestoresEveryBitOfTheCluster) {
  ForSamples(100, [&](const Sample& sample, const Config& config) {
    ClusterRows rows = sample.rows();
    MakeAmountsInexact(&rows);
    const std::shared_ptr<Cluster> cluster = rows.Build();
    const StatementColumns before(*cluster);
    RunPlan(Session(config), cluster);
    EXPECT_TRUE(before == StatementColumns(*cluster));
  });
}

// ---- rules that hold for every plan -------------------------------------------------------------

bool IsByStaleness(const CycleLog::Decision& decision) {
  return decision.action == "stalegangeviction";
}

TEST_P(EvictionPropertyTest, OnlyPreemptibleGroupsAreEvictedForOthers) {
  ForPlans(250, [&](const Plan& plan, const Sample&, const Config&) {
    for (const CycleLog::Decision& decision : plan.decisions) {
      if (decision.kind != Kind::kEvict || IsByStaleness(decision)) continue;
      const PodGroupColumns& groups = plan.cluster->pod_groups();
      const PodGroupId group = plan.cluster->pods().group[decision.pod];
      EXPECT_NE(groups.preemptible[group], 0) << plan.cluster->PodName(decision.pod);
      EXPECT_NE(group, decision.for_group);
      if (decision.action == "preempt") {
        EXPECT_EQ(groups.queue[group], groups.queue[decision.for_group]);
        EXPECT_LT(groups.priority[group], groups.priority[decision.for_group]);
      } else if (decision.action == "reclaim") {
        EXPECT_NE(groups.queue[group], groups.queue[decision.for_group]);
      }
    }
  });
}

TEST_P(EvictionPropertyTest, AProtectedGroupLosesAtMostPodsAboveItsMinimum) {
  ForPlans(250, [&](const Plan& plan, const Sample& sample, const Config& config) {
    if (!config.HasPlugin("minruntime")) return;
    const Cluster& cluster = *plan.cluster;
    const oracle::World world(sample.rows(), oracle::SettingsOf(config));
    const auto queue_of = [&](PodGroupId group) {
      return cluster.Text(cluster.queues().name[cluster.pod_groups().queue[group]]);
    };
    const PodColumns& pods = cluster.pods();
    const SubGroupColumns& sets = cluster.sub_groups();
    std::map<SubGroupId, int32_t> running;
    for (const SubGroupId pod_set : cluster.pod_groups().pod_set_list) {
      // KAI counts pods that are leaving already as running.
      running[pod_set] =
          as_kai() ? sets.counts[pod_set].active_used() : sets.counts[pod_set].active_allocated();
    }
    // A waiting pod that starts compensates for one that leaves; as KAI, also one that has to wait.
    for (const CycleLog::Decision& decision : plan.decisions) {
      const bool starts = decision.kind == Kind::kBind;
      if ((starts || (as_kai() && decision.kind == Kind::kPipeline)) &&
          pods.status[decision.pod] == PodStatus::kPending)
        ++running[pods.pod_set[decision.pod]];
    }
    std::map<std::pair<PodGroupId, SubGroupId>, int32_t> taken;  // by group and sub-group
    for (const CycleLog::Decision& decision : plan.decisions) {
      const PodGroupId group = pods.group[decision.pod];
      const SubGroupId pod_set = pods.pod_set[decision.pod];
      if (decision.kind != Kind::kEvict) continue;
      if (!as_kai()) --running[pod_set];
      if (decision.action != "preempt" && decision.action != "reclaim") continue;
      const int32_t lost = ++taken[std::pair(decision.for_group, pod_set)];
      const int64_t runtime_ns = oracle::MinRuntimeNs(
          world, std::string(decision.action), queue_of(decision.for_group), queue_of(group));
      const int64_t started_ns = cluster.pod_groups().last_start_ns[group];
      if (kTestNowNs >= MinRuntime::EndOf(started_ns, runtime_ns)) continue;
      int32_t minimum = sets.minimum[pod_set];
      if (config.switches.on(Switch::kCompletedPods))
        minimum -= sets.counts[pod_set][PodStatus::kSucceeded];
      EXPECT_GE(running[pod_set] - (as_kai() ? lost : 0), minimum) << cluster.PodName(decision.pod);
    }
  });
}

TEST_P(EvictionPropertyTest, ConsolidationLosesNoPod) {
  ForPlans(250, [&](const Plan& plan, const Sample&, const Config&) {
    for (size_t i = 0; i < plan.decisions.size(); ++i) {
      const CycleLog::Decision& decision = plan.decisions[i];
      if (decision.kind != Kind::kEvict || decision.action != "consolidation") continue;
      const auto next = std::find_if(plan.decisions.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                     plan.decisions.end(),
                                     [&](const auto& each) { return each.pod == decision.pod; });
      ASSERT_NE(next, plan.decisions.end()) << plan.cluster->PodName(decision.pod);
      EXPECT_EQ(next->kind, Kind::kPipeline) << plan.cluster->PodName(decision.pod);
    }
  });
}

// True if enough of a set runs for its minimum, counting these pods.
bool IsWhole(const Cluster& cluster, SubGroupId set, const std::map<SubGroupId, int32_t>& active) {
  const SubGroupColumns& sets = cluster.sub_groups();
  int32_t count = 0;
  if (sets.is_pod_set[set] != 0) {
    const auto found = active.find(set);
    count = found == active.end() ? 0 : found->second;
    count += sets.counts[set][PodStatus::kSucceeded];
  } else {
    for (const SubGroupId child : sets.ChildrenOf(set))
      count += IsWhole(cluster, child, active) ? 1 : 0;
  }
  return count >= sets.minimum[set];
}

TEST_P(EvictionPropertyTest, GangsAreEvictedWholeOrKeepTheirMinimum) {
  if (as_kai()) return;
  ForPlans(250, [&](const Plan& plan, const Sample&, const Config&) {
    const Cluster& cluster = *plan.cluster;
    const PodColumns& pods = cluster.pods();
    std::map<SubGroupId, int32_t> before;
    std::set<PodId> active;
    for (const PodId pod : pods.name.ids()) {
      if (!IsActiveAllocated(pods.status[pod]) || !pods.pod_set[pod].valid()) continue;
      active.insert(pod);
      ++before[pods.pod_set[pod]];
    }
    std::set<PodGroupId> losers;
    for (const CycleLog::Decision& decision : plan.decisions) {
      if (decision.kind != Kind::kEvict) {
        active.insert(decision.pod);
        continue;
      }
      active.erase(decision.pod);
      losers.insert(pods.group[decision.pod]);
    }
    std::map<SubGroupId, int32_t> after;
    std::map<PodGroupId, int32_t> left;
    for (const PodId pod : active) {
      if (!pods.pod_set[pod].valid()) continue;
      ++after[pods.pod_set[pod]];
      ++left[pods.group[pod]];
    }
    for (const PodGroupId group : losers) {
      const SubGroupId root = cluster.pod_groups().root[group];
      if (!IsWhole(cluster, root, before) || left[group] == 0) continue;
      EXPECT_TRUE(IsWhole(cluster, root, after)) << cluster.PodGroupName(group);
    }
  });
}

TEST_P(EvictionPropertyTest, PodsGetPlacesOnlyIfTheirGangIsWholeWithoutLeavingPods) {
  if (as_kai()) return;
  ForPlans(250, [&](const Plan& plan, const Sample&, const Config&) {
    const Cluster& cluster = *plan.cluster;
    const PodColumns& pods = cluster.pods();
    std::set<PodId> active;
    for (const PodId pod : pods.name.ids()) {
      if (IsActiveAllocated(pods.status[pod])) active.insert(pod);
    }
    std::set<PodId> placed;
    for (const CycleLog::Decision& decision : plan.decisions) {
      if (decision.kind == Kind::kEvict) {
        active.erase(decision.pod);
      } else {
        active.insert(decision.pod);
        placed.insert(decision.pod);
      }
    }
    std::map<SubGroupId, int32_t> after;
    for (const PodId pod : active) {
      if (pods.pod_set[pod].valid()) ++after[pods.pod_set[pod]];
    }
    for (const PodId pod : placed) {
      for (SubGroupId set = pods.pod_set[pod]; set.valid(); set = cluster.sub_groups().parent[set])
        EXPECT_TRUE(IsWhole(cluster, set, after)) << cluster.PodName(pod);
    }
  });
}

TEST_P(EvictionPropertyTest, NoPodIsPlacedAndEvictedInOnePlan) {
  if (as_kai()) return;
  ForPlans(250, [&](const Plan& plan, const Sample&, const Config&) {
    std::set<PodId> placed;
    std::set<PodId> evicted;
    for (const CycleLog::Decision& decision : plan.decisions) {
      const std::string name = plan.cluster->PodName(decision.pod);
      if (decision.kind == Kind::kEvict) {
        EXPECT_FALSE(placed.contains(decision.pod)) << name;
        EXPECT_TRUE(evicted.insert(decision.pod).second) << name;
      } else {
        EXPECT_TRUE(placed.insert(decision.pod).second) << name;
      }
    }
  });
}

// ---- budgets ------------------------------------------------------------------------------------

bool ReportsSpentBudget(const Plan& plan) {
  for (const PodGroupId group : plan.cluster->pod_groups().name.ids()) {
    for (const ReportedReason& reason : ReasonsOf(plan, group)) {
      if (reason.code == reason_codes::kSearchBudgetSpent) return true;
    }
  }
  return false;
}

TEST_P(EvictionPropertyTest, ASearchThatStopsEarlyIsReported) {
  ForSamples(150, [&](const Sample& sample, Config config) {
    const Plan whole = RunPlan(Session(config), sample.cluster);
    EXPECT_FALSE(ReportsSpentBudget(whole));
    for (const int64_t most : {1, 3}) {
      config.budgets.job_scenarios = most;
      const Plan cut = RunPlan(Session(config), sample.cluster);
      if (!ReportsSpentBudget(cut)) {
        EXPECT_EQ(DecisionsText(cut), DecisionsText(whole)) << most;
      }
      EXPECT_EQ(TextOf(cut), TextOf(RunPlan(Session(config), sample.cluster)));
    }
  });
}

// A clock that advances with every call.
class ImpatientClock final : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_ += 1'000'000'000; }

 private:
  mutable int64_t now_ns_ = 0;
};

TEST_P(EvictionPropertyTest, ASearchThatRunsOutOfTimeIsReported) {
  ForSamples(100, [&](const Sample& sample, Config config) {
    const Plan whole = RunPlan(Session(config), sample.cluster);
    config.budgets.job_ns = 5'000'000'000;
    config.budgets.generator_ns = {{"default", 0}};
    const ImpatientClock clock;
    const Plan cut = RunPlan(Session(config), sample.cluster, &clock);
    if (!ReportsSpentBudget(cut)) {
      EXPECT_EQ(DecisionsText(cut), DecisionsText(whole));
    }
  });
}

TEST_P(EvictionPropertyTest, APlanCutByTimeIsReproducedFromItsScenarioCounts) {
  int cuts = 0;
  ForSamples(200, [&](const Sample& sample, Config config) {
    config.budgets.job_ns = 9'000'000'000;
    config.budgets.action_ns = {{"default", 20'000'000'000}};
    config.budgets.generator_ns = {{"default", 4'000'000'000}};
    const ImpatientClock clock;
    const Plan cut = RunPlan(Session(config), sample.cluster, &clock);
    cuts += cut.spent_searches.empty() ? 0 : 1;
    config.budgets.searches.emplace(cut.spent_searches.begin(), cut.spent_searches.end());
    EXPECT_EQ(TextOf(RunPlan(Session(config), sample.cluster, &clock)), TextOf(cut));
  });
  EXPECT_GT(cuts, 10);
}

// ---- measurement of excess victims --------------------------------------------------------------

// A measurement and not a property (docs/performance.md): run it by name, with
// --gtest_also_run_disabled_tests.
TEST_P(EvictionPropertyTest, DISABLED_ExcessVictims) {
  struct Sum {
    int64_t searches = 0, with_fewer = 0, victims = 0, fewest = 0;
  };
  std::map<std::string, Sum> sums;
  ForSamples(20'000, [&](const Sample& sample, const Config& config) {
    oracle::World world(sample.rows(), oracle::SettingsOf(config));
    for (const oracle::Excess& each : oracle::ExcessOf(&world, config.actions, 12)) {
      Sum& sum = sums[each.action];
      ++sum.searches;
      sum.with_fewer += each.fewest < each.victims ? 1 : 0;
      sum.victims += each.victims;
      sum.fewest += each.fewest;
    }
  });
  for (const auto& [action, sum] : sums) {
    std::cout << action << ": " << sum.searches << " searches, " << sum.with_fewer
              << " with too many, " << sum.victims << " pods where " << sum.fewest << " would do\n";
  }
}

}  // namespace
}  // namespace kai::eviction_properties_test
