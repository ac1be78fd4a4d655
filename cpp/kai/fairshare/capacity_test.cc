// Limits for all groups, and the quota for non-preemptible groups (spec 1 F76-F79).
#include "kai/fairshare/capacity.h"

#include <gtest/gtest.h>

#include <vector>

namespace kai::capacity_test {
namespace {

struct Queue {
  QueueShare share;
  QueueSums sums;
};

Queue Unbounded() {
  Queue queue;
  queue.share.fill({.deserved = kUnlimited, .limit = kUnlimited});
  return queue;
}

// Only GPUs have bounds.
Queue Gpus(double limit, double allocated, double deserved = kUnlimited,
           double non_preemptible = 0) {
  Queue queue = Unbounded();
  queue.share[kQuotaGpu] = {.deserved = deserved, .limit = limit};
  queue.sums = {.allocated = {0, 0, allocated},
                .allocated_non_preemptible = {0, 0, non_preemptible}};
  return queue;
}

// A path of queues: each is the child of the next; the first has id 0.
class Path {
 public:
  Path(const std::vector<Queue>& queues) {  // NOLINT(google-explicit-constructor)
    for (size_t i = 0; i < queues.size(); ++i) {
      tree_.parent.Add(i + 1 < queues.size() ? QueueId(i + 1) : QueueId());
      shares_.Add(queues[i].share);
      sums_.Add(queues[i].sums);
    }
  }
  CapacityAnswer Limit(const QuotaCount& requested, Adding adding = Adding::kExact) const {
    return CheckLimit(table(), QueueId(0), RequestedAmount(adding, requested));
  }
  std::vector<QueueId> AllLimits(const QuotaCount& requested) const {
    const RequestedAmount amount(Adding::kExact, requested);
    std::vector<QueueId> queues;
    for (const CapacityAnswer& each : AllOverLimit(table(), QueueId(0), amount))
      queues.push_back(each.queue);
    return queues;
  }
  CapacityAnswer Quota(const QuotaCount& requested, Adding adding = Adding::kExact) const {
    return CheckNonPreemptibleQuota(table(), QueueId(0), RequestedAmount(adding, requested));
  }

 private:
  QueueTable table() const { return {tree_, shares_, sums_}; }

