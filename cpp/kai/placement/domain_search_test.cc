// Pod groups in topology domains: the worked examples (spec 4 E1-E10) and edge cases.
#include "kai/placement/domain_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/texts/reason_text.h"

namespace kai::domain_search_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Mode = GroupPlacer::Mode;

// Nodes like "n" in domain "z1/r1" with GPUs, and pod groups that require a domain.
class TopologyTest : public testing::Test {
 protected:
  void Levels(const std::vector<std::string>& levels) {
    TopologyRow row{.name = "t", .levels = {}};
    for (const std::string& level : levels)
      row.levels.push_back({.node_label = level, .alias = ""});
    levels_ = levels;
    maker_.Add(std::move(row));
  }
  void Node(const std::string& name, const std::vector<std::string>& path, int64_t gpus) {
    StringPairs labels;
    for (size_t i = 0; i < path.size(); ++i) labels.emplace_back(levels_[i], path[i]);
    maker_.Node(name, {.gpus = gpus, .labels = std::move(labels)});
  }
  void Group(const std::string& name, int pods, const std::string& required,
             const std::string& preferred = "", int64_t gpus = 1) {
    maker_.Pending(StrCat("ns/", name), {.pods = pods, .gpus = gpus, .min_member = pods});
    Constrain(name, required, preferred);
  }
  void Constrain(const std::string& name, const std::string& required,
                 const std::string& preferred = "") {
    for (PodGroupRow& row : maker_.rows().pod_groups) {
      if (row.name == name)
        row.topology = {.topology = "t", .required_level = required, .preferred_level = preferred};
    }
  }

  // The group g, in one zone. Each of its sub-groups has this number of pods with one GPU, and is
  // in one rack.
  void GroupOfRacks(const std::vector<std::pair<std::string, int>>& leaves) {
    PodGroupRow group;
    group.namespace_name = "ns";
    group.name = "g";
    group.topology = {.topology = "t", .required_level = "zone", .preferred_level = ""};
    for (const auto& [name, pods] : leaves) {
      SubGroupRow leaf = Leaf(name, pods);
      leaf.topology = {.topology = "t", .required_level = "rack", .preferred_level = ""};
      group.sub_groups.push_back(std::move(leaf));
    }
    maker_.Add(std::move(group));
    for (const auto& [name, pods] : leaves)
      maker_.Pending("ns/g", {.pods = pods, .gpus = 1, .subgroup = name});
  }

  // The number of the group's pods on each node; empty: the group was not placed.
  std::map<std::string, int> Place(const std::string& group, const RoomsOptions& options = {}) {
    Rooms rooms(maker_.Build(), options);
    return PlaceIn(&rooms, group);
  }
  std::map<std::string, int> PlaceIn(Rooms* rooms, const std::string& group) {
    const auto before = rooms->Placements().size();
    const GroupPlacer::Result result =
        rooms->placer().Place(rooms->Group(StrCat("ns/", group)), Mode::kReal, &rooms->statement());
    messages_.clear();
    for (const Reason& reason : result.reasons) {
      const auto* too_small = std::get_if<DomainTooSmall>(&reason);
      if (too_small != nullptr && too_small->is_best) continue;  // not in KAI's event
      messages_.push_back(
          EventErrorOf(reason, rooms->Group(StrCat("ns/", group)), rooms->cluster()).message);
    }
    std::map<std::string, int> placed;
    const std::vector<std::string> placements = rooms->Placements();
    for (size_t i = before; i < placements.size(); ++i)
      ++placed[placements[i].substr(placements[i].find(' ') + 1)];
    EXPECT_EQ(result.placed, !placed.empty());
    return placed;
  }

  ClusterMaker maker_;
  std::vector<std::string> levels_;
  std::vector<std::string> messages_;
};

