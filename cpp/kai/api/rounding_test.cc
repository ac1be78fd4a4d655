// The worked examples of spec 1 F23 and F24, spec 2 M8 and spec 3 R7, R11, G2, G5.
#include "kai/api/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace kai::rounding_test {
namespace {

TEST(RoundingTest, GpusHaveTwoDecimalsPerDevice) {  // spec 1 F23, spec 3 R7
  EXPECT_EQ(GpusOfPortions(1, 3), 3);
  EXPECT_EQ(GpusOfPortions(0.125, 1), 0.13);
  EXPECT_EQ(GpusOfPortions(0.333, 3), 0.99);
  EXPECT_EQ(GpusOfPortions(0.004, 1), 0);
  EXPECT_EQ(GpusOfPortions(0.005, 1), 0.01);
  EXPECT_EQ(GpusOfPortions(0.5, 2), 1);
  EXPECT_EQ(GpusOfPortions(0, 1), 0);
}

TEST(RoundingTest, MemoryBecomesHundredthsRoundedUp) {  // spec 3 G2
  EXPECT_EQ(PortionOfMemory(4096, 15300), 0.27);
  EXPECT_EQ(PortionOfMemory(5000, 15300), 0.33);
  EXPECT_EQ(PortionOfMemory(20000, 81500), 0.25);
  EXPECT_EQ(PortionOfMemory(40960, 81500), 0.51);
  EXPECT_EQ(PortionOfMemory(10000, 40500), 0.25);  // spec 1 F24
  EXPECT_EQ(PortionOfMemory(10000, 81500), 0.13);
  EXPECT_EQ(PortionOfMemory(350, 600), 0.59);  // spec 3 G7
  EXPECT_EQ(PortionOfMemory(350, 400), 0.88);
}

TEST(RoundingTest, KeepsKaisFloatingErrorOfOnePercent) {  // spec 3 G2
  EXPECT_EQ(PortionOfMemory(700, 10000), 0.08);
  EXPECT_EQ(PortionOfMemory(1400, 10000), 0.15);
  EXPECT_EQ(PortionOfMemory(2800, 10000), 0.29);
  EXPECT_EQ(PortionOfMemory(5500, 10000), 0.56);
}

TEST(RoundingTest, MemoryAboveThatOfOneDeviceIsMoreThanOneGpu) {  // spec 3 G5
  EXPECT_EQ(PortionOfMemory(1500, 1000), 1.5);
  EXPECT_EQ(PortionOfMemory(1990, 1000), 1.99);
  EXPECT_EQ(PortionOfMemory(1995, 1000), 2);
}

TEST(RoundingTest, CutsToThreeDecimalsAndDropsZeros) {  // spec 1 F78, spec 2 M8
  for (const auto& [value, text] : std::vector<std::pair<double, std::string>>{{0, "0"},
                                                                               {2, "2"},
                                                                               {0.5, "0.5"},
                                                                               {0.419, "0.419"},
                                                                               {0.4196, "0.419"},
                                                                               {1.9999, "1.999"},
                                                                               {1.2340, "1.234"},
                                                                               {100, "100"},
                                                                               {1000, "1000"},
                                                                               {0.0004, "0"},
                                                                               {0.1 + 0.2, "0.3"},
                                                                               {-2.5, "-2.5"}}) {
    EXPECT_EQ(CutToThreeDecimals(value), text);
  }
}

TEST(RoundingTest, PrintsSixDecimalsBeforeItCuts) {  // spec 2 M8
  EXPECT_EQ(CutToThreeDecimals(0.9999996), "1");
  EXPECT_EQ(CutToThreeDecimals(0.9999994), "0.999");
  EXPECT_EQ(CutToThreeDecimals(0.0029999999), "0.003");
}

TEST(RoundingTest, EndsForInfinityAndNotANumber) {
  EXPECT_EQ(CutToThreeDecimals(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_NE(CutToThreeDecimals(std::nan("")), "");
}

TEST(RoundingTest, ShortestDecimalParsesBackToTheSameDouble) {
  for (const auto& [value, text] :
       std::vector<std::pair<double, std::string>>{{0, "0"},
                                                   {3, "3"},
                                                   {0.5, "0.5"},
                                                   {0.59, "0.59"},
                                                   {0.1 + 0.2, "0.30000000000000004"},
                                                   {1.0 / 3, "0.3333333333333333"},
                                                   {123456, "123456"}}) {
    EXPECT_EQ(ShortestDecimal(value), text);
    EXPECT_EQ(std::stod(ShortestDecimal(value)), value);
  }
}

// Go's shortest %g uses an exponent below 1e-4 and from 1e6 on.
TEST(RoundingTest, ShortestDecimalUsesExponentsWhereGoDoes) {
  EXPECT_EQ(ShortestDecimal(0.0001), "0.0001");
  EXPECT_EQ(ShortestDecimal(0.00001), "1e-05");
  EXPECT_EQ(ShortestDecimal(999999), "999999");
  EXPECT_EQ(ShortestDecimal(1e6), "1e+06");
  EXPECT_EQ(ShortestDecimal(1234567), "1.234567e+06");
}

TEST(RoundingTest, AmountsAreWrittenAsKubernetesWritesThem) {
  EXPECT_EQ(MillisAsQuantity(250), "250m");
  EXPECT_EQ(MillisAsQuantity(2000), "2");
  EXPECT_EQ(MillisAsQuantity(0), "0");
  EXPECT_EQ(BytesAsQuantity(int64_t{120} << 20), "120Mi");
  EXPECT_EQ(BytesAsQuantity(int64_t{3} << 30), "3Gi");
  EXPECT_EQ(BytesAsQuantity(1536), "1536");
  EXPECT_EQ(BytesAsQuantity(64'512), "63Ki");
  EXPECT_EQ(BytesAsQuantity(128'000'000), "128M");
  EXPECT_EQ(BytesAsQuantity(5), "5");
  EXPECT_EQ(BytesAsQuantity(0), "0");
}

}  // namespace
}  // namespace kai::rounding_test
