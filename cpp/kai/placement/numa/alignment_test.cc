#include "kai/placement/numa/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include "kai/base/text.h"

namespace kai::alignment_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr NumaPolicy kSingle = NumaPolicy::kSingleZone;
constexpr NumaPolicy kRestricted = NumaPolicy::kRestricted;
constexpr NumaPolicy kBestEffort = NumaPolicy::kBestEffort;

// The zones of a node: all alike, or given one by one.
struct Zones {
  std::vector<double> allocatable;
  std::vector<double> available;
  size_t zones = 0;

  static Zones Alike(size_t count, const std::vector<double>& zone) {
    return Each(std::vector<std::vector<double>>(count, zone));
  }
  static Zones Each(const std::vector<std::vector<double>>& zones) {
    Zones made;
    made.zones = zones.size();
    for (const std::vector<double>& zone : zones)
      made.allocatable.insert(made.allocatable.end(), zone.begin(), zone.end());
    made.available = made.allocatable;
    return made;
  }
  Zones Left(std::vector<double> amounts) const {
    Zones made = *this;
    made.available = std::move(amounts);
    return made;
  }
  ZoneTable table() const {
    return {.zones = zones,
            .resources = allocatable.size() / zones,
            .allocatable = allocatable,
            .available = available};
  }
};

// "no", or the amounts taken per zone and resource: "0: 4 8, 1: 2 0".
std::string TextOf(const Alignment& found, size_t resources) {
  if (!found.fits) return "no";
  std::string text;
  for (size_t i = 0; i < found.placement.size();) {
    const int32_t zone = found.placement[i].zone;
    std::vector<double> amounts(resources);
    for (; i < found.placement.size() && found.placement[i].zone == zone; ++i)
      amounts[static_cast<size_t>(found.placement[i].resource)] = found.placement[i].amount;
    StrAppend(&text, text.empty() ? "" : ", ", zone, ":");
    for (const double amount : amounts) StrAppend(&text, " ", static_cast<int64_t>(amount));
  }
  return text;
}

std::string AlignText(NumaPolicy policy, const Zones& zones,
                      const std::vector<ZoneRequest>& concurrent,
                      const std::vector<ZoneRequest>& serial = {}) {
  const ZoneTable table = zones.table();
  return TextOf(Align(policy, table, concurrent, serial), table.resources);
}

// spec 3 U17: zones of 4 GPUs and 16 CPUs.
const Zones kTwo = Zones::Alike(2, {4, 16});

TEST(AlignmentTest, RestrictedRequiresOneWidthForAllResources) {
  EXPECT_EQ(AlignText(kRestricted, kTwo, {{6, 10}}), "no") << "widths 2 and 1";
  EXPECT_EQ(AlignText(kRestricted, kTwo, {{6, 24}}), "0: 4 16, 1: 2 8");
  EXPECT_EQ(AlignText(kRestricted, kTwo, {{2, 8}}), "0: 2 8");
  EXPECT_EQ(AlignText(kRestricted, Zones::Alike(2, {2, 100}), {{4, 1}}), "no");
}

TEST(AlignmentTest, APlacementNamesZonesResourcesAndAmounts) {
  const Zones zones = Zones::Alike(2, {4}).Left({1, 4});
  const Alignment found = Align(NumaPolicy::kSingleZone, zones.table(), {{{3}}}, {});
  EXPECT_TRUE(found.fits);
  ASSERT_EQ(found.placement.size(), size_t{1});
  EXPECT_EQ(found.placement[0].zone, 1);
  EXPECT_EQ(found.placement[0].resource, 0);
  EXPECT_EQ(found.placement[0].amount, 3);
  EXPECT_EQ(found.CountZones(), 1);
}

TEST(AlignmentTest, WidthsAreComputedForAnEmptyNode) {
  const Zones used = Zones::Alike(2, {4}).Left({3, 3});
  EXPECT_EQ(AlignText(kRestricted, used, {{4}}), "no") << "width 1, and no zone has 4";
  EXPECT_EQ(AlignText(kRestricted, used, {{5}}), "0: 3, 1: 2");
}

TEST(AlignmentTest, MemoryMayNeedAnotherWidthThanGpus) {
  EXPECT_EQ(AlignText(kRestricted, Zones::Alike(2, {4, 16}), {{6, 16}}), "no");
}

TEST(AlignmentTest, MoreThanAllZonesTogetherFitsNowhere) {
  EXPECT_EQ(AlignText(kRestricted, kTwo, {{9, 0}}), "no");
  EXPECT_EQ(AlignText(kSingle, kTwo, {{5, 0}}), "no");
  EXPECT_EQ(AlignText(kBestEffort, kTwo, {{9, 0}}), "no");
}