TEST_F(TopologyTest, AZoneIsFilledFromItsEmptiestRackOn) {  // spec 4 E1
  Levels({"zone", "rack"});
  Node("a1-1", {"a", "a1"}, 1);
  Node("a1-2", {"a", "a1"}, 1);
  Node("a2-1", {"a", "a2"}, 1);
  Node("a3-1", {"a", "a3"}, 1);
  Node("a4-1", {"a", "a4"}, 1);
  for (const char* rack : {"b1", "b2", "b3"}) {
    Node(StrCat(rack, "-1"), {"b", rack}, 1);
    Node(StrCat(rack, "-2"), {"b", rack}, 1);
  }
  Group("g", 3, "zone", "rack");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("a1-1", 1), Pair("a1-2", 1), Pair("a4-1", 1)));
}

TEST_F(TopologyTest, TheTightestRackThatHoldsAllIsChosen) {  // spec 4 E2
  Levels({"rack"});
  Node("n1", {"r1"}, 2);
  Node("n2", {"r1"}, 8);
  Node("n3", {"r2"}, 8);
  Node("n4", {"r2"}, 8);
  Node("n5", {"r3"}, 7);
  Group("g", 8, "rack");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 2), Pair("n2", 6)));
}

TEST_F(TopologyTest, PodsUseSeveralDomainsIfNoPreferredDomainHoldsAll) {  // spec 4 E3
  Levels({"rack"});
  Node("n1", {"r1"}, 3);
  Node("n2", {"r2"}, 2);
  Node("n3", {"r3"}, 2);
  Group("g", 6, "", "rack");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 3), Pair("n2", 1), Pair("n3", 2)));
}

TEST_F(TopologyTest, PreferencesAreWidenedLevelByLevel) {  // spec 4 E4
  Levels({"zone", "rack"});
  Node("n1", {"z1", "r1"}, 4);
  Node("n2", {"z1", "r2"}, 4);
  Node("n3", {"z2", "r1"}, 3);
  Node("n4", {"z2", "r2"}, 6);
  Node("n5", {"z3", "r1"}, 2);
  Group("five", 5, "", "rack");
  Group("eight", 8, "", "rack");
  Group("ten", 10, "", "rack");
  EXPECT_THAT(Place("five"), UnorderedElementsAre(Pair("n4", 5)));
  EXPECT_THAT(Place("eight"), UnorderedElementsAre(Pair("n1", 4), Pair("n2", 4)));
  EXPECT_THAT(Place("ten"), UnorderedElementsAre(Pair("n2", 1), Pair("n3", 3), Pair("n4", 6)));
}

TEST_F(TopologyTest, LaterPodsStayInTheDomainOfTheRunningOnes) {  // spec 4 E5
  Levels({"rack"});
  Node("n1", {"r1"}, 2);
  Node("n2", {"r2"}, 8);
  maker_.Running("ns/g", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 2});
  maker_.Pending("ns/g", {.pods = 1, .gpus = 1});
  Constrain("g", "rack");
  EXPECT_THAT(Place("g"), IsEmpty());
  EXPECT_THAT(messages_,
              ElementsAre("node-group r1 can allocate only 0 of 1 required pods",
                          "topology t, requirement rack couldn't be satisfied for job <ns/g>"));
}

TEST_F(TopologyTest, TheOrderOfTheTreeComesBeforeTightness) {  // spec 4 E6
  Levels({"zone", "spine", "rack"});
  Node("n1", {"z", "s1", "r1"}, 1);
  Node("n2", {"z", "s1", "r2"}, 1);
  Node("n3", {"z", "s1", "r3"}, 1);
  Node("n4", {"z", "s2", "r4"}, 1);
  Node("n5", {"z", "s2", "r4"}, 1);
  Group("g", 1, "", "rack");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n4", 1)));
}

