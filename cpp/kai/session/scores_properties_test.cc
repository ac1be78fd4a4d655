// The scores of nodes for one pod: random clusters (the seed is printed), and the names of scorers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/placement/score_sheet.h"
#include "kai/session/config.h"
#include "kai/session/plans_for_test.h"
#include "kai/session/session.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/matchers/matchers.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::scores_properties_test {
namespace {

using ::testing::ElementsAre;

using Kind = CycleLog::Decision::Kind;

struct Watched {
  Plan plan;
  ScoreWatch scores;
  bool is_within_limits = false;  // of its queues, after the actions
};

Watched Watch(const Config& config, std::shared_ptr<Cluster> cluster, PodId pod) {
  ScoreWatch watch(pod);
  Watched watched{.plan = {}, .scores = ScoreWatch(pod)};
  const auto inspect = [&](const CycleView& cycle) {
    watched.scores = watch;
    watched.is_within_limits =
        cycle.placer->IsWithinLimits(cycle.cluster->pods().group[pod], {&pod, 1});
  };
  watched.plan =
      RunPlan(Session(config, {.inspect = inspect, .watch = &watch}), std::move(cluster));
  return watched;
}

std::string NameOf(const Cluster& cluster, NodeId node) {
  return node.valid() ? std::string(cluster.Text(cluster.nodes().name[node])) : "";
}

// The node on which the plan leaves each pod that it decides about; invalid: none.
std::map<PodId, NodeId> PlacesIn(const Plan& plan) {
  std::map<PodId, NodeId> places;
  for (const CycleLog::Decision& each : plan.decisions)
    places[each.pod] = each.kind == Kind::kEvict ? NodeId() : each.node;
  return places;
}

// A sheet with sums in plugin order, and rows in the order in which the engine prefers nodes.
void ExpectInOrder(const Cluster& cluster, const ScoreSheet& sheet) {
  std::set<NodeId> nodes;
  for (const ScoreSheet::Row& row : sheet.rows) {
    EXPECT_TRUE(nodes.insert(row.node).second) << NameOf(cluster, row.node);
    ASSERT_EQ(row.scores.size(), sheet.plugins.size());
    double sum = 0;
    for (const double score : row.scores) sum += score;
    EXPECT_EQ(row.sum, sum);
  }
  for (size_t i = 1; i < sheet.rows.size(); ++i) {
    const ScoreSheet::Row& better = sheet.rows[i - 1];
    const ScoreSheet::Row& row = sheet.rows[i];
    EXPECT_TRUE(better.sum > row.sum ||
                (better.sum == row.sum && NameOf(cluster, better.node) < NameOf(cluster, row.node)))
        << NameOf(cluster, row.node);
  }
  EXPECT_LE(sheet.rows.size(), static_cast<size_t>(sheet.searched));
}

// A random cluster of one of several kinds, with a configuration.
struct Sample {
  ClusterRows rows;
  std::string config_json;
};

std::string ConfigWithAllScorers(Random* random) {
  const char* strategy = random->OneIn(3) ? "spread" : "binpack";
  return StrCat(R"({"actions": "allocate, consolidation, reclaim, preempt", "plugins": {)",
                R"("podaffinity": {}, "numa": {}, "nodeplacement": {"gpu": ")", strategy,
                R"(", "cpu": ")", strategy, R"("})",
                random->OneIn(4) ? R"(, "placementpolicy": {"policy": "best-fit"})" : "",
                R"(}, "extras": {"preferred_node_affinity": true}})");
}

Sample SampleFor(uint64_t seed) {
  Random random(seed + 1);
  const auto topology = random.OneIn(3) ? std::optional(RandomTopologyOptions()) : std::nullopt;
  const auto sharers = random.OneIn(3) ? std::optional(RandomSharersOptions()) : std::nullopt;
  if (random.OneIn(3)) {
    CrowdedClusterOptions options;
    options.topology = topology;
    options.sharers = sharers;
    const CrowdedCluster crowded = MakeCrowdedCluster(seed, options);
    return {.rows = crowded.rows, .config_json = crowded.config_json};
  }
  Sample sample{
      .rows = MakeRandomCluster(
          seed, {.max_nodes = random.OneIn(3) ? 20 : 6, .sharers = sharers, .topology = topology}),
      .config_json = ConfigWithAllScorers(&random)};
  MakeLabelsUnique(&sample.rows);
  return sample;
}

