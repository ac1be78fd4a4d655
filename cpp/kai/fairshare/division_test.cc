// Division among siblings: the worked examples of spec 1 F52, and edge cases.
#include "kai/fairshare/division.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::division_test {
namespace {

using ::testing::ElementsAre;

// A queue in a division. Without a creation time, queues are listed from the oldest to the
// youngest.
struct Q {
  std::string name;
  double deserved = 0;
  double weight = 1;
  double request = 0;
  double limit = kUnlimited;
  double usage = 0;
  int64_t priority = 100;
  int64_t created = -1;
};

struct Result {
  std::vector<double> fair_shares;  // in the order of the queues
  double left = 0;
};

Result DivideAmong(const std::vector<Q>& queues, double total, double k_value = 0) {
  std::vector<Share> shares;
  for (const Q& q : queues) {
    shares.push_back({.deserved = q.deserved,
                      .limit = q.limit,
                      .over_quota_weight = q.weight,
                      .request = q.request,
                      .usage = q.usage});
  }
  std::vector<Sibling> siblings;
  for (size_t i = 0; i < queues.size(); ++i) {
    const int64_t created = queues[i].created >= 0 ? queues[i].created : static_cast<int64_t>(i);
    siblings.push_back({.share = &shares[i],
                        .priority = queues[i].priority,
                        .created_ns = created,
                        .name = queues[i].name});
  }
  Result result;
  result.left = Divide(total, k_value, siblings);
  for (const Share& share : shares) result.fair_shares.push_back(share.fair_share);
  return result;
}

std::vector<double> FairShares(const std::vector<Q>& queues, double total, double k_value = 0) {
  return DivideAmong(queues, total, k_value).fair_shares;
}

// ---- spec 1 F52

TEST(DivisionTest, DividesByWeightAndAssignsTheRemainder) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 2, .weight = 1, .request = 10},
                          {.name = "b", .deserved = 2, .weight = 4, .request = 10}},
                         11),
              ElementsAre(3, 8));
}

TEST(DivisionTest, TheOlderOfTwoQueuesWithEqualRemaindersGetsTheUnit) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 2, .weight = 2, .request = 6},
                          {.name = "b", .deserved = 2, .weight = 2, .request = 6}},
                         11),
              ElementsAre(6, 5));
}

TEST(DivisionTest, PriorityComesBeforeWeight) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 2, .weight = 100, .request = 6, .priority = 1},
                          {.name = "b", .deserved = 2, .weight = 1, .request = 6, .priority = 2}},
                         6),
              ElementsAre(2, 4));
}

TEST(DivisionTest, UnitsThatALimitLeavesAreDividedAgain) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 2, .weight = 2, .request = 6, .limit = 5},
                          {.name = "b", .deserved = 2, .weight = 2, .request = 20}},
                         15),
              ElementsAre(5, 10));
}

TEST(DivisionTest, DeservedAmountsMayExceedTheTotal) {
  const Result result = DivideAmong(
      {{.name = "a", .deserved = 3, .request = 5}, {.name = "b", .deserved = 3, .request = 5}}, 4);
  EXPECT_THAT(result.fair_shares, ElementsAre(3, 3));
  EXPECT_EQ(result.left, 0);
}

TEST(DivisionTest, ZeroWeightGetsNothingOverQuota) {
  const Result result = DivideAmong({{.name = "a", .deserved = 2, .weight = 0, .request = 10},
                                     {.name = "b", .deserved = 2, .weight = 1, .request = 4}},
                                    10);
  EXPECT_THAT(result.fair_shares, ElementsAre(2, 4));
  EXPECT_EQ(result.left, 4);
}

TEST(DivisionTest, ARemainderMayExceedTheRequest) {
  EXPECT_THAT(FairShares({{.name = "a", .request = 1.7}, {.name = "b", .request = 10}}, 3),
              ElementsAre(2, 1));
}

TEST(DivisionTest, AnUnlimitedDeservedAmountIsTheTotal) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = kUnlimited, .request = 8},
                          {.name = "b", .deserved = kUnlimited, .request = 7}},
                         10),
              ElementsAre(8, 7));
  EXPECT_THAT(FairShares({{.name = "a", .deserved = kUnlimited, .request = 18}}, 10),
              ElementsAre(10));
}