TEST_F(TopologyTest, SiblingsThatWerePlacedAreNotMoved) {  // spec 4 E9
  Levels({"zone", "rack"});
  Node("n1", {"z1", "r1"}, 6);
  Node("n2", {"z1", "r2"}, 5);
  GroupOfRacks({{"a", 3}, {"b", 3}, {"c", 5}});
  EXPECT_THAT(Place("g"), IsEmpty());
  EXPECT_THAT(messages_, ElementsAre("node-group z1.r1 can allocate only 3 of 5 required pods",
                                     "node-group z1.r2 can allocate only 2 of 5 required pods",
                                     "topology t, requirement rack couldn't be satisfied for job "
                                     "<ns/g>, subgroup c"));
}

TEST_F(TopologyTest, RacksOfOtherZonesAreReportedAsEmpty) {  // as KAI counts them
  Levels({"zone", "rack"});
  for (const std::string zone : {"a", "b"}) {
    for (const std::string rack : {"1", "2"}) Node(zone + rack, {zone, rack}, 1);
  }
  GroupOfRacks({{"one", 2}});
  EXPECT_THAT(Place("g"), IsEmpty());
  const auto times = [&](std::string_view message) {
    return std::ranges::count(messages_, message);
  };
  EXPECT_EQ(times("node-group a.1 can allocate only 1 of 2 required pods"), 1);
  EXPECT_EQ(times("node-group b.2 can allocate only 1 of 2 required pods"), 1);
  // Each of the two zones is tried, and there are two racks outside of it.
  EXPECT_EQ(times("node-group(s) didn't have enough resources: GPUs"), 4);
  EXPECT_EQ(times("node-group(s) didn't have enough resources: CPU cores"), 4);
  EXPECT_EQ(times("node-group(s) didn't have enough resources: pods"), 4);
  EXPECT_EQ(times("node-group(s) didn't have enough resources: memory"), 0) << "not requested";
}

TEST_F(TopologyTest, AZoneMayHaveASingleRack) {  // spec 4 E10, W1
  Levels({"zone", "rack"});
  Node("n1", {"z1", "r1"}, 8);
  Node("n2", {"z1", "r1"}, 8);
  Group("g", 2, "zone");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 2)));
  EXPECT_THAT(Place("g", {.domains = {.stop_at_required = false}}), IsEmpty()) << "as KAI";
}

TEST_F(TopologyTest, UnequalPodsAreCountedByTheLargest) {  // spec 4 E7
  Levels({"rack"});
  Node("n1", {"r1"}, 8);
  Node("n2", {"r1"}, 8);
  Node("n3", {"r2"}, 0);
  maker_.Pending("ns/g", {.pods = 1, .gpus = 8, .min_member = 5});
  maker_.Pending("ns/g", {.pods = 4, .gpus = 2});
  Constrain("g", "rack");
  EXPECT_THAT(Place("g"), IsEmpty());
  maker_.Pending("ns/g", {.pods = 1});
  maker_.rows().pod_groups.back().min_member = 6;
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 1), Pair("n2", 5)))
      << "pods of two kinds are counted by the sum of their requests";
}

TEST_F(TopologyTest, AMissingTopologyOrLevelIsNamed) {  // spec 4 M1, C5
  Levels({"zone"});
  Node("n1", {"z1"}, 8);
  Group("g", 1, "row");
  EXPECT_THAT(Place("g"), IsEmpty());
  EXPECT_THAT(messages_, ElementsAre("topology constraint error: sub-group  specified 'row' as the "
                                     "required topology constraint level, but the topology tree "
                                     "'t' does not contain a level with this name"));
  maker_.rows().pod_groups.back().topology.topology = "other";
  EXPECT_THAT(Place("g"), IsEmpty());
  EXPECT_THAT(messages_, ElementsAre("Requested topology other does not exist"));
}

TEST_F(TopologyTest, AGroupLargerThanTheClusterIsReportedForTheCluster) {  // spec 4 M2
  Levels({"zone"});
  Node("n1", {"z1"}, 2);
  Node("n2", {"z2"}, 2);
  Group("g", 5, "zone");
  EXPECT_THAT(Place("g"), IsEmpty());
  EXPECT_THAT(messages_, ElementsAre("topology t, requirement zone couldn't be satisfied for job "
                                     "<ns/g>: not enough resources in the cluster to allocate the "
                                     "job"));
}

