#include "kai/base/text_head.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace kai::text_head_test {
namespace {

// The eight characters of the head as a text, after the common prefix of four.
std::string Padded(const std::string& text) {
  std::string head = text.substr(0, 12);
  head.resize(12, '\0');
  return head;
}

TEST(TextHeadTest, OrdersAsTheWholeTextsDo) {
  std::mt19937 random(1);
  std::vector<std::string> texts = {"job-", "job-a", std::string("job-\0", 5), "job-\xff"};
  for (int i = 0; i < 200; ++i) {
    std::string text = "job-";
    for (uint64_t size = random() % 12; size > 0; --size) text += "ab\xc3\x7f"[random() % 4];
    texts.push_back(text);
  }
  size_t prefix = texts[0].size();
  for (const std::string& text : texts) prefix = CommonPrefix(texts[0], prefix, text);
  EXPECT_EQ(prefix, 4);
  for (const std::string& a : texts) {
    for (const std::string& b : texts) {
      const bool is_before = TextHead(a, prefix) < TextHead(b, prefix);
      EXPECT_TRUE(!is_before || a < b) << a << " " << b;
      EXPECT_EQ(is_before, Padded(a) < Padded(b)) << a << " " << b;
    }
  }
}

TEST(TextHeadTest, FindsCommonPrefixes) {
  EXPECT_EQ(CommonPrefix("node-1", 6, "node-2"), 5);
  EXPECT_EQ(CommonPrefix("node-1", 3, "node-2"), 3);
  EXPECT_EQ(CommonPrefix("node", 4, "no"), 2);
  EXPECT_EQ(CommonPrefix("", 0, "no"), 0);
}

}  // namespace
}  // namespace kai::text_head_test
