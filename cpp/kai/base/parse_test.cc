#include "kai/base/parse.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace kai::parse_test {
namespace {

TEST(ParseTest, ReadsWholeNumbersWithASign) {
  EXPECT_EQ(ParseInteger("0"), 0);
  EXPECT_EQ(ParseInteger("42"), 42);
  EXPECT_EQ(ParseInteger("-42"), -42);
  EXPECT_EQ(ParseInteger("+42"), 42);
  EXPECT_EQ(ParseInteger("007"), 7);
  EXPECT_EQ(ParseInteger("-9223372036854775808"), std::numeric_limits<int64_t>::min());
}

TEST(ParseTest, RejectsEverythingElse) {
  EXPECT_EQ(ParseInteger("1 "), std::nullopt);
  for (const char* text : {"", "+", "-", "+-1", "-+1", "++1", " 1", "1 ", "1.0", "1e3", "0x10",
                           "one", "9223372036854775808", "1_000"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << '"' << text << '"';
  }
}

}  // namespace
}  // namespace kai::parse_test
