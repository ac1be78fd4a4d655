#include "kai/testing/makers/random_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace kai::random_cluster_test {
namespace {

using ::testing::ElementsAre;

TEST(RandomTest, GivesTheSameNumbersEverywhere) {
  Random random(7);
  std::vector<int64_t> numbers;
  for (int i = 0; i < 5; ++i) numbers.push_back(random.Below(1000));
  EXPECT_THAT(numbers, ElementsAre(15, 250, 878, 46, 421));
}

TEST(RandomTest, StaysWithinItsBounds) {
  Random random(1);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.Between(-2, 2));
  EXPECT_THAT(seen, ElementsAre(-2, -1, 0, 1, 2));
}

TEST(RandomTest, ShufflesWithoutLosingAnything) {
  Random random(3);
  std::vector<int> values = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int> shuffled = values;
  random.Shuffle(&shuffled);
  EXPECT_NE(shuffled, values);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, values);
}

std::vector<std::string> PodNames(const ClusterRows& rows) {
  std::vector<std::string> names;
  for (const PodRow& row : rows.pods) names.push_back(row.namespace_name + "/" + row.name);
  return names;
}

TEST(RandomClusterTest, IsTheSameForASeedAndDiffersBetweenSeeds) {
  EXPECT_EQ(PodNames(MakeRandomCluster(5)), PodNames(MakeRandomCluster(5)));
  EXPECT_NE(PodNames(MakeRandomCluster(5)), PodNames(MakeRandomCluster(6)));
}

// Tests with many seeds rely on this: every feature occurs, and does not occur when it is off.
TEST(RandomClusterTest, HasTheRequestedFeatures) {
  struct Seen {
    int cordoned = 0, taints = 0, selectors = 0, affinity = 0, mig = 0, shared = 0, gangs = 0;
    int levels = 0, foreign = 0, leaving = 0, bind_requests = 0, nominated = 0, sub_groups = 0;
  };
  const auto look = [](const RandomClusterOptions& options) {
    Seen seen;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const ClusterRows rows = MakeRandomCluster(seed, options);
      for (const NodeRow& node : rows.nodes) {
        seen.cordoned += node.unschedulable ? 1 : 0;
        seen.taints += static_cast<int>(node.taints.size());
      }
      for (const PodRow& pod : rows.pods) {
        seen.selectors += static_cast<int>(pod.node_selector.size());
        seen.affinity += pod.affinity.empty() ? 0 : 1;
        seen.mig += pod.gpu.kind == GpuRequestKind::kMig ? 1 : 0;
        seen.shared += pod.gpu.kind == GpuRequestKind::kFraction ? 1 : 0;
        seen.foreign += pod.scheduler_name == "default-scheduler" ? 1 : 0;
        seen.leaving += pod.deletion_ns ? 1 : 0;
        seen.nominated += pod.nominated_node.empty() ? 0 : 1;
      }
      for (const PodGroupRow& group : rows.pod_groups) {
        seen.gangs += group.min_member.value_or(1) > 1 ? 1 : 0;
        seen.sub_groups += static_cast<int>(group.sub_groups.size());
      }
      for (const QueueRow& queue : rows.queues) {
        const auto dashes = std::count(queue.name.begin(), queue.name.end(), '-');
        seen.levels = std::max(seen.levels, 1 + static_cast<int>(dashes));
      }
      seen.bind_requests += static_cast<int>(rows.bind_requests.size());
    }
    return std::vector<int>{seen.cordoned,  seen.taints,  seen.selectors,     seen.affinity,
                            seen.mig,       seen.shared,  seen.gangs,         seen.levels - 1,
                            seen.foreign,   seen.leaving, seen.bind_requests, seen.nominated,
                            seen.sub_groups};
  };
  EXPECT_THAT(look({.sub_groups = true}), testing::Each(testing::Gt(0)));
  EXPECT_THAT(look({.max_queue_levels = 1,
                    .bad_nodes = false,
                    .taints = false,
                    .labels = false,
                    .pod_affinity = false,
                    .releasing = false,
                    .foreign = false,
                    .bind_requests = false,
                    .gangs = false,
                    .nominated = false,
                    .shared_gpus = false,
                    .mig = false}),
              testing::Each(0));
}

TEST(RandomClusterTest, HasTopologiesOfAllKindsIfRequested) {
  int two = 0, lacking = 0, parts = 0, required = 0, preferred = 0, both = 0, neither = 0;
  int unknown = 0, running = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ASSERT_TRUE(MakeRandomCluster(seed).topologies.empty());
    const ClusterRows rows = MakeRandomCluster(seed, {.topology = RandomTopologyOptions()});
    two += rows.topologies.size() > 1 ? 1 : 0;
    for (const TopologyRow::Level& level : rows.topologies[0].levels) {
      lacking += static_cast<int>(std::ranges::count_if(rows.nodes, [&](const NodeRow& node) {
        return std::ranges::none_of(
            node.labels, [&](const auto& label) { return label.first == level.node_label; });
      }));
    }
    const auto look = [&](const TopologyConstraintRow& each) {
      if (each.topology.empty()) return;
      unknown += each.topology == "unknown" || each.required_level == "unknown" ||
                         each.preferred_level == "unknown"
                     ? 1
                     : 0;
      const bool has_required = !each.required_level.empty();
      const bool has_preferred = !each.preferred_level.empty();
      ++(has_required ? has_preferred ? both : required : has_preferred ? preferred : neither);
    };
    for (const PodGroupRow& group : rows.pod_groups) {
      look(group.topology);
      for (const SubGroupRow& part : group.sub_groups) {
        ++parts;
        look(part.topology);
      }
      running += group.topology.topology.empty()
                     ? 0
                     : static_cast<int>(std::ranges::count_if(rows.pods, [&](const PodRow& pod) {
                         return pod.pod_group == group.name && pod.phase == Phase::kRunning;
                       }));
    }
  }
  EXPECT_THAT(
      (std::vector{two, lacking, parts, required, preferred, both, neither, unknown, running}),
      testing::Each(testing::Gt(10)));
}

}  // namespace
}  // namespace kai::random_cluster_test