TEST(AlignmentTest, ConcurrentContainersAreAlignedOneAfterTheOther) {
  const Zones zones = Zones::Alike(2, {4});
  EXPECT_EQ(AlignText(kSingle, zones, {{3}, {3}, {2}}), "no") << "1 + 1 is left";
  EXPECT_EQ(AlignText(kSingle, zones, {{3}, {3}}), "0: 3, 1: 3");
  EXPECT_EQ(AlignText(kRestricted, zones, {{3}, {3}}), "0: 3, 1: 3");
  EXPECT_EQ(AlignText(kRestricted, zones, {{6}}), "0: 4, 1: 2") << "the pod as a whole";
}

TEST(AlignmentTest, ContainersThatRunAloneUseNothing) {
  const Zones zones = Zones::Alike(2, {4});
  EXPECT_EQ(AlignText(kSingle, zones, {{3}}, {{4}, {4}}), "0: 3");
  EXPECT_EQ(AlignText(kSingle, zones, {{3}}, {{5}}), "no");
  EXPECT_EQ(AlignText(kSingle, zones, {}, {{4}}), "");
}

TEST(AlignmentTest, WithoutRequestsNoZoneIsUsed) {
  for (const NumaPolicy policy : {kSingle, kRestricted, kBestEffort, NumaPolicy::kNone}) {
    EXPECT_EQ(AlignText(policy, kTwo.Left({0, 0, 0, 0}), {{0, 0}}), "");
  }
}

TEST(AlignmentTest, ChoosesTheLowestZoneThatHasAllResources) {
  EXPECT_EQ(AlignText(kSingle, Zones::Each({{4, 1}, {1, 4}, {2, 2}, {4, 4}}), {{2, 2}}), "2: 2 2");
}

TEST(AlignmentTest, ChoosesTheLowestMaskThatHasAllResources) {
  const Zones zones = Zones::Alike(4, {4, 4}).Left({1, 4, 4, 1, 3, 3, 4, 4});
  EXPECT_EQ(AlignText(kRestricted, zones, {{6, 5}}), "1: 4 1, 3: 2 4");
  EXPECT_EQ(AlignText(kRestricted, zones, {{5, 5}}), "0: 1 4, 1: 4 1");
}

TEST(AlignmentTest, AZoneThatContributesNothingIsNotPartOfThePlacement) {
  const Alignment found =
      Align(kRestricted, Zones::Alike(3, {4}).Left({0, 5, 1}).table(), {{{5}}}, {});
  EXPECT_EQ(TextOf(found, 1), "1: 5") << "the mask has zones 0 and 1";
  EXPECT_EQ(found.CountZones(), 1);
}

TEST(AlignmentTest, BestEffortFillsTheZoneThatCoversMostFirst) {
  EXPECT_EQ(AlignText(kBestEffort, Zones::Each({{1}, {3}, {2}}), {{5}}), "1: 3, 2: 2");
  EXPECT_EQ(AlignText(kBestEffort, Zones::Each({{2}, {2}}), {{1}}), "0: 1")
      << "the lower of two zones";
  EXPECT_EQ(AlignText(kBestEffort, Zones::Each({{1}, {1}, {1}, {1}}), {{4}}),
            "0: 1, 1: 1, 2: 1, 3: 1");
}

TEST(AlignmentTest, ManyZonesAreAlignedWithoutTryingAllMasks) {
  // Every second of 64 zones is empty: C(64, 16) masks, and none of the first half fits.
  std::vector<double> left;
  for (int zone = 0; zone < 64; ++zone) left.push_back(zone % 2 == 0 ? 0 : 4);
  const Zones zones = Zones::Alike(64, {4}).Left(left);
  const Alignment found = Align(kRestricted, zones.table(), {{{64}}}, {});
  ASSERT_TRUE(found.fits);
  EXPECT_EQ(found.CountZones(), 16);
  EXPECT_EQ(found.placement.back().zone, 31);
}

TEST(AlignmentTest, AHardSearchWithTwoResourcesEndsInTime) {
  // Each zone has mainly one of two resources, and never quite enough of both.
  std::vector<double> left;
  for (int zone = 0; zone < 48; ++zone) {
    left.push_back(zone % 2 == 0 ? 7 : 3);
    left.push_back(zone % 2 == 0 ? 3 : 7);
  }
  const Zones zones = Zones::Alike(48, {7, 7}).Left(left);
  EXPECT_EQ(AlignText(kRestricted, zones, {{127, 127}}), "no");
}

// ---- compared with a simple search

