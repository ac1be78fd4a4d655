// Checks that matchers also reject plans.
#include "kai/testing/matchers/matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::matchers_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Pods v/train-0 and v/train-1 are bound to n1 and n2, s/bulk-0 is evicted, v/late-0 is promised
// n1.
class MatchersTest : public ::testing::Test {
 protected:
  MatchersTest() {
    plan_.cluster = MakeCluster()
                        .Node("n1")
                        .Node("n2")
                        .Running("s/bulk", {.node = "n1"})
                        .Pending("v/train", {.pods = 2})
                        .Pending("v/late")
                        .Build();
    Decide(CycleLog::Decision::Kind::kBind, "v/train-0", "n1");
    Decide(CycleLog::Decision::Kind::kBind, "v/train-1", "n2");
    Decide(CycleLog::Decision::Kind::kEvict, "s/bulk-0", "");
    Decide(CycleLog::Decision::Kind::kPipeline, "v/late-0", "n1");
    GroupOutcomes outcomes(plan_.cluster->pod_groups().size());
    GroupOutcome& outcome = outcomes.At(PodGroupNamed(*plan_.cluster, "v/late"));
    outcome.verdict = Verdict::kPipelined;
    outcome.reasons = {{.reason = NoQueue()}};
    outcome.has_errors_event = true;
    plan_.outcomes = std::make_shared<const GroupOutcomes>(std::move(outcomes));
  }

  void Decide(CycleLog::Decision::Kind kind, std::string_view pod, std::string_view node) {
    CycleLog::Decision decision;
    decision.kind = kind;
    decision.pod = PodNamed(*plan_.cluster, pod);
    if (!node.empty()) decision.node = NodeNamed(*plan_.cluster, node);
    plan_.decisions.push_back(decision);
  }

  Plan plan_;
};

TEST_F(MatchersTest, PlanIsMatchesEveryDecisionInOrder) {
  EXPECT_THAT(plan_, PlanIs(Binds("v/train-0", "n1"), Binds("v/train-1", "n2"), Evicts("s/bulk-0"),
                            Pipelines("v/late-0", "n1")));
  EXPECT_THAT(plan_, PlanIs(Binds("v/train"), Evicts("s/bulk"), Pipelines("v/late")));
  EXPECT_THAT(plan_,
              PlanIs(Binds(2, "v/train"), Evicts(1, "s/bulk"), Pipelines(1, "v/late", "n1")));
}

TEST_F(MatchersTest, PlanIsRefusesAnyOtherPlan) {
  EXPECT_THAT(plan_, Not(PlanIs()));
  EXPECT_THAT(plan_, Not(PlanIs(Binds("v/train"), Evicts("s/bulk")))) << "a decision is missing";
  EXPECT_THAT(plan_, Not(PlanIs(Evicts("s/bulk"), Binds("v/train"), Pipelines("v/late"))));
  EXPECT_THAT(plan_, Not(PlanIs(Binds("v/train", "n1"), Evicts("s/bulk"), Pipelines("v/late"))))
      << "the second pod is on another node";
  EXPECT_THAT(plan_, Not(PlanIs(Binds(1, "v/train"), Evicts("s/bulk"), Pipelines("v/late"))));
  EXPECT_THAT(plan_, Not(PlanIs(Binds(3, "v/train"), Evicts("s/bulk"), Pipelines("v/late"))));
  EXPECT_THAT(plan_, Not(PlanIs(Binds("v/train"), Evicts("s/bulk"), Binds("v/late"))));
  EXPECT_THAT(plan_, Not(PlanIs(Binds("v/train"), Evicts("s/bulk"), Pipelines("v/late"),
                                Binds("v/train"))));
}

TEST_F(MatchersTest, TheExplanationNamesTheFirstDifference) {
  testing::StringMatchResultListener listener;
  EXPECT_FALSE(PlanIs(Binds("v/train"), Evicts("v/late")).MatchAndExplain(plan_, &listener));
  EXPECT_EQ(listener.str(), "no \"evict v/late\" at decision 2");
  testing::StringMatchResultListener rest;
  EXPECT_FALSE(PlanIs(Binds("v/train")).MatchAndExplain(plan_, &rest));
  EXPECT_EQ(rest.str(), "decision 2 and all after it are not expected: evict s/bulk-0");
}

TEST_F(MatchersTest, OutcomeMatchersRejectWrongOutcomes) {
  EXPECT_THAT(plan_, HasVerdict("v/late", Verdict::kPipelined));
  EXPECT_THAT(plan_, Not(HasVerdict("v/late", Verdict::kPlaced)));
  EXPECT_THAT(plan_, HasMessage("v/late", HasSubstr("does not exist")));
  EXPECT_THAT(plan_, Not(HasMessage("v/late", HasSubstr("hurry"))));
  EXPECT_THAT(plan_, HasMessage("v/train", ""));
  EXPECT_THAT(plan_, Reasons("v/late", "queue_does_not_exist"));
  EXPECT_THAT(plan_, Not(Reasons("v/late", "over_limit")));
}

TEST_F(MatchersTest, APlanPrintsAsItsDecisions) {
  EXPECT_EQ(
      DecisionsText(plan_),
      "bind v/train-0 on n1\nbind v/train-1 on n2\nevict s/bulk-0\npipeline v/late-0 on n1\n");
  EXPECT_EQ(testing::PrintToString(Plan()), "a plan that decides nothing");
}

}  // namespace
}  // namespace kai::matchers_test
