#include "kai/session/aftermath.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kai/session/plans_for_test.h"

namespace kai::aftermath_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The state after a plan of the cluster, with the names of the waiting groups in order.
struct Left {
  explicit Left(const ClusterMaker& maker, std::string_view config_json = "") {
    const Session session(ParseConfig(config_json), {.inspect = [&](const CycleView& cycle) {
                            after = AftermathOf(cycle);
                            for (const Aftermath::Turn& turn : after.order)
                              names.push_back(cycle.cluster->PodGroupName(turn.group));
                          }});
    plan = RunPlan(session, maker.Build());
  }

  Aftermath after;
  std::vector<std::string> names;
  Plan plan;
};

ClusterMaker TwoQueues() {
  return MakeCluster()
      .Queue("a", {.deserved_gpus = 4})
      .Queue("b", {.deserved_gpus = 4})
      .Node("n", {.gpus = 8})
      .Running("b/old", {.pods = 8, .gpus = 1, .node = "n", .priority = 200});
}

TEST(AftermathTest, QueuesTakeTurnsAsEachGroupIsServed) {
  const Left left(TwoQueues()
                      .Pending("c/none", {.gpus = 9})
                      .Pending("a/one", {.gpus = 9})
                      .Pending("a/two", {.gpus = 9})
                      .Queue("c", {.deserved_gpus = 4}),
                  R"({"actions": "allocate"})");
  // With their first group, both queues would hold as much. Then a has its first, and c has none
  // yet.
  EXPECT_THAT(left.names, ElementsAre("a/one", "c/none", "a/two"));
  EXPECT_EQ(left.after.order[0].queues.back().standing.share, 0);
  EXPECT_GT(left.after.order[2].queues.back().standing.share, 0);
}

TEST(AftermathTest, PlacedGroupsNoLongerWait) {
  const Left left(MakeCluster()
                      .Queue("q")
                      .Node("n", {.gpus = 4})
                      .Pending("q/fits", {.gpus = 3})
                      .Pending("q/waits", {.gpus = 2})
                      .Pending("q/lacks", {.pods = 1, .gpus = 1, .min_member = 2}));
  EXPECT_THAT(left.names, ElementsAre("q/waits"));
  EXPECT_EQ(left.after.order[0].request[kQuotaGpu], 2);
}

TEST(AftermathTest, FreeResourcesOfNodesAreThoseAfterTheDecisions) {
  const Left left(MakeCluster()
                      .Queue("q")
                      .Node("n1", {.gpus = 4})
                      .Node("n2", {.gpus = 4})
                      .Running("q/a", {.pods = 1, .gpus = 1, .node = "n2"})
                      .Releasing("q/b", {.pods = 1, .gpus = 1, .node = "n1"})
                      .Pending("q/c", {.pods = 2, .gpus = 1, .min_member = 1}));
  ASSERT_EQ(left.after.nodes.size(), 2);
  EXPECT_EQ(left.plan.decisions.size(), 2);
  EXPECT_EQ(left.after.nodes[0].free_gpus, 3);
  EXPECT_EQ(left.after.nodes[0].leaving_gpus, 1);
  EXPECT_EQ(left.after.nodes[1].free_gpus, 1);
  EXPECT_THAT(left.after.nodes[1].parts, IsEmpty());
}

TEST(AftermathTest, DoesNotChangeTheCluster) {
  const ClusterMaker maker = TwoQueues().Pending("a/one", {.pods = 4, .gpus = 1});
  const Session session(ParseConfig(""));
  const Left left(maker);
  EXPECT_EQ(TextOf(left.plan), TextOf(RunPlan(session, maker.Build())));
}

}  // namespace
}  // namespace kai::aftermath_test
