#include "kai/session/gpu_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace kai::gpu_groups_test {
namespace {

using ::testing::MatchesRegex;

TEST(NewGpuGroupTest, IsAUuidDerivedFromCycleNodeAndNumber) {
  const std::string group = NewGpuGroup(1'767'225'600'000'000'000, "n1", 0);
  EXPECT_THAT(group, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                  "[0-9a-f]{12}"));
  EXPECT_EQ(NewGpuGroup(1'767'225'600'000'000'000, "n1", 0), group);
}

TEST(NewGpuGroupTest, DiffersWithEachOfThem) {
  std::set<std::string> groups;
  for (const int64_t cycle : {0, 1, 2}) {
    for (const std::string node : {"n1", "n2", "n11"}) {
      for (int32_t number = 0; number < 100; ++number) {
        groups.insert(NewGpuGroup(cycle, node, number));
        groups.insert(NewGpuGroup(cycle, node, number, 1));
      }
    }
  }
  EXPECT_EQ(groups.size(), 3U * 3U * 100U * 2U);
}

}  // namespace
}  // namespace kai::gpu_groups_test
