#include "guard/hooks/holdings.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace kai::guard {
namespace {

TEST(HoldingsTest, AHandleIsHeldOnceAndByItsKind) {
  Holdings holdings;
  Holding found;
  EXPECT_FALSE(holdings.Take({Handle::kMemory, 7}, &found));
  holdings.Put({Handle::kMemory, 7}, {0, 100});
  EXPECT_FALSE(holdings.Find({Handle::kArray, 7}, &found));
  EXPECT_TRUE(holdings.Take({Handle::kMemory, 7}, &found));
  EXPECT_EQ(found.bytes, 100);
  EXPECT_FALSE(holdings.Take({Handle::kMemory, 7}, &found));
  EXPECT_EQ(holdings.CountOf(Handle::kMemory), 0);
}

TEST(HoldingsTest, EqualsAMapUnderRandomCalls) {
  std::mt19937 random(1);
  Holdings holdings;
  std::map<uint64_t, uint64_t> expected;
  for (int n = 0; n < 200'000; ++n) {
    const uint64_t handle = random() % 5000 * 4096;
    Holding found;
    if (random() % 2 == 0) {
      const uint64_t bytes = random();
      holdings.Put({Handle::kMemory, handle}, {0, bytes, random() % 3});
      expected[handle] = bytes;
    } else {
      const auto at = expected.find(handle);
      ASSERT_EQ(holdings.Take({Handle::kMemory, handle}, &found), at != expected.end());
      if (at == expected.end()) continue;
      EXPECT_EQ(found.bytes, at->second);
      expected.erase(at);
    }
  }
  EXPECT_EQ(holdings.CountOf(Handle::kMemory), static_cast<int64_t>(expected.size()));
}

TEST(HoldingsTest, WhatAContextHeldIsTakenTogether) {
  Holdings holdings;
  for (uint64_t i = 0; i < 3000; ++i) holdings.Put({Handle::kMemory, i * 512}, {0, i, i % 3});
  static uint64_t sum;
  sum = 0;
  holdings.TakeAllOf(2, [](const Holding& holding) { sum += holding.bytes; });
  EXPECT_EQ(sum, 1000 * 2 + 3 * (999 * 1000 / 2));
  EXPECT_EQ(holdings.CountOf(Handle::kMemory), 2000);
  Holding found;
  for (uint64_t i = 0; i < 3000; ++i)
    EXPECT_EQ(holdings.Take({Handle::kMemory, i * 512}, &found), i % 3 != 2) << i;
}

}  // namespace
}  // namespace kai::guard
