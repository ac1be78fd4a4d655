#include "kai/packing/fragmentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace kai::packing::fragmentation_test {
namespace {

// The definition, word by word: for each typical pod what it cannot use.
int64_t SlowFragment(const PodMix& mix, const NodeShape& node) {
  int64_t sum = 0;
  for (const TypicalPod& each : mix) {
    const auto kind = static_cast<size_t>(node.kind);
    const bool is_open = each.kinds.empty() || (kind < each.kinds.size() && each.kinds[kind] != 0);
    int64_t fragment = 0;
    for (const int32_t left : node.gpu_milli) {
      const bool is_of_use =
          each.pod.gpus > 0 && is_open && HasRoom(node, each.pod) && left >= each.pod.gpu_milli;
      if (!is_of_use) fragment += left;
    }
    sum += each.weight * fragment;
  }
  return sum;
}

NodeShape After(NodeShape node, const PodShape& pod, size_t gpu) {
  node.cpu_milli -= pod.cpu_milli;
  node.gpu_milli[gpu] -= pod.gpu_milli;
  return node;
}

PodShape RandomPod(std::mt19937* random) {
  constexpr int32_t kParts[] = {100, 250, 300, 500, 810, 1000, 1000};
  PodShape pod{.cpu_milli = static_cast<int64_t>((*random)() % 16) * 500};
  if ((*random)() % 5 == 0) return pod;
  pod.gpu_milli = kParts[(*random)() % std::size(kParts)];
  pod.gpus = pod.shares() || pod.gpu_milli < kWholeGpu ? 1 : 1 << ((*random)() % 4);
  return pod;
}

NodeShape RandomNode(std::mt19937* random) {
  NodeShape node{.cpu_milli = static_cast<int64_t>((*random)() % 64) * 500,
                 .kind = static_cast<int32_t>((*random)() % 4)};
  const size_t gpus = (*random)() % 9;
  for (size_t i = 0; i < gpus; ++i) {
    constexpr int32_t kLeft[] = {0, 1000, 1000, 190, 500, 700};
    node.gpu_milli.push_back(kLeft[(*random)() % std::size(kLeft)]);
  }
  return node;
}

PodMix RandomMix(std::mt19937* random) {
  PodMix mix(1 + (*random)() % 12);
  for (TypicalPod& each : mix) {
    each.pod = RandomPod(random);
    each.weight = 1 + static_cast<int64_t>((*random)() % 50);
    if ((*random)() % 3 == 0)
      each.kinds = {1, static_cast<uint8_t>((*random)() % 2),
                    static_cast<uint8_t>((*random)() % 2)};
  }
  return mix;
}

TEST(FragmentationTest, SumsTheGpusThatTypicalPodsCannotUse) {  // the worked number of the header
  const Fragmentation fragmentation({{.pod = {.gpus = 1, .gpu_milli = 500}, .weight = 3},
                                     {.pod = {.gpus = 2, .gpu_milli = 1000}, .weight = 1}});
  EXPECT_EQ(fragmentation.weight(), 4);
  EXPECT_EQ(fragmentation.Of({.gpu_milli = {1000, 300}}), 4 * 550);
}

TEST(FragmentationTest, PodsWithoutGpusUseNoGpu) {
  const Fragmentation fragmentation({{.pod = {.cpu_milli = 1}, .weight = 1}});
  EXPECT_EQ(fragmentation.Of({.cpu_milli = 10, .gpu_milli = {1000}}), 1000);
}

TEST(FragmentationTest, EqualsItsDefinitionOnRandomNodes) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const PodMix mix = RandomMix(&random);
    const Fragmentation fragmentation(mix);
    for (int i = 0; i < 20; ++i) {
      const NodeShape node = RandomNode(&random);
      ASSERT_EQ(fragmentation.Of(node), SlowFragment(mix, node));
    }
  }
}

TEST(FragmentationTest, ChoosesTheGpuWithTheLargestDescent) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const PodMix mix = RandomMix(&random);
    const Fragmentation fragmentation(mix);
    const NodeShape node = RandomNode(&random);
    const PodShape pod = RandomPod(&random);
    if (!HasRoom(node, pod) || node.gpu_milli.empty()) continue;
    const int64_t before = SlowFragment(mix, node);
    Fragmentation::Descent best;
    if (pod.shares()) {
      for (size_t gpu = 0; gpu < node.gpu_milli.size(); ++gpu) {
        if (node.gpu_milli[gpu] < pod.gpu_milli) continue;
        const int64_t change = before - SlowFragment(mix, After(node, pod, gpu));
        if (best.gpu < 0 || change > best.change)
          best = {.change = change, .gpu = static_cast<int32_t>(gpu)};
      }
    } else {
      NodeShape after = node;
      after.cpu_milli -= pod.cpu_milli;
      int32_t missing = pod.gpus;
      for (int32_t& left : after.gpu_milli) {
        if (left == kWholeGpu && missing-- > 0) left = 0;
      }
      best.change = before - SlowFragment(mix, after);
    }
    const Fragmentation::Descent found = fragmentation.DescentOf(node, pod);
    EXPECT_EQ(found.change, best.change);
    EXPECT_EQ(found.gpu, best.gpu);
  }
}

TEST(MostFrequentTest, ChoosesPodsUntilTheirShareIsReached) {
  const auto pods = [](int64_t cpu_milli, int64_t weight) {
    return TypicalPod{.pod = {.cpu_milli = cpu_milli}, .weight = weight};
  };
  const PodMix mix = MostFrequent({pods(1, 5), pods(2, 60), pods(3, 30), pods(4, 5)}, 95);
  ASSERT_EQ(mix.size(), 3U);
  EXPECT_EQ(mix[0].pod.cpu_milli, 2);
  EXPECT_EQ(mix[1].pod.cpu_milli, 3);
  EXPECT_EQ(mix[2].pod.cpu_milli, 1) << "the first of equally frequent ones";
}

}  // namespace
}  // namespace kai::packing::fragmentation_test
