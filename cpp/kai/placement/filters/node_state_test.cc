#include <gtest/gtest.h>

#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"

namespace kai::node_state_test {
namespace {

std::string AnswerFor(const NodeRow& node) {
  const auto cluster = MakeCluster().Add(node).Pending("ns/p").Build();
  return AnswerOf(*MakeNodeStateFilter(*cluster), *cluster, "ns/p-0", node.name);
}

TEST(NodeStateFilterTest, AHealthyNodeAcceptsPods) {
  NodeRow node = MakeNodeRow("n");
  node.memory_pressure = ConditionStatus::kFalse;
  node.network_unavailable = ConditionStatus::kFalse;
  EXPECT_EQ(AnswerFor(node), "");
}

TEST(NodeStateFilterTest, ACordonedNodeRefusesEvenPodsThatTolerateCordons) {
  const auto cluster =
      MakeCluster()
          .Node("n", {.cordoned = true})
          .Pending("ns/p", {.tolerations = {{.key = "node.kubernetes.io/unschedulable",
                                             .exists = true,
                                             .value = {}}}})
          .Build();
  EXPECT_EQ(AnswerOf(*MakeNodeStateFilter(*cluster), *cluster, "ns/p-0", "n"),
            "node is unschedulable");
}

TEST(NodeStateFilterTest, OnlyReadyTrueIsReady) {
  for (const ConditionStatus status :
       {ConditionStatus::kFalse, ConditionStatus::kUnknown, ConditionStatus::kAbsent}) {
    NodeRow node = MakeNodeRow("n");
    node.ready = status;
    EXPECT_EQ(AnswerFor(node), "node has NotReady condition");
  }
}

TEST(NodeStateFilterTest, PressureThatIsTrueOrUnknownRefusesPods) {
  for (const ConditionStatus status : {ConditionStatus::kTrue, ConditionStatus::kUnknown}) {
    NodeRow memory = MakeNodeRow("n");
    memory.memory_pressure = status;
    EXPECT_EQ(AnswerFor(memory), "node has MemoryPressure condition");
    NodeRow disk = MakeNodeRow("n");
    disk.disk_pressure = status;
    EXPECT_EQ(AnswerFor(disk), "node has DiskPressure condition");
    NodeRow pids = MakeNodeRow("n");
    pids.pid_pressure = status;
    EXPECT_EQ(AnswerFor(pids), "node has PIDPressure condition");
    NodeRow network = MakeNodeRow("n");
    network.network_unavailable = status;
    EXPECT_EQ(AnswerFor(network), "node has NetworkUnavailable condition");
  }
}

TEST(NodeStateFilterTest, EveryReasonIsReported) {
  NodeRow node = MakeNodeRow("n", {.cordoned = true, .ready = false});
  node.disk_pressure = ConditionStatus::kTrue;
  EXPECT_EQ(AnswerFor(node),
            "node has DiskPressure condition; node has NotReady condition; node is unschedulable");
}

}  // namespace
}  // namespace kai::node_state_test
