#include "kai/engine/broken_bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/engine/engine.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::broken_bindings_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two pods are being bound to node n, each to its own GPU.
class BrokenBindingsTest : public testing::Test {
 protected:
  void SetUp() override {
    const ClusterRows rows = MakeCluster()
                                 .Queue("q")
                                 .Node("n", {.gpus = 2})
                                 .Node("o", {.gpus = 2})
                                 .Pending("q/a", {.pods = 2, .gpus = 1})
                                 .Rows();
    for (const NodeRow& row : rows.nodes) store_.Upsert(row);
    for (const QueueRow& row : rows.queues) store_.Upsert(row);
    for (const PodGroupRow& row : rows.pod_groups) store_.Upsert(row);
    for (const PodRow& row : rows.pods) store_.Upsert(row);
    ASSERT_TRUE(engine_.Plan(kTestNowNs, nullptr).ok());
    for (const PodRow& row : rows.pods)
      ids_.push_back(*engine_.AssumeBoundTo("q/" + row.name, row.uid, "n"));
  }
  NodeRow Node() const { return *store_.Find<NodeRow>("n"); }
  void PutForeign(int64_t gpus) {
    PodsSpec spec;
    spec.gpus = gpus;
    spec.node = "n";
    store_.Upsert(MakeCluster().Foreign("q/f", spec).Rows().pods[0]);
  }

  Store store_;
  Engine engine_{&store_, ParseConfig("{}"), ShardParams()};
  std::vector<AssumptionId> ids_;
};

TEST_F(BrokenBindingsTest, NoBindingIsBrokenWithoutChanges) {
  EXPECT_THAT(engine_.Broken(ids_), IsEmpty());
  NodeRow node = Node();
  node.labels.emplace_back("heart", "beats");
  store_.Upsert(node);
  EXPECT_THAT(engine_.Broken(ids_), IsEmpty());
}

TEST_F(BrokenBindingsTest, BindingsToADeletedCordonedOrTaintedNodeAreBroken) {
  const NodeRow before = Node();
  NodeRow cordoned = before;
  cordoned.unschedulable = true;
  store_.Upsert(cordoned);
  EXPECT_EQ(engine_.Broken(ids_), ids_);
  NodeRow tainted = before;
  tainted.taints.push_back({.key = "k", .value = "v", .effect = TaintEffect::kNoSchedule});
  store_.Upsert(tainted);
  EXPECT_EQ(engine_.Broken(ids_), ids_);
  store_.Upsert(before);
  EXPECT_THAT(engine_.Broken(ids_), IsEmpty());
  store_.Delete(Kind::kNode, "n");
  EXPECT_EQ(engine_.Broken(ids_), ids_);
}

TEST_F(BrokenBindingsTest, WithoutRoomTheLaterBindingsAreBroken) {
  PutForeign(1);
  EXPECT_THAT(engine_.Broken(ids_), ElementsAre(ids_[1]));
  PutForeign(2);
  EXPECT_EQ(engine_.Broken(ids_), ids_);
  PutForeign(0);
  EXPECT_THAT(engine_.Broken(ids_), IsEmpty()) << "there is room for both";
}

TEST_F(BrokenBindingsTest, OnlyBindingsInTheQueryAreReported) {
  PutForeign(1);
  const std::vector<AssumptionId> first = {ids_[0]};
  EXPECT_EQ(engine_.Broken(first), first) << "the other binding is being carried out";
}

TEST_F(BrokenBindingsTest, ABindingThatIsNoLongerAssumedIsBroken) {
  engine_.Forget(ids_[0]);
  EXPECT_THAT(engine_.Broken(ids_), ElementsAre(ids_[0]));
  store_.Delete(Kind::kPod, "q/a-1");
  EXPECT_EQ(engine_.Broken(ids_), ids_);
}

TEST_F(BrokenBindingsTest, AQueryForBrokenBindingsIsNoPlan) {
  ASSERT_TRUE(engine_.Plan(kTestNowNs, nullptr).ok());
  EXPECT_FALSE(engine_.has_changed());
  PutForeign(1);
  engine_.Broken(ids_);
  EXPECT_TRUE(engine_.has_changed());
  ASSERT_TRUE(engine_.Plan(kTestNowNs, nullptr).ok());
  EXPECT_FALSE(engine_.has_changed());
}

}  // namespace
}  // namespace kai::broken_bindings_test
