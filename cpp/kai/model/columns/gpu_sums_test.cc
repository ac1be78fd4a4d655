#include "kai/model/columns/gpu_sums.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::gpu_sums_test {
namespace {

// A node of four devices of 10,000 MiB.
ClusterMaker FourDevices() {
  return MakeCluster().Node("n1", {.gpus = 4, .labels = {{"nvidia.com/gpu.memory", "10000"}}});
}

// Puts the last pod on these devices.
void OnDevices(ClusterMaker* maker, std::vector<std::string> gpu_groups) {
  maker->rows().pods.back().gpu_groups = std::move(gpu_groups);
}

TEST(GpuSumsTest, WholeDevicesAreIdleUntilAPodHoldsThem) {
  const auto cluster = FourDevices()
                           .Running("ns/a", {.gpus = 1, .node = "n1"})
                           .Releasing("ns/b", {.gpus = 2, .node = "n1"})
                           .Build();
  const GpuSums sums = GpuSumsOf(*cluster, NodeId(0));
  EXPECT_EQ(sums.idle, 1);
  EXPECT_EQ(sums.idle_mib, 10'000);
  EXPECT_EQ(sums.releasing, 2);
  EXPECT_EQ(sums.releasing_mib, 20'000);
  EXPECT_EQ(MostGpusOf(*cluster, NodeId(0)), 3);
  EXPECT_EQ(AllGpusOf(*cluster, NodeId(0)), 3);
}

TEST(GpuSumsTest, TheRestOfASharedDeviceIsIdle) {
  ClusterMaker maker = FourDevices();
  maker.Running("ns/a", {.gpu_fraction = 0.25, .node = "n1"});
  OnDevices(&maker, {"x"});
  const auto cluster = maker.Build();
  const GpuSums sums = GpuSumsOf(*cluster, NodeId(0));
  EXPECT_DOUBLE_EQ(sums.idle, 3.75);
  EXPECT_EQ(sums.idle_mib, 37'500);
  EXPECT_EQ(sums.releasing, 0);
  EXPECT_EQ(sums.releasing_mib, 0);
  EXPECT_DOUBLE_EQ(MostGpusOf(*cluster, NodeId(0)), 3.75);
  EXPECT_TRUE(HasGpusToGive(*cluster, NodeId(0)));
}

TEST(GpuSumsTest, ThePartOfATerminatingSharerIsBeingFreed) {
  ClusterMaker maker = FourDevices();
  maker.Running("ns/a", {.gpu_fraction = 0.25, .node = "n1"});
  OnDevices(&maker, {"x"});
  maker.Releasing("ns/b", {.gpu_fraction = 0.5, .node = "n1"});
  OnDevices(&maker, {"x"});
  const auto cluster = maker.Build();
  const GpuSums sums = GpuSumsOf(*cluster, NodeId(0));
  EXPECT_DOUBLE_EQ(sums.idle, 3.25);
  EXPECT_EQ(sums.idle_mib, 32'500);
  EXPECT_DOUBLE_EQ(sums.releasing, 0.5);
  EXPECT_EQ(sums.releasing_mib, 5000);
  EXPECT_DOUBLE_EQ(MostGpusOf(*cluster, NodeId(0)), 3.75);
}

TEST(GpuSumsTest, ADeviceWithOnlyTerminatingSharersIsBeingFreedWhole) {
  ClusterMaker maker = FourDevices();
  maker.Releasing("ns/a", {.gpu_fraction = 0.25, .node = "n1"});
  OnDevices(&maker, {"x"});
  const auto cluster = maker.Build();
  const GpuSums sums = GpuSumsOf(*cluster, NodeId(0));
  EXPECT_EQ(sums.releasing, 1);  // not a quarter more
  EXPECT_EQ(sums.releasing_mib, 10'000);
  EXPECT_EQ(MostGpusOf(*cluster, NodeId(0)), 4);
}

TEST(GpuSumsTest, ADeviceWithoutRoomAddsNothing) {
  ClusterMaker maker = FourDevices();
  for (const char* group : {"ns/a", "ns/b"}) {
    maker.Running(group, {.gpu_fraction = 0.75, .node = "n1"});  // more than KAI would place there
    OnDevices(&maker, {"x"});
  }
  EXPECT_EQ(MostGpusOf(*maker.Build(), NodeId(0)), 3);
}

TEST(GpuSumsTest, AFullNodeHasNoFreeGpus) {
  const auto whole = FourDevices().Running("ns/a", {.gpus = 4, .node = "n1"}).Build();
  EXPECT_FALSE(HasGpusToGive(*whole, NodeId(0)));
  ClusterMaker maker = FourDevices().Running("ns/a", {.gpus = 3, .node = "n1"});
  for (const char* group : {"ns/b", "ns/c"}) {
    maker.Running(group, {.gpu_fraction = 0.5, .node = "n1"});
    OnDevices(&maker, {"x"});
  }
  EXPECT_FALSE(HasGpusToGive(*maker.Build(), NodeId(0)));
}

TEST(GpuSumsTest, APodHoldsDevicesOrPartsOfThem) {
  const auto cluster = FourDevices()
                           .Pending("ns/a", {.gpus = 2})
                           .Pending("ns/b", {.gpu_fraction = 0.25, .gpu_devices = 2})
                           .Pending("ns/c", {.gpu_memory_mib = 2000})
                           .Build();
  const auto held = [&](int32_t pod) {
    return GpusHeldOn(*cluster, cluster->pods().pod_class[PodId(pod)], NodeId(0));
  };
  EXPECT_EQ(held(0), 2);
  EXPECT_DOUBLE_EQ(held(1), 0.5);
  EXPECT_DOUBLE_EQ(held(2), 0.2);
}

}  // namespace
}  // namespace kai::gpu_sums_test
