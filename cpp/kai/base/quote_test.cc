#include "kai/base/quote.h"

#include <gtest/gtest.h>

namespace kai::quote_test {
namespace {

TEST(QuoteTest, KeepsShortTextAsItIs) { EXPECT_EQ(Quote("1Gx"), "\"1Gx\""); }

TEST(QuoteTest, EscapesQuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(Quote("a\"b\\c\nd\x7f"), "\"a\\\"b\\\\c\\u000ad\\u007f\"");
}

TEST(QuoteTest, MarksLongTextAsCut) {
  EXPECT_EQ(Quote(std::string(50'000'000, 'x')), "\"" + std::string(64, 'x') + "...\"");
}

TEST(QuoteTest, NeverCutsInsideACharacter) {
  const std::string text = std::string(63, 'x') + "\u00e9" +
                           std::string(10, 'x');  // byte 64 is the middle of an e with an accent
  EXPECT_EQ(Quote(text), "\"" + std::string(63, 'x') + "...\"");
}

}  // namespace
}  // namespace kai::quote_test
