#include "kai/placement/standing.h"

#include <gtest/gtest.h>

#include "kai/base/text.h"
#include "kai/placement/rooms_for_test.h"

namespace kai::standing_test {
namespace {

// "possible: n1; n2 n3: 26 cpu" with the numbers of refusals, and names of what is too small.
std::string Survey(Rooms* rooms, std::string_view pod = "ns/p-0") {
  const Cluster& cluster = rooms->cluster();
  const auto name = [&](NodeId node) { return cluster.Text(cluster.nodes().name[node]); };
  const Standing standing =
      StandingOf(cluster.pods().pod_class[rooms->Pod(pod)], &rooms->search().plans());
  std::string text = "possible:";
  for (const NodeId node : standing.possible) text += StrCat(" ", name(node));
  for (const Standing::Obstacles& each : standing.obstacles) {
    text += ";";
    for (const NodeId node : each.nodes) text += StrCat(" ", name(node));
    text += ":";
    for (const Refusal refusal : each.refusals) {
      if (refusal.cause() == Refusal::kShortage) {
        text += StrCat(" ", cluster.slots().Name(refusal.slot()));
      } else if (refusal == Refusal::kNodeAffinityMismatch) {
        text += " labels";
        for (const Requirement& unmet : each.unmet) text += StrCat(" ", cluster.Text(unmet.key));
      } else if (refusal == Refusal::kUntoleratedTaints) {
        for (const InternedTaint& taint : each.taints) text += StrCat(" ", cluster.Text(taint.key));
      } else {
        text += refusal == Refusal::kNodeUnschedulable ? " cordoned" : " other";
      }
    }
  }
  return text;
}

std::string Survey(const ClusterMaker& maker) {
  Rooms rooms(maker.Build());
  return Survey(&rooms);
}

TEST(StandingTest, PodsOnNodesDoNotMatter) {
  EXPECT_EQ(Survey(MakeCluster()
                       .Node("free", {.gpus = 8})
                       .Node("full", {.gpus = 8})
                       .Running("ns/x", {.gpus = 8, .node = "full"})
                       .Pending("ns/p", {.gpus = 8})),
            "possible: free full");
}

TEST(StandingTest, AllObstaclesOfANodeAreFoundAlsoOnAFullOne) {
  EXPECT_EQ(Survey(MakeCluster()
                       .Node("n1", {.gpus = 4, .taints = {{"ml", "", TaintEffect::kNoSchedule}}})
                       .Running("ns/x", {.gpus = 4, .node = "n1"})
                       .Pending("ns/p", {.gpus = 8, .node_selector = {{"zone", "a"}}})),
            "possible:; n1: ml labels zone gpu");
}

TEST(StandingTest, NodesWithTheSameObstaclesAreOneRow) {
  EXPECT_EQ(Survey(MakeCluster()
                       .Node("n1", {.gpus = 8, .labels = {{"zone", "a"}}})
                       .Node("n2", {.gpus = 8, .labels = {{"zone", "b"}}})
                       .Node("n3", {.gpus = 2, .labels = {{"zone", "a"}}})
                       .Node("n4", {.gpus = 8, .labels = {{"zone", "c"}}})
                       .Node("n5", {.gpus = 8, .labels = {{"zone", "a"}}, .cordoned = true})
                       .Pending("ns/p", {.gpus = 4, .node_selector = {{"zone", "a"}}})),
            "possible: n1; n2 n4: labels zone; n3: gpu; n5: cordoned");
}

TEST(StandingTest, OfAnAffinityTheNearestTermCounts) {
  ClusterMaker maker = MakeCluster().Node("n1", {.labels = {{"a", "1"}}}).Pending("ns/p");
  const auto is = [](std::string key) {
    return SelectorRequirement{.key = std::move(key), .op = SelectorOp::kIn, .values = {"1"}};
  };
  maker.rows().pods[0].has_node_affinity = true;
  maker.rows().pods[0].node_affinity = {{.expressions = {is("b"), is("c")}, .fields = {}},
                                        {.expressions = {is("a"), is("d")}, .fields = {}}};
  EXPECT_EQ(Survey(maker), "possible:; n1: labels d");
}

TEST(StandingTest, SharesNeedDevicesAndTheirMemory) {
  const auto maker = MakeCluster()
                         .Node("none")
                         .Node("one", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "8000"}}})
                         .Node("big", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "40000"}}});
  EXPECT_EQ(Survey(ClusterMaker(maker).Pending("ns/p", {.gpu_fraction = 0.5})),
            "possible: big one; none: gpu");
  EXPECT_EQ(Survey(ClusterMaker(maker).Pending("ns/p", {.gpu_fraction = 0.5, .gpu_devices = 2})),
            "possible: big; none one: gpu");
  EXPECT_EQ(Survey(ClusterMaker(maker).Pending("ns/p", {.gpu_memory_mib = 16'000})),
            "possible: big; none: gpu; one: other");
}

TEST(StandingTest, WithoutNodesThereAreNoObstacles) {
  EXPECT_EQ(Survey(MakeCluster().Pending("ns/p")), "possible:");
}

}  // namespace
}  // namespace kai::standing_test