TEST(DivisionTest, UsageHistoryShiftsTheShares) {
  const std::vector<Q> queues = {{.name = "a", .request = 100, .usage = 0.5},
                                 {.name = "b", .request = 100, .usage = 0.1}};
  EXPECT_THAT(FairShares(queues, 16, 0), ElementsAre(8, 8));
  EXPECT_THAT(FairShares(queues, 16, 1), ElementsAre(6, 10));
  EXPECT_THAT(FairShares(queues, 16, 5), ElementsAre(3, 13));
}

// ---- edge cases of spec 1 F41-F51

TEST(DivisionTest, RequestsEqualToTheTotalLeaveNothing) {
  const Result result = DivideAmong({{.name = "a", .deserved = 4, .request = 4}}, 4);
  EXPECT_THAT(result.fair_shares, ElementsAre(4));
  EXPECT_EQ(result.left, 0);
}

TEST(DivisionTest, ALimitBelowTheRequestLeavesASurplus) {
  const Result result = DivideAmong({{.name = "a", .deserved = 1, .request = 9, .limit = 3}}, 10);
  EXPECT_THAT(result.fair_shares, ElementsAre(3));
  EXPECT_EQ(result.left, 7);
}

TEST(DivisionTest, ALimitBelowTheDeservedAmountHolds) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 5, .request = 9, .limit = 3}}, 10),
              ElementsAre(3));
}

TEST(DivisionTest, AnOversubscribedQueueStillGetsItsDeservedAmount) {
  const Result result = DivideAmong({{.name = "a", .deserved = 5, .request = 4}}, 2);
  EXPECT_THAT(result.fair_shares, ElementsAre(4));
  EXPECT_EQ(result.left, 0) << "reported as 0, not as a negative number";
}

TEST(DivisionTest, AQueueWithoutRequestsGetsNoDeservedAmount) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 5, .request = 1},
                          {.name = "b", .deserved = 0, .request = 9}},
                         6),
              ElementsAre(1, 5));
}

TEST(DivisionTest, FractionsThatFitAreGrantedExactly) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 0.5, .request = 0.5}}, 8), ElementsAre(0.5));
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 1.5, .request = 3}}, 1.5), ElementsAre(1.5));
  const Result result = DivideAmong({{.name = "a", .request = 32.55},
                                     {.name = "b", .request = 9.5},
                                     {.name = "c", .request = 1.65}},
                                    45);
  EXPECT_THAT(result.fair_shares, ElementsAre(32.55, 9.5, 1.65));
  EXPECT_NEAR(result.left, 1.3, 1e-9);
}

TEST(DivisionTest, ATotalOfZeroGivesSharesOfZero) {
  const Result result = DivideAmong({{.name = "a", .request = 5}, {.name = "b", .request = 5}}, 0);
  EXPECT_THAT(result.fair_shares, ElementsAre(0, 0));
  EXPECT_EQ(result.left, 0);
  EXPECT_EQ(DivideAmong({}, 5).left, 5);
}

TEST(DivisionTest, HalfAGpuGoesToOneQueue) {
  EXPECT_THAT(FairShares({{.name = "a", .request = 1}, {.name = "b", .request = 1}}, 0.5),
              ElementsAre(0.5, 0));
}

TEST(DivisionTest, ZeroWeightGetsNothingEvenWithTenFree) {
  const Result result = DivideAmong({{.name = "a", .weight = 0, .request = 5}}, 10);
  EXPECT_THAT(result.fair_shares, ElementsAre(0));
  EXPECT_EQ(result.left, 10);
}

TEST(DivisionTest, PrioritiesAreServedFromHighToLow) {
  const std::vector<Q> queues = {{.name = "a", .request = 4, .priority = 2},
                                 {.name = "b", .request = 4, .priority = 6},
                                 {.name = "c", .request = 4, .priority = 1},
                                 {.name = "d", .request = 4, .priority = 3}};
  EXPECT_THAT(FairShares(queues, 3), ElementsAre(0, 3, 0, 0));
  EXPECT_THAT(FairShares(queues, 9), ElementsAre(1, 4, 0, 4));
  EXPECT_THAT(FairShares(queues, 14), ElementsAre(4, 4, 2, 4));
}

