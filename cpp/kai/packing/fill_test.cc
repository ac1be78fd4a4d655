#include "kai/packing/fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kai::packing::fill_test {
namespace {

FillInput RandomInput(uint32_t seed) {
  std::mt19937 random(seed);
  FillInput input;
  input.constraints = {{}, {1, 0}, {0, 1}};
  for (int i = 0; i < 12; ++i) {
    input.nodes.push_back({.cpu_milli = 16'000 << (random() % 3),
                           .memory_mib = 65'536,
                           .gpus = 1 << (random() % 4),
                           .kind = static_cast<int32_t>(random() % 2)});
  }
  for (int i = 0; i < 60; ++i) {
    FillPod pod{.shape = {.cpu_milli = static_cast<int64_t>(random() % 8) * 1'000},
                .memory_mib = 1 << (random() % 14),
                .constraint = random() % 4 == 0 ? 1 + static_cast<int32_t>(random() % 2) : 0};
    if (random() % 6 != 0) {
      constexpr int32_t kParts[] = {230, 460, 810, 1000};
      pod.shape.gpu_milli = kParts[random() % 4];
      pod.shape.gpus = pod.shape.gpu_milli < kWholeGpu ? 1 : 1 << (random() % 3);
    }
    input.pods.push_back(pod);
  }
  return input;
}

// The nodes as the placed pods leave them, and the best node for each pod, without any cache.
void CheckSlowly(const FillInput& input, const FillOptions& options, const FillResult& result) {
  const auto mix =
      std::make_shared<const Fragmentation>(TypicalPods(input, options.typical_percent));
  Rater::Options rating = options.rating;
  std::vector<NodeShape> nodes;
  std::vector<int64_t> memory_mib;
  for (const FillNode& each : input.nodes) {
    NodeShape node{.cpu_milli = each.cpu_milli, .kind = each.kind};
    node.gpu_milli.assign(static_cast<size_t>(each.gpus), kWholeGpu);
    nodes.push_back(node);
    memory_mib.push_back(each.memory_mib);
    rating.most.cpu_milli = std::max(rating.most.cpu_milli, static_cast<double>(each.cpu_milli));
    rating.most.gpu_milli = std::max(rating.most.gpu_milli, 1000.0 * each.gpus);
  }
  const Rater rater(rating, mix);
  int64_t used = 0;
  for (size_t i = 0; i < result.pod.size(); ++i) {
    const FillPod& pod = input.pods[static_cast<size_t>(result.pod[i])];
    const std::vector<uint8_t>& kinds = input.constraints[static_cast<size_t>(pod.constraint)];
    int32_t best = -1;
    Rating best_rating;
    for (const int32_t node : result.node_order) {
      const auto at = static_cast<size_t>(node);
      const bool is_open = kinds.empty() || kinds[static_cast<size_t>(nodes[at].kind)] != 0;
      if (!is_open || memory_mib[at] < pod.memory_mib || !HasRoom(nodes[at], pod.shape)) continue;
      const Rating rated = rater.Rate(nodes[at], pod.shape);
      if (best >= 0 && rated.score <= best_rating.score) continue;
      best = node;
      best_rating = rated;
    }
    ASSERT_EQ(result.node[i], best) << "arrival " << i;
    if (best >= 0) {
      NodeShape& node = nodes[static_cast<size_t>(best)];
      node.cpu_milli -= pod.shape.cpu_milli;
      node.clusters |= pod.shape.ClusterBit();
      memory_mib[static_cast<size_t>(best)] -= pod.memory_mib;
      for (int32_t missing = pod.shape.gpus; missing > 0; --missing) {
        auto gpu = node.gpu_milli.begin() + best_rating.gpu;
        if (best_rating.gpu < 0) {  // the fullest that holds it
          gpu = node.gpu_milli.end();
          for (auto each = node.gpu_milli.begin(); each != node.gpu_milli.end(); ++each) {
            if (*each >= pod.shape.gpu_milli && (gpu == node.gpu_milli.end() || *each < *gpu))
              gpu = each;
          }
        }
        *gpu -= pod.shape.gpu_milli;
      }
      used += pod.shape.TotalGpuMilli();
    }
    int64_t fragment = 0;
    for (const NodeShape& node : nodes) fragment += mix->Of(node);
    ASSERT_EQ(result.used_milli[i], used);
    ASSERT_EQ(result.fragment_milli[i],
              static_cast<double>(fragment) / static_cast<double>(mix->weight()));
  }
}

TEST(FillTest, EveryPodGetsTheBestNodeOfItsMoment) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const FillInput input = RandomInput(seed);
    for (const Policy policy : {Policy::kBestFit, Policy::kDotProduct, Policy::kGpuPacking,
                                Policy::kGpuClustering, Policy::kFgd}) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", " << kPolicyNames[static_cast<size_t>(policy)]);
      const FillOptions options{.rating = {.policy = policy, .exact = seed % 2 == 1},
                                .seed = seed,
                                .typical_percent = 80};
      CheckSlowly(input, options, RunFill(input, options));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(FillTest, TheRequestsOfPodsAddUpToTheDemand) {
  FillInput input = RandomInput(3);
  int64_t gpus = 0;
  for (const FillNode& node : input.nodes) gpus += node.gpus;
  for (const double demand : {0.5, 1.3, 3.0}) {
    const FillResult result = RunFill(input, {.seed = 1, .demand = demand});
    const double most = demand * static_cast<double>(gpus) * kWholeGpu;
    EXPECT_NEAR(static_cast<double>(result.arrived_milli.back()), most, 8'000) << demand;
  }
  EXPECT_EQ(RunFill(input, {.demand = 0}).pod.size(), input.pods.size());
}

TEST(FillTest, TheSeedDecidesTheOrderOfPodsAndNodes) {
  const FillInput input = RandomInput(5);
  const FillOptions options{.rating = {.policy = Policy::kRandom}, .seed = 8};
  const FillResult result = RunFill(input, options);
  EXPECT_EQ(result.node, RunFill(input, options).node);
  const FillResult other = RunFill(input, {.rating = options.rating, .seed = 9});
  EXPECT_NE(result.pod, other.pod);
  EXPECT_NE(result.node_order, other.node_order);
}

TEST(FillTest, WorksWithoutNodesAndWithoutPods) {
  EXPECT_TRUE(RunFill({}, {}).pod.empty());
  FillInput input = RandomInput(1);
  input.nodes.clear();
  const FillResult result = RunFill(input, {.demand = 0});
  EXPECT_THAT(result.node, testing::Each(-1));
}

}  // namespace
}  // namespace kai::packing::fill_test
