#include "kai/base/duration.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "kai/base/clock.h"

namespace kai::duration_test {
namespace {

TEST(DurationTest, ParsesTheFormatsThatGoParses) {
  const std::pair<const char*, int64_t> table[] = {
      {"0", 0},
      {"0s", 0},
      {"10s", 10 * kSecondNs},
      {"1h30m", 5400 * kSecondNs},
      {"1.5h", 5400 * kSecondNs},
      {"300ms", 300'000'000},
      {"5us", 5'000},
      {"5\u00b5s", 5'000},
      {"5\u03bcs", 5'000},
      {"7ns", 7},
      {"876000h", 876'000 * 3600L * kSecondNs},
      {"-5m", -300 * kSecondNs},
      {"+5m", 300 * kSecondNs},
      {".5s", 500'000'000},
      {"1.s", kSecondNs},
      {"1m0.000000001s", 60 * kSecondNs + 1},
      {"0.3333333333333333333333h", 1'199'999'999'999},  // cut, not rounded
      {"9223372036854775807ns", 9223372036854775807},
  };
  for (const auto& [text, nanos] : table) {
    const absl::StatusOr<int64_t> duration = ParseDuration(text);
    ASSERT_TRUE(duration.ok()) << duration.status().message();
    EXPECT_EQ(*duration, nanos) << text;
  }
}

TEST(DurationTest, RejectsAnInvalidDurationWithOneSentence) {
  EXPECT_EQ(ParseDuration("10 s").status().message(), "duration \"10 s\" is not valid");
  EXPECT_EQ(ParseDuration("1000000h1000000h1000000h").status().message(),
            "duration \"1000000h1000000h1000000h\" is too long");
  for (const char* text : {"", "-", "+", "10", "s", ".s", "1d", "1w", "1H", "1h-5m", "1e3s", "10s ",
                           "1.2.3s", "NaN", "2562048h", "9223372036854775808ns"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
  EXPECT_FALSE(ParseDuration(std::string(1'000'000, '9') + "h").ok());
}

TEST(DurationTest, ParsesDaysAndWeeksInTheLongFormat) {
  const std::pair<const char*, int64_t> table[] = {
      {"1d", 86'400 * kSecondNs},
      {"2w", 14 * 86'400 * kSecondNs},
      {"1w2d12h", (9 * 24 + 12) * 3600 * kSecondNs},
      {"0.5d", 43'200 * kSecondNs},
      {"90s", 90 * kSecondNs},
      {"-1d", -86'400 * kSecondNs},
  };
  for (const auto& [text, nanos] : table) {
    const absl::StatusOr<int64_t> duration = ParseLongDuration(text);
    ASSERT_TRUE(duration.ok()) << duration.status().message();
    EXPECT_EQ(*duration, nanos) << text;
  }
  EXPECT_FALSE(ParseLongDuration("1y").ok());
  EXPECT_FALSE(ParseLongDuration("16000w").ok());
}

TEST(DurationTest, PrintsAsGoDoes) {
  const std::pair<int64_t, const char*> table[] = {
      {0, "0s"},
      {1, "1ns"},
      {1'100, "1.1\u00b5s"},
      {2'200'000, "2.2ms"},
      {3'300'000'000, "3.3s"},
      {300 * kSecondNs, "5m0s"},
      {3600 * kSecondNs, "1h0m0s"},
      {3600 * kSecondNs + 500'000'000, "1h0m0.5s"},
      {245 * kSecondNs + 1'000'000, "4m5.001s"},
      {876'000 * 3600L * kSecondNs, "876000h0m0s"},
      {-90 * kSecondNs, "-1m30s"},
      {std::numeric_limits<int64_t>::max(), "2562047h47m16.854775807s"},
      {std::numeric_limits<int64_t>::min(), "-2562047h47m16.854775808s"},
  };
  for (const auto& [nanos, text] : table) EXPECT_EQ(FormatDuration(nanos), text);
}

TEST(DurationTest, PrintsDurationsThatParseBackUnchanged) {
  EXPECT_EQ(FormatDuration(*ParseLongDuration("1w")), "168h0m0s");
  EXPECT_EQ(FormatDuration(kSecondNs), "1s");
}

}  // namespace
}  // namespace kai::duration_test