TEST(DivisionTest, ALowerPriorityGetsOnlyTheRestOfTheHigher) {
  EXPECT_THAT(FairShares({{.name = "high", .request = 2, .priority = 200},
                          {.name = "low", .request = 9, .priority = 50}},
                         5),
              ElementsAre(2, 3));
}

TEST(DivisionTest, RemaindersOfTheHigherPriorityAreServedFirst) {
  // 5 units for two queues of priority 2: 2 each, remainders 0.5. The fifth unit is first offered
  // to the lower priority, where no queue gets a whole unit: 1 / 2 each.
  EXPECT_THAT(FairShares({{.name = "a", .request = 10, .priority = 2},
                          {.name = "b", .request = 10, .priority = 2},
                          {.name = "c", .request = 10, .priority = 1},
                          {.name = "d", .request = 10, .priority = 1}},
                         5),
              ElementsAre(3, 2, 0, 0));
}

TEST(DivisionTest, RemaindersAreServedBySizeThenAgeThenName) {
  EXPECT_THAT(FairShares({{.name = "a", .weight = 1, .request = 10},
                          {.name = "b", .weight = 3, .request = 10}},
                         3),
              ElementsAre(1, 2))
      << "0.75 and 2.25: the larger remainder";
  EXPECT_THAT(FairShares({{.name = "a", .request = 10, .created = 9},
                          {.name = "b", .request = 10, .created = 3}},
                         3),
              ElementsAre(1, 2));
  EXPECT_THAT(FairShares({{.name = "queue-2", .request = 10, .created = 3},
                          {.name = "queue-1", .request = 10, .created = 3}},
                         3),
              ElementsAre(1, 2));
}

TEST(DivisionTest, EachRemainderIsServedOnce) {
  // Three remainders of 2/3 for 2 units: no queue gets a second unit.
  const Result result = DivideAmong(
      {{.name = "a", .request = 10}, {.name = "b", .request = 10}, {.name = "c", .request = 10}},
      2);
  EXPECT_THAT(result.fair_shares, ElementsAre(1, 1, 0));
  EXPECT_EQ(result.left, 0);
}

// spec 1 F44: an exact share keeps the remainder of an earlier round.
TEST(DivisionTest, AnExactShareKeepsTheOlderRemainder) {
  // Round 1: shares 2.75, 1.375, 1.375 and 5.5; the last queue takes only 5. Round 2 has 2 units:
  // 1, 0.5 and 0.5. The last unit goes to the remainder 0.75 of round 1.
  EXPECT_THAT(FairShares({{.name = "a", .weight = 2, .request = 100},
                          {.name = "b", .weight = 1, .request = 100},
                          {.name = "c", .weight = 1, .request = 100},
                          {.name = "d", .weight = 4, .request = 5}},
                         11),
              ElementsAre(4, 1, 1, 5));
}

TEST(DivisionTest, AQueueThatBecomesSatisfiedLosesItsRemainder) {
  // As above, but the first queue needs only half of its share of round 2. The remaining 1.5 units
  // are 0.75 each in round 3 and go to the others as remainders.
  EXPECT_THAT(FairShares({{.name = "a", .weight = 2, .request = 2.5},
                          {.name = "b", .weight = 1, .request = 100},
                          {.name = "c", .weight = 1, .request = 100},
                          {.name = "d", .weight = 4, .request = 5}},
                         11),
              ElementsAre(2.5, 2, 1.5, 5));
}

// spec 1 F44: another round needs a queue with a request of strictly less than its share.
TEST(DivisionTest, AQueueThatGetsExactlyItsShareStartsNoFurtherRound) {
  // Shares 3.5, 0.875 and 2.625; the remaining 1.5 units go to the remainders 0.875 and 0.625. A
  // second round would give one unit to c.
  EXPECT_THAT(FairShares({{.name = "a", .weight = 4, .request = 3.5},
                          {.name = "b", .weight = 1, .request = 100},
                          {.name = "c", .weight = 3, .request = 100}},
                         7),
              ElementsAre(3.5, 1, 2.5));
}

