#include "kai/dra/utf8.h"

#include <gtest/gtest.h>

namespace kai::utf8_test {
namespace {

TEST(Utf8Test, DecodesEveryCodePointThatItEncodes) {
  for (char32_t point = 0; point <= kLastCodePoint; point += 1 + point / 64) {
    std::string text;
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    ASSERT_EQ(AppendCodePoint(&text, point), !surrogate) << std::hex << uint32_t{point};
    if (surrogate) continue;
    size_t at = 0;
    EXPECT_EQ(NextCodePoint(text, &at), point);
    EXPECT_EQ(at, text.size());
  }
  std::string text;
  EXPECT_FALSE(AppendCodePoint(&text, kLastCodePoint + 1));
  EXPECT_EQ(text, "");
}

TEST(Utf8Test, CountsAnInvalidByteAsOneCharacter) {
  EXPECT_EQ(CountCodePoints("gr\xC3\xB6\xC3\x9F"
                            "e"),
            5u);
  EXPECT_EQ(CountCodePoints("\xFF\xFE"), 2u);
  EXPECT_EQ(CountCodePoints("\xE2\x82"), 2u);          // truncated
  EXPECT_EQ(CountCodePoints("\xC0\x80"), 2u);          // overlong encoding
  EXPECT_EQ(CountCodePoints("\xED\xA0\x80"), 3u);      // half a surrogate pair
  EXPECT_EQ(CountCodePoints("\xF4\x90\x80\x80"), 4u);  // beyond the last code point
}

}  // namespace
}  // namespace kai::utf8_test
