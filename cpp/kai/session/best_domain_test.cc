#include "kai/session/best_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "kai/session/plans_for_test.h"

namespace kai::best_domain_test {
namespace {

// Rack r1 with the nodes n1 and n2, and r2 with n3.
ClusterMaker Racks(const NodeSpec& second) {
  ClusterMaker maker = MakeCluster();
  maker.Queue("q").Add(
      TopologyRow{.name = "site", .levels = {{.node_label = "rack", .alias = {}}}});
  NodeSpec spec = second;
  spec.labels = {{"rack", "r1"}};
  maker.Node("n1", {.gpus = 4, .labels = {{"rack", "r1"}}}).Node("n2", spec);
  maker.Node("n3", {.gpus = 4, .labels = {{"rack", "r2"}}});
  return maker;
}

std::optional<BestDomain> BestFor(ClusterMaker maker, std::vector<std::string>* names) {
  maker.Pending("q/p", {.pods = 2, .gpus = 4, .millicpu = 4000, .min_member = 2});
  for (PodGroupRow& group : maker.rows().pod_groups) {
    if (group.name == "p")
      group.topology = {.topology = "site", .required_level = "rack", .preferred_level = {}};
  }
  const Config config = ParseConfig("");
  const Plan plan = RunPlan(Session(config), maker.Build());
  const std::vector<PodGroupId> groups = {PodGroupNamed(*plan.cluster, "q/p")};
  const GpuAccount account = AccountOf(plan, TableOf(plan));
  const GroupPlaces places = PlacesOf(plan, account, config, groups).front();
  EXPECT_TRUE(NeedsOneDomain(plan, groups.front()));
  std::optional<BestDomain> best =
      BestDomainOf(plan, groups.front(), places, FreeAfter(plan, account));
  if (!best) return best;
  for (const BestDomain::Lack& each : best->lacks)
    names->emplace_back(plan.cluster->Text(plan.cluster->nodes().name[each.first]));
  return best;
}

TEST(BestDomainTest, HasTheObstaclesOfItsNodes) {
  std::vector<std::string> short_nodes;
  const auto best = BestFor(Racks({.gpus = 4, .cordoned = true}), &short_nodes);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->name, "r1") << "r2 has the same room, and never more";
  EXPECT_EQ(best->domains, 2);
  EXPECT_EQ(best->room, 1);
  EXPECT_EQ(best->most, 2);
  EXPECT_EQ(best->nodes.size(), 1);
  ASSERT_EQ(best->obstacles.size(), 1);
  EXPECT_EQ(best->obstacles[0].nodes.size(), 1);
  EXPECT_TRUE(short_nodes.empty());
}

TEST(BestDomainTest, NamesTheResourceThatItsNodesLack) {
  std::vector<std::string> short_nodes;
  ClusterMaker maker = Racks({.gpus = 4, .millicpu = 8000});
  maker.Running("q/x", {.millicpu = 6000, .node = "n2", .priority = 200});
  const auto best = BestFor(maker, &short_nodes);
  ASSERT_TRUE(best.has_value());
  ASSERT_EQ(best->lacks.size(), 1);
  EXPECT_EQ(best->lacks[0].slot, kCpuSlot);
  EXPECT_EQ(best->lacks[0].nodes, 1);
  EXPECT_THAT(short_nodes, ::testing::ElementsAre("n2"));
}

}  // namespace
}  // namespace kai::best_domain_test
