#include "kai/actions/failed_groups.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kai/actions/cycle_for_test.h"

namespace kai::failed_groups_test {
namespace {

using Scope = FailedGroups::Scope;

// ---- as in KAI: by signature and size (spec 2 H4)

struct Request {
  int64_t millicpu = 100;
  int64_t mb = 0;
};
using Requests = std::vector<Request>;

class Signatures {
 public:
  // Adds a pod group with one waiting pod per request.
  Signatures& Group(const std::string& name, const Requests& requests) {
    for (const Request& request : requests)
      maker.Pending("ns/" + name, {.millicpu = request.millicpu, .mb = request.mb});
    return *this;
  }
  void Fail(const std::string& name) { failed().Add(cycle_->rooms.Group("ns/" + name)); }
  bool Skips(const std::string& name) {
    return failed().Includes(cycle_->rooms.Group("ns/" + name));
  }

  ClusterMaker maker = MakeCluster().Node("n");

 private:
  FailedGroups& failed() {
    if (failed_ == nullptr) {
      cycle_ = std::make_unique<TestCycle>(maker);
      cycle_->switches.Set(Switch::kSignatureSkip, false);
      failed_ = std::make_unique<FailedGroups>(cycle_->view, Scope::kQueue);
    }
    return *failed_;
  }

  std::unique_ptr<TestCycle> cycle_;
  std::unique_ptr<FailedGroups> failed_;
};

// Whether p is skipped after q has failed.
bool SkipsAfter(const Requests& q, const Requests& p) {
  Signatures groups;
  groups.Group("q", q).Group("p", p).Fail("q");
  return groups.Skips("p");
}

TEST(SignatureTest, AGroupThatRequestsLessIsTried) {
  EXPECT_FALSE(SkipsAfter({{100}, {100}}, {{50}, {100}}));
  EXPECT_TRUE(SkipsAfter({{100}, {100}}, {{100}, {100}}));
  EXPECT_TRUE(SkipsAfter({{100}, {100}}, {{100}, {150}}));
}

TEST(SignatureTest, AGroupWithAnotherNumberOfPodsIsTried) {  // spec 2 H3, E10
  EXPECT_FALSE(SkipsAfter({{100}, {100}}, {{500}}));
  EXPECT_FALSE(SkipsAfter({{100}}, {{100}, {100}}));
}

TEST(SignatureTest, AGroupWithFewerWaitingPodsIsTried) {
  // Both groups have two pods that do not run; one pod of few is not ready to be placed.
  for (const bool few_failed : {true, false}) {
    Signatures groups;
    groups.Group("many", {{500}, {500}}).Group("few", {{500}});
    groups.maker.Gated("ns/few", {.millicpu = 500});
    groups.Fail(few_failed ? "few" : "many");
    EXPECT_EQ(groups.Skips(few_failed ? "many" : "few"), few_failed);
  }
}

TEST(SignatureTest, AGroupWithoutPodsToPlaceIsSkipped) {
  Signatures groups;
  groups.Group("q", {{500}}).maker.Gated("ns/gated", {.millicpu = 500});
  groups.Fail("q");
  EXPECT_TRUE(groups.Skips("gated"));
}

TEST(SignatureTest, LessOfOneResourceAndMoreOfAnotherIsNotEasier) {
  EXPECT_TRUE(SkipsAfter({{100, 100}}, {{200, 50}}));
  EXPECT_FALSE(SkipsAfter({{100, 100}}, {{50, 100}}));
}

TEST(SignatureTest, PodsAreComparedBySize) {
  // 100, 100, 1000 compared with 500, 500, 500: the third is easier.
  EXPECT_FALSE(SkipsAfter({{1000}, {100}, {100}}, {{500}, {500}, {500}}));
}

TEST(SignatureTest, ALargerGroupDoesNotReplaceTheFailedGroup) {
  Signatures groups;
  groups.Group("q", {{1000}, {100}, {100}}).Group("p", {{500}, {500}, {500}});
  groups.Group("next", {{600}, {600}, {600}});
  groups.Fail("q");
  groups.Fail("p");  // its first pod is larger than the first of q
  EXPECT_FALSE(groups.Skips("next")) << "it is easier than q";
}

TEST(SignatureTest, ASmallerGroupReplacesTheFailedGroup) {
  Signatures groups;
  groups.Group("q", {{100}}).Group("p", {{50}}).Group("next", {{60}});
  groups.Fail("q");
  EXPECT_FALSE(groups.Skips("next"));
  groups.Fail("p");
  EXPECT_TRUE(groups.Skips("next"));
}

TEST(SignatureTest, AGroupWithOtherConstraintsIsTried) {
  Signatures groups;
  groups.Group("q", {{100}});
  groups.maker.Pending("ns/p", {.millicpu = 100, .node_selector = {{"zone", "a"}}});
  groups.Fail("q");
  EXPECT_TRUE(groups.Skips("q"));
  EXPECT_FALSE(groups.Skips("p"));
}

TEST(SignatureTest, RunningPodsDoNotCount) {  // spec 2 E10
  Signatures groups;
  groups.Group("q", {{100}}).Group("p", {{100}});
  groups.maker.Running("ns/p", {.millicpu = 700, .node = "n", .node_selector = {{"zone", "a"}}});
  groups.Fail("q");
  EXPECT_TRUE(groups.Skips("p"));
}

TEST(SignatureTest, NoGroupIsSkippedWithoutSignatures) {
  Signatures groups;
  groups.maker.params().use_scheduling_signatures = false;
  groups.Group("q", {{100}});
  groups.Fail("q");
  EXPECT_FALSE(groups.Skips("q"));
}

TEST(SignatureScopeTest, AFailureAppliesToTheQueueOrToTheCluster) {  // spec 2 R1
  for (const Scope scope : {Scope::kQueue, Scope::kCluster}) {
    TestCycle cycle(MakeCluster().Queue("a").Queue("b").Node("n").Pending("a/g").Pending("b/g"));
    cycle.switches.Set(Switch::kSignatureSkip, false);
    FailedGroups failed(cycle.view, scope);
    failed.Add(cycle.rooms.Group("a/g"));
    EXPECT_TRUE(failed.Includes(cycle.rooms.Group("a/g")));
    EXPECT_EQ(failed.Includes(cycle.rooms.Group("b/g")), scope == Scope::kCluster);
  }
}

TEST(SignatureScopeTest, ByDefaultAFailureAppliesToNoOtherGroup) {  // spec 2 W6
  TestCycle cycle(MakeCluster().Queue("a").Node("n").Pending("a/g"));
  FailedGroups failed(cycle.view, Scope::kQueue);
  failed.Add(cycle.rooms.Group("a/g"));
  EXPECT_FALSE(failed.Includes(cycle.rooms.Group("a/g")));
}

}  // namespace
}  // namespace kai::failed_groups_test
