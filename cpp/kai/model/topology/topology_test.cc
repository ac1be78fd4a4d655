#include "kai/model/topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::topology_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TopologyRow ZonesAndRacks() {
  return {.name = "t",
          .levels = {{.node_label = "zone", .alias = "z"}, {.node_label = "rack", .alias = ""}}};
}

std::vector<std::string> DomainsOf(const Cluster& cluster, const DomainTree& tree) {
  std::vector<std::string> texts;
  for (const TopologyDomainId domain : tree.ids())
    texts.push_back(tree.Text(domain, cluster.names()));
  return texts;
}

std::vector<std::string> NodesIn(const Cluster& cluster, std::span<const NodeId> nodes) {
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.emplace_back(cluster.Text(cluster.nodes().name[node]));
  return names;
}

class DomainTreeTest : public testing::Test {
 protected:
  DomainTreeTest() {
    maker_.Add(ZonesAndRacks())
        .Node("n1", {.labels = {{"zone", "z1"}, {"rack", "r1"}}})
        .Node("n2", {.labels = {{"zone", "z2"}, {"rack", "r1"}}})
        .Node("n3", {.labels = {{"zone", "z1"}, {"rack", "r2"}}})
        .Node("n4", {.labels = {{"zone", "z1"}, {"rack", "r1"}}})
        .Node("bare")
        .Node("no-rack", {.labels = {{"zone", "z1"}}})
        .Node("no-zone", {.labels = {{"rack", "r1"}}});
    cluster_ = maker_.Build();
  }
  const DomainTree& tree() const { return cluster_->topologies()[TopologyId(0)]; }
  TopologyDomainId Named(std::string_view text) const {
    for (const TopologyDomainId domain : tree().ids()) {
      if (tree().Text(domain, cluster_->names()) == text) return domain;
    }
    return TopologyDomainId();
  }

  ClusterMaker maker_;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(DomainTreeTest, EqualRacksOfTwoZonesAreTwoDomains) {  // spec 4 T7
  EXPECT_THAT(DomainsOf(*cluster_, tree()),
              ElementsAre("root", "z1", "z1.r1", "z1.r2", "z2", "z2.r1"));
  EXPECT_EQ(tree().DepthOf(Named("z1.r1")), 2);
  EXPECT_EQ(tree().ParentOf(Named("z2.r1")), Named("z2"));
}

TEST_F(DomainTreeTest, ChildrenAndNodesOfADomainAreRangesOfLists) {
  EXPECT_EQ(tree().FirstChild(Named("z1")), Named("z1.r1"));
  EXPECT_EQ(tree().Next(Named("z1.r1")), Named("z1.r2"));
  EXPECT_FALSE(tree().Next(Named("z1.r2")).valid());
  EXPECT_FALSE(tree().Next(DomainTree::kRoot).valid());
  EXPECT_FALSE(tree().FirstChild(Named("z2.r1")).valid());
  EXPECT_THAT(NodesIn(*cluster_, tree().NodesOf(Named("z1.r1"))), ElementsAre("n1", "n4"));
  EXPECT_THAT(NodesIn(*cluster_, tree().NodesOf(Named("z1"))),
              ElementsAre("no-rack", "n1", "n4", "n3"));
}

TEST_F(DomainTreeTest, ANodeCountsForTheLevelsAboveItsFirstMissingLabel) {  // spec 4 T6
  const NodeId no_rack = NodeNamed(*cluster_, "no-rack");
  EXPECT_EQ(tree().DomainOf(no_rack), Named("z1"));
  EXPECT_FALSE(tree().IsWhole(no_rack));
  EXPECT_FALSE(tree().DomainOf(NodeNamed(*cluster_, "no-zone")).valid());
  EXPECT_FALSE(tree().DomainOf(NodeNamed(*cluster_, "bare")).valid());
  const DomainTree whole = tree().OfWholeNodes(cluster_->names());
  EXPECT_FALSE(whole.DomainOf(no_rack).valid());
  EXPECT_EQ(whole.NodesOf(DomainTree::kRoot).size(), size_t{4});
}

TEST_F(DomainTreeTest, TheCommonDomainIsTheNarrowestThatContainsBoth) {
  EXPECT_EQ(tree().CommonOf(Named("z1.r1"), Named("z1.r2")), Named("z1"));
  EXPECT_EQ(tree().CommonOf(Named("z1.r1"), Named("z2.r1")), DomainTree::kRoot);
  EXPECT_EQ(tree().CommonOf(Named("z1"), Named("z1.r2")), Named("z1"));
  EXPECT_EQ(tree().AncestorAt(Named("z1.r2"), 1), Named("z1"));
  EXPECT_EQ(tree().AncestorAt(Named("z1.r2"), 0), DomainTree::kRoot);
}

TEST(TopologyConstraintTest, LevelsAreFoundByLabelAndByAlias) {  // spec 4 T4
  ClusterMaker maker = MakeCluster().Add(ZonesAndRacks()).Node("n").Pending("ns/g");
  maker.rows().pod_groups.back().topology = {
      .topology = "t", .required_level = "z", .preferred_level = "rack"};
  const auto cluster = maker.Build();
  ASSERT_EQ(cluster->topology_constraints().size(), size_t{1});
  const TopologyConstraint& constraint = cluster->topology_constraints()[TopologyConstraintId(0)];
  EXPECT_EQ(cluster->Text(constraint.required), "zone");
  EXPECT_EQ(constraint.required_depth, 1);
  EXPECT_EQ(constraint.preferred_depth, 2);
}

TEST(TopologyConstraintTest, MissingTopologiesAndLevelsAreUnknown) {
  ClusterMaker maker = MakeCluster().Add(ZonesAndRacks()).Node("n").Pending("ns/g").Pending("ns/h");
  maker.rows().pod_groups[0].topology = {
      .topology = "t", .required_level = "row", .preferred_level = ""};
  maker.rows().pod_groups[1].topology = {
      .topology = "other", .required_level = "zone", .preferred_level = ""};
  const auto cluster = maker.Build();
  const auto& constraints = cluster->topology_constraints();
  EXPECT_EQ(constraints[TopologyConstraintId(0)].required_depth, TopologyConstraint::kUnknownLevel);
  EXPECT_FALSE(constraints[TopologyConstraintId(1)].tree.valid());
}

TEST(TopologyConstraintTest, LevelsWithoutATopologySetNoConstraint) {  // spec 4 C5
  ClusterMaker maker = MakeCluster().Add(ZonesAndRacks()).Node("n").Pending("ns/g");
  maker.rows().pod_groups.back().topology = {
      .topology = "", .required_level = "zone", .preferred_level = ""};
  EXPECT_THAT(maker.Build()->topology_constraints(), IsEmpty());
}

}  // namespace
}  // namespace kai::topology_test
