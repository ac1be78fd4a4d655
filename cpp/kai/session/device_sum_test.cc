#include "kai/session/device_sum.h"

#include <gtest/gtest.h>

#include <memory>

#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/claim_rows.h"

namespace kai::device_sum_test {
namespace {

TEST(NanoGpusTest, AmountsAreRoundedToTheirDecimalForm) {
  EXPECT_EQ(NanoGpus(0.3), 300'000'000) << "though the double is a little less";
  EXPECT_EQ(NanoGpus(8), 8'000'000'000);
  EXPECT_EQ(3 * NanoGpus(1.0 / 3), NanoGpus(1) - 1) << "three thirds are no more than one device";
}

TEST(DeviceSumTest, AClaimCountsForTheFirstPodThatUsesIt) {
  ClusterMaker maker = MakeCluster();
  maker.Queue("default").Node("n1").Add(GpuClass()).Add(GpusOn("n1", 3)).Add(GpuClaim("a/c", 2));
  maker.Pending("a/x", {.pods = 2, .queue = "default"}).Pending("a/y", {.gpus = 1});
  for (const char* pod : {"a/x-0", "a/x-1"}) Claims(&maker, pod, {"c"});
  const std::shared_ptr<Cluster> cluster = maker.Build();
  DeviceSum sum(*cluster);
  int64_t gpus = 0;
  for (const PodId pod : cluster->pods().name.ids()) gpus += sum.Add(pod);
  EXPECT_EQ(gpus, NanoGpus(3));
}

}  // namespace
}  // namespace kai::device_sum_test
