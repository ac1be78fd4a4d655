// Usage of queues: summed up the tree, and kept up to date (spec 1 F31-F33).
#include "kai/fairshare/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/changes/statement.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::usage_test {
namespace {

using ::testing::ElementsAre;

struct Numbers {  // of one resource
  double allocated;
  double non_preemptible;
  double requested;
};

Numbers NumbersOf(const QueueUsage& usage, const Cluster& cluster, std::string_view queue,
                  QuotaResource resource) {
  const QueueSums& sums = usage.sums()[QueueNamed(cluster, queue)];
  return {.allocated = sums.allocated[resource],
          .non_preemptible = sums.allocated_non_preemptible[resource],
          .requested = sums.requested[resource]};
}

Numbers GpuOf(const QueueUsage& usage, const Cluster& cluster, std::string_view queue) {
  return NumbersOf(usage, cluster, queue, kQuotaGpu);
}

TEST(QueueUsageTest, AddsEveryAmountToAllAncestors) {  // spec 1 F33
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
  const QueueUsage usage(*cluster);
  EXPECT_EQ(GpuOf(usage, *cluster, "vision").allocated, 2);
  EXPECT_EQ(GpuOf(usage, *cluster, "asr").allocated, 4);
  EXPECT_EQ(GpuOf(usage, *cluster, "speech").allocated, 4);
  EXPECT_EQ(GpuOf(usage, *cluster, "ml").allocated, 6);
  EXPECT_EQ(GpuOf(usage, *cluster, "asr").requested, 12);
  EXPECT_EQ(GpuOf(usage, *cluster, "ml").requested, 14) << "limits do not cap a request";
  EXPECT_EQ(NumbersOf(usage, *cluster, "ml", kQuotaCpu).allocated, 3000);
}

TEST(QueueUsageTest, FollowsTheStatementAndItsRollback) {
  const auto cluster =
      MakeCluster().Queue("q").Node("n1", {.gpus = 8}).Pending("q/p", {.gpus = 2}).Build();
  QueueUsage usage(*cluster);
  const auto statement = Statement::Open(cluster.get(), {&usage});
  statement->Place(PodNamed(*cluster, "q/p-0"), NodeNamed(*cluster, "n1"));
  const QueueId queue = QueueNamed(*cluster, "q");
  EXPECT_EQ(usage.sums()[queue].allocated[kQuotaGpu], 2);
  statement->RollBackTo(0);
  EXPECT_EQ(usage.sums()[queue].allocated[kQuotaGpu], 0);
}

TEST(QueueUsageTest, CountsOnlyAllocatedAndWaitingPods) {  // spec 1 F31, F32
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1", {.gpus = 16})
                           .Running("q/run", {.gpus = 1, .node = "n1"})
                           .Releasing("q/leave", {.gpus = 2, .node = "n1"})
                           .Succeeded("q/done", {.gpus = 2})
                           .Gated("q/gated", {.gpus = 2})
                           .Pending("q/wait", {.gpus = 4})
                           .Pending("q/misfit", {.gpus = 2, .subgroup = "missing"})
                           .Running("nowhere/lost", {.gpus = 2, .node = "n1"})
                           .Foreign("kube-system/x", {.gpus = 2, .node = "n1"})
                           .Build();
  const QueueUsage usage(*cluster);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated, 1);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").requested, 5);
}

TEST(QueueUsageTest, CountsNonPreemptiblePodsSeparately) {  // spec 1 F31, F96
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
  const QueueUsage usage(*cluster);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").non_preemptible, 6);
  EXPECT_EQ(GpuOf(usage, *cluster, "ml").non_preemptible, 6);
  EXPECT_EQ(GpuOf(usage, *cluster, "ml").allocated, 7);
}

