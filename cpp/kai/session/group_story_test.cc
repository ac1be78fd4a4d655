#include "kai/session/group_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/session/plans_for_test.h"

namespace kai::group_story_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Plan PlanOf(const ClusterMaker& maker) { return RunPlan(Session(ParseConfig("")), maker.Build()); }

GroupStory StoryOf(const Plan& plan, std::string_view name) {
  const PodGroupId group = PodGroupNamed(*plan.cluster, name);
  return StoriesOf(plan, std::vector<PodGroupId>{group}).front();
}

std::vector<std::pair<std::string, int64_t>> Named(const std::vector<GroupStory::OnNode>& nodes,
                                                   const Plan& plan) {
  std::vector<std::pair<std::string, int64_t>> named;
  for (const GroupStory::OnNode& each : nodes)
    named.emplace_back(plan.cluster->Text(plan.cluster->nodes().name[each.node]), each.pods);
  return named;
}

std::vector<std::string> Called(const Cluster& cluster, std::string_view name) {
  const std::vector<PodGroupId> groups = GroupsCalled(cluster, name);
  std::vector<std::string> names;
  for (const PodGroupId group : groups) names.push_back(cluster.PodGroupName(group));
  return names;
}

TEST(GroupStoryTest, CountsPodsByRequestAndByNode) {
  const Plan plan = PlanOf(MakeCluster()
                               .Queue("q")
                               .Node("n1", {.gpus = 2})
                               .Node("n2", {.gpus = 1})
                               .Running("q/g", {.pods = 1, .gpus = 1, .node = "n2"})
                               .Pending("q/g", {.pods = 3, .gpus = 1, .min_member = 2}));
  const GroupStory story = StoryOf(plan, "q/g");
  EXPECT_EQ(story.least, 2);
  EXPECT_THAT(story.pods, ElementsAre(Pair(1, 4)));
  EXPECT_THAT(story.waiting, ElementsAre(Pair(1, 3)));
  EXPECT_EQ(story.placed, 1);
  EXPECT_THAT(Named(story.running, plan), ElementsAre(Pair("n2", 1)));
  EXPECT_THAT(Named(story.bound, plan), ElementsAre(Pair("n1", 2)));
  EXPECT_THAT(story.promised, IsEmpty());
  EXPECT_THAT(story.causes, IsEmpty());
  EXPECT_FALSE(story.sharer.valid());
  EXPECT_FALSE(story.moves);
}

TEST(GroupStoryTest, NamesTheGroupThatGetsTheRoom) {
  const Plan plan =
      PlanOf(MakeCluster()
                 .Queue("a", {.deserved_gpus = 2})
                 .Queue("b")
                 .Node("n", {.gpus = 2})
                 .Running("b/old", {.pods = 2, .gpus = 1, .node = "n", .min_member = 2})
                 .Pending("a/new", {.pods = 2, .gpus = 1, .min_member = 2}));
  const GroupStory story = StoryOf(plan, "b/old");
  EXPECT_EQ(story.evicted, 2);
  EXPECT_EQ(story.lost, 2);
  EXPECT_EQ(story.placed, 0);
  EXPECT_THAT(story.running, IsEmpty());
  ASSERT_EQ(story.causes.size(), 1);
  EXPECT_EQ(story.causes[0].action, "reclaim");
  EXPECT_EQ(story.causes[0].for_group, PodGroupNamed(*plan.cluster, "a/new"));
  EXPECT_EQ(story.causes[0].pods, 2);
  EXPECT_THAT(Named(StoryOf(plan, "a/new").promised, plan), ElementsAre(Pair("n", 2)));
}

TEST(GroupStoryTest, AGroupMovesIfAllItsPipelinedPodsWereEvicted) {
  const Plan plan = PlanOf(MakeCluster()
                               .Queue("q", {.deserved_gpus = 4})
                               .Node("n1", {.gpus = 2})
                               .Node("n2", {.gpus = 2})
                               .Running("q/one", {.gpus = 1, .node = "n1"})
                               .Running("q/two", {.gpus = 1, .node = "n2"})
                               .Pending("q/wide", {.gpus = 2}));
  const bool one = StoryOf(plan, "q/one").moves;
  const GroupStory moved = StoryOf(plan, one ? "q/one" : "q/two");
  EXPECT_TRUE(moved.moves);
  EXPECT_EQ(moved.evicted, 1);
  EXPECT_EQ(moved.lost, 0);
  EXPECT_FALSE(StoryOf(plan, one ? "q/two" : "q/one").moves);
  EXPECT_FALSE(StoryOf(plan, "q/wide").moves);
}

TEST(GroupStoryTest, FindsTheFirstWaitingPodThatSharesDevices) {
  const Plan plan =
      PlanOf(MakeCluster()
                 .Queue("q")
                 .Node("n", {.gpus = 0})
                 .Pending("q/g", {.pods = 2, .gpu_fraction = 0.25, .gpu_devices = 2}));
  const GroupStory story = StoryOf(plan, "q/g");
  EXPECT_EQ(story.sharer, PodNamed(*plan.cluster, "q/g-0"));
  EXPECT_THAT(story.waiting, ElementsAre(Pair(0.5, 2)));
}

TEST(GroupsCalledTest, FindsGroupsByTheirNameThenAPodThenTheWorkload) {
  ClusterMaker maker = MakeCluster().Queue("q");
  PodGroupRow owned;
  owned.namespace_name = "ns";
  owned.name = "pg-train-1";
  owned.owner_name = "train";
  const auto cluster = maker.Add(owned).Pending("a/x").Pending("b/x").Pending("b/y").Build();
  EXPECT_THAT(Called(*cluster, "a/x"), ElementsAre("a/x"));
  EXPECT_THAT(Called(*cluster, "y"), ElementsAre("b/y"));
  EXPECT_THAT(Called(*cluster, "x"), ElementsAre("a/x", "b/x"));
  EXPECT_THAT(Called(*cluster, "b/y-0"), ElementsAre("b/y"));
  EXPECT_THAT(Called(*cluster, "ns/train"), ElementsAre("ns/pg-train-1"));
  EXPECT_THAT(Called(*cluster, "train"), ElementsAre("ns/pg-train-1"));
  EXPECT_THAT(Called(*cluster, "a/y"), IsEmpty());
  EXPECT_THAT(Called(*cluster, "/x"), IsEmpty());
}

}  // namespace
}  // namespace kai::group_story_test
