#include "kai/session/alone.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "kai/session/group_story.h"
#include "kai/session/plans_for_test.h"

namespace kai::alone_test {
namespace {

bool StartsAloneIn(const ClusterMaker& maker, std::string_view name) {
  const Config config = ParseConfig("");
  const Plan plan = RunPlan(Session(config), maker.Build());
  return StartsAlone(plan, config, GroupsCalled(*plan.cluster, name).front());
}

TEST(StartsAloneTest, TheOrderAloneIsInItsWay) {
  const ClusterMaker maker = MakeCluster()
                                 .Queue("a")
                                 .Node("n", {.gpus = 4})
                                 .Pending("a/first", {.gpus = 4, .priority = 90})
                                 .Pending("a/second", {.gpus = 4});
  EXPECT_TRUE(StartsAloneIn(maker, "a/second"));
}

TEST(StartsAloneTest, OnlyMorePodsThanNowAreAStart) {
  const ClusterMaker maker =
      MakeCluster().Queue("a").Node("n", {.gpus = 4}).Pending("a/elastic", {.pods = 6, .gpus = 1});
  EXPECT_FALSE(StartsAloneIn(maker, "a/elastic"));
}

TEST(StartsAloneTest, RunningPodsStayInItsWay) {
  const ClusterMaker maker = MakeCluster()
                                 .Queue("a")
                                 .Node("n", {.gpus = 4})
                                 .Running("a/old", {.gpus = 4, .node = "n"})
                                 .Pending("a/new", {.gpus = 4});
  EXPECT_FALSE(StartsAloneIn(maker, "a/new"));
}

// What others request lowers the fair share of its queue.
TEST(StartsAloneTest, RequestsOfOtherQueuesAreInItsWay) {
  const ClusterMaker maker = MakeCluster()
                                 .Queue("a", {.deserved_gpus = 1})
                                 .Queue("b", {.deserved_gpus = 1})
                                 .Queue("c", {.deserved_gpus = 0, .weight_gpus = 0})
                                 .Node("n", {.gpus = 4})
                                 .Running("c/old", {.pods = 4, .gpus = 1, .node = "n"})
                                 .Pending("a/new", {.gpus = 3})
                                 .Pending("b/new", {.pods = 3, .gpus = 1, .priority = 90});
  EXPECT_TRUE(StartsAloneIn(maker, "a/new"));
}

TEST(StartsAloneTest, ThePlanOfItsClusterIsTheSameAfterwards) {
  ForSeeds(50, [&](uint64_t seed) {
    const Config config = ParseConfig("");
    const std::shared_ptr<Cluster> cluster = MakeRandomCluster(seed).Build();
    const Plan plan = RunPlan(Session(config), cluster);
    for (const PodGroupId group : cluster->pod_groups().lists.waiting)
      StartsAlone(plan, config, group);
    EXPECT_EQ(TextOf(plan), TextOf(RunPlan(Session(config), cluster)));
  });
}

}  // namespace
}  // namespace kai::alone_test
