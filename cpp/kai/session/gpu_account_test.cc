#include "kai/session/gpu_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kai/session/plans_for_test.h"

namespace kai::gpu_account_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct Kept {
  explicit Kept(const ClusterMaker& maker)
      : plan(RunPlan(Session(ParseConfig("")), maker.Build())),
        account(AccountOf(plan, TableOf(plan))) {
    for (const auto& [queue, gpus] : account.gained)
      gained.emplace(plan.cluster->Text(plan.cluster->queues().name[queue]), gpus);
  }

  Plan plan;
  GpuAccount account;
  std::map<std::string, int64_t> gained;
};

TEST(GpuAccountTest, BoundGpusAreNotFree) {
  const Kept kept(MakeCluster()
                      .Queue("q", {.deserved_gpus = 8})
                      .Node("n1", {.gpus = 4})
                      .Node("n2", {.gpus = 4})
                      .Running("q/old", {.gpus = 1, .node = "n2"})
                      .Pending("q/new", {.gpus = 3})
                      .Pending("q/half", {.gpu_fraction = 0.5}));
  EXPECT_THAT(kept.account.capacity, ElementsAre(Pair(4, 2)));
  EXPECT_THAT(kept.account.free, ElementsAre(Pair(0, 1), Pair(3.5, 1)));
  EXPECT_THAT(kept.gained, ElementsAre(Pair("q", NanoGpus(3.5))));
}

TEST(GpuAccountTest, PipelinedPodsUseGpusOfEvictedPods) {
  const Kept kept(MakeCluster()
                      .Queue("a", {.deserved_gpus = 2})
                      .Queue("b")
                      .Node("n", {.gpus = 4})
                      .Running("b/old", {.pods = 4, .gpus = 1, .node = "n", .min_member = 1})
                      .Pending("a/new", {.pods = 2, .gpus = 1, .min_member = 2}));
  EXPECT_THAT(kept.account.free, ElementsAre(Pair(0, 1))) << "evicted pods still hold their GPUs";
  EXPECT_EQ(kept.account.leaving, 0) << "what they leave is promised";
  EXPECT_THAT(kept.gained, ElementsAre(Pair("a", NanoGpus(2)), Pair("b", -NanoGpus(2))));
}

TEST(GpuAccountTest, QueuesAreComparedWithTheirFairShare) {
  const Kept kept(MakeCluster()
                      .Queue("top")
                      .Queue("a", {.parent = "top", .deserved_gpus = 2})
                      .Queue("b", {.parent = "top", .deserved_gpus = 2})
                      .Queue("c", {.parent = "top"})
                      .Node("n", {.gpus = 4})
                      .Running("a/old", {.pods = 2, .gpus = 1, .node = "n", .priority = 200})
                      .Running("b/old", {.gpus = 1, .node = "n", .priority = 200})
                      .Running("c/old", {.gpus = 1, .node = "n", .priority = 200})
                      .Pending("b/new", {.gpus = 1}));
  EXPECT_EQ(kept.account.queues_in_use, 3) << "their parent is not counted";
  EXPECT_EQ(kept.account.queues_above, 1);
  ASSERT_EQ(kept.account.first_above.size(), 1);
  const auto [queue, gpus] = kept.account.first_above.front();
  EXPECT_EQ(kept.plan.cluster->Text(kept.plan.cluster->queues().name[queue]), "c");
  EXPECT_EQ(gpus, NanoGpus(1));
}

TEST(GpuAccountTest, APodThatMovesGainsNothing) {
  const Kept kept(MakeCluster()
                      .Queue("q", {.deserved_gpus = 4})
                      .Node("n1", {.gpus = 2})
                      .Node("n2", {.gpus = 2})
                      .Running("q/one", {.gpus = 1, .node = "n1"})
                      .Running("q/two", {.gpus = 1, .node = "n2"})
                      .Pending("q/wide", {.gpus = 2}));
  EXPECT_THAT(kept.gained, ElementsAre(Pair("q", NanoGpus(2)))) << "only the pod that was waiting";
  EXPECT_THAT(kept.account.free, ElementsAre(Pair(0, 2)));
}

TEST(GpuAccountTest, APodWhoseDeletionIsStuckLeavesNothing) {
  ClusterMaker maker = MakeCluster()
                           .Queue("q")
                           .Node("n1", {.gpus = 1})
                           .Node("n2", {.gpus = 4})
                           .Releasing("q/stuck", {.gpus = 1, .node = "n1"})
                           .Releasing("q/never-ran", {.gpus = 2, .node = "n2"});
  maker.rows().pods[0].deletion_ns = kTestNowNs - 3600 * kSecondNs;
  maker.rows().pods[1].deletion_ns = kTestNowNs - 3600 * kSecondNs;
  maker.rows().pods[1].phase = Phase::kPending;
  const Kept kept(maker);
  EXPECT_EQ(kept.account.leaving, 2) << "only a pod that ran can be stuck";
  EXPECT_THAT(kept.account.free, ElementsAre(Pair(0, 1), Pair(2, 1)));
}

TEST(GpuAccountTest, APodThatIsEvictedTwiceCountsOnce) {
  Kept kept(MakeCluster()
                .Queue("a", {.deserved_gpus = 1})
                .Queue("b")
                .Node("n", {.gpus = 1})
                .Running("b/old", {.gpus = 1, .node = "n"})
                .Pending("a/new", {.gpus = 1}));
  EXPECT_THAT(kept.gained, ElementsAre(Pair("a", NanoGpus(1)), Pair("b", -NanoGpus(1))));
  kept.plan.decisions.push_back(kept.plan.decisions.front());
  ASSERT_EQ(kept.plan.decisions.back().kind, CycleLog::Decision::Kind::kEvict);
  EXPECT_EQ(AccountOf(kept.plan, TableOf(kept.plan)).gained, kept.account.gained);
}

}  // namespace
}  // namespace kai::gpu_account_test
