#include "kai/dra/regex.h"

#include <gtest/gtest.h>

#include <string>

namespace kai::regex_test {
namespace {

absl::StatusOr<Regex> Compile(std::string_view pattern) {
  int64_t steps = 1'000'000;
  return Regex::Compile(pattern, &steps);
}

bool Found(std::string_view pattern, std::string_view text) {
  const auto regex = Compile(pattern);
  EXPECT_TRUE(regex.ok()) << regex.status();
  int64_t steps = 1'000'000;
  return regex.ok() && regex->FoundIn(text, &steps);
}

std::string Complaint(std::string_view pattern) {
  return std::string(Compile(pattern).status().message());
}

int64_t StepsToMatch(std::string_view pattern, std::string_view text) {
  int64_t steps = 0;
  Compile(pattern).value().FoundIn(text, &steps);
  return -steps;
}

TEST(RegexTest, FindsAPatternAnywhereUnlessItIsAnchored) {
  EXPECT_TRUE(Found("A100", "NVIDIA A100-SXM4"));
  EXPECT_FALSE(Found("^A100", "NVIDIA A100-SXM4"));
  EXPECT_FALSE(Found("A100$", "NVIDIA A100-SXM4"));
  EXPECT_TRUE(Found("^NVIDIA .*SXM4$", "NVIDIA A100-SXM4"));
  EXPECT_TRUE(Found("\\ANVIDIA\\z", "NVIDIA"));
  EXPECT_TRUE(Found("", ""));
  EXPECT_TRUE(Found("", "x"));
  EXPECT_FALSE(Found("x", ""));
}

TEST(RegexTest, MatchesAlternativesAndGroups) {
  EXPECT_TRUE(Found("^(A|H)100$", "H100"));
  EXPECT_FALSE(Found("^(A|H)100$", "V100"));
  EXPECT_TRUE(Found("^(?:a|b(c|d))+$", "abcabd"));
  EXPECT_FALSE(Found("^(?:a|b(c|d))+$", "abca b"));
  EXPECT_TRUE(Found("^(?P<model>a|)b$", "b"));
}

TEST(RegexTest, MatchesRepeats) {
  EXPECT_TRUE(Found("^a*$", ""));
  EXPECT_FALSE(Found("^a+$", ""));
  EXPECT_TRUE(Found("^ab?c$", "ac"));
  EXPECT_TRUE(Found("^a{3}$", "aaa"));
  EXPECT_FALSE(Found("^a{3}$", "aaaa"));
  EXPECT_TRUE(Found("^a{2,}$", "aaaa"));
  EXPECT_FALSE(Found("^a{2,3}$", "aaaa"));
  EXPECT_TRUE(Found("^(a*)*?b$", "aaab"));
  EXPECT_TRUE(Found("^a{x}$", "a{x}"));  // not a number, so the brace is an ordinary character
}

TEST(RegexTest, MatchesCharacterClasses) {
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

TEST(RegexTest, MatchesWordBoundaries) {
  EXPECT_TRUE(Found("\\bA100\\b", "NVIDIA A100-SXM"));
  EXPECT_FALSE(Found("\\bA100\\b", "NVIDIA A1000"));
  EXPECT_TRUE(Found("A100\\B", "A1000"));
}

TEST(RegexTest, SupportsFlags) {
  EXPECT_TRUE(Found("(?i)nvidia", "NVIDIA"));
  EXPECT_TRUE(Found("(?i)é", "É"));
  EXPECT_TRUE(Found("(?i:nv)IDIA", "nVIDIA"));
  EXPECT_FALSE(Found("(?i:nv)IDIA", "nvidia"));
  EXPECT_FALSE(Found("(?i)^[^a]$", "A"));
  EXPECT_TRUE(Found("((?i)a)b|c", "Ab"));
  EXPECT_FALSE(Found("((?i)a)b", "AB"));
  EXPECT_FALSE(Found("^b$", "a\nb"));
  EXPECT_TRUE(Found("(?m)^b$", "a\nb"));
}

TEST(RegexTest, CountsCharactersAndNotBytes) {
  EXPECT_TRUE(Found("^.$", "é"));
  EXPECT_TRUE(Found("^[а-я]+$", "где"));
  EXPECT_TRUE(Found("^\\pL$", "é"));
}

TEST(RegexTest, DoesNotMatchBytesThatAreNotUtf8) {
  EXPECT_FALSE(Found("^.x$", "\xFFx"));
  EXPECT_TRUE(Found("x$", "\xFFx"));
  EXPECT_FALSE(Compile("\xFF").ok());
}

TEST(RegexTest, ReportsWhyAPatternIsInvalid) {
  EXPECT_EQ(Complaint("a("), "regular expression \"a(\" is invalid: missing ): a(");
  EXPECT_EQ(Complaint("[a"), "regular expression \"[a\" is invalid: missing ]: [a");
  EXPECT_EQ(Complaint("a{1001}"),
            "regular expression \"a{1001}\" is invalid: invalid repetition size: {1001}");
  for (const std::string_view pattern :
       {"a)", "*a", "a**", "a{3,2}", "(?=a)", "(?<!a)", "(?<=a)", "\\1", "[[:x:]]", "[[:alpha",
        "[z-a]", "[a-\\d]", "\\", "[\\", "\\xg", "\\x{110000}", "(?", "(?P<"}) {
    EXPECT_FALSE(Compile(pattern).ok()) << pattern;
  }
}

TEST(RegexTest, RejectsPatternsThatGrowWithoutBounds) {
  for (const std::string_view pattern :
       {"((a{1000}){1000}){1000}", "(((){1000}){1000}){1000}", "(.{100}){100}"}) {
    EXPECT_FALSE(Compile(pattern).ok()) << pattern;
  }
  EXPECT_EQ(Complaint("\\pL{1000}"), "regular expression \"\\\\pL{1000}\" is too large");
}

TEST(RegexTest, ACompilationThatFailsConsumesStepsToo) {
  int64_t steps = 1'000'000;
  ASSERT_TRUE(Regex::Compile("a", &steps).ok());
  const int64_t small = 1'000'000 - steps;
  EXPECT_GE(small, 500);
  EXPECT_LT(small, 520);

  steps = 1'000'000;
  ASSERT_TRUE(Regex::Compile("a{1000}", &steps).ok());
  EXPECT_LT(steps, 1'000'000 - small - 900);

  steps = 1'000'000;
  EXPECT_FALSE(Regex::Compile("\\pL{1000}", &steps).ok());
  EXPECT_LT(steps, 1'000'000 - 60'000);

  steps = small - 1;
  EXPECT_EQ(Regex::Compile("a", &steps).status().message(),
            "regular expression \"a\" is too large");
  EXPECT_LT(steps, 0);
}

// a tenth of the text times a quarter of the pattern
TEST(RegexTest, CostsAsManyStepsAsInKubernetes) {
  EXPECT_EQ(StepsToMatch("a", ""), 1);
  EXPECT_EQ(StepsToMatch("abcd", "123456789"), 1);
  EXPECT_EQ(StepsToMatch("abcd", "1234567890"), 2);
  EXPECT_EQ(StepsToMatch("abcde", "1234567890"), 4);
  EXPECT_EQ(StepsToMatch("äöüß", "äöüßäöüßä"), 1);  // characters, not bytes
  EXPECT_EQ(StepsToMatch("^NVIDIA A100.*(40|80)GB$", "NVIDIA A100-SXM4-80GB"), 3 * 6);
}

TEST(RegexTest, ChargesMoreForLargeRepeats) {
  EXPECT_EQ(StepsToMatch("x{5}", std::string(99, 'x')), 10);
  EXPECT_GT(StepsToMatch("x{1000}", std::string(99, 'x')), 600);
}

TEST(RegexTest, TakesTimeInProportionToStepsAndStopsWhenTheyEnd) {
  const auto regex = Compile("^(a*)*(a|aa)+(a?){30}b$");
  ASSERT_TRUE(regex.ok());
  const std::string text(100'000, 'a');
  int64_t steps = 1'000'000;
  EXPECT_FALSE(regex->FoundIn(text, &steps));
  EXPECT_GT(steps, 0);  // backtracking would take practically for ever
  steps = 100;
  EXPECT_FALSE(regex->FoundIn(text + "b", &steps));
  EXPECT_LT(steps, 0);
}

}  // namespace
}  // namespace kai::regex_test
