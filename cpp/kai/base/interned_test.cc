#include "kai/base/interned.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kai/base/id.h"

namespace kai::interned_test {
namespace {

using WordId = Id<struct WordTag>;

TEST(InternedTest, EqualValuesHaveOneId) {
  Interned<WordId, std::string> words;
  EXPECT_EQ(words.Add("queue"), WordId(0));
  EXPECT_EQ(words.Add("gang"), WordId(1));
  EXPECT_TRUE(words.Add("queue") == words.Add("queue"));
  EXPECT_EQ(words[words.Add("gang")], "gang");
  EXPECT_EQ(words.size(), size_t{2});
}

struct Half {  // its hash uses the left member only
  int left = 0;
  int right = 0;

  friend bool operator==(const Half&, const Half&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Half& half) {
    return H::combine(std::move(h), half.left);
  }
};

TEST(InternedTest, ValuesWithEqualHashesAreDistinguished) {
  Interned<WordId, Half> halves;
  EXPECT_NE(halves.Add({.left = 1, .right = 1}), halves.Add({.left = 1, .right = 2}));
}

TEST(InternedTest, IdsStayValidWhenTheValuesMove) {
  Interned<WordId, std::string> words;
  for (int i = 0; i < 1000; ++i) words.Add(std::to_string(i));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(words.Add(std::to_string(i)), WordId(i));
}

}  // namespace
}  // namespace kai::interned_test
