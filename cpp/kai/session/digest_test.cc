#include "kai/session/digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"
#include "kai/session/plans_for_test.h"

namespace kai::digest_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Plan PlanOf(const ClusterMaker& maker) { return RunPlan(Session(ParseConfig("")), maker.Build()); }

DecisionRows RowsOf(const Plan& plan, size_t most) {
  return DecisionRowsOf(plan, TableOf(plan), most);
}

// Two queues with two groups each, which fill two nodes.
ClusterMaker Filled() {
  return MakeCluster()
      .Queue("a", {.deserved_gpus = 4})
      .Queue("b", {.deserved_gpus = 4})
      .Node("n1", {.gpus = 4})
      .Node("n2", {.gpus = 4})
      .Pending("a/one", {.pods = 2, .gpus = 1, .min_member = 2})
      .Pending("a/two", {.pods = 2, .gpus = 1, .min_member = 2})
      .Pending("b/one", {.pods = 2, .gpus = 1, .min_member = 2})
      .Pending("b/two", {.pods = 2, .gpus = 1, .min_member = 2});
}

TEST(PageCountsTest, CountsDecisionsAndGroupsThatWait) {
  const Plan plan = PlanOf(
      Filled().Pending("a/three", {.gpus = 1}).Running("b/old", {.millicpu = 1, .node = "n1"}));
  const PlanCounts counts = PageCountsOf(plan);
  EXPECT_THAT(counts.decisions, ElementsAre(8, 0, 0));
  EXPECT_EQ(counts.groups, 6);
  EXPECT_EQ(counts.waiting, 1);
}

TEST(DecisionRowsTest, AFewGroupsHaveARowEach) {
  const DecisionRows made = RowsOf(PlanOf(Filled()), 4);
  ASSERT_EQ(made.rows.size(), 4);
  EXPECT_EQ(made.hidden_pods, 0);
  for (const DecisionRow& row : made.rows) {
    EXPECT_EQ(row.kind, 0);
    EXPECT_EQ(row.groups, 1);
    EXPECT_EQ(row.pods, 2);
    EXPECT_EQ(row.gpus, 2);
  }
  EXPECT_EQ(made.rows[0].group, "a/one");
  EXPECT_THAT(made.rows[0].places, ElementsAre(Pair("n1", 2)));
}

TEST(DecisionRowsTest, ManyGroupsHaveARowPerQueue) {
  const DecisionRows made = RowsOf(PlanOf(Filled()), 3);
  ASSERT_EQ(made.rows.size(), 2);
  EXPECT_EQ(made.rows[0].group, "a/one");
  EXPECT_EQ(made.rows[0].groups, 2);
  EXPECT_EQ(made.rows[0].pods, 4);
  EXPECT_EQ(made.rows[1].group, "b/one");
  EXPECT_EQ(made.rows[0].nodes + made.rows[1].nodes, 4) << "both rows have pods on both nodes";
}

TEST(DecisionRowsTest, OtherRowsAreCounted) {
  const DecisionRows made = RowsOf(PlanOf(Filled()), 1);
  ASSERT_EQ(made.rows.size(), 1);
  EXPECT_EQ(made.hidden_pods, 4);
  EXPECT_EQ(made.hidden_groups, 2);
}

TEST(DecisionRowsTest, EvictionsNameTheGroupThatNeedsThem) {
  const Plan plan = PlanOf(MakeCluster()
                               .Queue("a", {.deserved_gpus = 1})
                               .Queue("b")
                               .Node("n", {.gpus = 1})
                               .Running("b/old", {.gpus = 1, .node = "n"})
                               .Pending("a/new", {.gpus = 1}));
  const DecisionRows made = RowsOf(plan, 12);
  ASSERT_EQ(made.rows.size(), 2);
  EXPECT_EQ(made.rows[0].group, "b/old");
  EXPECT_EQ(made.rows[0].action, "reclaim");
  EXPECT_EQ(made.rows[0].for_group, "a/new");
  EXPECT_THAT(made.rows[0].places, IsEmpty());
  EXPECT_EQ(made.rows[1].action, "");
}

std::vector<std::vector<std::string>> ClassesOf(const ClusterMaker& maker) {
  std::vector<std::vector<std::string>> classes;
  for (const WaitingClass& each : WaitingClassesOf(PlanOf(maker))) classes.push_back(each.names);
  return classes;
}

TEST(WaitingClassesTest, GroupsWithTheSameReasonAreInOneClass) {
  ClusterMaker maker = MakeCluster().Queue("a").Node("n");
  for (int number = 0; number < 3; ++number) {
    maker.Pending(StrCat("a/small-", number), {.gpus = 1});
    maker.Pending(StrCat("a/large-", number), {.gpus = 2});
  }
  EXPECT_THAT(ClassesOf(maker), ElementsAre(ElementsAre("a/large-0", "a/large-1", "a/large-2"),
                                            ElementsAre("a/small-0", "a/small-1", "a/small-2")));
}

TEST(WaitingClassesTest, AnotherLimitOrAnotherMinimumIsAnotherClass) {
  EXPECT_THAT(ClassesOf(MakeCluster()
                            .Queue("a", {.limit_gpus = 9})
                            .Queue("b")
                            .Queue("c")
                            .Node("n")
                            .Pending("a/x", {.pods = 2, .gpus = 4, .min_member = 2})
                            .Pending("b/x", {.pods = 2, .gpus = 4, .min_member = 2})
                            .Pending("b/y", {.pods = 2, .gpus = 4, .min_member = 1})
                            .Pending("c/x", {.pods = 2, .gpus = 4, .min_member = 2})),
              ElementsAre(ElementsAre("a/x"), ElementsAre("b/x", "c/x"), ElementsAre("b/y")));
}

TEST(WaitingClassesTest, StatesWhetherTheirQueuesDiffer) {
  const Plan plan = PlanOf(MakeCluster()
                               .Queue("a")
                               .Queue("b")
                               .Node("n")
                               .Pending("a/x", {.gpus = 1})
                               .Pending("b/x", {.gpus = 1})
                               .Pending("a/y", {.gpus = 2})
                               .Pending("a/z", {.gpus = 2}));
  const std::vector<WaitingClass> classes = WaitingClassesOf(plan);
  ASSERT_EQ(classes.size(), 2);
  EXPECT_TRUE(classes[0].spans_queues);
  EXPECT_FALSE(classes[1].spans_queues);
}

TEST(WaitingClassesTest, GroupsThatWaitForTheirPodsShareAClassToo) {
  EXPECT_THAT(ClassesOf(MakeCluster()
                            .Queue("q")
                            .Pending("q/a", {.min_member = 2})
                            .Pending("q/b", {.min_member = 2})
                            .Pending("q/c", {.min_member = 3})),
              ElementsAre(ElementsAre("q/a", "q/b"), ElementsAre("q/c")));
}

}  // namespace
}  // namespace kai::digest_test
