// What queues use and deserve: rolled up the tree, divided, and kept up to date (spec 1 §3, §4).
#include "kai/fairshare/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/model/changes/statement.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::usage_test {
namespace {

using ::testing::ElementsAre;

const Share& GpuOf(const QueueUsage& usage, const Cluster& cluster, std::string_view queue) {
  return usage.share(QueueNamed(cluster, queue))[kQuotaGpu];
}

TEST(QueueUsageTest, RollsEveryAmountUpToTheRoot) {  // spec 1 F33
  const auto cluster = MakeCluster()
                           .Queue("ml", {.limit_gpus = 1})
                           .Queue("vision", {.parent = "ml"})
                           .Queue("speech", {.parent = "ml"})
                           .Queue("asr", {.parent = "speech"})
                           .Node("n1", {.gpus = 16})
                           .Running("vision/a", {.pods = 2, .gpus = 1, .node = "n1"})
                           .Running("asr/b", {.gpus = 4, .node = "n1"})
                           .Pending("asr/c", {.gpus = 8})
                           .Build();
  const QueueUsage usage(*cluster, {});
  EXPECT_EQ(GpuOf(usage, *cluster, "vision").allocated, 2);
  EXPECT_EQ(GpuOf(usage, *cluster, "asr").allocated, 4);
  EXPECT_EQ(GpuOf(usage, *cluster, "speech").allocated, 4);
  EXPECT_EQ(GpuOf(usage, *cluster, "ml").allocated, 6);
  EXPECT_EQ(GpuOf(usage, *cluster, "asr").request, 12);
  EXPECT_EQ(GpuOf(usage, *cluster, "ml").request, 14) << "limits do not cap a request";
  EXPECT_EQ(usage.share(QueueNamed(*cluster, "ml"))[kQuotaCpu].allocated, 3000);
}

TEST(QueueUsageTest, FollowsTheStatementAndGoesBack) {
  const auto cluster =
      MakeCluster().Queue("q").Node("n1", {.gpus = 8}).Pending("q/p", {.gpus = 2}).Build();
  QueueUsage usage(*cluster, {});
  const QueueId queue = QueueNamed(*cluster, "q");
  const double fair_share = usage.share(queue)[kQuotaGpu].fair_share;
  EXPECT_EQ(fair_share, 2);
  const auto statement = Statement::Open(cluster.get(), {&usage});
  statement->Place(PodNamed(*cluster, "q/p-0"), NodeNamed(*cluster, "n1"));
  EXPECT_EQ(usage.share(queue)[kQuotaGpu].allocated, 2);
  EXPECT_EQ(usage.share(queue)[kQuotaGpu].fair_share, fair_share) << "fixed for the cycle";
  statement->RollBackTo(0);
  EXPECT_EQ(usage.share(queue)[kQuotaGpu].allocated, 0);
}

TEST(QueueUsageTest, CountsOnlyWhatIsAllocatedOrWaits) {  // spec 1 F31, F32
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1", {.gpus = 16})
                           .Running("q/run", {.gpus = 1, .node = "n1"})
                           .Releasing("q/leave", {.gpus = 2, .node = "n1"})
                           .Succeeded("q/done", {.gpus = 2})
                           .Gated("q/gated", {.gpus = 2})
                           .Pending("q/wait", {.gpus = 4})
                           .Pending("q/misfit", {.gpus = 2, .subgroup = "nobody"})
                           .Running("nowhere/lost", {.gpus = 2, .node = "n1"})
                           .Foreign("kube-system/x", {.gpus = 2, .node = "n1"})
                           .Build();
  const QueueUsage usage(*cluster, {});
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated, 1);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").request, 5);
}

TEST(QueueUsageTest, KnowsWhatNonPreemptiblePodsHold) {  // spec 1 F31, F96
  const auto cluster =
      MakeCluster()
          .Queue("ml")
          .Queue("q", {.parent = "ml"})
          .Node("n1", {.gpus = 16})
          .Running("q/train", {.gpus = 1, .node = "n1", .priority = 50})
          .Running("q/build", {.gpus = 2, .node = "n1", .priority = 100})
          .Running("q/said", {.gpus = 4, .node = "n1", .preemptibility = "non-preemptible"})
          .Pending("q/wait", {.gpus = 8, .priority = 100})
          .Build();
  const QueueUsage usage(*cluster, {});
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated_non_preemptible, 6);
  EXPECT_EQ(GpuOf(usage, *cluster, "ml").allocated_non_preemptible, 6);
  EXPECT_EQ(GpuOf(usage, *cluster, "ml").allocated, 7);
}