// spec 1 F24, F25, F31
TEST(QueueUsageTest, CountsAcceptedAmountsOfPlacedPodsAndRequestsOfWaitingPods) {
  const auto cluster =
      MakeCluster()
          .Queue("q")
          .Node("large", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "81559"}}})
          .Node("small", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "40536"}}})
          .Running("q/a", {.gpu_memory_mib = 10'000, .gpu_devices = 2, .node = "large"})
          .Running("q/b", {.gpu_memory_mib = 10'000, .gpu_devices = 2, .node = "elsewhere"})
          .Pending("q/c", {.gpu_memory_mib = 10'000, .gpu_devices = 2})
          .Build();
  const QueueUsage usage(*cluster);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated, 0.26);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").requested, 0.26 + 20'000.0 / 40'500);
}

// ---- following a statement

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
        usage_(*cluster_),
        statement_(Statement::Open(cluster_.get(), {&usage_})) {}

  PodId Pod(std::string_view name) { return PodNamed(*cluster_, name); }
  NodeId Node(std::string_view name) { return NodeNamed(*cluster_, name); }
  double Allocated(std::string_view queue) { return GpuOf(usage_, *cluster_, queue).allocated; }
  double NonPreemptible(std::string_view queue) {
    return GpuOf(usage_, *cluster_, queue).non_preemptible;
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

TEST_F(FollowingTest, EvictedPodsDoNotCountUntilTheyArePlacedAgain) {
  statement_->Evict(Pod("q/run-0"));
  EXPECT_EQ(Allocated("q"), 0);
  EXPECT_EQ(Allocated("ml"), 0);
  statement_->Pipeline(Pod("q/run-0"), Node("n2"));
  EXPECT_EQ(Allocated("q"), 1);
}

TEST_F(FollowingTest, AsKaiEachEvictionIsSubtractedAndAReturnUndoesOne) {  // spec 2 W8
  statement_->Evict(Pod("q/run-0"));
  statement_->Evict(Pod("q/run-0"));
  EXPECT_EQ(Allocated("q"), -1);
  EXPECT_EQ(Allocated("ml"), -1);
  statement_->Pipeline(Pod("q/run-0"), Node("n1"));
  EXPECT_EQ(Allocated("q"), 0);
  statement_->RollBackTo(0);
  EXPECT_EQ(Allocated("q"), 1);
}

TEST_F(FollowingTest, RequestsStayAtTheValuesOfTheCycleStart) {  // spec 1 F31
  EXPECT_EQ(GpuOf(usage_, *cluster_, "q").requested, 7);
  statement_->Place(Pod("q/wait-0"), Node("n1"));
  statement_->Evict(Pod("q/run-0"));
  EXPECT_EQ(GpuOf(usage_, *cluster_, "q").requested, 7);
}

TEST_F(FollowingTest, APodOfAnUnknownQueueChangesNothing) {
  statement_->Pipeline(Pod("nowhere/lost-0"), Node("n2"));
  EXPECT_EQ(Allocated("ml"), 1);
  statement_->RollBackTo(0);
  EXPECT_EQ(Allocated("ml"), 1);
}

TEST_F(FollowingTest, RollbackRestoresTheNumbers) {
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

// In doubles 0.1 + 0.7 - 0.7 is not 0.1, and the order of subtractions matters.
TEST(QueueUsageRoundingTest, RollsBackBitForBit) {
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1", {.gpus = 8})
                           .Running("q/a", {.gpu_fraction = 0.1, .node = "n1"})
                           .Pending("q/b", {.gpu_fraction = 0.7})
                           .Build();
  QueueUsage usage(*cluster);
  ASSERT_NE(0.1 + 0.7 - 0.7, 0.1);
  const auto statement = Statement::Open(cluster.get(), {&usage});
  statement->Place(PodNamed(*cluster, "q/b-0"), NodeId(0));
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated, 0.8);
  statement->RollBackTo(0);
  EXPECT_EQ(GpuOf(usage, *cluster, "q").allocated, 0.1);
}

// ---- random clusters

void ExpectSame(const Cluster& cluster, const QueueUsage& usage, const oracle::World& world) {
  const auto numbers = oracle::NumbersOf(world);
  for (const QueueId queue : cluster.queues().name.ids()) {
    const std::string name(cluster.Text(cluster.queues().name[queue]));
    const oracle::QueueNumbers& expected = numbers.at(name);
    const QueueSums& sums = usage.sums()[queue];
    EXPECT_EQ(sums.allocated, expected.allocated) << name;
    EXPECT_EQ(sums.allocated_non_preemptible, expected.allocated_non_preemptible) << name;
    EXPECT_EQ(sums.requested, expected.request) << name;
  }
}

TEST(QueueUsagePropertyTest, AgreesWithTheLiteralSpecAtEveryStep) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const ClusterRows rows = MakeRandomCluster(seed, {.pod_affinity = false});
    const auto cluster = rows.Build();
    Random random(seed);
    oracle::World world(rows, {.now_ns = 0});
    QueueUsage usage(*cluster);
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

// A part of one device, of several devices, or sevenths and quarters of MIG: doubles cannot add
// these exactly.
PodsSpec RandomShare(Random* random) {
  PodsSpec spec{.node = "n"};
  switch (random->Below(4)) {
    case 0:
      spec.gpu_fraction = static_cast<double>(random->Between(1, 99)) / 100;
      spec.gpu_devices = random->Between(1, 3);
      break;
    case 1:
      spec.gpu_memory_mib = random->Between(1, 40'000);
      break;
    case 2:
      spec.more = {{random->Coin() ? "nvidia.com/mig-3g.20gb" : "nvidia.com/mig-1g.6gb",
                    random->Between(1, 5)}};
      break;
    default:
      spec.gpus = random->Between(1, 8);
  }
  spec.millicpu = random->Between(1, 5'000);
  spec.priority = random->Coin() ? 50 : 100;
  return spec;
}

// After many other pods were added and removed in another order, the sums equal those of a load
// without them, in every bit.
TEST(QueueUsagePropertyTest, SumsEqualThoseOfAFreshLoadAfterAnyChanges) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    ClusterMaker with_all = MakeCluster();
    ClusterMaker with_some = MakeCluster();
    for (ClusterMaker* maker : {&with_all, &with_some}) {
      maker->params().count_mig_as_parts = true;
      maker->Queue("top").Queue("a", {.parent = "top"}).Queue("b", {.parent = "top"});
      maker->Node("n", {.gpus = 8, .labels = {{"nvidia.com/gpu.memory", "40536"}}});
    }
    std::vector<std::string> leaving;
    for (int i = 0; i < 40; ++i) {
      const PodsSpec spec = RandomShare(&random);
      const std::string name = StrCat(random.Coin() ? "a/" : "b/", "p", i);
      with_all.Running(name, spec);
      if (random.Coin()) {
        with_some.Running(name, spec);
      } else {
        leaving.push_back(name + "-0");
      }
    }
    const auto all = with_all.Build();
    QueueUsage usage(*all);
    const IndexVector<QueueId, QueueSums> before = usage.sums();
    const IndexVector<QueueId, QueueSums> fresh = with_some.Build()->queues().sums;

    const auto statement = Statement::Open(all.get(), {&usage});
    for (int round = 0; round < 3; ++round) {  // remove, add, and remove in another order
      random.Shuffle(&leaving);
      const Statement::Checkpoint mark = statement->Mark();
      for (const std::string& pod : leaving) statement->Evict(PodNamed(*all, pod));
      for (const QueueId queue : before.ids()) {
        EXPECT_EQ(usage.sums()[queue].allocated, fresh[queue].allocated);
        EXPECT_EQ(usage.sums()[queue].allocated_non_preemptible,
                  fresh[queue].allocated_non_preemptible);
      }
      random.Shuffle(&leaving);
      if (round == 0) {
        for (const std::string& pod : leaving)
          statement->Pipeline(PodNamed(*all, pod), NodeNamed(*all, "n"));
      } else {
        statement->RollBackTo(mark);
      }
      for (const QueueId queue : before.ids()) EXPECT_EQ(usage.sums()[queue], before[queue]);
    }
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace kai::usage_test
