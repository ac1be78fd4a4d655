// Tests the worked examples (spec 4 E1-E13) with the plain scheduler; with KAI's settings where
// switches make a difference.
#include "kai/testing/oracle/slow_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::oracle::slow_topology_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Switches AsKai() {
  Switches switches;
  for (const Switch which : {Switch::kCommonDomain, Switch::kPinnedSiblings, Switch::kPartialLabels,
                             Switch::kTopologyLevels, Switch::kOptionalMembers}) {
    switches.Set(which, false);
  }
  return switches;
}

class SlowTopologyTest : public testing::Test {
 protected:
  void Levels(const std::vector<std::string>& levels, const std::string& name = "t") {
    TopologyRow row{.name = name, .levels = {}};
    for (const std::string& level : levels)
      row.levels.push_back({.node_label = level, .alias = ""});
    maker_.Add(row);
  }
  void Node(const std::string& name, const StringPairs& labels, int64_t gpus) {
    maker_.Node(name, {.gpus = gpus, .labels = labels});
  }
  void Gang(int pods, const TopologyConstraintRow& constraint) {
    maker_.Pending("ns/g", {.pods = pods, .gpus = 1, .min_member = pods});
    maker_.rows().pod_groups.back().topology = constraint;
  }
  void Part(const std::string& name, int pods, const TopologyConstraintRow& constraint,
            int64_t gpus = 1, int64_t minimum = -1) {
    SubGroupRow row;
    row.name = name;
    row.min_member = minimum < 0 ? pods : minimum;
    row.topology = constraint;
    parts_.push_back(row);
    maker_.Pending("ns/g", {.pods = pods, .gpus = gpus, .subgroup = name});
    maker_.rows().pod_groups.back().sub_groups = parts_;
  }

  // How many pods each node got.
  std::map<std::string, int> Placed(const Switches& switches = {}) {
    Settings settings;
    settings.plugins.insert(settings.plugins.begin(), "nodeavailability");
    settings.switches = switches;
    World world(maker_.Rows(), settings);
    std::map<std::string, int> placed;
    last_.clear();
    for (const Decision& each : Allocate(&world)) {
      ++placed[each.node];
      last_ += (last_.empty() ? "" : " ") + each.node;
    }
    return placed;
  }

  ClusterMaker maker_;
  std::vector<SubGroupRow> parts_;
  std::string last_;  // nodes, in the order of the decisions
};

StringPairs In(const std::string& zone, const std::string& rack) {
  return {{"zone", zone}, {"rack", rack}};
}
StringPairs InRack(const std::string& rack) { return {{"rack", rack}}; }
TopologyConstraintRow Constraint(const std::string& required, const std::string& preferred = "",
                                 const std::string& topology = "t") {
  return {.topology = topology, .required_level = required, .preferred_level = preferred};
}

TEST_F(SlowTopologyTest, E1FillsAZoneFromItsEmptiestRackOn) {
  Levels({"zone", "rack"});
  Node("a1-1", In("a", "a1"), 1);
  Node("a1-2", In("a", "a1"), 1);
  for (const char* rack : {"a2", "a3", "a4"}) Node(StrCat(rack, "-1"), In("a", rack), 1);
  for (const char* rack : {"b1", "b2", "b3"}) {
    for (const int node : {1, 2}) Node(StrCat(rack, "-", node), In("b", rack), 1);
  }
  Gang(3, Constraint("zone", "rack"));
  Placed();
  EXPECT_EQ(last_, "a1-1 a1-2 a4-1");
}

TEST_F(SlowTopologyTest, E2TakesTheTightestRack) {
  Levels({"rack"});
  Node("n1", InRack("r1"), 2);
  Node("n2", InRack("r1"), 8);
  Node("n3", InRack("r2"), 8);
  Node("n4", InRack("r2"), 8);
  Node("n5", InRack("r3"), 7);
  Gang(8, Constraint("rack"));
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 2), Pair("n2", 6)));
}

TEST_F(SlowTopologyTest, E3SpreadsOverTheRootWhereNoRackHoldsAll) {
  Levels({"rack"});
  Node("n1", InRack("r1"), 3);
  Node("n2", InRack("r2"), 2);
  Node("n3", InRack("r3"), 2);
  Gang(6, Constraint("", "rack"));
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 3), Pair("n2", 1), Pair("n3", 2)));
}

