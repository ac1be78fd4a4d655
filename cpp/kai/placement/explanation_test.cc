#include "kai/placement/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/placement/rooms_for_test.h"

namespace kai::explanation_test {
namespace {

using ::testing::HasSubstr;

TEST(ExplanationTest, APodLargerThanAnyNodeHasItsOwnMessage) {  // spec 3 P14, P15
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 4, .millicpu = 500})
                  .Pending("ns/gpus", {.gpus = 5, .millicpu = 100})
                  .Pending("ns/cpu", {.millicpu = 1000})
                  .Pending("ns/scalar", {.millicpu = 100, .more = {{"example.com/x", 1000}}})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/gpus-0"), "nowhere");
  EXPECT_EQ(
      rooms.Explain("ns/gpus-0"),
      "Scheduling conditions were not met for pod ns/gpus-0:\nMaxNodePoolResources: "
      "The pod ns/gpus-0 requires GPU: 5, CPU: 0.1 (cores), memory: 0 (GB), pods: 1. "
      "Max GPU resources available in a single node in the default node-pool is topped at 4.\n");
  EXPECT_EQ(rooms.Explain("ns/cpu-0"),
            "Scheduling conditions were not met for pod ns/cpu-0:\nMaxNodePoolResources: "
            "The pod ns/cpu-0 requires GPU: 0, CPU: 1 (cores), memory: 0 (GB), pods: 1. "
            "Max CPU resources available in a single node in the default node-pool is topped at "
            "0.5 cores.\n");
  EXPECT_THAT(rooms.Explain("ns/scalar-0"),
              HasSubstr("No node in the default node-pool has example.com/x resources"));
}

TEST(ExplanationTest, WithoutFiltersTheLargestNodeIsNotChecked) {
  Rooms rooms(MakeCluster().Node("n", {.gpus = 4}).Pending("ns/p", {.gpus = 5}).Build(),
              {.filters = false});
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node(s) didn't have enough resources: "
            "GPUs.");
}

TEST(ExplanationTest, OverheadIsTheReasonOnlyIfThePodFitsWithoutIt) {  // spec 3 E4, T11
  ClusterMaker maker = MakeCluster()
                           .Node("n1", {.millicpu = 1000})
                           .Node("n2", {.millicpu = 1100})
                           .Node("n3", {.millicpu = 800})
                           .Node("n4", {.millicpu = 2000})
                           .Running("ns/r", {.millicpu = 1900, .node = "n4"})
                           .Pending("ns/p", {.millicpu = 1250});
  maker.rows().pods.back().overhead = {{"cpu", 250}};
  EXPECT_EQ(Rooms(maker.Build()).Explain("ns/p-0"),
            "no nodes with enough resources were found: 2 node(s) didn't have enough resources: "
            "CPU cores. \n2 node(s) didn't have enough resources: CPU cores. Not enough resources "
            "due to pod overhead resources. The overhead resources are  cpu: 250m.");
}

TEST(ExplanationTest, ExplanationsCountNodesByReasonAndFollowTheStatement) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 2, .millicpu = 2000})
                  .Node("n2", {.gpus = 2, .millicpu = 2000})
                  .Node("n3", {.gpus = 2, .millicpu = 2000, .cordoned = true})
                  .Pending("ns/fill", {.pods = 2, .gpus = 2, .millicpu = 1500})
                  .Pending("ns/p", {.gpus = 1, .millicpu = 1000})
                  .Build());
  const Statement::Checkpoint start = rooms.statement().Mark();
  rooms.Place("ns/fill-0", "n1");
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node is unschedulable. \n"
            "1 node(s) didn't have enough resources: CPU cores. \n"
            "1 node(s) didn't have enough resources: GPUs.");
  rooms.Place("ns/fill-1", "n2");
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node is unschedulable. \n"
            "2 node(s) didn't have enough resources: CPU cores. \n"
            "2 node(s) didn't have enough resources: GPUs.");
  rooms.statement().RollBackTo(start);
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node is unschedulable.");
}

TEST(ExplanationTest, ExplanationsFollowPodsOnOtherNodesToo) {
  // The pod on a1 excludes p from a2 as well: the answer of an unchanged node can change.
  PodAffinityRow apart;
  apart.required_anti = {
      {.selector = LabelSelector{{.key = "app", .op = SelectorOp::kIn, .values = {"web"}}},
       .namespaces = {},
       .all_namespaces = false,
       .topology_key = "zone"}};
  Rooms rooms(MakeCluster()
                  .Node("a1", {.labels = {{"zone", "a"}}})
                  .Node("a2", {.labels = {{"zone", "a"}}})
                  .Node("b1", {.labels = {{"zone", "b"}}, .cordoned = true})
                  .Pending("ns/web", {.labels = {{"app", "web"}}})
                  .Pending("ns/p", {.affinity = apart})
                  .Build());
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node is unschedulable.");
  rooms.Place("ns/web-0", "a1");
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node is unschedulable. \n"
            "2 node(s) didn't match pod anti-affinity rules.");
}

constexpr char kOneIsCordoned[] =
    "no nodes with enough resources were found: 1 node is unschedulable.";

TEST(ExplanationTest, AnExplanationForOneQueueIsNotReusedForOthers) {
  class Nothing final : public QueueAllowance {
   public:
    bool Allows(double) const override { return false; }
    QueueRefuses Why(double) const override { return {OverLimit{}}; }
  };
  Rooms rooms(
      MakeCluster()
          .Node("n1", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "1000"}}})
          .Node("n2", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "4000"}}, .cordoned = true})
          .Pending("ns/p", {.gpu_memory_mib = 500})
          .Build());
  EXPECT_EQ(rooms.Explain("ns/p-0"), kOneIsCordoned);
  const Nothing nothing;
  const NoNodeCausePtr limited = rooms.search().Explain(rooms.Pod("ns/p-0"), &nothing);
  ASSERT_EQ(limited->named.size(), 1U);
  EXPECT_EQ(limited->named[0].second, 2) << "the queue is checked before the node itself";
  EXPECT_EQ(rooms.Explain("ns/p-0"), kOneIsCordoned);
}

TEST(ExplanationTest, AnExplanationForOneDomainIsNotReusedForAllNodes) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 1})
                  .Node("n2", {.gpus = 1, .cordoned = true})
                  .Pending("ns/fill", {.gpus = 1})
                  .Pending("ns/p", {.gpus = 1})
                  .Build());
  EXPECT_EQ(rooms.Explain("ns/p-0"), kOneIsCordoned);
  rooms.Place("ns/fill-0", "n1");
  const NodeSubset full = NodeSubset::Of({rooms.Node("n1")});
  const NodeSearch::Area area{.nodes = &full};
  rooms.search().Confine(&area);
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node(s) didn't have enough resources: "
            "GPUs.");
  rooms.search().Confine(nullptr);
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node is unschedulable. \n"
            "1 node(s) didn't have enough resources: GPUs.");
}

}  // namespace
}  // namespace kai::explanation_test
