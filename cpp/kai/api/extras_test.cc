#include "kai/api/extras.h"

#include <gtest/gtest.h>

#include <set>

namespace kai::extras_test {
namespace {

TEST(ExtrasTest, AreAllOffUntilOneIsSet) {
  Extras extras;
  for (size_t each = 0; each < kExtras; ++each) EXPECT_FALSE(extras.on(static_cast<Extra>(each)));
  extras.Set(Extra::kTopologySpread, true);
  EXPECT_TRUE(extras.on(Extra::kTopologySpread));
  EXPECT_FALSE(extras.on(Extra::kVolumeZones)) << "Set() changes one extra only";
}

TEST(ExtrasTest, HaveUniqueNames) {
  EXPECT_EQ(std::set<std::string_view>(kExtraNames.begin(), kExtraNames.end()).size(), kExtras);
  EXPECT_EQ(kExtraNames[static_cast<size_t>(Extra::kTopologySpread)], "topology_spread");
  EXPECT_EQ(kExtraNames[static_cast<size_t>(Extra::kVolumeZones)], "volume_zones");
}

}  // namespace
}  // namespace kai::extras_test
