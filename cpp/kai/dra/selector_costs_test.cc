#include "kai/dra/selector_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kai/base/text.h"

namespace kai::selector_costs_test {
namespace {

constexpr int kDevicesPerNode = 8;

std::vector<ResourceSlice> NodesWithGpus(int nodes) {
  std::vector<ResourceSlice> slices;
  for (int node = 0; node < nodes; ++node) {
    ResourceSlice& slice = slices.emplace_back();
    slice.name = slice.pool = StrCat("n", node);
    slice.driver = "gpu.nvidia.com";
    for (int i = 0; i < kDevicesPerNode; ++i) {
      Device gpu{.driver = slice.driver, .pool = slice.pool, .name = StrCat("gpu-", i)};
      gpu.SetAttribute("uuid", std::string(StrCat("GPU-", node, "-", i)));
      gpu.SetAttribute("index", static_cast<int64_t>(i));
      gpu.SetAttribute("productName", std::string("NVIDIA H100 80GB HBM3"));
      slice.devices.push_back(std::move(gpu));
    }
  }
  return slices;
}

// all() within all(), over lists of numbers from 0.
std::string Nested(int outer, int inner, std::string_view condition) {
  const auto list = [](int items) {
    std::string text = "[";
    for (int i = 0; i < items; ++i) StrAppend(&text, i == 0 ? "" : ",", i);
    return text + "]";
  };
  return StrCat(list(outer), ".all(a, ", list(inner), ".all(b, a + b >= 0 && ", condition, "))");
}

constexpr std::string_view kByUuid = "device.attributes['gpu.nvidia.com'].uuid != 'GPU-9'";

class SelectorCostsTest : public ::testing::Test {
 protected:
  DeviceRequest Request(const std::vector<std::string>& expressions) {
    DeviceRequest request{.name = "gpus", .class_name = "gpu", .device_class = &class_};
    for (const std::string& expression : expressions)
      request.selectors.push_back(cache_.Get(expression));
    return request;
  }
  bool CostsTooMuch(const std::vector<std::string>& expressions, int nodes) {
    return SelectorsCostTooMuch(std::vector{Request(expressions)}, NodesWithGpus(nodes));
  }

  SelectorCache cache_;
  DeviceClass class_ = {.name = "gpu",
                        .selectors = {cache_.Get("device.driver == 'gpu.nvidia.com'")}};
};

TEST_F(SelectorCostsTest, UsualSelectorsFitIntoTheBudgetOfAnyCluster) {
  const std::vector<std::string> usual = {
      "device.attributes['gpu.nvidia.com'].productName.lowerAscii().matches('^.*(a100|h100).*$')",
      "device.attributes['gpu.nvidia.com'].uuid in ['GPU-1-1', 'GPU-2-2', 'GPU-3-3']",
      "['A100', 'H100', 'H200', 'B200', 'L40S', 'T4'].exists(model,"
      " device.attributes['gpu.nvidia.com'].productName.contains(model))",
      "cel.bind(gpu, device.attributes['gpu.nvidia.com'], has(gpu.index) && gpu.index < 4)"};
  EXPECT_FALSE(CostsTooMuch(usual, 1));
  EXPECT_FALSE(CostsTooMuch(usual, 1500));
}

TEST_F(SelectorCostsTest, NestedLoopsCostTooMuch) {
  EXPECT_TRUE(CostsTooMuch({Nested(500, 500, "true")}, 1));  // for one device, as in Kubernetes
  EXPECT_TRUE(CostsTooMuch({Nested(30, 30, kByUuid)}, 100));
}

TEST_F(SelectorCostsTest, DevicesThatAreEqualInWhatIsReadCountOnce) {
  const std::string by_product =
      Nested(30, 30, "device.attributes['gpu.nvidia.com'].productName != 'x'");
  EXPECT_FALSE(CostsTooMuch({by_product}, 100));
}

TEST_F(SelectorCostsTest, ManyCheapSelectorsCostTooMuchTogether) {
  std::vector<std::string> many;
  for (int i = 0; i < 32; ++i) {
    many.push_back(StrCat(kByUuid, " && ", kByUuid, " && ", i, " >= 0"));
  }
  EXPECT_FALSE(CostsTooMuch(many, 1));
  EXPECT_TRUE(CostsTooMuch(many, 200));
}

TEST_F(SelectorCostsTest, ASelectorThatSeveralRequestsShareCountsOnce) {
  const std::string third = StrCat(kByUuid, " || ", Nested(6, 6, kByUuid));
  const auto cost_too_much = [&](size_t requests) {
    return SelectorsCostTooMuch(std::vector(requests, Request({third})), NodesWithGpus(200));
  };
  EXPECT_FALSE(cost_too_much(1));
  EXPECT_FALSE(cost_too_much(32));
}

TEST_F(SelectorCostsTest, DevicesThatAnEarlierSelectorExcludesCostNothing) {
  EXPECT_FALSE(CostsTooMuch({"false", Nested(500, 500, "true")}, 10));
  class_.selectors.push_back(cache_.Get("device.driver == 'other.com'"));
  EXPECT_FALSE(CostsTooMuch({Nested(500, 500, "true")}, 10));
}

TEST_F(SelectorCostsTest, SelectorsOfTheClassCountAsWell) {
  class_.selectors.push_back(cache_.Get(Nested(500, 500, "true")));
  EXPECT_TRUE(CostsTooMuch({}, 1));
}

TEST_F(SelectorCostsTest, LongStringsListsAndPatternsCostTooMuch) {
  std::string doubling = "x == ''";
  for (int i = 0; i < 40; ++i) doubling = StrCat("cel.bind(x, x + x, ", doubling, ")");
  EXPECT_TRUE(CostsTooMuch({StrCat("cel.bind(x, '0123456789abcdef', ", doubling, ")")}, 1));
  EXPECT_TRUE(CostsTooMuch({StrCat("cel.bind(x, [1], ", doubling, ")")}, 1));
  const std::string pattern(4000, 'a');
  EXPECT_TRUE(CostsTooMuch({StrCat("cel.bind(p, '", pattern, "', ",
                                   Nested(20, 20, "!device.driver.matches(p + 'b')"), ")")},
                           1));
}

TEST_F(SelectorCostsTest, TheAnswerDependsOnNeitherOrderNorKeptAnswers) {
  std::vector<ResourceSlice> slices = NodesWithGpus(40);
  int too_much = 0;
  const int sizes[] = {2, 4, 8, 10, 12, 14, 15, 16, 18, 20, 25};
  for (const int size : sizes) {
    SCOPED_TRACE(size);
    const std::vector<std::string> expressions = {
        Nested(size, size / 2, "device.attributes['gpu.nvidia.com'].index < 8"),
        Nested(size, 3, kByUuid)};
    const bool cold = SelectorsCostTooMuch(std::vector{Request(expressions)}, slices);
    too_much += cold ? 1 : 0;
    for (int turn = 0; turn < 5; ++turn) {
      std::rotate(slices.begin(), slices.begin() + 7, slices.end());
      std::reverse(slices[0].devices.begin(), slices[0].devices.end());
      EXPECT_EQ(SelectorsCostTooMuch(std::vector{Request(expressions)}, slices), cold);
      SelectorCache fresh;
      std::swap(cache_, fresh);
      EXPECT_EQ(SelectorsCostTooMuch(std::vector{Request(expressions)}, slices), cold);
      std::swap(cache_, fresh);
    }
  }
  EXPECT_GT(too_much, 0);
  EXPECT_LT(too_much, static_cast<int>(std::size(sizes)));
}

}  // namespace
}  // namespace kai::selector_costs_test