  QueueColumns tree_;
  IndexVector<QueueId, QueueShare> shares_;
  IndexVector<QueueId, QueueSums> sums_;
};

CapacityAnswer Limit(const Queue& queue, const QuotaCount& requested) {
  return Path({queue}).Limit(requested);
}
CapacityAnswer Quota(const Queue& queue, const QuotaCount& requested) {
  return Path({queue}).Quota(requested);
}

TEST(CapacityTest, ARequestUpToTheLimitPasses) {  // spec 1 F77
  EXPECT_FALSE(Limit(Gpus(3, 3), {0, 0, 0.5}).fits());
  EXPECT_TRUE(Limit(Gpus(3, 2.5), {0, 0, 0.5}).fits());
  EXPECT_FALSE(Limit(Gpus(1, 0), {0, 0, 2}).fits());
}

TEST(CapacityTest, ALimitOfZeroRefusesEveryRequest) {  // spec 1 F4
  EXPECT_FALSE(Limit(Gpus(0, 0), {0, 0, 0.01}).fits());
  EXPECT_TRUE(Limit(Gpus(0, 0), {5000, 5e9, 0}).fits());
}

TEST(CapacityTest, ResourcesThatAreNotRequestedAreNotChecked) {  // spec 1 F78
  EXPECT_TRUE(Limit(Gpus(3, 7), {1000, 0, 0}).fits());
  EXPECT_TRUE(Quota(Gpus(kUnlimited, 0, 3, 7), {1000, 0, 0}).fits());
}

TEST(CapacityTest, AnUnlimitedQueueRefusesNothing) {
  EXPECT_TRUE(Limit(Unbounded(), {1e9, 1e18, 1e6}).fits());
  EXPECT_TRUE(Quota(Unbounded(), {1e9, 1e18, 1e6}).fits());
}

TEST(CapacityTest, TheQuotaCountsOnlyNonPreemptiblePods) {  // spec 1 F78
  EXPECT_TRUE(
      Quota(Gpus(kUnlimited, /*allocated=*/100, /*deserved=*/4, /*np=*/2), {0, 0, 2}).fits());
  EXPECT_FALSE(Quota(Gpus(kUnlimited, 100, 4, 2), {0, 0, 2.5}).fits());
  // Two devices of 60 % with a quota of one device and 0.4 used.
  EXPECT_FALSE(Quota(Gpus(kUnlimited, 0, 1, 0.4), {0, 0, 1.2}).fits());
}

TEST(CapacityTest, TheLimitCountsAllPods) {
  EXPECT_FALSE(Limit(Gpus(4, /*allocated=*/4, 4, /*np=*/0), {0, 0, 1}).fits());
}

TEST(CapacityTest, AQuotaOfZeroRefusesNonPreemptiblePods) {  // spec 1 F14
  Queue queue = Unbounded();
  queue.share[kQuotaCpu].deserved = 0;
  const CapacityAnswer answer = Quota(queue, {1, 0, 0});
  EXPECT_EQ(answer.reason, CapacityReason::kNonPreemptibleOverQuota);
  EXPECT_EQ(answer.resource, kQuotaCpu);
}

TEST(CapacityTest, AnyAncestorMayRefuse) {  // spec 1 F77
  const Path path({Gpus(8, 0), Unbounded(), Gpus(4, 3)});
  EXPECT_TRUE(path.Limit({0, 0, 1}).fits());
  const CapacityAnswer answer = path.Limit({0, 0, 2});
  EXPECT_EQ(answer.reason, CapacityReason::kOverLimit);
  EXPECT_EQ(answer.queue, QueueId(2));
  EXPECT_EQ(answer.resource, kQuotaGpu);
}

TEST(CapacityTest, TheRefusalNamesTheLowestQueueAndItsFirstResource) {  // spec 1 F77
  Queue leaf = Unbounded(), root = Unbounded();
  leaf.share[kQuotaMemory].limit = 0;
  leaf.share[kQuotaGpu].limit = 0;
  root.share[kQuotaCpu].limit = 0;
  const Path path({leaf, root});
  const CapacityAnswer answer = path.Limit({1, 1, 1});
  EXPECT_EQ(answer.queue, QueueId(0));
  EXPECT_EQ(answer.resource, kQuotaMemory);
  EXPECT_EQ(path.Limit({1, 0, 0}).queue, QueueId(1));
}

TEST(CapacityTest, AllThatRefuseAreFoundFromTheLowestQueueUp) {
  Queue both = Unbounded();
  both.share[kQuotaCpu].limit = both.share[kQuotaGpu].limit = 0;
  const Path path({Gpus(1, 1), Gpus(8, 1), both});
  EXPECT_EQ(path.AllLimits({1, 0, 1}), (std::vector<QueueId>{QueueId(0), QueueId(2), QueueId(2)}));
  EXPECT_EQ(path.AllLimits({0, 1, 0}), std::vector<QueueId>());
}

TEST(CapacityTest, WithoutQueuesNothingIsRefused) {
  const QueueColumns tree;
  EXPECT_TRUE(
      CheckLimit({tree, {}, {}}, QueueId(), RequestedAmount(Adding::kExact, {1, 1, 1})).fits());
}

TEST(CapacityTest, PartsOfDevicesAddUpExactlyUnlessAsKai) {  // spec 1 W6
  const Path path({Gpus(/*limit=*/0.3, 0.2, /*deserved=*/0.3, /*np=*/0.2)});
  const QuotaCount more = {0, 0, 0.1};
  EXPECT_TRUE(path.Limit(more).fits());
  EXPECT_TRUE(path.Quota(more).fits());
  EXPECT_FALSE(path.Limit(more, Adding::kAsKai).fits());
  EXPECT_FALSE(path.Quota(more, Adding::kAsKai).fits());
  EXPECT_FALSE(path.Limit({0, 0, 0.100'000'001}).fits()) << "there is no tolerance";
  EXPECT_FALSE(path.Quota({0, 0, 0.100'000'001}).fits());
}

TEST(CapacityTest, RequestsOfPodsAddUpExactlyUnlessAsKai) {
  ASSERT_GT(0.1 + 0.1 + 0.1, 0.3);
  for (const auto& [adding, sum] :
       {std::pair(Adding::kExact, 0.3), std::pair(Adding::kAsKai, 0.1 + 0.1 + 0.1)}) {
    RequestedAmount requested(adding);
    for (int i = 0; i < 3; ++i) requested += {100, 1e6, 0.1};
    EXPECT_EQ(requested.On({}, kQuotaGpu), sum);
    EXPECT_EQ(requested.On({1, 0, 0}, kQuotaCpu), 301);
    EXPECT_EQ(requested[kQuotaGpu], 0.1 + 0.1 + 0.1) << "the number that KAI writes";
  }
}

TEST(CapacityTest, SevenSeventhsOfADeviceFillIt) {
  EXPECT_TRUE(Limit(Gpus(1, 3.0 / 7), {0, 0, 4.0 / 7}).fits());
  EXPECT_FALSE(Limit(Gpus(1, 3.0 / 7), {0, 0, 5.0 / 7}).fits());
}

}  // namespace
}  // namespace kai::capacity_test
