#include "kai/api/switches.h"

#include <gtest/gtest.h>

#include <set>

namespace kai::switches_test {
namespace {

TEST(SwitchesTest, AreAllOnUntilOneIsSet) {
  Switches switches;
  for (size_t each = 0; each < kSwitches; ++each)
    EXPECT_TRUE(switches.on(static_cast<Switch>(each)));
  switches.Set(Switch::kQueueDepth, false);
  EXPECT_FALSE(switches.on(Switch::kQueueDepth));
  EXPECT_TRUE(switches.on(Switch::kSlowJob)) << "Set() changes one switch only";
}

TEST(SwitchesTest, HaveUniqueNames) {
  EXPECT_EQ(std::set<std::string_view>(kSwitchNames.begin(), kSwitchNames.end()).size(), kSwitches);
  EXPECT_EQ(kSwitchNames[static_cast<size_t>(Switch::kQueueDepth)], "queue_depth");
  EXPECT_EQ(kSwitchNames[static_cast<size_t>(Switch::kSingleVictims)], "single_victims");
}

}  // namespace
}  // namespace kai::switches_test