TEST(QueueUsageTest, CountsWhatWasAcceptedOfPlacedPodsAndAskedByWaitingOnes) {  // F24, F25, F31
  const auto cluster =
      MakeCluster()
          .Queue("q")
          .Node("large", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "81559"}}})
          .Node("small", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "40536"}}})
          .Running("q/a", {.gpu_memory_mib = 10'000, .gpu_devices = 2, .node = "large"})
          .Running("q/b", {.gpu_memory_mib = 10'000, .gpu_devices = 2, .node = "elsewhere"})
          .Pending("q/c", {.gpu_memory_mib = 10'000, .gpu_devices = 2})
          .Build();
  const QueueUsage usage(*cluster, {});
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated, 0.26);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").request, 0.26 + 20'000.0 / 40'500);
}

TEST(QueueUsageTest, DividesTheClusterAmongTopLevelQueuesAndSharesAmongChildren) {  // F40, F52
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
  const QueueUsage usage(*cluster, {.k_value = 0});
  EXPECT_EQ(GpuOf(usage, *cluster, "a").fair_share, 12);
  EXPECT_EQ(GpuOf(usage, *cluster, "b").fair_share, 8);
  EXPECT_EQ(GpuOf(usage, *cluster, "a1").fair_share, 7);
  EXPECT_EQ(GpuOf(usage, *cluster, "a2").fair_share, 5);
}

TEST(QueueUsageTest, AChildMayDeserveMoreThanItsParentHas) {  // spec 1 §16
  const auto cluster = MakeCluster()
                           .Queue("d2", {.deserved_gpus = 1, .weight_gpus = 0})
                           .Queue("q2", {.parent = "d2", .deserved_gpus = 2})
                           .Node("n1", {.gpus = 4})
                           .Pending("q2/x", {.pods = 4, .gpus = 1})
                           .Build();
  const QueueUsage usage(*cluster, {});
  EXPECT_EQ(GpuOf(usage, *cluster, "d2").fair_share, 1);
  EXPECT_EQ(GpuOf(usage, *cluster, "q2").fair_share, 2);
}

TEST(QueueUsageTest, DividesEachResourceByItself) {
  const auto cluster = MakeCluster()
                           .Queue("a", {.deserved_gpus = 1, .deserved_millicpu = 0})
                           .Queue("b", {.deserved_gpus = 1, .deserved_millicpu = 0})
                           .Node("n1", {.gpus = 3, .millicpu = 5000})
                           .Pending("a/x", {.pods = 3, .gpus = 1, .millicpu = 1000})
                           .Pending("b/x", {.pods = 2, .gpus = 0, .millicpu = 1000})
                           .Build();
  const QueueUsage usage(*cluster, {});
  EXPECT_EQ(GpuOf(usage, *cluster, "a").fair_share, 3);
  EXPECT_EQ(GpuOf(usage, *cluster, "b").fair_share, 0);
  EXPECT_EQ(usage.share(QueueNamed(*cluster, "a"))[kQuotaCpu].fair_share, 3000);
  EXPECT_EQ(usage.share(QueueNamed(*cluster, "b"))[kQuotaCpu].fair_share, 2000);
}

TEST(QueueUsageTest, GivesThePathFromAQueueToItsRoot) {
  const auto cluster = MakeCluster()
                           .Queue("ml")
                           .Queue("speech", {.parent = "ml"})
                           .Queue("asr", {.parent = "speech"})
                           .Build();
  const QueueUsage usage(*cluster, {});
  EXPECT_THAT(usage.path(QueueNamed(*cluster, "asr")),
              ElementsAre(&usage.share(QueueNamed(*cluster, "asr")),
                          &usage.share(QueueNamed(*cluster, "speech")),
                          &usage.share(QueueNamed(*cluster, "ml"))));
  EXPECT_EQ(usage.path(QueueNamed(*cluster, "ml")).size(), size_t{1});
}

TEST(QueueUsageTest, WithoutThePluginAllNumbersAreZero) {
  const auto cluster = MakeCluster()
                           .Queue("q", {.deserved_gpus = 4, .limit_gpus = 8})
                           .Node("n1", {.gpus = 8})
                           .Running("q/a", {.gpus = 1, .node = "n1"})
                           .Build();
  const QueueUsage usage(*cluster, {.divide = false});
  const Share& share = GpuOf(usage, *cluster, "q");
  EXPECT_EQ(share.deserved, 0);
  EXPECT_EQ(share.allocated, 0);
  EXPECT_EQ(share.fair_share, 0);
}

// ---- following a statement
// -----------------------------------------------------------------------

class FollowingTest : public ::testing::Test {
 protected:
  FollowingTest()
      : cluster_(MakeCluster()
                     .Queue("ml")
                     .Queue("q", {.parent = "ml"})
                     .Node("n1", {.gpus = 16})
                     .Node("n2", {.gpus = 16})
                     .Running("q/run", {.gpus = 1, .node = "n1"})
                     .Pending("q/wait", {.gpus = 2})
                     .Pending("q/solid", {.gpus = 4, .priority = 100})
                     .Pending("nowhere/lost", {.gpus = 8})
                     .Build()),
        usage_(*cluster_, {}),
        statement_(Statement::Open(cluster_.get(), {&usage_})) {}

  PodId Pod(std::string_view name) { return PodNamed(*cluster_, name); }
  NodeId Node(std::string_view name) { return NodeNamed(*cluster_, name); }
  double Allocated(std::string_view queue) { return GpuOf(usage_, *cluster_, queue).allocated; }
  double NonPreemptible(std::string_view queue) {
    return GpuOf(usage_, *cluster_, queue).allocated_non_preemptible;
  }

  std::unique_ptr<Cluster> cluster_;
  QueueUsage usage_;
  std::unique_ptr<Statement> statement_;
};

TEST_F(FollowingTest, PlacedAndPipelinedPodsCount) {  // spec 1 F31, F32
  statement_->Place(Pod("q/wait-0"), Node("n1"));
  EXPECT_EQ(Allocated("q"), 3);
  statement_->Pipeline(Pod("q/solid-0"), Node("n2"));
  EXPECT_EQ(Allocated("q"), 7);
  EXPECT_EQ(Allocated("ml"), 7);
  EXPECT_EQ(NonPreemptible("ml"), 4);
}

TEST_F(FollowingTest, EvictedPodsDoNotCountAndMovedOnesDoAgain) {
  statement_->Evict(Pod("q/run-0"));
  EXPECT_EQ(Allocated("q"), 0);
  EXPECT_EQ(Allocated("ml"), 0);
  statement_->Pipeline(Pod("q/run-0"), Node("n2"));
  EXPECT_EQ(Allocated("q"), 1);
}

TEST_F(FollowingTest, AsKaiEachEvictionIsChargedAndAReturnUndoesOne) {  // spec 2 W8
  statement_->Evict(Pod("q/run-0"));
  statement_->Evict(Pod("q/run-0"));
  EXPECT_EQ(Allocated("q"), -1);
  EXPECT_EQ(Allocated("ml"), -1);
  statement_->Pipeline(Pod("q/run-0"), Node("n1"));
  EXPECT_EQ(Allocated("q"), 0);
  statement_->RollBackTo(0);
  EXPECT_EQ(Allocated("q"), 1);
}

TEST_F(FollowingTest, RequestsAndFairSharesStayAsTheCycleBegan) {  // spec 1 F31
  const double request = GpuOf(usage_, *cluster_, "q").request;
  const double fair_share = GpuOf(usage_, *cluster_, "q").fair_share;
  EXPECT_EQ(request, 7);
  statement_->Place(Pod("q/wait-0"), Node("n1"));
  statement_->Evict(Pod("q/run-0"));
  EXPECT_EQ(GpuOf(usage_, *cluster_, "q").request, request);
  EXPECT_EQ(GpuOf(usage_, *cluster_, "q").fair_share, fair_share);
}

TEST_F(FollowingTest, APodOfNobodysQueueChangesNothing) {
  statement_->Pipeline(Pod("nowhere/lost-0"), Node("n2"));
  EXPECT_EQ(Allocated("ml"), 1);
  statement_->RollBackTo(0);
  EXPECT_EQ(Allocated("ml"), 1);
}

TEST_F(FollowingTest, RollingBackGivesTheOldNumbers) {
  statement_->Place(Pod("q/wait-0"), Node("n1"));
  const Statement::Checkpoint mark = statement_->Mark();
  statement_->Evict(Pod("q/run-0"));
  statement_->Pipeline(Pod("q/solid-0"), Node("n2"));
  statement_->RollBackTo(mark);
  EXPECT_EQ(Allocated("q"), 3);
  EXPECT_EQ(NonPreemptible("q"), 0);
  statement_.reset();
  EXPECT_EQ(Allocated("q"), 1);
}

// 0.1 + 0.7 - 0.7 is not 0.1: the old numbers have to be kept, not computed.
TEST(QueueUsageRoundingTest, RollsBackBitForBit) {
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1", {.gpus = 8})
                           .Running("q/a", {.gpu_fraction = 0.1, .node = "n1"})
                           .Pending("q/b", {.gpu_fraction = 0.7})
                           .Build();
  QueueUsage usage(*cluster, {});
  ASSERT_NE(0.1 + 0.7 - 0.7, 0.1);
  const auto statement = Statement::Open(cluster.get(), {&usage});
  statement->Place(PodNamed(*cluster, "q/b-0"), NodeId(0));
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated, 0.1 + 0.7);
  statement->RollBackTo(0);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated, 0.1);
}

// ---- random clusters
// -----------------------------------------------------------------------------

bool SameNumbers(const QueueShare& share, const oracle::QueueNumbers& expected) {
  for (size_t r = 0; r < kQuotaResources; ++r) {
    if (share[r].deserved != expected.deserved[r] || share[r].limit != expected.limit[r] ||
        share[r].over_quota_weight != expected.weight[r] ||
        share[r].allocated != expected.allocated[r] ||
        share[r].allocated_non_preemptible != expected.allocated_non_preemptible[r] ||
        share[r].request != expected.request[r] || share[r].fair_share != expected.fair_share[r]) {
      return false;
    }
  }
  return true;
}

void ExpectSame(const Cluster& cluster, const QueueUsage& usage, const oracle::World& world) {
  const auto numbers = oracle::NumbersOf(world);
  for (const QueueId queue : cluster.queues().name.ids()) {
    const std::string name(cluster.Text(cluster.queues().name[queue]));
    EXPECT_TRUE(SameNumbers(usage.share(queue), numbers.at(name))) << name;
  }
}

TEST(QueueUsagePropertyTest, IsWhatTheSpecMakesOfTheRowsAtEveryStep) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const ClusterRows rows = MakeRandomCluster(seed, {.pod_affinity = false});
    const auto cluster = rows.Build();
    Random random(seed);
    oracle::Settings settings{.now_ns = 0};
    settings.k_value = random.Coin() ? 1 : 0;
    oracle::World world(rows, settings);
    QueueUsage usage(*cluster, {.k_value = settings.k_value});
    ExpectSame(*cluster, usage, world);
    const oracle::World start = world;
    const auto statement = Statement::Open(cluster.get(), {&usage});
    const int64_t pods = static_cast<int64_t>(cluster->pods().size());
    for (int step = 0; step < 20 && pods > 0; ++step) {
      const PodId pod(static_cast<int32_t>(random.Below(pods)));
      const NodeId node(
          static_cast<int32_t>(random.Below(static_cast<int64_t>(cluster->nodes().size()))));
      const std::string pod_name = cluster->PodName(pod);
      const std::string node_name(cluster->Text(cluster->nodes().name[node]));
      const PodStatus status = cluster->pods().status[pod];
      const bool evicted = status == PodStatus::kReleasing && cluster->pods().is_virtual[pod] != 0;
      if (status == PodStatus::kPending || evicted) {
        statement->Pipeline(pod, node);
        world.Pipeline(pod_name, node_name);
      } else if (IsActiveAllocated(status)) {
        statement->Evict(pod);
        world.Evict(pod_name);
      }
      if (step % 5 == 4) ExpectSame(*cluster, usage, world);
    }
    statement->RollBackTo(0);
    ExpectSame(*cluster, usage, start);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace kai::usage_test
