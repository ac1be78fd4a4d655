// Limits of everybody, quota of the non-preemptible (spec 1 §7 and the gates of §16).
#include "kai/fairshare/capacity.h"

#include <gtest/gtest.h>

#include <vector>

namespace kai::capacity_test {
namespace {

QueueShare Unbounded() {
  QueueShare share;
  share.fill({.deserved = kUnlimited, .limit = kUnlimited});
  return share;
}

// GPUs alone are bounded.
QueueShare Gpus(double limit, double allocated, double deserved = kUnlimited,
                double non_preemptible = 0) {
  QueueShare share = Unbounded();
  share[kQuotaGpu] = {.deserved = deserved,
                      .limit = limit,
                      .allocated = allocated,
                      .allocated_non_preemptible = non_preemptible};
  return share;
}

CapacityAnswer Limit(const QueueShare& share, const QuotaVector& requested) {
  return CheckLimit(std::vector<const QueueShare*>{&share}, requested);
}
CapacityAnswer Quota(const QueueShare& share, const QuotaVector& requested) {
  return CheckNonPreemptibleQuota(std::vector<const QueueShare*>{&share}, requested);
}

TEST(CapacityTest, EqualityWithTheLimitPasses) {  // the examples of spec 1 §7
  EXPECT_FALSE(Limit(Gpus(3, 3), {0, 0, 0.5}).fits());
  EXPECT_TRUE(Limit(Gpus(3, 2.5), {0, 0, 0.5}).fits());
  EXPECT_FALSE(Limit(Gpus(1, 0), {0, 0, 2}).fits());
}

TEST(CapacityTest, ALimitOfZeroRefusesWhoeverAsks) {  // spec 1 F4
  EXPECT_FALSE(Limit(Gpus(0, 0), {0, 0, 0.01}).fits());
  EXPECT_TRUE(Limit(Gpus(0, 0), {5000, 5e9, 0}).fits());
}

TEST(CapacityTest, WhatIsNotAskedForIsNotLookedAt) {  // spec 1 F78, §16
  EXPECT_TRUE(Limit(Gpus(3, 7), {1000, 0, 0}).fits());
  EXPECT_TRUE(Quota(Gpus(kUnlimited, 0, 3, 7), {1000, 0, 0}).fits());
}

TEST(CapacityTest, UnlimitedLetsEverythingThrough) {
  EXPECT_TRUE(Limit(Unbounded(), {1e9, 1e18, 1e6}).fits());
  EXPECT_TRUE(Quota(Unbounded(), {1e9, 1e18, 1e6}).fits());
}

TEST(CapacityTest, TheQuotaLooksAtNonPreemptiblePodsAlone) {  // spec 1 F78
  EXPECT_TRUE(
      Quota(Gpus(kUnlimited, /*allocated=*/100, /*deserved=*/4, /*np=*/2), {0, 0, 2}).fits());
  EXPECT_FALSE(Quota(Gpus(kUnlimited, 100, 4, 2), {0, 0, 2.5}).fits());
  // Two devices of 60 % against a quota of one with 0.4 used.
  EXPECT_FALSE(Quota(Gpus(kUnlimited, 0, 1, 0.4), {0, 0, 1.2}).fits());
}

TEST(CapacityTest, TheLimitLooksAtAllPods) {
  EXPECT_FALSE(Limit(Gpus(4, /*allocated=*/4, 4, /*np=*/0), {0, 0, 1}).fits());
}

TEST(CapacityTest, AQuotaOfZeroKeepsNonPreemptiblePodsOut) {  // spec 1 F14
  QueueShare share = Unbounded();
  share[kQuotaCpu].deserved = 0;
  const CapacityAnswer answer = Quota(share, {1, 0, 0});
  EXPECT_EQ(answer.reason, CapacityReason::kNonPreemptibleOverQuota);
  EXPECT_EQ(answer.resource, kQuotaCpu);
}

TEST(CapacityTest, AnyAncestorMayRefuse) {  // spec 1 F77, §16
  const QueueShare leaf = Gpus(8, 0), middle = Unbounded(), root = Gpus(4, 3);
  const std::vector<const QueueShare*> path = {&leaf, &middle, &root};
  EXPECT_TRUE(CheckLimit(path, {0, 0, 1}).fits());
  const CapacityAnswer answer = CheckLimit(path, {0, 0, 2});
  EXPECT_EQ(answer.reason, CapacityReason::kOverLimit);
  EXPECT_EQ(answer.level, size_t{2});
  EXPECT_EQ(answer.resource, kQuotaGpu);
}

TEST(CapacityTest, TheLowestQueueThenTheFirstResourceIsNamed) {  // spec 1 F77
  QueueShare leaf = Unbounded(), root = Unbounded();
  leaf[kQuotaMemory].limit = 0;
  leaf[kQuotaGpu].limit = 0;
  root[kQuotaCpu].limit = 0;
  const std::vector<const QueueShare*> path = {&leaf, &root};
  const CapacityAnswer answer = CheckLimit(path, {1, 1, 1});
  EXPECT_EQ(answer.level, size_t{0});
  EXPECT_EQ(answer.resource, kQuotaMemory);
  EXPECT_EQ(CheckLimit(path, {1, 0, 0}).level, size_t{1});
}

TEST(CapacityTest, ThereIsNoEpsilon) {  // spec 1 W6
  EXPECT_FALSE(Limit(Gpus(0.3, 0.2), {0, 0, 0.1}).fits());
}

TEST(CapacityTest, WithoutQueuesNothingIsRefused) { EXPECT_TRUE(CheckLimit({}, {1, 1, 1}).fits()); }

}  // namespace
TEST(CapacityTest, SumsOfPartsOfDevicesMayMissTheLimitByABit) {  // spec 1 W6
  QueueShare share{};
  for (Share& each : share) each.limit = each.deserved = kUnlimited;
  share[kQuotaGpu] = {.deserved = 0.3, .limit = 0.3, .allocated = 0.2};
  share[kQuotaGpu].allocated_non_preemptible = 0.2;
  const std::vector<const QueueShare*> path = {&share};
  const QuotaVector more = {0, 0, 0.1};
  EXPECT_FALSE(CheckLimit(path, more).fits());
  EXPECT_TRUE(CheckLimit(path, more, kQuotaTolerance).fits());
  EXPECT_FALSE(CheckNonPreemptibleQuota(path, more).fits());
  EXPECT_TRUE(CheckNonPreemptibleQuota(path, more, kQuotaTolerance).fits());
  EXPECT_FALSE(CheckLimit(path, {0, 0, 0.11}, kQuotaTolerance).fits());
}

}  // namespace kai::capacity_test
