#include "kai/placement/attained_service.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>

#include "kai/base/clock.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::attained_service_test {
namespace {

// A running group with two GPUs, and a waiting group; times are seconds before now.
struct Rig {
  void Build() {
    cluster = maker.Build();
    placing.emplace(*cluster, PlacingOrder::Options{.comparators = {}, .count_completed = true});
    service.emplace(*cluster, PodOrder(*placing, {}), kTestNowNs);
  }
  PodGroupRow& Runs(int64_t created_s, std::optional<int64_t> started_s) {
    maker.Running("q/runs", {.pods = 2, .gpus = 1, .node = "n"});
    PodGroupRow& row = maker.rows().pod_groups.back();
    row.created_ns = kTestNowNs - created_s * kSecondNs;
    if (started_s) row.last_start_ns = kTestNowNs - *started_s * kSecondNs;
    return row;
  }
  const GroupService& Of(const std::string& name) const {
    return service->Of(PodGroupNamed(*cluster, name));
  }
  int64_t RunSeconds() const { return Of("q/runs").service.run_ns / kSecondNs; }
  int64_t GpuSeconds() const { return Of("q/runs").service.gpu_ns / kSecondNs; }

  ClusterMaker maker = MakeCluster().Queue("q").Node("n", {.gpus = 16});
  std::unique_ptr<Cluster> cluster;
  std::optional<PlacingOrder> placing;
  std::optional<AttainedService> service;
};

TEST(AttainedServiceTest, GrowsWhileTheGroupRuns) {
  Rig rig;
  PodGroupRow& row = rig.Runs(200, 20);
  row.service.run_ns = 100 * kSecondNs;
  row.service.gpu_ns = 200 * kSecondNs;
  row.service.evictions = 1;
  rig.maker.Pending("q/waits", {.gpus = 1});
  rig.maker.rows().pod_groups.back().service.run_ns = 7 * kSecondNs;
  rig.Build();
  const PodGroupId runs = PodGroupNamed(*rig.cluster, "q/runs");
  EXPECT_EQ(rig.RunSeconds(), 120);
  EXPECT_EQ(rig.service->Of(runs).service.gpu_ns, 240 * kSecondNs);
  const std::optional<ServiceRow> written = rig.service->ToWrite(runs);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->until_ns, kTestNowNs);
  EXPECT_EQ(written->evictions, 1);
  EXPECT_EQ(rig.Of("q/waits").service.run_ns, 7 * kSecondNs);
  EXPECT_FALSE(rig.service->ToWrite(PodGroupNamed(*rig.cluster, "q/waits")));
}

TEST(AttainedServiceTest, ServiceWrittenSinceTheStartIsNotCountedTwice) {
  Rig rig;
  PodGroupRow& row = rig.Runs(200, 100);
  row.service = {
      .run_ns = 60 * kSecondNs, .gpu_ns = 60 * kSecondNs, .until_ns = kTestNowNs - 40 * kSecondNs};
  rig.Build();
  EXPECT_EQ(rig.RunSeconds(), 100);
  EXPECT_EQ(rig.GpuSeconds(), 140) << "60, plus two GPUs for 40 seconds";
}

TEST(AttainedServiceTest, AGroupWithoutAStampStartedWhenItWasCreated) {
  Rig rig;
  rig.Runs(30, {});
  rig.Build();
  EXPECT_EQ(rig.RunSeconds(), 30);
}

TEST(AttainedServiceTest, AStartInTheFutureCountsNothing) {
  Rig rig;
  rig.Runs(30, -5);
  rig.Build();
  EXPECT_EQ(rig.RunSeconds(), 0);
}

TEST(AttainedServiceTest, SumsSaturate) {
  Rig rig;
  PodGroupRow& row = rig.Runs(200, 20);
  row.service.run_ns = row.service.gpu_ns = std::numeric_limits<int64_t>::max() - 1;
  rig.Build();
  EXPECT_EQ(rig.Of("q/runs").service.run_ns, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(rig.Of("q/runs").service.gpu_ns, std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace kai::attained_service_test
