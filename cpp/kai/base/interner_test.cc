#include "kai/base/interner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/base/text.h"

namespace kai::interner_test {
namespace {

TEST(InternerTest, GivesOneIdPerText) {
  Interner names;
  const NameId vision = names.Intern("vision");
  const NameId speech = names.Intern("speech");
  EXPECT_NE(vision, speech);
  EXPECT_EQ(names.Find("speech"), speech);
  EXPECT_EQ(names.Text(vision), "vision");
  EXPECT_EQ(names.Intern("vision"), vision);
  EXPECT_EQ(names.Text(speech), "speech");
  EXPECT_EQ(names.size(), size_t{2});
}

TEST(InternerTest, NumbersTextsByFirstUse) {
  Interner names;
  EXPECT_EQ(names.Intern("b"), NameId(0));
  EXPECT_EQ(names.Intern("a"), NameId(1));
  EXPECT_EQ(names.Intern("b"), NameId(0));
}

TEST(InternerTest, FindsOnlyInternedTexts) {
  Interner names;
  EXPECT_FALSE(names.Find("").valid());
  const NameId empty = names.Intern("");
  EXPECT_EQ(names.Find(""), empty);
  EXPECT_FALSE(names.Find("vision").valid());
  EXPECT_EQ(names.size(), size_t{1}) << "Find() must not intern";
}

TEST(InternerTest, TextsKeepTheirAddresses) {
  Interner names;
  const std::string_view first = names.Text(names.Intern("first"));
  for (int i = 0; i < 10'000; ++i) names.Intern(StrCat("name ", i));
  EXPECT_EQ(first.data(), names.Text(names.Find("first")).data());
  EXPECT_EQ(names.Text(names.Find("name 9999")), "name 9999");
}

TEST(InternerTest, OwnsItsTexts) {
  Interner names;
  std::string text = "vision";
  const NameId vision = names.Intern(text);
  text = "overwritten";
  EXPECT_EQ(names.Text(vision), "vision");
  EXPECT_EQ(names.Find("vision"), vision);
}

}  // namespace
}  // namespace kai::interner_test
