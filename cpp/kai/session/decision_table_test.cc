#include "kai/session/decision_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::decision_table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Plan PlanOf(const ClusterMaker& maker) { return RunPlan(Session(ParseConfig("")), maker.Build()); }

TEST(DecisionTableTest, HasARowPerDecision) {
  const Plan plan = PlanOf(MakeCluster()
                               .Queue("vision", {.deserved_gpus = 4})
                               .Node("n1", {.gpus = 4})
                               .Pending("vision/train", {.pods = 2, .gpus = 1}));
  const DecisionTable table = TableOf(plan);
  ASSERT_EQ(table.size(), 2);
  EXPECT_EQ(table.pod[0], "vision/train-0");
  EXPECT_EQ(table.pod[1], "vision/train-1");
  EXPECT_EQ(table.Kind(0), "bind");
  EXPECT_EQ(table.node.Text(0), "n1");
  EXPECT_THAT(table.node.codes(), ElementsAre(0, 0));
  EXPECT_THAT(table.gpus, ElementsAre(1, 1));
  EXPECT_THAT(table.devices, ElementsAre(0, 0)) << "the devices are whole";
  EXPECT_EQ(table.action.Text(0), std::nullopt);
  EXPECT_THAT(table.gpu_groups, IsEmpty());
}

TEST(DecisionTableTest, ListsPartlyUsedDevices) {
  const Plan plan = PlanOf(MakeCluster()
                               .Queue("vision", {.deserved_gpus = 4})
                               .Node("n1", {.gpus = 4})
                               .Pending("vision/half", {.gpu_fraction = 0.5}));
  const DecisionTable table = TableOf(plan);
  ASSERT_EQ(table.size(), 1);
  EXPECT_THAT(table.gpus, ElementsAre(0.5));
  EXPECT_THAT(table.devices, ElementsAre(1));
  EXPECT_THAT(table.portion, ElementsAre(0.5));
  EXPECT_EQ(table.gpu_groups.at(0).size(), 1);
}

TEST(DecisionTableTest, HasTheReasonOfAnEviction) {
  const Plan plan = PlanOf(MakeCluster()
                               .Queue("vision", {.deserved_gpus = 1})
                               .Queue("speech", {.deserved_gpus = 0})
                               .Node("n1", {.gpus = 1})
                               .Running("speech/bulk", {.gpus = 1, .node = "n1"})
                               .Pending("vision/train", {.gpus = 1}));
  const DecisionTable table = TableOf(plan);
  ASSERT_EQ(table.size(), 2);
  EXPECT_TRUE(table.IsEviction(0));
  EXPECT_EQ(table.node.Text(0), std::nullopt);
  EXPECT_EQ(table.action.Text(0), "reclaim");
  EXPECT_EQ(table.for_group.Text(0), "vision/train");
  EXPECT_NE(table.message.Text(0), "");
  EXPECT_EQ(table.Kind(1), "pipeline");
}

TEST(CodedColumnTest, StoresEachTextOnce) {
  CodedColumn column;
  for (const char* text : {"b", "a", "b", "b"}) column.Add(text);
  column.AddNone();
  column.Add("a");
  EXPECT_THAT(column.codes(), ElementsAre(0, 1, 0, 0, -1, 1));
  EXPECT_THAT(column.texts(), ElementsAre("b", "a"));
  EXPECT_EQ(column.Text(4), std::nullopt);
}

}  // namespace
}  // namespace kai::decision_table_test
