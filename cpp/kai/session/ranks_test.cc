#include "kai/session/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kai/session/plans_for_test.h"

namespace kai::ranks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Two racks, n1 and n3 in the first, and a gang ns/g that fills both.
ClusterMaker TwoRacks() {
  return MakeCluster()
      .Add(TopologyRow{.name = "t", .levels = {{.node_label = "rack", .alias = ""}}})
      .Node("n1", {.gpus = 1, .labels = {{"rack", "r1"}}})
      .Node("n2", {.gpus = 2, .labels = {{"rack", "r2"}}})
      .Node("n3", {.gpus = 1, .labels = {{"rack", "r1"}}})
      .Pending("ns/g", {.pods = 4, .gpus = 1, .min_member = 4});
}

// The pod's node and domain, by rank.
std::map<int32_t, std::pair<std::string, std::string>> RanksOf(ClusterMaker maker,
                                                               bool has_topology = true) {
  if (has_topology)
    maker.rows().pod_groups.back().topology = {
        .topology = "t", .required_level = "", .preferred_level = "rack"};
  const Plan plan = RunPlan(Session(ParseConfig("")), maker.Build());
  std::map<int32_t, std::pair<std::string, std::string>> ranks;
  for (const Plan::TopologyRank& each : plan.ranks) {
    for (const CycleLog::Decision& decision : plan.decisions) {
      if (decision.pod != each.pod) continue;
      const Cluster& cluster = *plan.cluster;
      ranks[each.rank] = {std::string(cluster.Text(cluster.nodes().name[decision.node])),
                          cluster.topologies()[each.topology].Text(each.domain, cluster.names())};
    }
  }
  return ranks;
}

TEST(RanksTest, AreAssignedDomainByDomainAndNodeByNode) {
  EXPECT_THAT(RanksOf(TwoRacks()),
              ElementsAre(Pair(0, Pair("n1", "r1")), Pair(1, Pair("n3", "r1")),
                          Pair(2, Pair("n2", "r2")), Pair(3, Pair("n2", "r2"))));
}

TEST(RanksTest, AreOnlyForGroupsWithATopologyConstraint) {
  EXPECT_THAT(RanksOf(TwoRacks(), /*has_topology=*/false), IsEmpty());
}

TEST(RanksTest, RunningPodsKeepTheirRanks) {
  ClusterMaker maker = TwoRacks();
  maker.Running("ns/g", {.pods = 1, .node = "n1"});
  maker.rows().pods.back().topology_rank = 1;
  const auto ranks = RanksOf(std::move(maker));
  EXPECT_FALSE(ranks.contains(1));
  EXPECT_TRUE(ranks.contains(4));
}

}  // namespace
}  // namespace kai::ranks_test
