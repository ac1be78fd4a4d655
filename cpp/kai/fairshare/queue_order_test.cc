// Which of two queues goes first: a test per comparator of spec 1 F61-F71, in their order.
#include "kai/fairshare/queue_order.h"

#include <gtest/gtest.h>

namespace kai::queue_order_test {
namespace {

constexpr QuotaVector kTotal = {2000, 2000, 2000};

// A queue with the same numbers in all three resources, unless the test sets others. It deserves
// 1000, may have 1000, has a fair share of 1000 and holds nothing.
struct Queue {
  QueueShare share;
  QueueSums sums;
  int64_t priority = 100;
  int64_t created_ns = 1;
  QuotaCount candidate;
  QuotaCount victims;

  Queue() { share.fill({.deserved = 1000, .limit = kUnlimited, .fair_share = 1000}); }
  Queue& Deserves(double amount) { return Each(&Share::deserved, amount); }
  Queue& Limit(double amount) { return Each(&Share::limit, amount); }
  Queue& FairShare(double amount) { return Each(&Share::fair_share, amount); }
  Queue& Holds(double amount) { return Holds({amount, amount, amount}); }
  Queue& Holds(QuotaVector amounts) {
    sums.allocated = amounts;
    return *this;
  }
  Queue& HoldsGpus(double gpus) {
    sums.allocated = sums.allocated.WithGpus(gpus);
    return *this;
  }
  Queue& Priority(int64_t value) {
    priority = value;
    return *this;
  }
  Queue& Created(int64_t ns) {
    created_ns = ns;
    return *this;
  }
  Queue& Requests(QuotaVector amounts) {
    candidate = amounts;
    return *this;
  }
  Queue& Gives(QuotaVector amounts) {
    victims = amounts;
    return *this;
  }
  Queue& Each(double Share::* field, double amount) {
    for (Share& each : share) each.*field = amount;
    return *this;
  }
  Queue& Gpu(double Share::* field, double amount) {
    share[kQuotaGpu].*field = amount;
    return *this;
  }

