#include "kai/packing/policies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace kai::packing::policies_test {
namespace {

constexpr Rater::Largest kLargest{.cpu_milli = 128'000, .gpu_milli = 8'000};
constexpr PodShape kHalf{.cpu_milli = 8'000, .gpus = 1, .gpu_milli = 500};
constexpr PodShape kTwo{.cpu_milli = 16'000, .gpus = 2, .gpu_milli = 1000};
constexpr PodShape kNoGpu{.cpu_milli = 4'000};

double Score(Policy policy, const NodeShape& node, const PodShape& pod, bool exact = false) {
  const auto mix = std::make_shared<const Fragmentation>(
      PodMix{{.pod = {.gpus = 1, .gpu_milli = 500}, .weight = 3},
             {.pod = {.gpus = 2, .gpu_milli = 1000}, .weight = 1}});
  return Rater({.policy = policy, .most = kLargest, .exact = exact}, mix).Rate(node, pod).score;
}

TEST(PoliciesTest, BestFitPrefersTheNodeWithTheLeastRoomAfterPlacement) {
  const NodeShape node{.cpu_milli = 40'000, .gpu_milli = {1000, 1000, 0, 0}};
  // 100 (1 - (32/128 + 1.5/8) / 2) = 78.125
  EXPECT_EQ(Score(Policy::kBestFit, node, kHalf), 78);
  EXPECT_EQ(Score(Policy::kBestFit, node, kHalf, /*exact=*/true), 78.125);
}

TEST(PoliciesTest, DotProductPrefersTheNodeWithTheSmallestProduct) {
  const NodeShape node{.cpu_milli = 64'000, .gpu_milli = {1000, 1000, 1000, 1000}};
  // 100 (1 - (64/128 * 8/128 + 4/8 * 0.5/8) / 2) = 96.875
  EXPECT_EQ(Score(Policy::kDotProduct, node, kHalf, /*exact=*/true), 96.875);
  EXPECT_EQ(Score(Policy::kDotProduct, node, kHalf), 96);
}

TEST(PoliciesTest, PackingChoosesSharedGpusThenUsedNodesThenIdleOnes) {
  EXPECT_EQ(Score(Policy::kGpuPacking, {.cpu_milli = 9'000, .gpu_milli = {600, 1000}}, kHalf), 94);
  EXPECT_EQ(Score(Policy::kGpuPacking, {.cpu_milli = 9'000, .gpu_milli = {400, 1000}}, kHalf), 49);
  EXPECT_EQ(Score(Policy::kGpuPacking, {.cpu_milli = 9'000, .gpu_milli = {1000, 1000}}, kHalf), 31);
  EXPECT_EQ(Score(Policy::kGpuPacking, {.cpu_milli = 9'000, .gpu_milli = {1000, 0, 1000}}, kTwo),
            48);
  EXPECT_EQ(Score(Policy::kGpuPacking, {.cpu_milli = 9'000, .gpu_milli = {1000}}, kNoGpu), 0);
}

TEST(PoliciesTest, ClusteringKeepsPodsWithAsManyGpusTogether) {
  const auto score = [](uint64_t clusters) {
    return Score(Policy::kGpuClustering,
                 {.cpu_milli = 90'000, .gpu_milli = {1000, 1000, 1000, 1000}, .clusters = clusters},
                 kTwo);
  };
  const uint64_t twos = kTwo.ClusterBit();
  const uint64_t shared = kHalf.ClusterBit();
  EXPECT_EQ(score(twos), 75 + 12);  // 25 (8 - 4) / 8 = 12.5
  EXPECT_EQ(score(twos | shared), 50 + 12);
  EXPECT_EQ(score(0), 25 + 12);
  EXPECT_EQ(score(shared), 12);
  EXPECT_EQ(Score(Policy::kGpuClustering, {.clusters = shared}, kNoGpu), 0);
}

TEST(PoliciesTest, FgdChoosesTheGpuThatLeavesTheLeastFragmentation) {
  const NodeShape node{.cpu_milli = 9'000, .gpu_milli = {1000, 600}};
  // Before: 3 * 0 + 1 * 1,600. On the second GPU: 3 * 100 + 1 * 1,100; 50 thousandths go away.
  // On the first: 3 * 0 + 1 * 1,100; 125 go away.
  EXPECT_DOUBLE_EQ(Score(Policy::kFgd, node, kHalf, /*exact=*/true), 100 / (1 + std::exp(-0.125)));
  EXPECT_EQ(Score(Policy::kFgd, node, kHalf), 53);
}

TEST(PoliciesTest, RandomScoresDependOnSeedPodAndNode) {
  const double score = RandomScore(1, "a", "b");
  EXPECT_EQ(score, RandomScore(1, "a", "b"));
  EXPECT_NE(score, RandomScore(2, "a", "b"));
  EXPECT_NE(score, RandomScore(1, "b", "a"));
  EXPECT_NE(score, RandomScore(1, "ab", ""));
}

TEST(PoliciesTest, RandomScoresAreUniform) {
  constexpr int kDraws = 10'000;
  int low = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double score = RandomScore(7, "pod-" + std::to_string(i), "node");
    ASSERT_GE(score, 0);
    ASSERT_LT(score, 100);
    low += score < 25 ? 1 : 0;
  }
  EXPECT_NEAR(low, kDraws / 4, 200);
}

TEST(PoliciesTest, NamesAreParsedToTheirPolicies) {
  for (size_t i = 0; i < kPolicyNames.size(); ++i)
    EXPECT_EQ(PolicyOf(kPolicyNames[i]), static_cast<Policy>(i));
  EXPECT_EQ(PolicyOf("worst-fit"), std::nullopt);
}

}  // namespace
}  // namespace kai::packing::policies_test
