#include "kai/dra/regex.h"

#include <gtest/gtest.h>

#include <string>

namespace kai::regex_test {
namespace {

bool Found(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::Compile(pattern);
  EXPECT_TRUE(regex.ok()) << regex.status();
  int64_t steps = 1'000'000;
  return regex.ok() && regex->FoundIn(text, &steps);
}

std::string Complaint(std::string_view pattern) {
  return std::string(Regex::Compile(pattern).status().message());
}

TEST(RegexTest, FindsAPatternAnywhereUnlessItIsTiedDown) {
  EXPECT_TRUE(Found("A100", "NVIDIA A100-SXM4"));
  EXPECT_FALSE(Found("^A100", "NVIDIA A100-SXM4"));
  EXPECT_FALSE(Found("A100$", "NVIDIA A100-SXM4"));
  EXPECT_TRUE(Found("^NVIDIA .*SXM4$", "NVIDIA A100-SXM4"));
  EXPECT_TRUE(Found("\\ANVIDIA\\z", "NVIDIA"));
  EXPECT_TRUE(Found("", ""));
  EXPECT_TRUE(Found("", "x"));
  EXPECT_FALSE(Found("x", ""));
}

TEST(RegexTest, ChoosesAmongAlternativesAndGroups) {
  EXPECT_TRUE(Found("^(A|H)100$", "H100"));
  EXPECT_FALSE(Found("^(A|H)100$", "V100"));
  EXPECT_TRUE(Found("^(?:a|b(c|d))+$", "abcabd"));
  EXPECT_FALSE(Found("^(?:a|b(c|d))+$", "abca b"));
  EXPECT_TRUE(Found("^(?P<model>a|)b$", "b"));
}

TEST(RegexTest, Repeats) {
  EXPECT_TRUE(Found("^a*$", ""));
  EXPECT_FALSE(Found("^a+$", ""));
  EXPECT_TRUE(Found("^ab?c$", "ac"));
  EXPECT_TRUE(Found("^a{3}$", "aaa"));
  EXPECT_FALSE(Found("^a{3}$", "aaaa"));
  EXPECT_TRUE(Found("^a{2,}$", "aaaa"));
  EXPECT_FALSE(Found("^a{2,3}$", "aaaa"));
  EXPECT_TRUE(Found("^(a*)*?b$", "aaab"));
  EXPECT_TRUE(Found("^a{x}$", "a{x}"));  // no number: a brace like any other character
}

TEST(RegexTest, KnowsClassesOfCharacters) {
  EXPECT_TRUE(Found("^[a-c_]+$", "a_c"));
  EXPECT_FALSE(Found("^[^a-c]+$", "xbx"));
  EXPECT_TRUE(Found("^[]-]+$", "]-]"));
  EXPECT_TRUE(Found("^\\d+\\.\\d+$", "535.1"));
  EXPECT_FALSE(Found("^\\d$", "x"));
  EXPECT_TRUE(Found("^\\w+\\s\\W\\S\\D$", "ab_1 -x."));
  EXPECT_TRUE(Found("^[\\d-]+$", "1-2"));
  EXPECT_TRUE(Found("^[[:alpha:][:digit:]_]+$", "a_1"));
  EXPECT_FALSE(Found("^[[:^upper:]]+$", "aBc"));
  EXPECT_TRUE(Found("^\\x41\\x{42}\\t$", "AB\t"));
  EXPECT_FALSE(Found("^.$", "\n"));
  EXPECT_TRUE(Found("(?s)^.$", "\n"));
}

TEST(RegexTest, SeesWordBoundaries) {
  EXPECT_TRUE(Found("\\bA100\\b", "NVIDIA A100-SXM"));
  EXPECT_FALSE(Found("\\bA100\\b", "NVIDIA A1000"));
  EXPECT_TRUE(Found("A100\\B", "A1000"));
}

TEST(RegexTest, IgnoresCaseWhereAskedTo) {
  EXPECT_TRUE(Found("(?i)nvidia", "NVIDIA"));
  EXPECT_TRUE(Found("(?i:nv)IDIA", "nVIDIA"));
  EXPECT_FALSE(Found("(?i:nv)IDIA", "nvidia"));
  EXPECT_FALSE(Found("(?i)^[^a]$", "A"));
  EXPECT_TRUE(Found("((?i)a)b|c", "Ab"));
  EXPECT_FALSE(Found("((?i)a)b", "AB"));
}

TEST(RegexTest, CountsCharactersAndNotBytes) {
  EXPECT_TRUE(Found("^.$", "é"));
  EXPECT_TRUE(Found("^[а-я]+$", "где"));
  EXPECT_TRUE(Found("^..$", "\xFFx"));  // no UTF-8: one byte, one character
}

TEST(RegexTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(Complaint("a("), "regular expression \"a(\" has a '(' that is not closed");
  EXPECT_EQ(Complaint("a)"), "regular expression \"a)\" has a ')' too many");
  EXPECT_EQ(Complaint("[a"), "regular expression \"[a\" has a '[' that is not closed");
  EXPECT_EQ(Complaint("*a"), "regular expression \"*a\" repeats nothing");
  EXPECT_EQ(Complaint("a**"), "regular expression \"a**\" repeats a repeat");
  EXPECT_EQ(Complaint("a{3,2}"), "regular expression \"a{3,2}\" has a bad number of repeats");
  EXPECT_EQ(Complaint("a{1001}"), "regular expression \"a{1001}\" has a bad number of repeats");
  for (const std::string_view pattern :
       {"(?=a)", "(?<!a)", "(?<=a)", "\\1", "\\pL", "\\Qa\\E", "[[:x:]]", "[[:alpha", "(?m)^",
        "[z-a]", "[a-\\d]", "\\", "[\\", "\\xg", "\\x{110000}", "(?i)é", "(?", "(?P<"}) {
    EXPECT_FALSE(Regex::Compile(pattern).ok()) << pattern;
  }
  EXPECT_FALSE(Regex::Compile(std::string(100, '(') + std::string(100, ')')).ok());
}

TEST(RegexTest, RefusesPatternsThatGrowWithoutBounds) {
  EXPECT_FALSE(Regex::Compile("((a{1000}){1000}){1000}").ok());
  EXPECT_FALSE(Regex::Compile("(((){1000}){1000}){1000}").ok());
}

TEST(RegexTest, TakesTimeInProportionAndStopsWhenStepsEnd) {
  const auto regex = Regex::Compile("^(a*)*(a|aa)+(a?){30}b$");
  ASSERT_TRUE(regex.ok());
  const std::string text(1000, 'a');
  int64_t steps = 1'000'000;
  EXPECT_FALSE(regex->FoundIn(text, &steps));
  EXPECT_GT(steps, 0);  // a backtracking matcher would not end before the universe does
  steps = 100;
  EXPECT_FALSE(regex->FoundIn(text, &steps));
  EXPECT_LT(steps, 0);
}

}  // namespace
}  // namespace kai::regex_test