  QueueView view() const { return {&share, &sums}; }
  QueueContender contender() const {
    return {.queue = view(),
            .priority = priority,
            .created_ns = created_ns,
            .candidate = candidate,
            .victims = victims};
  }
};

bool First(const Queue& left, const Queue& right) {
  return GoesFirst(left.contender(), right.contender(), kTotal);
}

// `left` goes first in both orders of arguments.
void ExpectFirst(const Queue& left, const Queue& right) {
  EXPECT_TRUE(First(left, right));
  EXPECT_FALSE(First(right, left));
}

TEST(QueueOrderTest, AQueueThatIsNotOverUtilisedGoesFirst) {  // spec 1 F64
  const Queue over = Queue().FairShare(500).Holds(600).Priority(900);
  ExpectFirst(Queue().Holds(990), over);
}

TEST(QueueOrderTest, AQueueIsOverUtilisedOnlyIfItExceedsAllThreeResources) {  // spec 1 F64
  const Queue rich = Queue().Deserves(10).FairShare(500).Holds(600);
  // Equality in one resource is enough to be not over-utilised.
  const Queue nearly = Queue(rich).HoldsGpus(500);
  ExpectFirst(nearly, rich);
  // So is being below in one resource.
  ExpectFirst(Queue(rich).HoldsGpus(0), rich);
}

TEST(QueueOrderTest, AStarvedQueueGoesFirst) {  // spec 1 F65
  const Queue starved = Queue().Deserves(100).Holds(90).Requests({10, 10, 10});
  const Queue requests_more = Queue().Deserves(100).Holds(90).Requests({10, 10, 11}).Priority(900);
  ExpectFirst(starved, requests_more);
}

TEST(QueueOrderTest, UnlimitedDeservedIsAlwaysStarved) {  // spec 1 F26, F65
  const Queue unlimited = Queue().Deserves(kUnlimited).Holds(900).Requests({500, 500, 500});
  ExpectFirst(unlimited, Queue().Deserves(100).Holds(0).Requests({101, 0, 0}).Priority(900));
}

TEST(QueueOrderTest, AQueueAboveItsDeservedAmountOfOneResourceIsNotStarved) {  // spec 1 F65
  const Queue cpu_quota_zero = Queue().Deserves(1000).Requests({1, 0, 1}).Holds(0);
  Queue zero = cpu_quota_zero;
  zero.share[kQuotaCpu].deserved = 0;
  ExpectFirst(cpu_quota_zero, zero);
}

TEST(QueueOrderTest, StarvationComesBeforePriority) {  // spec 1 F65, F66
  ExpectFirst(Queue().Holds(10), Queue().Holds(1001).Priority(900));
}

TEST(QueueOrderTest, PriorityComesNext) {  // spec 1 F66
  ExpectFirst(Queue().Holds(900).Priority(200), Queue().Holds(1).Priority(100));
  // With both satisfied, also if one is between quota and fair share.
  ExpectFirst(Queue().Deserves(10).Holds(700).Priority(200),
              Queue().Deserves(10).Holds(600).Priority(100));
}

TEST(QueueOrderTest, ThenAQueueThatUsesNoForbiddenResourceGoesFirst) {  // spec 1 F67
  // Allocatable GPUs are 0, because deserved and fair share are 0.
  const Queue none = Queue().Gpu(&Share::deserved, 0).Gpu(&Share::fair_share, 0);
  const Queue harmless = Queue(none).Requests({2000, 0, 0});
  const Queue violates = Queue(none).Requests({2000, 0, 1});
  ExpectFirst(harmless, violates);
  const Queue allowed = Queue().Holds(900).Requests({2000, 0, 1});
  ExpectFirst(allowed, violates);
}

TEST(QueueOrderTest, HoldingAForbiddenResourceCountsLikeRequestingIt) {  // spec 1 F67
  const Queue holds = Queue().Gpu(&Share::deserved, 0).Gpu(&Share::fair_share, 0).HoldsGpus(1);
  // The other one's dominant share is larger, 3000 to 1000, which would count next.
  const Queue far_over =
      Queue().Gpu(&Share::deserved, 1).Gpu(&Share::fair_share, 1).HoldsGpus(3000);
  ExpectFirst(far_over, holds);
}

TEST(QueueOrderTest, ThenTheSmallerDominantShareWithTheCandidateGoesFirst) {  // spec 1 F68
  const Queue small = Queue().Holds(100).Requests({0, 0, 100});
  const Queue large = Queue().Holds(100).Requests({0, 0, 200});
  ExpectFirst(small, large);
}

// The example of spec 1 F68: GPU allocatable 50, allocated 40; 2 x 5000 against 2 x 10000 MiB.
TEST(QueueOrderTest, TheSmallerGpuMemoryRequestGoesFirst) {  // spec 1 F68
  Queue queue;
  queue.Deserves(50).FairShare(50).Holds(40);
  ExpectFirst(Queue(queue).Requests({0, 0, 1}), Queue(queue).Requests({0, 0, 2}));
}

TEST(QueueOrderTest, ChosenVictimsAreSubtracted) {  // spec 1 F68, F109
  const Queue gave = Queue().Holds(500).Requests({0, 0, 0}).Gives({200, 200, 200});
  ExpectFirst(gave, Queue().Holds(400));
}

TEST(QueueOrderTest, ThenTheSmallerDominantShareWithoutTheCandidateGoesFirst) {  // spec 1 F69
  // With the candidate both have a share of 0.5.
  const Queue holds_less = Queue().Holds(300).Requests({0, 0, 200});
  const Queue holds_more = Queue().Holds(400).Requests({0, 0, 100});
  ExpectFirst(holds_less, holds_more);
}

TEST(QueueOrderTest, ThenTheQueueThatMayAllocateLessGoesFirst) {  // spec 1 F70
  const Queue less = Queue().Gpu(&Share::deserved, 500).Gpu(&Share::fair_share, 500);
  ExpectFirst(less, Queue());
  EXPECT_FALSE(First(Queue().Gpu(&Share::deserved, kUnlimited), Queue()))
      << "unlimited is the most";
  ExpectFirst(Queue(), Queue().Gpu(&Share::deserved, kUnlimited));
}

TEST(QueueOrderTest, AllocatableAmountsOrderQueuesOnlyIfAllResourcesAgree) {  // spec 1 F70
  Queue left = Queue().Created(5);
  Queue right = Queue().Created(4);
  left.share[kQuotaCpu].deserved = 2000;
  left.share[kQuotaCpu].fair_share = 2000;
  right.share[kQuotaGpu].deserved = 2000;
  right.share[kQuotaGpu].fair_share = 2000;
  ExpectFirst(right, left);  // by age
}

TEST(QueueOrderTest, ThenTheOlderQueueGoesFirst) {  // spec 1 F71
  ExpectFirst(Queue().Created(1), Queue().Created(2));
}

TEST(QueueOrderTest, TheRightOfTwoEqualQueuesGoesFirst) {  // spec 1 F71
  EXPECT_FALSE(First(Queue(), Queue()));
}

TEST(QueueOrderTest, EarlierComparatorsComeBeforeLaterOnes) {
  // In each pair, all comparators after the deciding one favour the other queue.
  const Queue modest = Queue().Created(1);
  ExpectFirst(Queue().Holds(999).Created(9), Queue(modest).FairShare(1).Holds(2).Deserves(1));
  ExpectFirst(Queue().Holds(999).Created(9), Queue(modest).Deserves(1).Requests({2, 2, 2}));
  ExpectFirst(Queue().Holds(999).Created(9).Priority(101), modest);
  ExpectFirst(Queue().Holds(1).Requests({0, 0, 100}).Created(9),
              Queue().Requests({0, 0, 102}).Created(1));
}

// ---- dominant share

// the examples of spec 1 F34
TEST(DominantShareTest, IsTheLargestFractionOfTheAllocatableAmounts) {
  const Queue holds = Queue().Holds({500, 600, 700});
  const QueueView queue = holds.view();
  EXPECT_EQ(DominantShare(queue, queue.allocated(), kTotal), 0.7);
}

TEST(DominantShareTest, IsHugeWhereNothingIsAllocatable) {
  Queue queue;
  queue.share[kQuotaCpu] = {.deserved = 0, .limit = kUnlimited, .fair_share = 0};
  EXPECT_EQ(DominantShare(queue.view(), {500, 0, 0}, kTotal), 500'000);
}

TEST(DominantShareTest, UsesTheClusterTotalForAnUnlimitedQueue) {
  Queue queue;
  queue.share[kQuotaGpu] = {.deserved = kUnlimited, .limit = kUnlimited};
  EXPECT_EQ(DominantShare(queue.view(), {0, 0, 700}, {1000, 1000, 2000}), 0.35);
}

TEST(DominantShareTest, IsNeverBelowZero) {
  EXPECT_EQ(DominantShare(Queue().view(), {-500, -500, -500}, kTotal), 0);
}

// 0.1 + 0.2 GPUs in doubles would be more than the other queue's 0.3.
TEST(QueueOrderTest, QueuesWithTheSameSumsOfPartsOfDevicesAreEqual) {  // spec 1 F68, F71
  const Queue in_two = Queue().Holds({0, 0, 0.1}).Requests({0, 0, 0.2}).Created(1);
  const Queue in_one =
      Queue().Holds({0, 0, 0.1}).Requests({0, 0, 0.3}).Gives({0, 0, 0.1}).Created(2);
  ExpectFirst(in_two, in_one);
  ExpectFirst(Queue(in_one).Created(1), Queue(in_two).Created(2));
}

}  // namespace
}  // namespace kai::queue_order_test
