#include "kai/actions/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kai/actions/cycle_for_test.h"

namespace kai::turns_test {
namespace {

using Equals = Turns::Equals;

class TurnsTest : public testing::Test {
 protected:
  void Make(const ClusterMaker& maker, Equals equals = Equals::kEach) {
    cycle_ = std::make_unique<TestCycle>(maker);
    Start(equals);
  }
  void Start(Equals equals = Equals::kEach) {
    waiting_ = std::make_unique<WaitingRuns>(cycle_->view);
    turns_ = std::make_unique<Turns>(cycle_->view, -1, equals);
    for (const auto& run : waiting_->runs()) turns_->Push(run);
  }
  // The name of the next group; empty: none is left.
  std::string Next() {
    const PodGroupId group = turns_->Next();
    if (!group.valid()) return "";
    return std::string(cycle_->cluster().Text(cycle_->cluster().pod_groups().name[group]));
  }

  std::unique_ptr<TestCycle> cycle_;
  std::unique_ptr<WaitingRuns> waiting_;
  std::unique_ptr<Turns> turns_;
};

ClusterMaker Waiting() {
  return MakeCluster()
      .Node("n", {.gpus = 8})
      .Pending("ns/a", {.gpus = 1})
      .Pending("ns/b", {.gpus = 2})
      .Pending("ns/c", {.gpus = 1})
      .Pending("ns/d", {.gpus = 2, .priority = 90});
}

TEST_F(TurnsTest, ComeInTheOrderOfTheWorklist) {
  Make(Waiting());
  EXPECT_EQ(Next(), "d");
  EXPECT_EQ(Next(), "a");
  EXPECT_EQ(Next(), "b");
  EXPECT_EQ(Next(), "c");
  EXPECT_EQ(Next(), "");
}

TEST_F(TurnsTest, OtherGroupsOfTheClassOfAFailedGroupAreSkipped) {
  Make(Waiting());
  EXPECT_EQ(Next(), "d");
  EXPECT_EQ(Next(), "a");
  turns_->Fail();
  EXPECT_EQ(Next(), "b");
  EXPECT_EQ(Next(), "") << "c has the same request as a";
}

TEST_F(TurnsTest, AfterAChangeEveryGroupIsTriedAgain) {
  Make(Waiting());
  EXPECT_EQ(Next(), "d");
  EXPECT_EQ(Next(), "a");
  turns_->Fail();
  EXPECT_EQ(Next(), "b");
  cycle_->rooms.Place("ns/b-0", "n");
  EXPECT_EQ(Next(), "c");
}

TEST_F(TurnsTest, AGroupThatGotPodsIsNoLongerComparedWithItsClass) {
  Make(MakeCluster()
           .Node("n", {.gpus = 8})
           .Pending("ns/a", {.pods = 2, .gpus = 1, .min_member = 1})
           .Pending("ns/b", {.pods = 2, .gpus = 1, .min_member = 1}));
  EXPECT_EQ(Next(), "a");
  cycle_->rooms.Place("ns/a-0", "n");
  turns_->Push(cycle_->rooms.Group("ns/a"));
  EXPECT_EQ(Next(), "b") << "b has nothing yet";
  EXPECT_EQ(Next(), "a");
  turns_->Fail();
  EXPECT_EQ(Next(), "");
  Start();
  EXPECT_EQ(waiting_->runs().size(), 2) << "their requests differ now";
}

TEST_F(TurnsTest, GroupsWithRunningPodsAreSkippedUnlessEachNeedsAReason) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n", {.gpus = 8})
                                 .Running("ns/a", {.node = "n", .min_member = 1})
                                 .Pending("ns/a")
                                 .Running("ns/b", {.node = "n", .min_member = 1})
                                 .Pending("ns/b");
  for (const Equals equals : {Equals::kEach, Equals::kPassOver}) {
    Make(maker, equals);
    EXPECT_EQ(Next(), "a");
    turns_->Fail();
    EXPECT_EQ(Next(), equals == Equals::kEach ? "b" : "");
  }
}

}  // namespace
}  // namespace kai::turns_test