TEST_F(SlowTopologyTest, E4WidensLevelByLevel) {
  Levels({"zone", "rack"});
  Node("n1", In("z1", "r1"), 4);
  Node("n2", In("z1", "r2"), 4);
  Node("n3", In("z2", "r1"), 3);
  Node("n4", In("z2", "r2"), 6);
  Node("n5", In("z3", "r1"), 2);
  const ClusterMaker nodes = maker_;
  Gang(5, Constraint("", "rack"));
  EXPECT_THAT(Placed(), ElementsAre(Pair("n4", 5)));
  maker_ = nodes;
  Gang(8, Constraint("", "rack"));
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 4), Pair("n2", 4)));
  EXPECT_EQ(last_, "n2 n2 n2 n2 n1 n1 n1 n1");
  maker_ = nodes;
  Gang(10, Constraint("", "rack"));
  EXPECT_THAT(Placed(), ElementsAre(Pair("n2", 1), Pair("n3", 3), Pair("n4", 6)));
}

TEST_F(SlowTopologyTest, E5KeepsLaterPodsInTheDomainOfTheGang) {
  Levels({"rack"});
  Node("n1", InRack("r1"), 2);
  Node("n2", InRack("r2"), 8);
  Gang(4, Constraint("rack"));
  maker_.rows().pod_groups.back().min_member = 2;
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 2)));
}

TEST_F(SlowTopologyTest, E6GoesByTheOrderOfTheTree) {
  Levels({"zone", "spine", "rack"});
  const auto in = [](const std::string& spine, const std::string& rack) {
    return StringPairs{{"zone", "z"}, {"spine", spine}, {"rack", rack}};
  };
  for (const char* rack : {"r1", "r2", "r3"}) Node(StrCat("n-", rack), in("s1", rack), 1);
  Node("n-r4a", in("s2", "r4"), 1);
  Node("n-r4b", in("s2", "r4"), 1);
  Gang(1, Constraint("", "rack"));
  EXPECT_THAT(Placed(), ElementsAre(Pair("n-r4a", 1)));
}

TEST_F(SlowTopologyTest, E7RefusesUnequalPodsOfOneKind) {
  Levels({"rack"});
  Node("n1", InRack("r1"), 8);
  Node("n2", InRack("r1"), 8);
  Node("n3", InRack("r2"), 0);
  maker_.Pending("ns/g", {.pods = 1, .gpus = 8, .min_member = 5});
  maker_.Pending("ns/g", {.pods = 4, .gpus = 2});
  maker_.rows().pod_groups.back().topology = Constraint("rack");
  EXPECT_THAT(Placed(), IsEmpty());
  maker_.Pending("ns/g", {.pods = 1});
  maker_.rows().pod_groups.back().min_member = 6;
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 1), Pair("n2", 5)));
}

TEST_F(SlowTopologyTest, E8SplitsPartsThatPreferARack) {
  Levels({"rack"});
  Node("node0", InRack("r1"), 2);
  Node("node1", InRack("r2"), 2);
  Part("a", 2, Constraint("", "rack"), 1, 1);
  Part("b", 2, Constraint("", "rack"), 1, 1);
  Placed();
  EXPECT_EQ(last_, "node0 node0 node1 node1");
}

TEST_F(SlowTopologyTest, E9DoesNotMoveSiblings) {
  Levels({"zone", "rack"});
  Node("n1", In("z1", "r1"), 6);
  Node("n2", In("z1", "r2"), 5);
  Part("a", 3, Constraint("rack"));
  Part("b", 3, Constraint("rack"));
  Part("c", 5, Constraint("rack"));
  maker_.rows().pod_groups.back().topology = Constraint("zone");
  EXPECT_THAT(Placed(), IsEmpty());
}

TEST_F(SlowTopologyTest, E10FindsNoZoneAroundASingleRackAsKai) {
  Levels({"zone", "rack"});
  Node("n1", In("z1", "r1"), 8);
  Node("n2", In("z1", "r1"), 8);
  Gang(2, Constraint("zone"));
  EXPECT_THAT(Placed(AsKai()), IsEmpty());
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 2)));
  maker_.rows().pod_groups.back().topology = Constraint("zone", "rack");
  EXPECT_THAT(Placed(AsKai()), ElementsAre(Pair("n1", 2)));
}

