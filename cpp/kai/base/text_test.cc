#include "kai/base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace kai::text_test {
namespace {

TEST(TextTest, ConcatenatesTextsAndNumbers) {
  const std::string name = "vision";
  EXPECT_EQ(StrCat("queue ", name, " has ", 3, " children"), "queue vision has 3 children");
  EXPECT_EQ(StrCat(""), "");
  EXPECT_EQ(StrCat(std::string_view("a\0b", 3)).size(), size_t{3});
}

TEST(TextTest, PrintsEveryIntegerExactly) {
  EXPECT_EQ(StrCat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(StrCat(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(StrCat(uint8_t{65}), "65");
  EXPECT_EQ(StrCat(int16_t{-1}, size_t{0}), "-10");
}

TEST(TextTest, PrintsACharAsALetterAndABoolAsADigit) { EXPECT_EQ(StrCat('a', true, false), "a10"); }

TEST(TextTest, AppendsToATextInPlace) {
  std::string text = "1";
  StrAppend(&text, "+", 2);
  EXPECT_EQ(text, "1+2");
}

}  // namespace
}  // namespace kai::text_test
