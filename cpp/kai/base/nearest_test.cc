#include "kai/base/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace kai::nearest_test {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"allocate", "consolidation", "reclaim",
                                                    "slow_job", "gpu"};

TEST(NearestTest, AMistypedNameIsNearTheIntendedName) {
  for (const char* mistyped : {"alocate", "allocatee", "allocaet", "Allocate", "alLOkate"})
    EXPECT_EQ(Nearest(mistyped, kNames), "allocate") << mistyped;
  EXPECT_EQ(Nearest("consolidate", kNames), "consolidation");
  EXPECT_EQ(Nearest("slowJob", kNames), "slow_job");
  EXPECT_EQ(Nearest("gup", kNames), "gpu");
}

TEST(NearestTest, APrefixIsNear) {
  EXPECT_EQ(Nearest("cons", kNames), "consolidation");
  EXPECT_EQ(Nearest("con", kNames), "");
}

TEST(NearestTest, ADissimilarNameHasNoNearestName) {
  for (const std::string& name :
       {std::string(), std::string("x"), std::string("preempt"),
        std::string("cpus and more than those"), std::string(1'000'000, 'a')})
    EXPECT_EQ(Nearest(name, kNames), "") << name.substr(0, 20);
  EXPECT_EQ(Nearest("allocate", {}), "");
}

TEST(NearestTest, TheFirstOfTwoEquallyNearNamesIsChosen) {
  constexpr std::array<std::string_view, 2> kTwins = {"cpu", "gpu"};
  EXPECT_EQ(Nearest("fpu", kTwins), "cpu");
}

TEST(NearestTest, TheHintEndsASentence) {
  EXPECT_EQ(DidYouMean("alocate", kNames), "; did you mean \"allocate\"?");
  EXPECT_EQ(DidYouMean("preempt", kNames), "");
}

}  // namespace
}  // namespace kai::nearest_test
