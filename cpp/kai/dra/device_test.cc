#include "kai/dra/device.h"

#include <gtest/gtest.h>

namespace kai::device_test {
namespace {

Device Gpu() { return {.driver = "gpu.nvidia.com", .pool = "node-1", .name = "gpu-0"}; }

TEST(DeviceTest, AttributesWithoutADomainBelongToTheDomainOfTheDriver) {
  Device gpu = Gpu();
  gpu.SetAttribute("index", int64_t{1});
  gpu.SetAttribute("dra.net/rdma", true);
  EXPECT_EQ(*gpu.FindAttribute("gpu.nvidia.com/index"), AttributeValue(int64_t{1}));
  EXPECT_EQ(gpu.FindAttribute("index"), gpu.FindAttribute("gpu.nvidia.com/index"));
  EXPECT_EQ(*gpu.FindAttribute("dra.net/rdma"), AttributeValue(true));
  EXPECT_EQ(gpu.FindAttribute("rdma"), nullptr);
  EXPECT_EQ(gpu.FindAttribute("dra.net/index"), nullptr);
}

TEST(DeviceTest, PrefersTheNameWithAnExplicitDomain) {
  for (const bool spelled_out_first : {true, false}) {
    Device gpu = Gpu();
    if (spelled_out_first) gpu.SetAttribute("gpu.nvidia.com/index", int64_t{1});
    gpu.SetAttribute("index", int64_t{2});
    if (!spelled_out_first) gpu.SetAttribute("gpu.nvidia.com/index", int64_t{1});
    EXPECT_EQ(*gpu.FindAttribute("index"), AttributeValue(int64_t{1})) << spelled_out_first;
  }
}

TEST(DeviceTest, FindsCapacitiesByTheSameRules) {
  Device gpu = Gpu();
  gpu.SetCapacity("memory", {.value = Quantity::Of(7)});
  ASSERT_NE(gpu.FindCapacity("gpu.nvidia.com/memory"), nullptr);
  EXPECT_EQ(gpu.FindCapacity("gpu.nvidia.com/memory")->value, Quantity::Of(7));
  EXPECT_EQ(gpu.FindCapacity("cores"), nullptr);
}

}  // namespace
}  // namespace kai::device_test
