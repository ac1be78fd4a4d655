#include "kai/packing/go_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace kai::packing::go_random_test {
namespace {

using ::testing::ElementsAre;

// Numbers that Go 1 itself prints for these seeds.

TEST(GoRandomTest, GeneratesTheSameNumbersAsGo) {
  GoRandom one(1);
  EXPECT_EQ(one.Int63(), 5577006791947779410);
  EXPECT_EQ(one.Int63(), 8674665223082153551);
  EXPECT_EQ(one.Int63(), 6129484611666145821);
  EXPECT_EQ(GoRandom(42).Int63(), 3440579354231278675);
  EXPECT_EQ(GoRandom(-5).Int63(), 1811683815564572222);
  EXPECT_EQ(GoRandom(0).Int63(), 8717895732742165505);
}

TEST(GoRandomTest, DrawsShufflesAndPermutesAsGoDoes) {
  GoRandom random(42);
  for (int i = 0; i < 3; ++i) random.Int63();
  EXPECT_EQ(random.Below(1000), 750);
  EXPECT_EQ(random.Below(1001), 418);
  EXPECT_EQ(random.Below(1002), 829);
  EXPECT_EQ(random.Below(1003), 100);
  std::vector<int> items(10);
  std::iota(items.begin(), items.end(), 0);
  random.Shuffle(&items);
  EXPECT_THAT(items, ElementsAre(2, 8, 4, 0, 6, 1, 7, 5, 9, 3));
  EXPECT_THAT(random.Permutation(10), ElementsAre(5, 9, 4, 7, 2, 6, 3, 8, 0, 1));
}

}  // namespace
}  // namespace kai::packing::go_random_test
