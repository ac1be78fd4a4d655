#include "kai/packing/waste.h"

#include <gtest/gtest.h>

#include <random>

namespace kai::packing::waste_test {
namespace {

constexpr PodShape kHalf{.cpu_milli = 1'000, .gpus = 1, .gpu_milli = 500};

NodeShape Node(absl::InlinedVector<int32_t, 8> gpu_milli, int64_t cpu_milli = 50'000) {
  NodeShape node{.cpu_milli = cpu_milli};
  node.gpu_milli = std::move(gpu_milli);
  return node;
}

// Each pod of a row takes its place if it fits, GPU by GPU, the fullest first.
double SlowWaste(const Waste& waste, const NodeShape& node) {
  double sum = 0;
  for (const Waste::Row& row : waste.OffersTo(node.kind)) {
    NodeShape filled = node;
    for (const PodShape& pod : row) {
      if (!HasRoom(filled, pod)) continue;
      filled.cpu_milli -= pod.cpu_milli;
      std::ranges::sort(filled.gpu_milli);
      int32_t missing = pod.gpus;
      for (int32_t& left : filled.gpu_milli) {
        if (left >= pod.gpu_milli && missing-- > 0) left -= pod.gpu_milli;
      }
    }
    sum += static_cast<double>(filled.IdleGpuMilli());
  }
  return sum / static_cast<double>(waste.OffersTo(node.kind).size());
}

TEST(WasteTest, SumsTheGpusThatNoNumberOfTypicalPodsUses) {  // the worked number of the header
  Waste waste({{.pod = kHalf, .weight = 1}}, {});
  EXPECT_EQ(waste.Of(Node({1000, 300})), 300);
  EXPECT_EQ(waste.Of(Node({1000, 300}, 1'000)), 800) << "CPU for one pod";
  EXPECT_EQ(waste.Of(Node({0, 0})), 0);
  const PodShape small{.cpu_milli = 1'000, .gpus = 1, .gpu_milli = 300};
  const Waste::Rise rise = waste.RiseOf(Node({1000, 300}), small);
  EXPECT_EQ(rise.gpu, 1);
  EXPECT_EQ(rise.milli, -300);
  EXPECT_EQ(waste.RiseOf(Node({1000}), small).milli, 200);
}

TEST(WasteTest, PodsRestrictedToAKindOfNodesMakeItScarce) {
  // A quarter of the requests is restricted to the second kind, which has a tenth of all GPUs.
  const std::vector<int64_t> supply_milli = {9'000, 1'000};
  Waste waste({{.pod = kHalf, .weight = 3}, {.pod = kHalf, .weight = 1, .kinds = {0, 1}}},
              supply_milli);
  EXPECT_EQ(waste.ScarcityOf(0), 0);
  EXPECT_DOUBLE_EQ(waste.ScarcityOf(1), 2.5);
  NodeShape rare = Node({1000});
  rare.kind = 1;
  EXPECT_DOUBLE_EQ(waste.RiseOf(rare, kHalf).milli, 0.4 * 2.5 * 500);
  EXPECT_EQ(waste.RiseOf(Node({1000}), kHalf).milli, 0);
}

TEST(WasteTest, OpeningAnIdleGpuOfANodeHasAPrice) {
  Waste waste({{.pod = kHalf, .weight = 1}}, {});
  EXPECT_EQ(waste.RiseOf(Node({1000, 1000}), kHalf).milli, 5);
  EXPECT_EQ(waste.RiseOf(Node({1000, 1000}), {.gpus = 2, .gpu_milli = 1000}).milli, 5);
  EXPECT_EQ(waste.RiseOf(Node({1000, 500}), kHalf).milli, 0);
  EXPECT_EQ(waste.RiseOf(Node({1000}), kHalf).milli, 0) << "no pod needs several of its GPUs";
  EXPECT_EQ(waste.RiseOf(Node({1000, 1000}), {.cpu_milli = 1'000}).milli, 0);
}

TEST(WasteTest, WithoutTypicalPodsAllGpusAreWasted) {
  Waste waste({}, {});
  EXPECT_EQ(waste.Of(Node({1000, 300})), 1300);
}

TEST(WasteTest, EqualsThatOfAPlainFillOnRandomNodes) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    PodMix mix(1 + random() % 10);
    for (TypicalPod& each : mix) {
      constexpr int32_t kParts[] = {120, 250, 470, 810, 1000, 1000};
      each.pod = {.cpu_milli = static_cast<int64_t>(random() % 12) * 1'000,
                  .gpus = 1,
                  .gpu_milli = kParts[random() % std::size(kParts)]};
      if (random() % 2 == 0) each.pod.gpus = 1 << (random() % 4);
      each.weight = 1 + random() % 9;
      if (random() % 3 == 0) each.kinds = {1, static_cast<uint8_t>(random() % 2)};
    }
    Waste waste(mix, {});
    for (int i = 0; i < 10; ++i) {
      NodeShape node = Node({}, static_cast<int64_t>(random() % 64) * 1'000);
      node.kind = static_cast<int32_t>(random() % 3);
      for (size_t gpus = 1 + random() % 8; gpus > 0; --gpus) {
        constexpr int32_t kLeft[] = {0, 1000, 1000, 190, 530, 700};
        node.gpu_milli.push_back(kLeft[random() % std::size(kLeft)]);
      }
      ASSERT_EQ(waste.Of(node), SlowWaste(waste, node));
      ASSERT_EQ(waste.Of(node), SlowWaste(waste, node)) << "as remembered";
    }
  }
}

}  // namespace
}  // namespace kai::packing::waste_test
