#include "kai/base/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace kai::quantity_test {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct Amount {
  std::string text;
  int64_t value;
  int64_t milli;
};

TEST(QuantityTest, NeverRoundsARequestDown) {
  const absl::StatusOr<Quantity> cpu = Quantity::Parse("500m");
  ASSERT_TRUE(cpu.ok());
  EXPECT_EQ(cpu->MilliValue(), 500);
  EXPECT_EQ(cpu->Value(), 1);
  EXPECT_EQ((*cpu + Quantity::Of(2)).MilliValue(), 2500);
}

TEST(QuantityTest, ParsesTheFormatsThatKubernetesParses) {
  const Amount table[] = {
      // plain numbers, also in odd spellings
      {"0", 0, 0},
      {"1", 1, 1000},
      {"+1", 1, 1000},
      {"-1", -1, -1000},
      {"007", 7, 7000},
      {".5", 1, 500},
      {"5.", 5, 5000},
      {"-0", 0, 0},
      {"0.0", 0, 0},
      {"1.50", 2, 1500},
      // decimal units
      {"500m", 1, 500},
      {"1500m", 2, 1500},
      {"100n", 1, 1},
      {"1u", 1, 1},
      {"2k", 2'000, 2'000'000},
      {"3M", 3'000'000, 3'000'000'000},
      {"4G", 4'000'000'000, 4'000'000'000'000},
      {"5T", 5'000'000'000'000, 5'000'000'000'000'000},
      {"1P", 1'000'000'000'000'000, 1'000'000'000'000'000'000},
      {"0.1G", 100'000'000, 100'000'000'000},
      // binary units
      {"1Ki", 1024, 1'024'000},
      {"2Gi", 2147483648, 2147483648'000},
      {"1.5Gi", 1610612736, 1610612736'000},
      {"0.1Ki", 103, 102'400},
      {"0.0000000001Ki", 1, 1},  // far below a byte, and still rounded up to one
      {"1024Gi", 1099511627776, 1099511627776'000},
      {"0.1Ei", 115292150460684698, kMax},
      // exponents
      {"1e3", 1000, 1'000'000},
      {"1E3", 1000, 1'000'000},
      {"1e+3", 1000, 1'000'000},
      {"15e-1", 2, 1500},
      {"1E", 1'000'000'000'000'000'000, kMax},  // a lone E is exa
      {"1e-40", 1, 1},
      {"0e9999999", 0, 0},
      {"1e9223372036854775807", kMax, kMax},
      {"1e-9223372036854775808", 1, 1},
  };
  for (const Amount& amount : table) {
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(amount.text);
    ASSERT_TRUE(quantity.ok()) << quantity.status().message();
    EXPECT_EQ(quantity->Value(), amount.value) << amount.text;
    EXPECT_EQ(quantity->MilliValue(), amount.milli) << amount.text;
  }
}

TEST(QuantityTest, NeverConvertsToFloatingPoint) {
  // 0.1 and 0.7 are not exact as doubles, and beyond 2^53 doubles skip integers.
  EXPECT_EQ(Quantity::Parse("0.1")->MilliValue(), 100);
  EXPECT_EQ(Quantity::Parse("0.7")->MilliValue(), 700);
  EXPECT_EQ(Quantity::Parse("9007199254740993")->Value(), 9007199254740993);
  EXPECT_EQ(Quantity::Parse("9223372036854775807")->Value(), kMax);
  EXPECT_EQ(Quantity::Parse("0.123456789Ei")->Value(), 142335986927810036);
}

TEST(QuantityTest, RoundsAwayFromZero) {
  EXPECT_EQ(Quantity::Parse("0.1m")->MilliValue(), 1);
  EXPECT_EQ(Quantity::Parse("1000.0001m")->MilliValue(), 1001);
  EXPECT_EQ(Quantity::Parse("-1.5")->Value(), -2);
  EXPECT_EQ(Quantity::Parse("-0.1m")->MilliValue(), -1);
  EXPECT_EQ(Quantity::Parse("0.00000000000000000000000000000000000001")->Value(), 1);
}

TEST(QuantityTest, SaturatesInsteadOfWrapping) {
  for (const char* text : {"12E", "9223372036854775808", "8Ei", "16Ei", "1e40",
                           "99999999999999999999999999999999999999", "9.5Ei"}) {
    EXPECT_EQ(Quantity::Parse(text)->Value(), kMax) << text;
    EXPECT_EQ(Quantity::Parse(text)->MilliValue(), kMax) << text;
    EXPECT_EQ(Quantity::Parse(std::string("-") + text)->Value(), -kMax) << text;
  }
  EXPECT_EQ(Quantity::Parse("9223372036854775.807")->MilliValue(), kMax);
  EXPECT_EQ(Quantity::Parse("7.9999999999Ei")->Value(),
            9223372036739483658);  // large, and not saturated
}

TEST(QuantityTest, RecognisesWholeAndNegativeAmounts) {
  EXPECT_TRUE(Quantity::Parse("2")->whole());
  EXPECT_TRUE(Quantity::Parse("2000m")->whole());
  EXPECT_FALSE(Quantity::Parse("0.5")->whole());
  EXPECT_TRUE(Quantity::Parse("-1n")->negative());
  EXPECT_FALSE(Quantity::Parse("-0")->negative());
}

TEST(QuantityTest, RejectsAnInvalidQuantityWithOneSentence) {
  EXPECT_EQ(Quantity::Parse("1Gx").status().message(), "quantity \"1Gx\" is not valid");
  for (const char* text :
       {"",      "+",        "-",    ".",     "m",   "Gi",  "1K",
        "1ki",   "1KI",      "1mi",  "1ni",   "1i",  "1e",  "1e+",
        "1e+-3", "1e1.5",    "1ee3", "1.2.3", "1 ",  " 1",  "1_000",
        "0x10",  "1,5",      "NaN",  "inf",   "--1", "+-1", "1e99999999999999999999",
        "1Gi1",  "5\xc2\xb5"}) {
    EXPECT_FALSE(Quantity::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(Quantity::Parse(std::string("1\0", 2)).ok());
}

TEST(QuantityTest, RejectsMoreDigitsThanItCanStore) {
  EXPECT_TRUE(
      Quantity::Parse(std::string(1'000'000, '0') + "1").ok());  // leading zeros do not count
  EXPECT_TRUE(Quantity::Parse("1." + std::string(1'000'000, '0')).ok());
  EXPECT_FALSE(Quantity::Parse(std::string(39, '1')).ok());
  EXPECT_EQ(Quantity::Parse(std::string(100, '1')).status().message(),
            "quantity \"" + std::string(64, '1') + "...\" has more than 38 digits");
}

TEST(QuantityTest, AddsAndSubtractsExactlyAndSaturates) {
  const auto parse = [](std::string_view text) { return Quantity::Parse(text).value(); };
  EXPECT_EQ(parse("100m") + parse("200m"), parse("300m"));
  EXPECT_EQ(parse("1Gi") - parse("1Mi"), parse("1023Mi"));
  EXPECT_EQ(parse("1") - parse("1n"), parse("999999999n"));
  EXPECT_EQ(Quantity::Of(kMax) + Quantity::Of(1), Quantity::Of(kMax));
  EXPECT_EQ(Quantity::Of(-kMax) - Quantity::Of(1), Quantity::Of(-kMax));
  EXPECT_EQ(Quantity::Of(-3), parse("-3"));
}

TEST(QuantityTest, ReturnsItsSignAndItsApproximateValue) {
  const auto parse = [](std::string_view text) { return Quantity::Parse(text).value(); };
  EXPECT_EQ(parse("1n").Sign(), 1);
  EXPECT_EQ(parse("0").Sign(), 0);
  EXPECT_EQ(parse("-1n").Sign(), -1);
  EXPECT_DOUBLE_EQ(parse("1500m").Approximate(), 1.5);
}

}  // namespace
}  // namespace kai::quantity_test