TEST(DivisionTest, AQueueWithExtremeUsageGetsNothing) {
  const Result alone = DivideAmong({{.name = "a", .request = 10, .usage = 2}}, 6, 1);
  EXPECT_THAT(alone.fair_shares, ElementsAre(0));
  EXPECT_EQ(alone.left, 6);
  EXPECT_THAT(FairShares({{.name = "a", .request = 10, .usage = 2},
                          {.name = "b", .request = 10, .usage = 0}},
                         6, 1),
              ElementsAre(0, 6));
}

TEST(DivisionTest, UsageDoesNotChangeTheDeservedAmount) {
  EXPECT_THAT(FairShares({{.name = "a", .deserved = 4, .request = 10, .usage = 2}}, 6, 1),
              ElementsAre(4));
}

TEST(DivisionTest, CpuAndMemoryAreDividedInWholeMillicoresAndBytes) {  // spec 1 F45
  EXPECT_THAT(FairShares({{.name = "a", .request = 4000},
                          {.name = "b", .request = 4000},
                          {.name = "c", .request = 4000}},
                         1000),
              ElementsAre(334, 333, 333));
}

TEST(DivisionTest, TheOverQuotaStageCanRunAlone) {
  Share a = {.limit = kUnlimited, .over_quota_weight = 1, .request = 10, .fair_share = 4};
  Share b = {.limit = kUnlimited, .over_quota_weight = 1, .request = 10, .fair_share = 1};
  std::vector<Sibling> siblings = {{.share = &a, .priority = 1, .created_ns = 1, .name = "a"},
                                   {.share = &b, .priority = 1, .created_ns = 2, .name = "b"}};
  EXPECT_EQ(DivideOverQuota(6, 0, siblings), 0);
  EXPECT_EQ(a.fair_share, 7);
  EXPECT_EQ(b.fair_share, 4);
  EXPECT_EQ(DivideOverQuota(-1, 0, siblings), 0);
  EXPECT_EQ(a.fair_share, 7);
}

TEST(DivisionPropertyTest, AgreesWithTheLiteralSpec) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    std::vector<oracle::Sibling> expected;
    std::vector<Share> shares(static_cast<size_t>(random.Between(1, 7)));
    std::vector<std::string> names;
    for (size_t i = 0; i < shares.size(); ++i)
      names.push_back(std::string(1, static_cast<char>('a' + i)));
    std::vector<Sibling> siblings;
    for (size_t i = 0; i < shares.size(); ++i) {
      oracle::Sibling q;
      q.name = names[i];
      q.priority = random.OneIn(3) ? 200 : 100;
      q.created = random.Between(1, 3);
      q.deserved = random.Pick(std::vector<double>{-1, 0, 0, 1, 2.5, 4});
      q.limit = random.Pick(std::vector<double>{-1, -1, -1, 0, 1.5, 3, 8});
      q.weight = random.Pick(std::vector<double>{0, 1, 1, 2, 3, 0.5});
      q.request = random.Pick(std::vector<double>{0, 0.5, 1.7, 3, 5, 10, 100});
      q.usage = random.OneIn(3) ? random.Pick(std::vector<double>{0.1, 0.5, 1, 3}) : 0;
      expected.push_back(q);
      shares[i] = {.deserved = q.deserved,
                   .limit = q.limit,
                   .over_quota_weight = q.weight,
                   .request = q.request,
                   .usage = q.usage};
      siblings.push_back({.share = &shares[i],
                          .priority = static_cast<int64_t>(q.priority),
                          .created_ns = q.created,
                          .name = names[i]});
    }
    const double total = random.Pick(std::vector<double>{0, 1, 2.5, 7, 11, 16, 45, 100});
    const double k_value = random.Pick(std::vector<double>{0, 1, 1, 5});
    const double left = oracle::Divide(total, k_value, &expected);
    EXPECT_EQ(Divide(total, k_value, siblings), left);
    double granted = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      EXPECT_EQ(shares[i].fair_share, expected[i].fair_share) << names[i];
      granted += shares[i].fair_share;
    }
    if (left > 0) {
      EXPECT_NEAR(granted + left, total, 1e-9);
    }
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace kai::division_test