TEST_F(TopologyTest, ANodeWithoutARackCountsForItsZone) {  // spec 4 T6
  Levels({"zone", "rack"});
  Node("n1", {"z1"}, 2);
  Node("n2", {"z1", "r1"}, 1);
  Node("n3", {"z2", "r1"}, 1);
  Group("g", 3, "zone");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 2), Pair("n2", 1)));
  EXPECT_THAT(Place("g", {.domains = {.whole_nodes = true}}), IsEmpty()) << "as KAI";
}

TEST_F(TopologyTest, ARunningSiblingFixesTheDomainOfAllSubGroups) {  // spec 4 L3
  Levels({"zone"});
  Node("n1", {"z1"}, 2);
  Node("n2", {"z2"}, 1);
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "g";
  group.sub_groups = {Leaf("a", 1), Leaf("b", 1)};
  group.topology = {.topology = "t", .required_level = "zone", .preferred_level = ""};
  maker_.Add(group);
  maker_.Running("ns/g", {.pods = 1, .gpus = 1, .node = "n1", .subgroup = "a"});
  maker_.Pending("ns/g", {.pods = 1, .gpus = 1, .subgroup = "b"});
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 1)));
  maker_.rows().nodes[0].allocatable = {{"cpu", 64'000}, {"pods", 110}, {"nvidia.com/gpu", 4}};
  EXPECT_THAT(Place("g", {.pin_siblings = false}), UnorderedElementsAre(Pair("n2", 1)))
      << "as KAI: the tighter zone";
}

TEST_F(TopologyTest, APodOnAnUnknownNodeIsInNoDomain) {  // spec 4 A9
  Levels({"zone"});
  Node("n1", {"z1"}, 2);
  maker_.Running("ns/g", {.gpus = 1, .node = "gone", .min_member = 1});
  maker_.Pending("ns/g", {.pods = 1, .gpus = 1});
  Constrain("g", "", "zone");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 1)));
  Constrain("g", "zone");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 1)));
  EXPECT_THAT(Place("g", {.best_fit = true}), UnorderedElementsAre(Pair("n1", 1)));
  EXPECT_THAT(Place("g", {.pin_siblings = false}), IsEmpty()) << "as KAI";
}

TEST_F(TopologyTest, AsKaiPodsWithoutRequestsFindAZoneWithASingleRack) {  // spec 4 A10
  Levels({"zone", "rack"});
  Node("n1", {"z1", "r1"}, 8);
  maker_.Pending("ns/g", {.pods = 2, .millicpu = 0, .min_member = 2});
  Constrain("g", "zone");
  EXPECT_THAT(Place("g", {.domains = {.stop_at_required = false}}),
              UnorderedElementsAre(Pair("n1", 2)));
}

// ---- best fit

RoomsOptions BestFit() { return {.best_fit = true}; }

TEST_F(TopologyTest, ByBestFitSiblingsMakeRoomForEachOther) {  // spec 4 E9, W7
  Levels({"zone", "rack"});
  Node("n1", {"z1", "r1"}, 6);
  Node("n2", {"z1", "r2"}, 5);
  GroupOfRacks({{"a", 3}, {"b", 3}, {"c", 5}});
  EXPECT_THAT(Place("g", BestFit()), UnorderedElementsAre(Pair("n1", 6), Pair("n2", 5)));
}

TEST_F(TopologyTest, ByBestFitUnequalPodsAreCountedByKind) {  // spec 4 E7, W6
  Levels({"rack"});
  Node("n1", {"r1"}, 8);
  Node("n2", {"r1"}, 8);
  Node("n3", {"r2"}, 0);
  maker_.Pending("ns/g", {.pods = 1, .gpus = 8, .min_member = 5});
  maker_.Pending("ns/g", {.pods = 4, .gpus = 2});
  Constrain("g", "rack");
  EXPECT_THAT(Place("g", BestFit()), UnorderedElementsAre(Pair("n1", 1), Pair("n2", 4)));
}

