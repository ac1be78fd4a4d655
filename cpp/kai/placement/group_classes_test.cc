#include "kai/placement/group_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "kai/placement/rooms_for_test.h"

namespace kai::group_classes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Sharing = GroupClasses::Sharing;

// The names of the groups in namespace "ns", by class.
std::vector<std::string> ClassesOf(const ClusterMaker& maker, Sharing sharing = Sharing::kYes) {
  Rooms rooms(maker.Build());
  const GroupClasses classes(rooms.order(), sharing);
  std::vector<std::string> texts;
  for (const GroupClassId id : classes.classes()) {
    std::string text = classes.IsShared(id) ? "shared:" : "own:";
    for (const PodGroupId group : classes.GroupsOf(id))
      text += " " + std::string(rooms.cluster().Text(rooms.cluster().pod_groups().name[group]));
    texts.push_back(std::move(text));
  }
  return texts;
}

// Whether two groups are in one class.
bool AreOfOneClass(const PodsSpec& a, const PodsSpec& b) {
  return ClassesOf(MakeCluster()
                       .Queue("ns")
                       .Queue("b")
                       .Node("n", {.gpus = 8})
                       .Pending("ns/a", a)
                       .Pending("ns/b", b))
             .size() == 1;
}

const PodsSpec kGang = {.pods = 2, .gpus = 1, .min_member = 2};

TEST(GroupClassesTest, GroupsWithEqualRequestsAreInOneClassSortedByAge) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n", {.gpus = 8})
                                 .Pending("ns/first", kGang)
                                 .Pending("ns/other")
                                 .Pending("ns/second", kGang);
  EXPECT_THAT(ClassesOf(maker), ElementsAre("shared: first second", "shared: other"));
  EXPECT_THAT(ClassesOf(maker, Sharing::kNo),
              ElementsAre("own: first", "own: other", "own: second"));
}

TEST(GroupClassesTest, AnyDifferenceBetweenGroupsGivesTwoClasses) {
  EXPECT_TRUE(AreOfOneClass(kGang, kGang));
  EXPECT_FALSE(AreOfOneClass(kGang, {.pods = 2, .gpus = 2, .min_member = 2}));
  EXPECT_FALSE(AreOfOneClass(kGang, {.pods = 3, .gpus = 1, .min_member = 2}));
  EXPECT_FALSE(AreOfOneClass(kGang, {.pods = 2, .gpus = 1, .min_member = 1}));
  EXPECT_FALSE(AreOfOneClass(kGang, {.pods = 2, .gpus = 1, .mb = 1, .min_member = 2}));
  EXPECT_FALSE(AreOfOneClass(
      kGang, {.pods = 2, .gpus = 1, .node_selector = {{"zone", "a"}}, .min_member = 2}));
  EXPECT_FALSE(AreOfOneClass(kGang, {.pods = 2, .gpus = 1, .min_member = 2, .priority = 75}));
  EXPECT_FALSE(AreOfOneClass(
      kGang, {.pods = 2, .gpus = 1, .min_member = 2, .preemptibility = "non-preemptible"}));
  EXPECT_FALSE(AreOfOneClass(kGang, {.pods = 2, .gpus = 1, .queue = "b", .min_member = 2}));
  EXPECT_FALSE(AreOfOneClass({.gpu_memory_mib = 40'000}, {.gpu_memory_mib = 10'000}));  // spec 2 W6
}

TEST(GroupClassesTest, TheNodesOfRunningPodsArePartOfTheClass) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1")
                                 .Node("n2")
                                 .Running("ns/q", {.node = "n1", .min_member = 1})
                                 .Pending("ns/q")
                                 .Running("ns/p", {.node = "n2", .min_member = 1})
                                 .Pending("ns/p")
                                 .Running("ns/same", {.node = "n1", .min_member = 1})
                                 .Pending("ns/same");
  EXPECT_THAT(ClassesOf(maker), ElementsAre("own: q same", "own: p"))
      << "each has a message of its own";
}

TEST(GroupClassesTest, SubGroupsArePartOfTheClass) {
  const auto tree = [](const char* name, int64_t first, std::optional<int64_t> needed) {
    PodGroupRow row;
    row.namespace_name = "ns";
    row.name = name;
    row.min_sub_group = needed;
    row.sub_groups = {Leaf("a", first), Leaf("b", 1)};
    return row;
  };
  ClusterMaker maker = MakeCluster().Node("n");
  maker.Add(tree("q", 1, {})).Add(tree("same", 1, {}));
  maker.Add(tree("larger", 2, {})).Add(tree("either", 1, 1));
  for (const char* group : {"ns/q", "ns/same", "ns/larger", "ns/either"}) {
    maker.Pending(group, {.pods = 2, .subgroup = "a"}).Pending(group, {.subgroup = "b"});
  }
  EXPECT_EQ(ClassesOf(maker).size(), 3);
}

TEST(GroupClassesTest, GroupsWithRunningPodsHaveTheirOwnClass) {
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 8})
                  .Pending("ns/waits", {.gpus = 1})
                  .Running("ns/runs", {.gpus = 1, .node = "n"})
                  .Running("ns/grows", {.gpus = 1, .node = "n", .min_member = 1})
                  .Pending("ns/grows", {.gpus = 1})
                  .Running("ns/broken", {.gpus = 1, .node = "n", .min_member = 2})
                  .Build());
  const GroupClasses classes(rooms.order(), Sharing::kYes);
  EXPECT_THAT(classes.singles(), ElementsAre(rooms.Group("ns/grows"), rooms.Group("ns/broken")));
  EXPECT_FALSE(classes.ClassOf(rooms.Group("ns/runs")).valid());
}

TEST(GroupClassesTest, AGroupWithANewlyPlacedPodHasChanged) {
  Rooms rooms(MakeCluster().Node("n", {.gpus = 8}).Pending("ns/a", kGang).Build());
  const GroupClasses classes(rooms.order(), Sharing::kYes);
  EXPECT_FALSE(classes.HasChanged(rooms.Group("ns/a")));
  rooms.Place("ns/a-0", "n");
  EXPECT_TRUE(classes.HasChanged(rooms.Group("ns/a")));
}

TEST(GroupClassesTest, GroupsThatReturnAreClassifiedAgain) {
  Rooms rooms(MakeCluster().Node("n").Pending("ns/a").Pending("ns/b").Pending("ns/c").Build());
  GroupClasses classes(rooms.order(), Sharing::kYes);
  const GroupClassId before = classes.ClassOf(rooms.Group("ns/a"));
  classes.Look({rooms.Group("ns/a"), rooms.Group("ns/c")});
  ASSERT_THAT(classes.classes(), ElementsAre(before));
  EXPECT_THAT(classes.GroupsOf(before),
              ElementsAre(rooms.Group("ns/a"), rooms.Group("ns/b"), rooms.Group("ns/c")));
  EXPECT_THAT(classes.singles(), IsEmpty());
}

}  // namespace
}  // namespace kai::group_classes_test
