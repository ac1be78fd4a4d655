#include "kai/ingest/timestamp.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <limits>

namespace kai::timestamp_test {
namespace {

TEST(TimestampTest, ReadsRfc3339) {
  const std::pair<const char*, int64_t> table[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"1970-01-01T00:00:01Z", 1'000'000'000},
      {"1969-12-31T23:59:59Z", -1'000'000'000},
      {"2024-02-01T00:19:05Z", 1706746745'000'000'000},
      {"2024-02-29T12:00:00Z", 1709208000'000'000'000},
      {"2024-02-01T01:19:05+01:00", 1706746745'000'000'000},
      {"2024-01-31T18:49:05-05:30", 1706746745'000'000'000},
      {"2024-02-01T00:19:05.5Z", 1706746745'500'000'000},
      {"2024-02-01T00:19:05.123456789999Z", 1706746745'123'456'789},
  };
  for (const auto& [text, nanos] : table) {
    const absl::StatusOr<int64_t> time = ParseTimestamp(text);
    ASSERT_TRUE(time.ok()) << time.status().message();
    EXPECT_EQ(*time, nanos) << text;
  }
}

TEST(TimestampTest, AgreesWithTheStandardCalendarForFiveCenturies) {
  for (int64_t day = -100'000; day < 100'000; ++day) {
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT00:00:00Z", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    ASSERT_EQ(*ParseTimestamp(text), day * 86'400'000'000'000) << text;
  }
}

TEST(TimestampTest, SaturatesForTimesOutOfRange) {
  EXPECT_EQ(*ParseTimestamp("0001-01-01T00:00:00Z"),
            std::numeric_limits<int64_t>::min());  // Go's zero time
  EXPECT_EQ(*ParseTimestamp("9999-12-31T23:59:59Z"), std::numeric_limits<int64_t>::max());
}

TEST(TimestampTest, RejectsAnInvalidTimeWithOneSentence) {
  EXPECT_EQ(ParseTimestamp("yesterday").status().message(),
            "time \"yesterday\" is not like 2024-02-01T00:19:05Z (RFC 3339)");
  for (const char* text :
       {"", "2024-02-01", "2024-02-01 00:19:05Z", "2024-02-01T00:19:05", "2024-02-01t00:19:05z",
        "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
        "2024-00-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-02-01T24:00:00Z",
        "2024-02-01T00:60:00Z", "2024-02-01T00:00:60Z", "2024-02-01T00:00:00.Z",
        "2024-02-01T00:00:00+1:00", "2024-02-01T00:00:00+24:00", "2024-02-01T00:00:00Z ",
        "-024-02-01T00:00:00Z", "9999-99-99T99:99:99Z"}) {
    EXPECT_FALSE(ParseTimestamp(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kai::timestamp_test
