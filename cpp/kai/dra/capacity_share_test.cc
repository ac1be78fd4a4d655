#include "kai/dra/capacity_share.h"

#include <gtest/gtest.h>

namespace kai::capacity_share_test {
namespace {

Quantity Amount(std::string_view text) { return Quantity::Parse(text).value(); }

Device WithMemory(std::string_view amount, std::optional<CapacityPolicy> policy = std::nullopt) {
  Device device{.driver = "d", .pool = "p", .name = "n"};
  device.SetCapacity("memory", {.value = Amount(amount), .policy = std::move(policy)});
  return device;
}

// How much memory a request takes; empty if it is not allowed.
std::optional<Quantity> Taken(const Device& device, std::string_view wanted) {
  ByName<Quantity> request;
  if (!wanted.empty()) request["memory"] = Amount(wanted);
  const auto share = ShareOf(device, request);
  if (!share.has_value()) return std::nullopt;
  return share->at("d").at("memory");
}

TEST(CapacityShareTest, ConsumesTheRequestOrTheWholeCapacity) {
  EXPECT_EQ(Taken(WithMemory("80Gi"), "10Gi"), Amount("10Gi"));
  EXPECT_EQ(Taken(WithMemory("80Gi"), ""), Amount("80Gi"));
  EXPECT_EQ(Taken(WithMemory("80Gi", CapacityPolicy{.fallback = Amount("8Gi")}), ""),
            Amount("8Gi"));
}

TEST(CapacityShareTest, RoundsUpToTheStepsOfARange) {
  const Device device = WithMemory(
      "80Gi",
      CapacityPolicy{.valid_range = CapacityPolicy::Range{
                         .least = Amount("4Gi"), .most = Amount("20Gi"), .step = Amount("3Gi")}});
  EXPECT_EQ(Taken(device, "1Gi"), Amount("4Gi"));
  EXPECT_EQ(Taken(device, "4Gi"), Amount("4Gi"));
  EXPECT_EQ(Taken(device, "5Gi"), Amount("7Gi"));
  EXPECT_EQ(Taken(device, "19Gi"), Amount("19Gi"));
  EXPECT_EQ(Taken(device, "20Gi"), std::nullopt) << "the next step is 22Gi, past the end";
}

TEST(CapacityShareTest, RoundsUpToAnAmountOfTheList) {
  const Device device = WithMemory(
      "80Gi",
      CapacityPolicy{.fallback = Amount("7Gi"), .valid_values = {Amount("5Gi"), Amount("10Gi")}});
  EXPECT_EQ(Taken(device, "1Gi"), Amount("5Gi"));
  EXPECT_EQ(Taken(device, "6Gi"), Amount("10Gi"));
  EXPECT_EQ(Taken(device, "11Gi"), std::nullopt);
  EXPECT_EQ(Taken(device, ""), Amount("7Gi")) << "a fallback need not be in the list";
}

TEST(CapacityShareTest, RequiresTheNamedCapacity) {
  const Device device = WithMemory("80Gi");
  EXPECT_FALSE(ShareOf(device, {{"cores", Amount("1")}}).has_value());
  EXPECT_TRUE(ShareOf(device, {{"d/memory", Amount("1")}}).has_value());
  EXPECT_FALSE(ShareOf(device, {{"e/memory", Amount("1")}}).has_value());
}

TEST(CapacityShareTest, FitsIntoTheCapacityThatIsLeft) {
  const Device device = WithMemory("80Gi");
  const CapacityShare share = *ShareOf(device, {{"memory", Amount("30Gi")}});
  CapacityShare taken;
  EXPECT_TRUE(HasRoom(device, share, taken));
  AddShare(share, &taken);
  EXPECT_TRUE(HasRoom(device, share, taken));
  AddShare(share, &taken);
  EXPECT_FALSE(HasRoom(device, share, taken));
  EXPECT_EQ(taken.at("d").at("memory"), Amount("60Gi"));
}

}  // namespace
}  // namespace kai::capacity_share_test