TEST_F(SlowTopologyTest, E11TakesTheChildsDomainInsideTheParents) {
  Levels({"zone"}, "zones");
  Levels({"rack"}, "racks");
  int node = 0;
  for (const char* rack : {"a", "b", "c"}) {
    for (const char* zone : {"x", "x", "y", "y"}) {
      const std::string name = StrCat("node", node / 10, node % 10);
      Node(name, In(zone, rack), 8);
      if (node == 0 || node == 4) maker_.Running(StrCat("ns/old", node), {.gpus = 4, .node = name});
      ++node;
    }
  }
  Part("child-a", 3, Constraint("rack", "", "racks"), 4);
  Part("child-b", 3, Constraint("rack", "", "racks"), 4);
  maker_.rows().pod_groups.back().topology = Constraint("zone", "", "zones");
  Placed();
  EXPECT_EQ(last_, "node00 node01 node01 node04 node05 node05");
}

TEST_F(SlowTopologyTest, E13StartsTheSegmentsThatAreNeededAndGrowsTheOthersWhereTheyAre) {
  Levels({"rack"});
  for (const char* rack : {"r1", "r2", "r3"}) Node(StrCat("n-", rack), InRack(rack), 7);
  Part("master", 1, {});
  for (const int segment : {0, 1, 2})
    Part(StrCat("worker-", segment), segment == 2 ? 2 : 4, Constraint("rack"), 1,
         segment == 2 ? 0 : 4);
  for (SubGroupRow& row : maker_.rows().pod_groups.back().sub_groups) {
    if (row.name != "master") row.parent = "worker";
  }
  SubGroupRow worker;
  worker.name = "worker";
  worker.min_sub_group = 3;
  maker_.rows().pod_groups.back().sub_groups.push_back(worker);
  Placed();
  // master, worker-0 and worker-1 together; then worker-2, pod by pod, in one rack.
  EXPECT_EQ(last_, "n-r1 n-r1 n-r1 n-r1 n-r1 n-r2 n-r2 n-r2 n-r2 n-r1 n-r1");
}

// ---- switches -----------------------------------------------------------------------------------

TEST_F(SlowTopologyTest, ANodeCountsForTheLevelsThatItNames) {  // spec 4 T6
  Levels({"zone", "rack"});
  Node("n1", {{"zone", "z1"}}, 2);
  Node("n2", In("z1", "r1"), 1);
  Node("n3", {{"rack", "r1"}}, 4);
  Gang(3, Constraint("zone"));
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 2), Pair("n2", 1)));
  EXPECT_THAT(Placed(AsKai()), IsEmpty());
}

TEST_F(SlowTopologyTest, ValuesWithDotsAreDistinguished) {  // spec 4 T7
  Levels({"zone", "rack"});
  Node("n1", In("a.b", "c"), 1);
  Node("n2", In("a", "b.c"), 1);
  Gang(2, Constraint("rack"));
  EXPECT_THAT(Placed(), IsEmpty());
  EXPECT_THAT(Placed(AsKai()), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
}

TEST_F(SlowTopologyTest, ATopologyWithoutALevelSetsNoConstraint) {  // spec 4 W3
  Levels({"zone"});
  Node("n1", {}, 2);
  Gang(1, Constraint(""));
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 1)));
  EXPECT_THAT(Placed(AsKai()), IsEmpty());
  maker_.rows().pod_groups.back().topology = Constraint("", "", "unknown");
  EXPECT_THAT(Placed(), IsEmpty());
}

TEST_F(SlowTopologyTest, ARunningPodFixesTheDomainOfTheGroup) {  // spec 4 L3
  Levels({"zone"});
  Node("n1", {{"zone", "z1"}}, 4);
  Node("n2", {{"zone", "z2"}}, 1);
  Part("a", 0, {}, 1, 1);
  Part("b", 1, {});
  maker_.Running("ns/g", {.gpus = 1, .node = "n1", .subgroup = "a"});
  maker_.rows().pod_groups.back().topology = Constraint("zone");
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 1)));
  EXPECT_THAT(Placed(AsKai()), ElementsAre(Pair("n2", 1))) << "the tighter zone";
}

TEST_F(SlowTopologyTest, SubGroupsThatFindAPlaceStart) {  // spec 4 W5
  Node("n1", {}, 2);
  Part("a", 1, {}, 4);
  Part("b", 1, {});
  Part("c", 1, {});
  maker_.rows().pod_groups.back().min_sub_group = 2;
  EXPECT_THAT(Placed(), ElementsAre(Pair("n1", 2)));
  EXPECT_THAT(Placed(AsKai()), IsEmpty());
}

}  // namespace
}  // namespace kai::oracle::slow_topology_test