// spec 3 U8; tries every mask in order.
std::optional<std::vector<size_t>> SlowMask(const ZoneTable& table, const std::vector<double>& left,
                                            const ZoneRequest& request) {
  size_t width = 0;
  for (size_t resource = 0; resource < table.resources; ++resource) {
    if (request[resource] <= 0) continue;
    std::vector<double> most;
    for (size_t zone = 0; zone < table.zones; ++zone)
      most.push_back(table.Allocatable(zone, resource));
    std::sort(most.rbegin(), most.rend());
    size_t own = 0;
    double sum = 0;
    while (own < most.size() && sum < request[resource]) sum += most[own++];
    if (sum < request[resource] || (width != 0 && width != own)) return std::nullopt;
    width = own;
  }
  if (width == 0) return std::vector<size_t>();
  std::vector<bool> chosen(table.zones);
  std::fill_n(chosen.begin(), width, true);
  do {
    bool fits = true;
    for (size_t resource = 0; resource < table.resources; ++resource) {
      double sum = 0;
      for (size_t zone = 0; zone < table.zones; ++zone)
        sum += chosen[zone] ? left[zone * table.resources + resource] : 0;
      fits = fits && (request[resource] <= 0 || sum >= request[resource]);
    }
    if (!fits) continue;
    std::vector<size_t> mask;
    for (size_t zone = 0; zone < table.zones; ++zone) {
      if (chosen[zone]) mask.push_back(zone);
    }
    return mask;
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return std::nullopt;
}

std::string SlowText(const ZoneTable& table, const std::vector<ZoneRequest>& concurrent,
                     const std::vector<ZoneRequest>& serial) {
  const std::vector<double> pristine(table.available.begin(), table.available.end());
  std::vector<double> left = pristine;
  for (const ZoneRequest& request : serial) {
    if (!SlowMask(table, pristine, request)) return "no";
  }
  for (const ZoneRequest& request : concurrent) {
    const auto mask = SlowMask(table, left, request);
    if (!mask) return "no";
    for (size_t resource = 0; resource < table.resources; ++resource) {
      double missing = request[resource];
      for (const size_t zone : *mask) {
        double& amount = left[zone * table.resources + resource];
        const double taken = std::max(0.0, std::min(missing, amount));
        amount -= taken;
        missing -= taken;
      }
    }
  }
  Alignment found{.fits = true};
  for (size_t at = 0; at < left.size(); ++at) {
    if (pristine[at] > left[at]) {
      found.placement.push_back({.zone = static_cast<int32_t>(at / table.resources),
                                 .resource = static_cast<int32_t>(at % table.resources),
                                 .amount = pristine[at] - left[at]});
    }
  }
  return TextOf(found, table.resources);
}

TEST(AlignmentTest, AgreesWithATrialOfEveryMask) {
  std::random_device device;
  const uint64_t seed = device();
  std::mt19937_64 random(seed);
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<uint64_t>(end));
  };
  int fits = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto count = static_cast<size_t>(1 + below(7));
    const auto resources = static_cast<size_t>(1 + below(3));
    Zones zones;
    zones.zones = count;
    for (size_t i = 0; i < count * resources; ++i) {
      zones.allocatable.push_back(below(2) == 0 ? 4 : below(6));
      zones.available.push_back(zones.allocatable.back() - (below(2) == 0 ? 0 : below(6)));
    }
    const auto requests = [&](int most) {
      std::vector<ZoneRequest> made;
      for (int i = below(most + 1); i > 0; --i) {
        ZoneRequest& request = made.emplace_back();
        for (size_t resource = 0; resource < resources; ++resource)
          request.push_back(below(4) == 0 ? 0 : below(static_cast<int>(3 * count + 2)));
      }
      return made;
    };
    const std::vector<ZoneRequest> concurrent = requests(3), serial = requests(1);
    const ZoneTable table = zones.table();
    const std::string slow = SlowText(table, concurrent, serial);
    ASSERT_EQ(TextOf(Align(kRestricted, table, concurrent, serial), resources), slow)
        << "seed " << seed << ", round " << round;
    fits += slow != "no" ? 1 : 0;
  }
  EXPECT_GT(fits, 2'000) << "seed " << seed;
}

TEST(AlignmentTest, BestEffortFindsAPlaceIfThereIsRoom) {
  std::random_device device;
  const uint64_t seed = device();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5'000; ++round) {
    const size_t count = 1 + random() % 6;
    Zones zones;
    zones.zones = count;
    for (size_t i = 0; i < 2 * count; ++i) zones.allocatable.push_back(random() % 5);
    zones.available = zones.allocatable;
    const ZoneRequest request = {static_cast<double>(random() % 12),
                                 static_cast<double>(random() % 12)};
    double sums[2] = {};
    for (size_t i = 0; i < 2 * count; ++i) sums[i % 2] += zones.available[i];
    const Alignment found = Align(kBestEffort, zones.table(), {{request}}, {});
    ASSERT_EQ(found.fits, request[0] <= sums[0] && request[1] <= sums[1])
        << "seed " << seed << ", round " << round;
    double taken[2] = {};
    for (const ZoneAmount& each : found.placement) taken[each.resource] += each.amount;
    if (found.fits) {
      ASSERT_EQ(taken[0], request[0]) << "seed " << seed << ", round " << round;
      ASSERT_EQ(taken[1], request[1]) << "seed " << seed << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace kai::alignment_test