// With all switches on, or as KAI.
class ScoresPropertyTest : public testing::TestWithParam<bool> {
 protected:
  template <typename Check>
  void ForSamples(uint64_t usual, const Check& check) const {
    ForSeeds(usual, [&](uint64_t seed) {
      Random random(seed);
      check(SampleFor(seed), &random);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Mode, ScoresPropertyTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "AsKai" : "Fixed");
});

TEST_P(ScoresPropertyTest, TheNodeThatThePlanChoosesHasTheHighestSum) {
  int placed = 0, waits = 0, distinct = 0;
  ForSamples(250, [&](const Sample& sample, Random* random) {
    const Config config = ParseConfig(sample.config_json, GetParam());
    const std::shared_ptr<Cluster> cluster = sample.rows.Build();
    const Plan plan = RunPlan(Session(config), cluster);
    const std::map<PodId, NodeId> places = PlacesIn(plan);
    std::vector<PodId> pods;
    for (const auto& [pod, node] : places) pods.push_back(pod);
    for (const PodId pod : cluster->pods().name.ids()) {
      if (!places.contains(pod) && cluster->pods().group[pod].valid()) pods.push_back(pod);
    }
    random->Shuffle(&pods);
    if (pods.size() > 6) pods.resize(6);
    for (const PodId pod : pods) {
      SCOPED_TRACE(cluster->PodName(pod));
      const Watched watched = Watch(config, cluster, pod);
      ASSERT_EQ(TextOf(watched.plan), TextOf(plan)) << "a watch changes the plan";
      ExpectInOrder(*cluster, watched.scores.start());
      const auto decided = places.find(pod);
      const NodeId node = decided == places.end() ? NodeId() : decided->second;
      ASSERT_EQ(NameOf(*cluster, watched.scores.node()), NameOf(*cluster, node));
      const ScoreSheet* sheet = watched.scores.placed();
      ASSERT_EQ(sheet != nullptr, node.valid());
      if (sheet == nullptr) {
        ++waits;
        continue;
      }
      ++placed;
      ExpectInOrder(*cluster, *sheet);
      ASSERT_FALSE(sheet->rows.empty());
      EXPECT_EQ(NameOf(*cluster, sheet->rows.front().node), NameOf(*cluster, node));
      distinct += sheet->rows.size() > 1 && sheet->rows[0].sum > sheet->rows[1].sum ? 1 : 0;
    }
  });
  if (std::getenv("KAI_SEEDS") != nullptr) return;
  EXPECT_GT(placed, 100);
  EXPECT_GT(waits, 100);
  EXPECT_GT(distinct, 50) << "too many of the sums are equal";
}

// spec 3 W1-W8
TEST_P(ScoresPropertyTest, BeforeThePlanTheSumsAreThoseOfThePlainScheduler) {
  int rows = 0;
  ForSamples(150, [&](const Sample& sample, Random* random) {
    Config config = ParseConfig(sample.config_json, GetParam());
    if (config.HasPlugin("placementpolicy")) return;  // the plain scheduler has none
    config.actions.clear();
    const std::shared_ptr<Cluster> cluster = sample.rows.Build();
    const oracle::World world(sample.rows, oracle::SettingsOf(config));
    std::vector<PodId> pods;
    for (const PodId pod : cluster->pods().name.ids()) {
      if (cluster->pods().status[pod] == PodStatus::kPending && cluster->pods().group[pod].valid())
        pods.push_back(pod);
    }
    random->Shuffle(&pods);
    if (pods.size() > 4) pods.resize(4);
    for (const PodId pod : pods) {
      const std::string name = cluster->PodName(pod);
      SCOPED_TRACE(name);
      const Watched watched = Watch(config, cluster, pod);
      // The plain scheduler refuses every node then; the engine refuses the group before.
      if (!watched.is_within_limits) continue;
      const ScoreSheet& sheet = watched.scores.start();
      const oracle::Choice choice = oracle::FindNode(world, name);
      ASSERT_EQ(sheet.rows.empty() ? "" : NameOf(*cluster, sheet.rows.front().node), choice.node);
      for (const ScoreSheet::Row& row : sheet.rows) {
        const std::string node = NameOf(*cluster, row.node);
        EXPECT_TRUE(oracle::PassesFilters(world, name, node)) << node;
        EXPECT_EQ(row.sum, oracle::ScoreOf(world, name, node)) << node;
        ++rows;
      }
    }
  });
  if (std::getenv("KAI_SEEDS") != nullptr) return;
  EXPECT_GT(rows, 100);
}

TEST(ScorerNamesTest, AreThoseOfTheConfigurationInItsOrder) {
  const std::shared_ptr<Cluster> cluster =
      MakeCluster().Node("n", {.gpus = 1}).Pending("ns/p", {.gpus = 1}).Build();
  const auto plugins_of = [&](std::string_view json) {
    return Watch(ParseConfig(json), cluster, PodNamed(*cluster, "ns/p-0")).scores.start().plugins;
  };
  EXPECT_THAT(plugins_of(R"({"actions": "allocate", "tiers": [{"plugins": [
                  {"name": "nodeplacement"}, {"name": "predicates"}, {"name": "nodeavailability"},
                  {"name": "gpupack"}, {"name": "resourcetype"}, {"name": "podaffinity"},
                  {"name": "numa"}, {"name": "topology"}, {"name": "nominatednode"},
                  {"name": "gpusharingorder"}]}],
                  "extras": {"preferred_node_affinity": true}})"),
              ElementsAre("nodeplacement", "nodeavailability", "resourcetype", "podaffinity",
                          "nominatednode", "gpusharingorder", "preferred_node_affinity"))
      << "gpupack scores no nodes; no node has zones, and no group a topology";
  EXPECT_THAT(plugins_of(R"({"actions": "allocate", "plugins": {"placementpolicy": {}}})"),
              testing::AllOf(testing::Contains("placementpolicy"),
                             testing::Not(testing::Contains("nodeplacement"))));
}

}  // namespace
}  // namespace kai::scores_properties_test
