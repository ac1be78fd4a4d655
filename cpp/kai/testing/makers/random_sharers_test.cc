#include "kai/testing/makers/random_sharers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::random_sharers_test {
namespace {

ClusterRows RowsFor(uint64_t seed, const RandomSharersOptions& sharers) {
  return MakeRandomCluster(seed, {.max_nodes = 4, .terms = std::nullopt, .sharers = sharers});
}

TEST(RandomSharersTest, NoDeviceIsOverCommitted) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const oracle::World world(RowsFor(seed, {.quarters = seed % 2 == 0}));
    for (const std::string& name : world.Nodes()) {
      const int node = world.kept().NodeIndex(name);
      const double mib = oracle::parts::MemoryOfGpu(*world.kept().nodes[static_cast<size_t>(node)]);
      if (mib < 16'000) continue;  // requests of other pods can exceed it
      for (const oracle::World::SharedDevice& device : world.SharedDevices(name)) {
        EXPECT_LE(static_cast<double>(device.allocated), mib) << name;
        EXPECT_GE(device.releasing, 0) << name;
      }
      EXPECT_GE(world.Idle(name).at("gpu"), 0) << name;
    }
  }
}

// Tests with many seeds rely on this.
TEST(RandomSharersTest, EveryKindOfPodOccurs) {
  int waiting = 0, running = 0, by_memory = 0, several = 0, leaving = 0, unknown = 0;
  int reservations = 0, requests = 0, together = 0, leaves_alone = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const ClusterRows rows = RowsFor(seed, {});
    for (const PodRow& pod : rows.pods) {
      reservations += pod.namespace_name == "kai-resource-reservation" ? 1 : 0;
      const bool is_memory = pod.gpu.kind == GpuRequestKind::kMemory;
      if (!is_memory && pod.gpu.kind != GpuRequestKind::kFraction) continue;
      by_memory += is_memory ? 1 : 0;
      several += pod.gpu.count > 1 ? 1 : 0;
      running += pod.node_name.empty() ? 0 : 1;
      waiting += pod.node_name.empty() ? 1 : 0;
      leaving += pod.deletion_ns ? 1 : 0;
      unknown += !pod.node_name.empty() && pod.gpu_groups.empty() ? 1 : 0;
    }
    for (const BindRequestRow& request : rows.bind_requests) {
      requests += request.gpu_groups.empty() ? 0 : 1;
    }
    const oracle::World world(rows);
    for (const std::string& name : world.Nodes()) {
      for (const oracle::World::SharedDevice& device : world.SharedDevices(name)) {
        together += device.pods.size() > 1 ? 1 : 0;
        leaves_alone += device.releasing == device.used ? 1 : 0;
      }
    }
  }
  for (const int count : {waiting, running, by_memory, several, leaving, unknown, reservations,
                          requests, together, leaves_alone}) {
    EXPECT_GT(count, 5);
  }
}

TEST(RandomSharersTest, TheRestOfTheClusterIsUnchanged) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const ClusterRows with = RowsFor(seed, {});
    const ClusterRows without = MakeRandomCluster(seed, {.max_nodes = 4, .terms = std::nullopt});
    EXPECT_EQ(with.nodes.size(), without.nodes.size());
    EXPECT_EQ(with.queues.size(), without.queues.size());
    EXPECT_GE(with.pods.size(), without.pods.size());
  }
}

}  // namespace
}  // namespace kai::random_sharers_test
