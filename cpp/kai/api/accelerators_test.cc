#include "kai/api/accelerators.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace kai::accelerators_test {
namespace {

TEST(AcceleratorsTest, EachResourceIsListedOnce) {
  std::set<std::string_view> resources;
  for (const Accelerator& each : kAccelerators) {
    EXPECT_TRUE(resources.insert(each.resource).second) << each.resource;
    EXPECT_FALSE(each.vendor.empty()) << each.resource;
  }
}

TEST(AcceleratorsTest, ResourcesThatKaiCountsAreGpus) {  // spec 3 R27, R28
  EXPECT_TRUE(IsGpuResource("nvidia.com/gpu"));
  EXPECT_TRUE(IsGpuResource("amd.com/gpu"));
  for (const char* other : {"gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi",
                            "google.com/tpu", "example.com/gpu", "gpu", "nvidia.com/gpu.count"})
    EXPECT_FALSE(IsGpuResource(other)) << other;
}

TEST(AcceleratorsTest, EveryNameWithTheSlicePrefixIsASlice) {  // spec 3 M1
  EXPECT_TRUE(IsMigResource("nvidia.com/mig-1g.5gb"));
  EXPECT_TRUE(IsMigResource("nvidia.com/mig-1g.5gb.me"));
  EXPECT_FALSE(IsMigResource("nvidia.com/gpu"));
  EXPECT_FALSE(IsMigResource("amd.com/mig-1g.5gb"));
}

}  // namespace
}  // namespace kai::accelerators_test
