#include "kai/api/mends.h"

#include <gtest/gtest.h>

#include <set>

namespace kai::mends_test {
namespace {

TEST(MendsTest, AreAllOnUntilOneIsSet) {
  Mends mends;
  for (size_t each = 0; each < kMends; ++each) EXPECT_TRUE(mends.on(static_cast<Mend>(each)));
  mends.Set(Mend::kQueueDepth, false);
  EXPECT_FALSE(mends.on(Mend::kQueueDepth));
  EXPECT_TRUE(mends.on(Mend::kSlowJob)) << "Set() changes one switch only";
}

TEST(MendsTest, HaveNamesOfTheirOwn) {
  EXPECT_EQ(std::set<std::string_view>(kMendNames.begin(), kMendNames.end()).size(), kMends);
  EXPECT_EQ(kMendNames[static_cast<size_t>(Mend::kQueueDepth)], "queue_depth");
  EXPECT_EQ(kMendNames[static_cast<size_t>(Mend::kSingleVictims)], "single_victims");
}

}  // namespace
}  // namespace kai::mends_test
