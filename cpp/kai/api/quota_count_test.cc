#include "kai/api/quota_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace kai::quota_count_test {
namespace {

using ::testing::ElementsAre;

QuotaCount Gpus(double gpus) { return {0, 0, gpus}; }

TEST(QuotaCountTest, AddsAndSubtractsElementByElement) {
  QuotaCount sum(1000, 2e9, 0.5);
  sum += {500, 1e9, 0.5};
  EXPECT_THAT(sum.values(), ElementsAre(1500, 3e9, 1));
  sum -= {1500, 0, 2};
  EXPECT_THAT(sum.values(), ElementsAre(0, 3e9, -1));
  EXPECT_THAT((QuotaCount(1, 2, 3) + QuotaCount(4, 5, 6)).values(), ElementsAre(5, 7, 9));
  EXPECT_THAT((QuotaCount(1, 2, 3) - QuotaCount(4, 5, 6)).values(), ElementsAre(-3, -3, -3));
}

TEST(QuotaCountTest, ConvertsEachHundredthToTheNearestDouble) {
  for (int hundredths = -300; hundredths <= 30'000; ++hundredths) {
    const double gpus = hundredths / 100.0;
    EXPECT_EQ(Gpus(gpus)[kQuotaGpu], gpus);
  }
}

TEST(QuotaCountTest, SumsOfHundredthsAreExact) {
  ASSERT_NE(0.1 + 0.2, 0.3);
  QuotaCount sum(1000, 2e9, 0.2);
  sum += QuotaCount(0, 0, 0.1);
  EXPECT_EQ(sum[kQuotaGpu], 0.3);
  for (int i = 0; i < 1000; ++i) sum += Gpus(0.07);
  EXPECT_EQ(sum[kQuotaGpu], 70.3);
}

TEST(QuotaCountTest, SeventhsAndQuartersOfADeviceAddUpToOneDevice) {
  QuotaCount sevenths;
  for (int i = 0; i < 7; ++i) sevenths += Gpus(1.0 / 7);
  EXPECT_EQ(sevenths, Gpus(1));
  EXPECT_EQ(Gpus(0.25) + Gpus(0.75), Gpus(1));
  EXPECT_EQ(Gpus(3.0 / 7)[kQuotaGpu], 3.0 / 7);
}

TEST(QuotaCountTest, PartsOfTheMemoryOfADeviceNeverAddUpToMoreThanTheDevice) {
  for (const int parts : {2, 3, 7, 9, 11, 81}) {
    QuotaCount sum;
    for (int i = 0; i < parts; ++i) sum += QuotaCount::OfGpuMemory(1000, 1000.0 * parts);
    EXPECT_LE(sum[kQuotaGpu], 1);
    EXPECT_EQ(sum[kQuotaGpu], 1);
  }
  EXPECT_EQ(QuotaCount::OfGpuMemory(128, 255)[kQuotaGpu], 128.0 / 255);
  EXPECT_EQ(QuotaCount::OfGpuMemory(3 * 40'500, 40'500), Gpus(3));
}

TEST(QuotaCountTest, MemoryOfADeviceConvertsToTheNearestDouble) {
  for (const int of : {15'300, 40'500, 81'500, 195'300}) {
    for (int mib = 100; mib < of; mib += 37)
      EXPECT_EQ(QuotaCount::OfGpuMemory(mib, of)[kQuotaGpu], static_cast<double>(mib) / of);
  }
}

TEST(QuotaCountTest, CountsWithDifferentHistoriesCompareEqual) {
  const QuotaCount half_a_part = QuotaCount::OfGpuMemory(1, 1400);
  EXPECT_EQ(half_a_part + half_a_part, QuotaCount::OfGpuMemory(1, 700));
  EXPECT_EQ(half_a_part + half_a_part, Gpus(1.0 / 700));
  EXPECT_NE(half_a_part, half_a_part + half_a_part);
  EXPECT_EQ((Gpus(1) - half_a_part)[kQuotaGpu], 1399.0 / 1400);
  EXPECT_EQ((half_a_part - Gpus(1))[kQuotaGpu], -1399.0 / 1400);
}

TEST(QuotaCountTest, ReplacingTheGpusKeepsTheOtherElements) {
  EXPECT_EQ(QuotaCount(1, 2, 3).WithGpus(0.3), QuotaCount(1, 2, 0.3));
}

TEST(QuotaCountTest, ASumOfWholeBytesIsExactBeyondThePrecisionOfADouble) {
  QuotaCount sum(0, 0x1p60, 0);
  sum += {0, 1, 0};
  sum -= {0, 0x1p60, 0};
  EXPECT_EQ(sum, QuotaCount(0, 1, 0));
}

TEST(QuotaCountTest, HugeAmountsSaturateInsteadOfWrapping) {
  const double huge = 1e300;
  QuotaCount sum;
  for (int i = 0; i < 10'000; ++i) sum += {huge, huge, huge};
  for (size_t i = 0; i < kQuotaResources; ++i) EXPECT_EQ(sum[i], 10'000 * 0x1p63);
  for (int i = 0; i < 10'000; ++i) sum -= {huge, huge, huge};
  EXPECT_EQ(sum, QuotaCount());
  EXPECT_EQ(QuotaCount::OfGpuMemory(huge, 128)[kQuotaGpu], 0x1p56);
  EXPECT_EQ(Gpus(0x1p63)[kQuotaGpu], 0x1p63);
}

// Adds in any order, while other amounts are added and subtracted in between.
TEST(QuotaCountTest, AddingAndSubtractingRestoresEveryBit) {
  std::mt19937_64 random(18);
  const auto below = [&](uint64_t most) { return static_cast<double>(random() % most); };
  for (int round = 0; round < 200; ++round) {
    std::vector<QuotaCount> kept, passing;
    for (int i = 0; i < 50; ++i) {
      QuotaCount amount(below(64'000), below(uint64_t{1} << 40), below(100) / 100);
      if (i % 5 == 0) amount += QuotaCount::OfGpuMemory(below(80'000), 81'500);
      if (i % 7 == 0) amount += Gpus(below(7) / 7);
      (i % 2 == 0 ? kept : passing).push_back(amount);
    }
    QuotaCount fresh;
    for (const QuotaCount& amount : kept) fresh += amount;
    QuotaCount sum;
    std::shuffle(kept.begin(), kept.end(), random);
    for (size_t i = 0; i < kept.size(); ++i) {
      sum += passing[i];
      sum += kept[i];
    }
    std::shuffle(passing.begin(), passing.end(), random);
    for (const QuotaCount& amount : passing) sum -= amount;
    EXPECT_EQ(sum, fresh);
    EXPECT_EQ(sum.values(), fresh.values());
  }
}

TEST(QuotaCountTest, TheLargerCountNeverConvertsToTheSmallerDouble) {
  std::mt19937_64 random(18);
  for (int round = 0; round < 10'000; ++round) {
    const QuotaCount low =
        QuotaCount::OfGpuMemory(static_cast<double>(random() % 1'000'000), 40'500);
    const QuotaCount more =
        QuotaCount::OfGpuMemory(static_cast<double>(random() % 3), 1e12);  // far below the last bit
    EXPECT_LE(low[kQuotaGpu], (low + more)[kQuotaGpu]);
  }
}

}  // namespace
}  // namespace kai::quota_count_test