TEST_F(TopologyTest, ByBestFitADomainThatHoldsJustEnoughOfAKindIsChosen) {
  Levels({"rack"});
  Node("n1", {"r1"}, 8);
  Node("n2", {"r1"}, 2);
  maker_.Pending("ns/g", {.pods = 1, .gpus = 8, .min_member = 3});
  maker_.Pending("ns/g", {.pods = 2, .gpus = 1});
  Constrain("g", "rack");
  EXPECT_THAT(Place("g", BestFit()), UnorderedElementsAre(Pair("n1", 1), Pair("n2", 2)));
}

TEST_F(TopologyTest, ByBestFitAGangStartsWhereTheRestOfItHasRoom) {  // spec 4 E5, W7
  Levels({"rack"});
  Node("n1", {"r1"}, 2);
  Node("n2", {"r2"}, 8);
  maker_.Pending("ns/g", {.pods = 4, .gpus = 1, .min_member = 2});
  Constrain("g", "rack");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 2)));
  EXPECT_THAT(Place("g", BestFit()), UnorderedElementsAre(Pair("n2", 2)));
}

TEST_F(TopologyTest, ByBestFitLaterPodsJoinTheDomainTheyPrefer) {  // spec 4 E8, W7
  Levels({"rack"});
  Node("n1", {"r1"}, 4);
  Node("n2", {"r2"}, 2);
  maker_.Running("ns/g", {.pods = 1, .gpus = 1, .node = "n1", .min_member = 1});
  maker_.Pending("ns/g", {.pods = 1, .gpus = 1});
  Constrain("g", "", "rack");
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n2", 1)));
  EXPECT_THAT(Place("g", BestFit()), UnorderedElementsAre(Pair("n1", 1)));
}

TEST_F(TopologyTest, ByBestFitAGangThatNeedsSeveralDomainsUsesFew) {
  Levels({"rack"});
  Node("n1", {"r1"}, 3);
  Node("n2", {"r2"}, 5);
  Node("n3", {"r3"}, 2);
  Node("n4", {"r4"}, 4);
  Group("g", 7, "", "rack");
  EXPECT_THAT(Place("g", BestFit()), UnorderedElementsAre(Pair("n2", 5), Pair("n3", 2)));
}

// Whether the leaves can be divided among racks with this room.
bool CanBeDealt(std::vector<int64_t>* rooms, std::span<const int> leaves) {
  if (leaves.empty()) return true;
  for (int64_t& room : *rooms) {
    if (room < leaves.front()) continue;
    room -= leaves.front();
    const bool rest = CanBeDealt(rooms, leaves.subspan(1));
    room += leaves.front();
    if (rest) return true;
  }
  return false;
}

