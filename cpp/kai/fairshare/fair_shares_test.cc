// Fair shares: the resources of the cluster, divided down the tree (spec 1 F40-F51).
#include "kai/fairshare/fair_shares.h"

#include <gtest/gtest.h>

#include <vector>

#include "kai/fairshare/capacity.h"
#include "kai/fairshare/reclaim_rule.h"
#include "kai/model/changes/statement.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::fair_shares_test {
namespace {

const Share& GpuOf(const FairShares& shares, const Cluster& cluster, std::string_view queue) {
  return shares[QueueNamed(cluster, queue)][kQuotaGpu];
}

// spec 1 F40, F52
TEST(FairSharesTest, DividesTheClusterAmongTopLevelQueuesAndSharesAmongChildren) {
  const auto cluster = MakeCluster()
                           .Queue("a", {.deserved_gpus = 8})
                           .Queue("a1", {.parent = "a", .deserved_gpus = 6, .weight_gpus = 1})
                           .Queue("a2", {.parent = "a", .deserved_gpus = 2, .weight_gpus = 3})
                           .Queue("b", {.deserved_gpus = 4})
                           .Node("n1", {.gpus = 20})
                           .Pending("a1/x", {.pods = 10, .gpus = 1})
                           .Pending("a2/x", {.pods = 5, .gpus = 1})
                           .Pending("b/x", {.pods = 30, .gpus = 1})
                           .Build();
  const QueueUsage usage(*cluster);
  const FairShares shares(*cluster, usage, {.k_value = 0});
  EXPECT_EQ(GpuOf(shares, *cluster, "a").fair_share, 12);
  EXPECT_EQ(GpuOf(shares, *cluster, "b").fair_share, 8);
  EXPECT_EQ(GpuOf(shares, *cluster, "a1").fair_share, 7);
  EXPECT_EQ(GpuOf(shares, *cluster, "a2").fair_share, 5);
}

TEST(FairSharesTest, AChildMayDeserveMoreThanItsParent) {  // spec 1 F40
  const auto cluster = MakeCluster()
                           .Queue("d2", {.deserved_gpus = 1, .weight_gpus = 0})
                           .Queue("q2", {.parent = "d2", .deserved_gpus = 2})
                           .Node("n1", {.gpus = 4})
                           .Pending("q2/x", {.pods = 4, .gpus = 1})
                           .Build();
  const QueueUsage usage(*cluster);
  const FairShares shares(*cluster, usage, {});
  EXPECT_EQ(GpuOf(shares, *cluster, "d2").fair_share, 1);
  EXPECT_EQ(GpuOf(shares, *cluster, "q2").fair_share, 2);
}

TEST(FairSharesTest, DividesEachResourceSeparately) {
  const auto cluster = MakeCluster()
                           .Queue("a", {.deserved_gpus = 1, .deserved_millicpu = 0})
                           .Queue("b", {.deserved_gpus = 1, .deserved_millicpu = 0})
                           .Node("n1", {.gpus = 3, .millicpu = 5000})
                           .Pending("a/x", {.pods = 3, .gpus = 1, .millicpu = 1000})
                           .Pending("b/x", {.pods = 2, .gpus = 0, .millicpu = 1000})
                           .Build();
  const QueueUsage usage(*cluster);
  const FairShares shares(*cluster, usage, {});
  EXPECT_EQ(GpuOf(shares, *cluster, "a").fair_share, 3);
  EXPECT_EQ(GpuOf(shares, *cluster, "b").fair_share, 0);
  EXPECT_EQ(shares[QueueNamed(*cluster, "a")][kQuotaCpu].fair_share, 3000);
  EXPECT_EQ(shares[QueueNamed(*cluster, "b")][kQuotaCpu].fair_share, 2000);
}

TEST(FairSharesTest, WithoutThePluginAllNumbersAreZero) {
  const auto cluster = MakeCluster()
                           .Queue("q", {.deserved_gpus = 4, .limit_gpus = 8})
                           .Node("n1", {.gpus = 8})
                           .Running("q/a", {.gpus = 1, .node = "n1"})
                           .Build();
  const QueueUsage usage(*cluster);
  const FairShares shares(*cluster, usage, {.divide = false});
  const Share& share = GpuOf(shares, *cluster, "q");
  EXPECT_EQ(share.deserved, 0);
  EXPECT_EQ(share.request, 0);
  EXPECT_EQ(share.fair_share, 0);
}

TEST(FairSharesTest, StayAtTheValuesOfTheCycleStartWhileSumsChange) {  // spec 1 F31
  const auto cluster =
      MakeCluster().Queue("q").Node("n1", {.gpus = 8}).Pending("q/p", {.gpus = 2}).Build();
  QueueUsage usage(*cluster);
  const FairShares shares(*cluster, usage, {});
  const QueueId queue = QueueNamed(*cluster, "q");
  EXPECT_EQ(shares[queue][kQuotaGpu].fair_share, 2);
  EXPECT_EQ(shares[queue][kQuotaGpu].request, 2);
  const auto statement = Statement::Open(cluster.get(), {&usage});
  statement->Place(PodNamed(*cluster, "q/p-0"), NodeNamed(*cluster, "n1"));
  EXPECT_EQ(shares[queue].allocated()[kQuotaGpu], 2);
  EXPECT_EQ(shares[queue][kQuotaGpu].fair_share, 2);
  EXPECT_EQ(shares[queue][kQuotaGpu].request, 2);
}

// 0.1 and 0.2 GPUs: in doubles, the pending pod would exceed the share that includes it.
TEST(FairSharesTest, AQueueThatGetsItsWholeRequestIsNotAboveItsShare) {
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1", {.gpus = 8})
                           .Running("q/a", {.gpu_fraction = 0.1, .node = "n1"})
                           .Pending("q/b", {.gpu_fraction = 0.2})
                           .Build();
  const QueueUsage usage(*cluster);
  const FairShares shares(*cluster, usage, {});
  const QueueView queue = shares[QueueNamed(*cluster, "q")];
  EXPECT_EQ(queue[kQuotaGpu].fair_share, 0.3);
  const QuotaCount& asked = cluster->ClassOf(PodNamed(*cluster, "q/b-0")).requested;
  EXPECT_EQ((queue.allocated() + asked)[kQuotaGpu], queue[kQuotaGpu].fair_share);
}

// The rules read shares and sums without copies.
TEST(FairSharesTest, GiveTheReclaimRuleItsInputs) {
  const auto maker = MakeCluster()
                         .Queue("poor", {.deserved_gpus = 2})
                         .Queue("rich", {.deserved_gpus = 1, .limit_gpus = 3})
                         .Node("n1", {.gpus = 4})
                         .Running("rich/a", {.pods = 3, .gpus = 1, .node = "n1"})
                         .Pending("poor/b", {.pods = 2, .gpus = 1});
  const auto built = maker.Build();
  const Cluster& cluster = *built;
  const QueueUsage usage(cluster);
  const FairShares shares(cluster, usage, {});
  const QueueId queue = QueueNamed(cluster, "rich");
  const QueueId reclaimer = QueueNamed(cluster, "poor");
  const std::vector<PodId> pods = {PodNamed(cluster, "poor/b-0")};

  RequestedAmount requested(Adding::kExact);
  for (const PodId pod : pods) requested += cluster.ClassOf(pod).gate_requested;
  EXPECT_FALSE(CheckLimit(shares.table(), queue, requested).fits());
  EXPECT_TRUE(CheckLimit(shares.table(), reclaimer, requested).fits());

  ReclaimRule rule(shares.table(), {.queue = reclaimer, .preemptible = true}, {});
  const QuotaCount& request = cluster.ClassOf(pods[0]).requested;
  const QueueId victim = queue;
  EXPECT_TRUE(rule.MayStart(request));
  EXPECT_TRUE(rule.MayBeVictim(victim, request));
  const std::vector<QueueLoss> losses = {{.queue = victim, .amount = request, .whole_gpus = 1}};
  EXPECT_TRUE(rule.Accepts(losses, request));
}

TEST(FairSharesPropertyTest, AgreeWithTheLiteralSpecOfTheRows) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    ClusterRows rows = MakeRandomCluster(seed, {.pod_affinity = false});
    Random random(seed);
    oracle::Settings settings{.now_ns = 0};
    settings.k_value = random.Coin() ? 1 : 0;
    for (QueueRow& row : rows.queues) {
      for (double& usage : row.past_usage)
        usage = random.Pick(std::vector<double>{0, 0, 0.1, 0.25, 1.0 / 3, 0.9, 1.5});
    }
    const auto cluster = rows.Build();
    const QueueUsage usage(*cluster);
    const FairShares shares(*cluster, usage, {.k_value = settings.k_value});
    const auto numbers = oracle::NumbersOf(oracle::World(rows, settings));
    for (const QueueId queue : cluster->queues().name.ids()) {
      const std::string name(cluster->Text(cluster->queues().name[queue]));
      const oracle::QueueNumbers& expected = numbers.at(name);
      for (size_t r = 0; r < kQuotaResources; ++r) {
        const Share& share = shares[queue][r];
        EXPECT_EQ(share.deserved, expected.deserved[r]) << name;
        EXPECT_EQ(share.limit, expected.limit[r]) << name;
        EXPECT_EQ(share.over_quota_weight, expected.weight[r]) << name;
        EXPECT_EQ(share.request, expected.request[r]) << name;
        EXPECT_EQ(share.fair_share, expected.fair_share[r]) << name;
      }
    }
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace kai::fair_shares_test
