#include "kai/dra/semver.h"

#include <gtest/gtest.h>

#include <iterator>

namespace kai::semver_test {
namespace {

Semver Version(std::string_view text) { return Semver::Parse(text).value(); }

TEST(SemverTest, ReadsVersionsAndTheirNumbers) {
  const Semver version = Version("12.4.99-rc.1+sha.5114f85");
  EXPECT_EQ(version.major(), 12u);
  EXPECT_EQ(version.minor(), 4u);
  EXPECT_EQ(version.patch(), 99u);
  EXPECT_EQ(version.text(), "12.4.99-rc.1+sha.5114f85");
}

TEST(SemverTest, RejectsInvalidVersions) {
  for (const std::string_view text : {"",
                                      "1",
                                      "1.2",
                                      "1.2.3.4",
                                      "01.2.3",
                                      "1.02.3",
                                      "1.2.x",
                                      "v1.2.3",
                                      "1.2.3-",
                                      "1.2.3+",
                                      "1.2.3-a..b",
                                      "1.2.3-01",
                                      "1.2.3-a_b",
                                      "1.2.3+a+b",
                                      "-1.2.3",
                                      "1..3",
                                      "1.2.",
                                      " 1.2.3",
                                      "99999999999999999999.0.0",
                                      "1.2.3-a."}) {
    EXPECT_FALSE(Semver::Parse(text).ok()) << text;
  }
  EXPECT_EQ(Semver::Parse("1.2").status().message(), "version \"1.2\" is not valid");
}

TEST(SemverTest, OrdersReleasesAfterTheirPrereleases) {
  const std::string_view rising[] = {"0.9.99",
                                     "1.0.0-0",
                                     "1.0.0-2",
                                     "1.0.0-10",
                                     "1.0.0-alpha",
                                     "1.0.0-alpha.1",
                                     "1.0.0-alpha.beta",
                                     "1.0.0-beta",
                                     "1.0.0",
                                     "1.0.1-a",
                                     "1.0.1",
                                     "1.1.0",
                                     "2.0.0",
                                     "10.0.0"};
  for (size_t a = 0; a < std::size(rising); ++a) {
    for (size_t b = 0; b < std::size(rising); ++b) {
      EXPECT_EQ(Version(rising[a]) <=> Version(rising[b]), a <=> b)
          << rising[a] << " " << rising[b];
    }
  }
}

TEST(SemverTest, IgnoresBuildMetadataInComparisons) {
  EXPECT_EQ(Version("1.2.3+a"), Version("1.2.3+b"));
  EXPECT_NE(Version("1.2.3-a"), Version("1.2.3"));
}

TEST(SemverTest, ParsesIncompleteVersionsLoosely) {
  EXPECT_EQ(Semver::ParseLoosely("v1.02").value(), Version("1.2.0"));
  EXPECT_EQ(Semver::ParseLoosely("7").value(), Version("7.0.0"));
  EXPECT_EQ(Semver::ParseLoosely("v1.2-rc1+x").value(), Version("1.2.0-rc1"));
  EXPECT_FALSE(Semver::ParseLoosely("").ok());
  EXPECT_FALSE(Semver::ParseLoosely("1.2.3.4").ok());
  EXPECT_FALSE(Semver::ParseLoosely("one").ok());
}

}  // namespace
}  // namespace kai::semver_test
