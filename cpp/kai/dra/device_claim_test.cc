#include "kai/dra/device_claim.h"

#include <gtest/gtest.h>

namespace kai::device_claim_test {
namespace {

using Effect = DeviceTaint::Effect;
using Operator = DeviceToleration::Operator;

TEST(DeviceClaimTest, ToleratesByKeyValueAndEffect) {
  const DeviceTaint taint{.key = "k", .value = "v", .effect = Effect::kNoExecute};
  const auto tolerates = [&](std::string key, Operator op, std::string value, Effect effect) {
    return DeviceToleration{
        .key = std::move(key), .op = op, .value = std::move(value), .effect = effect}
        .Tolerates(taint);
  };
  EXPECT_TRUE(tolerates("k", Operator::kEqual, "v", Effect::kNone));
  EXPECT_TRUE(tolerates("k", Operator::kEqual, "v", Effect::kNoExecute));
  EXPECT_FALSE(tolerates("k", Operator::kEqual, "v", Effect::kNoSchedule));
  EXPECT_FALSE(tolerates("k", Operator::kEqual, "w", Effect::kNone));
  EXPECT_FALSE(tolerates("l", Operator::kEqual, "v", Effect::kNone));
  EXPECT_TRUE(tolerates("k", Operator::kExists, "", Effect::kNone));
  EXPECT_TRUE(tolerates("", Operator::kExists, "", Effect::kNone));
  EXPECT_FALSE(tolerates("", Operator::kEqual, "", Effect::kNone));
}

TEST(DeviceClaimTest, NeedsATolerationForEachTaint) {
  Device device{.driver = "d", .pool = "p", .name = "n"};
  DeviceRequest request{.name = "r"};
  EXPECT_FALSE(TaintsRefuse(device, request));
  device.taints = {{.key = "a", .value = ""}, {.key = "b", .value = ""}};
  request.tolerations = {{.key = "a"}};
  EXPECT_TRUE(TaintsRefuse(device, request));
  request.tolerations.push_back({.key = "b"});
  EXPECT_FALSE(TaintsRefuse(device, request));
}

TEST(DeviceClaimTest, CoversRequestsAndTheirAlternatives) {
  const DeviceConstraint constraint{.attribute = "x", .requests = {"r", "s/a"}};
  EXPECT_TRUE(constraint.Covers("r"));
  EXPECT_TRUE(constraint.Covers("r/b"));
  EXPECT_TRUE(constraint.Covers("s/a"));
  EXPECT_FALSE(constraint.Covers("s/b"));
  EXPECT_FALSE(constraint.Covers("s"));
  EXPECT_TRUE(DeviceConstraint{.attribute = "x"}.Covers("anything"));
}

TEST(DeviceClaimTest, ComparesAttributesByKindAndValue) {
  const auto version = [](std::string_view text) { return Semver::Parse(text).value(); };
  EXPECT_TRUE(SameAttribute(int64_t{1}, int64_t{1}));
  EXPECT_FALSE(SameAttribute(int64_t{1}, true));
  EXPECT_FALSE(SameAttribute(std::string("1.0.0"), version("1.0.0")));
  EXPECT_TRUE(SameAttribute(version("1.0.0+a"), version("1.0.0+a")));
  EXPECT_FALSE(SameAttribute(version("1.0.0+a"), version("1.0.0+b")));
}

}  // namespace
}  // namespace kai::device_claim_test
