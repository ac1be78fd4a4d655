#include "kai/fairshare/share.h"

#include <gtest/gtest.h>

namespace kai::share_test {
namespace {

TEST(ShareTest, UnlimitedEqualsItselfAndExceedsAnyNumber) {  // spec 1 F26
  EXPECT_TRUE(LessOrEqual(kUnlimited, kUnlimited));
  EXPECT_TRUE(LessOrEqual(2.5, kUnlimited));
  EXPECT_FALSE(LessOrEqual(kUnlimited, 2.5));
  EXPECT_TRUE(Less(2.5, kUnlimited));
  EXPECT_FALSE(Less(kUnlimited, 2.5));
  EXPECT_FALSE(Less(kUnlimited, kUnlimited));
}

TEST(ShareTest, NumbersCompareWithoutAnEpsilon) {  // spec 1 F26
  EXPECT_TRUE(LessOrEqual(2.5, 2.5));
  EXPECT_FALSE(Less(2.5, 2.5));
  EXPECT_FALSE(LessOrEqual(0.1 + 0.2, 0.3));
  EXPECT_TRUE(Less(-2, 0)) << "other negative numbers are not special";
}

TEST(ShareTest, RequestableIsTheRequestUpToTheLimit) {  // spec 1 F34
  EXPECT_EQ(Requestable({.limit = 5, .request = 5}), 5);
  EXPECT_EQ(Requestable({.limit = 6, .request = 5}), 5);
  EXPECT_EQ(Requestable({.limit = 4, .request = 5}), 4);
  EXPECT_EQ(Requestable({.limit = kUnlimited, .request = 5}), 5);
  EXPECT_EQ(Requestable({.limit = 0, .request = 5}), 0);
}

TEST(ShareTest, AllocatableIsTheLargerOfDeservedAndFairShareUpToTheLimit) {  // spec 1 F34
  EXPECT_EQ(Allocatable({.deserved = 2, .limit = kUnlimited, .fair_share = 3}), 3);
  EXPECT_EQ(Allocatable({.deserved = 4, .limit = kUnlimited, .fair_share = 3}), 4);
  EXPECT_EQ(Allocatable({.deserved = 4, .limit = 3.5, .fair_share = 3}), 3.5);
  EXPECT_EQ(Allocatable({.deserved = 0, .limit = 0, .fair_share = 0}), 0);
}

TEST(ShareTest, WithUnlimitedDeservedAllocatableIsTheLimit) {  // spec 1 F34
  EXPECT_EQ(Allocatable({.deserved = kUnlimited, .limit = 3, .fair_share = 9}), 3);
  EXPECT_EQ(Allocatable({.deserved = kUnlimited, .limit = kUnlimited, .fair_share = 9}),
            kUnlimited);
}

TEST(ShareTest, AQueueIsSatisfiedWithItsRequestOrItsLimit) {  // spec 1 F34
  EXPECT_TRUE(Satisfied({.limit = kUnlimited, .request = 3, .fair_share = 3}));
  EXPECT_FALSE(Satisfied({.limit = kUnlimited, .request = 3.5, .fair_share = 3}));
  EXPECT_TRUE(Satisfied({.limit = 2, .request = 9, .fair_share = 2}));
  EXPECT_FALSE(Satisfied({.limit = 2, .request = 9, .fair_share = 1.5}));
}

}  // namespace
}  // namespace kai::share_test
