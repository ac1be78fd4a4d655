#include "kai/session/known_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kai/session/arguments.h"
#include "kai/session/config.h"

namespace kai::known_names_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KnownNamesTest, TheBuiltInPluginsAreThoseOfAnEmptyConfiguration) {
  const Config config = *Config::Parse("", {});
  std::vector<std::string> running;
  for (const PluginConfig& plugin : config.plugins) running.push_back(plugin.name);
  std::vector<std::string> built_in;
  for (const KnownPlugin& plugin : kKnownPlugins) {
    if (plugin.built_in) built_in.emplace_back(plugin.name);
  }
  EXPECT_EQ(running, built_in);
  EXPECT_EQ(FindKnownPlugin("predicates")->protects, "selectors and taints");
  EXPECT_EQ(FindKnownPlugin("predicate"), nullptr);
}

TEST(KnownNamesTest, EachNameOccursOncePerLevel) {
  for (const auto& [place, names] : ConfigNames()) {
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << place;
    EXPECT_THAT(names, testing::Not(IsEmpty())) << place;
  }
}

TEST(KnownNamesTest, ListsArgumentsAndTheirValues) {
  const auto listed = ConfigNames();
  const std::map<std::string, std::vector<std::string>> names(listed.begin(), listed.end());
  EXPECT_THAT(names.at(""), Contains("plugins"));
  EXPECT_THAT(names.at("plugins.nodeplacement"), ElementsAre("gpu", "cpu"));
  EXPECT_THAT(names.at("plugins.nodeplacement.gpu"), ElementsAre("binpack", "spread"));
  EXPECT_FALSE(names.contains("plugins.ray"));
}

// The default of an argument is valid, and one of its listed values.
TEST(KnownNamesTest, DefaultsAreValid) {
  for (const std::string_view plugin : PluginNames()) {
    for (const std::string_view name : ArgumentNames(plugin)) {
      const KnownArgument* argument = FindKnownArgument(plugin, name);
      ASSERT_NE(argument, nullptr) << name;
      EXPECT_EQ(ArgumentProblem(*argument, argument->fallback), "") << name;
      if (!argument->choices.empty()) {
        EXPECT_THAT(argument->choices, Contains(argument->fallback)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace kai::known_names_test