TEST(BestFitPropertyTest, SiblingsArePlacedIfAnyChoiceOfDomainsHoldsThem) {
  int placed = 0, refused = 0, more_than_first_fit = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    ClusterMaker maker;
    maker.Add(TopologyRow{
        .name = "t",
        .levels = {{.node_label = "zone", .alias = ""}, {.node_label = "rack", .alias = ""}}});
    std::vector<std::vector<int64_t>> zones(static_cast<size_t>(random.Between(1, 2)));
    for (size_t zone = 0; zone < zones.size(); ++zone) {
      for (int64_t racks = random.Between(1, 4); racks > 0; --racks) {
        const auto rack = zones[zone].size();
        zones[zone].push_back(random.Between(1, 7));
        maker.Node(StrCat("n", zone, "-", rack),
                   {.gpus = zones[zone].back(),
                    .labels = {{"zone", StrCat("z", zone)}, {"rack", StrCat("r", rack)}}});
      }
    }
    PodGroupRow group;
    group.namespace_name = "ns";
    group.name = "g";
    group.topology = {.topology = "t", .required_level = "zone", .preferred_level = ""};
    std::vector<int> leaves;
    for (int64_t count = random.Between(1, 4); count > 0; --count) {
      leaves.push_back(static_cast<int>(random.Between(1, 5)));
      SubGroupRow leaf = Leaf(StrCat("s", leaves.size()), leaves.back());
      leaf.topology = {.topology = "t", .required_level = "rack", .preferred_level = ""};
      group.sub_groups.push_back(std::move(leaf));
    }
    maker.Add(std::move(group));
    for (size_t i = 0; i < leaves.size(); ++i)
      maker.Pending("ns/g", {.pods = leaves[i], .gpus = 1, .subgroup = StrCat("s", i + 1)});
    const bool can = std::ranges::any_of(
        zones, [&](std::vector<int64_t>& rooms) { return CanBeDealt(&rooms, leaves); });
    const auto places = [&](const RoomsOptions& options) {
      Rooms rooms(maker.Build(), options);
      return rooms.placer().Place(rooms.Group("ns/g"), Mode::kReal, &rooms.statement()).placed;
    };
    ASSERT_EQ(places(BestFit()), can);
    const bool first_fit = places({});
    ASSERT_LE(first_fit, can);
    ++(can ? placed : refused);
    more_than_first_fit += can && !first_fit ? 1 : 0;
  }
  EXPECT_GT(placed, 50);
  EXPECT_GT(refused, 50);
  EXPECT_GT(more_than_first_fit, 2);
}

// ---- the number of domains

class DomainCountTest : public TopologyTest {
 protected:
  DomainCountTest() {
    Levels({"rack"});
    Node("n1", {"r1"}, 4);
    Node("n2", {"r2"}, 4);
    Node("n3", {"r3"}, 4);
    Group("g", 6, "", "rack");
  }
  DomainCountRow& count() { return maker_.rows().pod_groups.back().domain_count; }
};

TEST_F(DomainCountTest, AGroupUsesAtMostItsMaximumOfDomains) {
  count() = {.least = 0, .most = 1, .balanced = false};
  EXPECT_THAT(Place("g"), IsEmpty());
  EXPECT_THAT(messages_,
              ElementsAre("no choice of domains holds the pods: they are to be in at most 1 of "
                          "level rack"));
  count().most = 2;
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 4), Pair("n2", 2)));
}

TEST_F(DomainCountTest, AGroupUsesAtLeastItsMinimumOfDomains) {
  count() = {.least = 3, .most = 0, .balanced = false};
  EXPECT_EQ(Place("g").size(), size_t{3});
}

TEST_F(DomainCountTest, ABalancedGroupHasAsManyPodsInEach) {
  count() = {.least = 0, .most = 0, .balanced = true};
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 3), Pair("n2", 3)));
  count().least = 3;
  EXPECT_THAT(Place("g"), UnorderedElementsAre(Pair("n1", 2), Pair("n2", 2), Pair("n3", 2)));
}

TEST_F(TopologyTest, ADomainThatHoldsFewerPodsThanCountedGetsFewer) {
  // Each pod needs the port, so n1 holds only one pod, although it has more GPUs.
  Levels({"rack"});
  Node("n1", {"r1"}, 4);
  for (const char* name : {"n2", "n3", "n4"}) Node(name, {"r2"}, 1);
  maker_.Pending("ns/g", {.pods = 4,
                          .gpus = 1,
                          .host_ports = {{.port = 8080, .protocol = "TCP", .address = ""}},
                          .min_member = 4});
  Constrain("g", "", "rack");
  maker_.rows().pod_groups.back().domain_count = {.least = 2, .most = 2, .balanced = false};
  EXPECT_THAT(Place("g"),
              UnorderedElementsAre(Pair("n1", 1), Pair("n2", 1), Pair("n3", 1), Pair("n4", 1)));
}

}  // namespace
}  // namespace kai::domain_search_test
