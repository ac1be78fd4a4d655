#include "kai/session/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/api/units.h"
#include "kai/base/clock.h"

namespace kai::config_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Config ParseOrDie(std::string_view json, const Config::ParseOptions& options = {}) {
  absl::StatusOr<Config> config = Config::Parse(json, options);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? *std::move(config) : Config();
}

// The error for this text.
std::string ErrorOf(std::string_view json) {
  const absl::StatusOr<Config> config = Config::Parse(json, {});
  EXPECT_FALSE(config.ok()) << json;
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

std::vector<std::string> PluginNames(const Config& config) {
  std::vector<std::string> names;
  for (const PluginConfig& plugin : config.plugins) names.push_back(plugin.name);
  return names;
}

// ---- missing members ----------------------------------------------------------------------------

TEST(ConfigTest, AnEmptyConfigurationIsTheDefaultOfKai) {  // spec 2 C7
  for (const char* nothing : {"", "null", "{}"}) {
    const Config config = ParseOrDie(nothing);
    EXPECT_THAT(config.actions, Contains("allocate"));
    EXPECT_THAT(PluginNames(config),
                ElementsAre("predicates", "proportion", "priority", "elastic", "kubeflow", "ray",
                            "nodeavailability", "gpusharingorder", "gpupack", "resourcetype",
                            "subgrouporder", "taskorder", "nominatednode", "dynamicresources",
                            "nodeplacement", "minruntime", "topology", "snapshot",
                            "sg-nodelocalgreedy", "sg-multinodegang"));
    EXPECT_THAT(config.queue_depth, IsEmpty());
  }
}

TEST(ConfigTest, ANullMemberCountsAsMissing) {
  const Config config =
      ParseOrDie(R"({"actions": null, "tiers": null, "queueDepthPerAction": null})");
  EXPECT_THAT(config.actions, Contains("allocate"));
  EXPECT_TRUE(config.HasPlugin("predicates"));
}

TEST(ConfigTest, UnknownMembersAreNoError) {
  EXPECT_THAT(ParseOrDie(R"({"actions": "allocate", "usageDBConfig": {}, "x": [1, {}]})").actions,
              ElementsAre("allocate"));
}

// ---- actions ------------------------------------------------------------------------------------

TEST(ConfigTest, ActionsAreACommaSeparatedList) {
  const Config config = ParseOrDie(R"({"actions": "  allocate ,allocate"})");
  EXPECT_THAT(config.actions, ElementsAre("allocate", "allocate"));
  EXPECT_THAT(config.WarningTexts(), IsEmpty());
}

TEST(ConfigTest, AnUnknownActionIsReportedAndSkipped) {
  const Config config = ParseOrDie(R"({"actions": "allocate, alocate"})");
  EXPECT_THAT(config.actions, ElementsAre("allocate"));
  EXPECT_THAT(config.WarningTexts(),
              ElementsAre("action \"alocate\" is not known and is skipped; did you mean "
                          "\"allocate\"?"));
}

TEST(ConfigTest, AllActionsRunByDefaultAsInKai) {
  const Config config = ParseOrDie("");
  EXPECT_THAT(config.actions,
              ElementsAre("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"));
  EXPECT_THAT(config.WarningTexts(), IsEmpty());
}

// ---- plugins ------------------------------------------------------------------------------------

TEST(ConfigTest, TiersNameExactlyThePluginsThatRunOneTierAfterTheOther) {
  const Config config = ParseOrDie(R"({"tiers": [
      {"plugins": [{"name": "proportion"}, {"name": "predicates"}]},
      {"plugins": [{"name": "podaffinity"}]}]})");
  EXPECT_THAT(PluginNames(config), ElementsAre("proportion", "predicates", "podaffinity"));
  EXPECT_FALSE(config.HasPlugin("elastic"));
}

TEST(ConfigTest, AnEmptyListOfTiersMeansNoPlugins) {
  EXPECT_THAT(ParseOrDie(R"({"tiers": []})").plugins, IsEmpty());
  EXPECT_THAT(ParseOrDie(R"({"tiers": [{"plugins": []}]})").plugins, IsEmpty());
}

TEST(ConfigTest, AnUnknownPluginIsReportedAndSkipped) {
  const Config config =
      ParseOrDie(R"({"tiers": [{"plugins": [{"name": "gang"}, {"name": "priority"}]}]})");
  EXPECT_THAT(PluginNames(config), ElementsAre("priority"));
  EXPECT_THAT(config.WarningTexts(), Contains("plugin \"gang\" is not known and is skipped"));
}

TEST(ConfigTest, ValidPluginsOutsideOfTheDefaultGiveNoWarning) {
  const Config config = ParseOrDie(R"({"tiers": [{"plugins": [{"name": "podaffinity"},
      {"name": "gpuspread"}, {"name": "numa"}, {"name": "reflectjoborder"}]}]})");
  EXPECT_THAT(config.plugins, SizeIs(4));
  EXPECT_THAT(config.WarningTexts(), Not(Contains(HasSubstr("not known"))));
}

TEST(ConfigTest, ArgumentsAreConvertedToStrings) {
  const Config config = ParseOrDie(R"({"tiers": [{"plugins": [
      {"name": "nodeplacement", "arguments": {"gpu": "spread"}},
      {"name": "numa", "arguments": {"reconstructAvailable": true}},
      {"name": "proportion", "arguments": {"kValue": 1.5}},
      {"name": "topology", "arguments": null}]}]})");
  const PluginConfig* plugin = config.FindPlugin("nodeplacement");
  ASSERT_NE(plugin, nullptr);
  EXPECT_EQ(plugin->Argument("gpu", "binpack"), "spread");
  EXPECT_EQ(plugin->Argument("cpu", "binpack"), "binpack");
  EXPECT_EQ(config.FindPlugin("proportion")->Argument("kValue", ""), "1.5");
  EXPECT_EQ(config.FindPlugin("numa")->Argument("reconstructAvailable", ""), "true");
  EXPECT_THAT(config.FindPlugin("topology")->arguments, IsEmpty());
  EXPECT_EQ(config.FindPlugin("predicates"), nullptr);
}

TEST(ConfigTest, DisableOptionsWithoutEffectAreIgnored) {  // spec 2 C5
  EXPECT_TRUE(ParseOrDie(R"({"tiers": [{"plugins": [{"name": "priority",
      "disableJobOrder": true, "disablePredicate": true}]}]})")
                  .HasPlugin("priority"));
}

// ---- changes of the default plugins -------------------------------------------------------------

TEST(ConfigTest, AnArgumentOverridesTheDefault) {
  const Config config = ParseOrDie(R"({"plugins": {"nodeplacement": {"gpu": "spread"}}})");
  EXPECT_EQ(PluginNames(config), PluginNames(ParseOrDie("")));
  EXPECT_EQ(config.FindPlugin("nodeplacement")->Argument("gpu", ""), "spread");
  EXPECT_THAT(config.WarningTexts(), IsEmpty());
}

TEST(ConfigTest, APluginIsAddedOrRemoved) {
  const Config config = ParseOrDie(
      R"({"plugins": {"numa": {}, "podaffinity": true, "gpuspread": null, "predicates": false}})");
  EXPECT_TRUE(config.HasPlugin("numa"));
  EXPECT_TRUE(config.HasPlugin("podaffinity"));
  EXPECT_TRUE(config.HasPlugin("gpuspread"));
  EXPECT_FALSE(config.HasPlugin("predicates"));
  EXPECT_THAT(config.WarningTexts(), IsEmpty());
}

TEST(ConfigTest, ArgumentsOfATierStayUnlessTheyAreOverridden) {
  const Config config = ParseOrDie(R"({"tiers": [{"plugins": [{"name": "predicates"},
      {"name": "proportion"},
      {"name": "nodeplacement", "arguments": {"cpu": "spread", "gpu": "spread"}}]}],
      "plugins": {"nodeplacement": {"gpu": "binpack"}}})");
  EXPECT_THAT(PluginNames(config), ElementsAre("predicates", "proportion", "nodeplacement"));
  EXPECT_EQ(config.FindPlugin("nodeplacement")->Argument("gpu", ""), "binpack");
  EXPECT_EQ(config.FindPlugin("nodeplacement")->Argument("cpu", ""), "spread");
}

TEST(ConfigTest, AnInvalidPluginsMemberIsRejected) {
  EXPECT_EQ(ErrorOf(R"({"plugins": {"numa": "yes"}})"),
            "config: plugins.numa must be an object of arguments, true or false");
  EXPECT_EQ(ErrorOf(R"({"plugins": ["numa"]})"),
            "config: plugins is not an object such as {\"nodeplacement\": {\"gpu\": \"spread\"}}");
}

// ---- unknown names ------------------------------------------------------------------------------

TEST(ConfigTest, AMistypedNameIsReportedWithTheNearestName) {
  const std::pair<const char*, const char*> table[] = {
      {R"({"actons": "allocate"})",
       "configuration member \"actons\" is not known and is skipped; did you mean \"actions\"?"},
      {R"({"queueDepthPerAction": {"alocate": 1}})",
       "queueDepthPerAction: action \"alocate\" is not known and is skipped; did you mean "
       "\"allocate\"?"},
      {R"({"plugins": {"nodeplacment": {}}})",
       "plugin \"nodeplacment\" is not known and is skipped; did you mean \"nodeplacement\"?"},
      {R"({"plugins": {"nodeplacement": {"gup": "spread"}}})",
       "plugin nodeplacement: argument \"gup\" is not known and is skipped; did you mean \"gpu\"?"},
      {R"({"plugins": {"nodeplacement": {"gpu": "sprad"}}})",
       "plugin nodeplacement: argument gpu \"sprad\" is neither binpack nor spread, and counts as "
       "binpack; did you mean \"spread\"?"},
      {R"({"plugins": {"ray": {"x": 1}}})",
       "plugin ray: argument \"x\" is not known and is skipped"},
      {R"({"extras": {"topology_sprad": true}})",
       "extra \"topology_sprad\" is not known and is skipped; did you mean \"topology_spread\"?"},
  };
  for (const auto& [json, text] : table)
    EXPECT_THAT(ParseOrDie(json).WarningTexts(), ElementsAre(text)) << json;
}

TEST(ConfigTest, AMistypedMemberOfATierIsReported) {
  const Config config = ParseOrDie(R"({"tiers": [{"plugin": 1, "plugins": [{"name": "predicates"},
      {"name": "proportion", "argumets": {}}]}]})");
  EXPECT_THAT(
      config.WarningTexts(),
      ElementsAre("configuration member \"tiers[0].plugin\" is not known and is skipped; "
                  "did you mean \"plugins\"?",
                  "configuration member \"tiers[0].plugins[1].argumets\" is not known and is "
                  "skipped; did you mean \"arguments\"?"));
  EXPECT_THAT(config.warnings[1].path, ElementsAre("tiers", "0", "plugins", "1", "argumets"));
}

TEST(ConfigTest, MissingProtectionPluginsAreReported) {
  const auto warnings = [](const std::string& plugins) {
    return ParseOrDie(R"({"tiers": [{"plugins": [)" + plugins + "]}]}").WarningTexts();
  };
  EXPECT_THAT(warnings(R"({"name": "nodeplacement"})"),
              ElementsAre("plugins: only nodeplacement; limits, selectors and taints are not "
                          "checked"));
  EXPECT_THAT(warnings(""),
              ElementsAre("plugins: none; limits, selectors and taints are not checked"));
  EXPECT_THAT(warnings(R"({"name": "predicates"}, {"name": "ray"}, {"name": "elastic"},
                          {"name": "priority"})"),
              ElementsAre("plugins: without proportion; limits are not checked"));
  EXPECT_THAT(warnings(R"({"name": "predicates"}, {"name": "proportion"})"), IsEmpty());
}

// ---- extras -------------------------------------------------------------------------------------

TEST(ConfigTest, ExtrasAreOffUnlessTheyAreTurnedOn) {
  EXPECT_FALSE(ParseOrDie("").extras.on(Extra::kTopologySpread));
  const Config config = ParseOrDie(R"({"extras": {"topology_spread": true, "magic": true}})");
  EXPECT_TRUE(config.extras.on(Extra::kTopologySpread));
  EXPECT_FALSE(config.extras.on(Extra::kPreferredNodeAffinity));
  EXPECT_TRUE(ParseOrDie(R"({"extras": {"volume_zones": true}})").extras.on(Extra::kVolumeZones));
  EXPECT_THAT(config.WarningTexts(), ElementsAre("extra \"magic\" is not known and is skipped"));
  EXPECT_THAT(config.ToJson(), HasSubstr(R"("topology_spread":true)"));
}

TEST(ConfigTest, AnExtraHasToBeABool) {
  const auto message = [](std::string_view json) {
    return std::string(Config::Parse(json, {}).status().message());
  };
  EXPECT_EQ(message(R"({"extras": {"topology_spread": "on"}})"),
            "config: extras.topology_spread must be true or false");
  EXPECT_EQ(message(R"({"extras": true})"), "config: extras is not an object");
}

// ---- depth --------------------------------------------------------------------------------------

TEST(ConfigTest, ADepthIsReadPerAction) {
  EXPECT_THAT(ParseOrDie(R"({"queueDepthPerAction": {"allocate": 25, "preempt": -1}})").queue_depth,
              UnorderedElementsAre(Pair("allocate", 25), Pair("preempt", -1)));
}

TEST(ConfigTest, ADepthThatWouldCrashKaiIsRejected) {  // spec 2 C9
  for (const char* depth : {"0", "-2", "1.5", "\"1\"", "null", "1e30"}) {
    const std::string json = std::string(R"({"queueDepthPerAction": {"allocate": )") + depth + "}}";
    EXPECT_EQ(
        ErrorOf(json),
        "config: queueDepthPerAction of allocate must be a whole number above 0, or -1 for no "
        "bound");
  }
}

// ---- compat -------------------------------------------------------------------------------------

TEST(ConfigTest, EverySwitchIsOnUnlessKaisBehaviourIsSelected) {
  ASSERT_THAT(Config::CompatSwitches(), SizeIs(kSwitches));
  for (size_t i = 0; i < kSwitches; ++i) {
    const auto which = static_cast<Switch>(i);
    const std::string name(kSwitchNames[i]);
    EXPECT_EQ(Config::CompatSwitches()[i], name);
    EXPECT_TRUE(ParseOrDie("").switches.on(which)) << name;
    EXPECT_FALSE(ParseOrDie("", {.as_kai = true}).switches.on(which)) << name;
    EXPECT_FALSE(ParseOrDie("{}", {.as_kai = true}).switches.on(which)) << name;
    const std::string one = R"({"compat": {")" + name + R"(": "kai"}})";
    EXPECT_FALSE(ParseOrDie(one).switches.on(which)) << name;
    EXPECT_TRUE(ParseOrDie(one).switches.on(static_cast<Switch>((i + 1) % kSwitches))) << name;
    const std::string other = R"({"compat": {")" + name + R"(": "fixed"}})";
    EXPECT_TRUE(ParseOrDie(other, {.as_kai = true}).switches.on(which)) << name;
  }
}

TEST(ConfigTest, AnUnknownSwitchIsReportedAndSkipped) {
  EXPECT_THAT(ParseOrDie(R"({"compat": {"gravity": "kai"}})").WarningTexts(),
              Contains("compat switch \"gravity\" is not known and is skipped"));
}

TEST(ConfigTest, ASwitchAcceptsTwoValues) {
  EXPECT_EQ(ErrorOf(R"({"compat": {"gravity": "off"}})"),
            "config: compat.gravity must be \"fixed\" or \"kai\"");
  EXPECT_EQ(ErrorOf(R"({"compat": {"gravity": true}})"),
            "config: compat.gravity must be \"fixed\" or \"kai\"");
}

// ---- budgets (spec 2 V4) ------------------------------------------------------------------------

TEST(ConfigTest, WithoutBudgetsTheDefaultsOfKaiApply) {
  for (const char* nothing : {"", "{}", R"({"scenarioSearchBudgets": null})",
                              R"({"scenarioSearchBudgets": {"maxJobSearchDuration": null}})"}) {
    const SearchBudgets budgets = ParseOrDie(nothing).budgets;
    EXPECT_EQ(budgets.ActionNs("reclaim"), 300 * kSecondNs);
    EXPECT_EQ(budgets.job_ns, 240 * kSecondNs);
    EXPECT_EQ(budgets.min_job_ns, 0);
    EXPECT_EQ(budgets.GeneratorNs("NodeLocalGreedy"), 30 * kSecondNs);
    EXPECT_EQ(budgets.GeneratorNs("MultiNodeGang"), 120 * kSecondNs);
    EXPECT_EQ(budgets.action_scenarios, SearchBudgets::kUnlimitedScenarios);
    EXPECT_EQ(budgets.job_scenarios, SearchBudgets::kUnlimitedScenarios);
  }
}

TEST(ConfigTest, EachBudgetIsSetSeparately) {
  const SearchBudgets budgets = ParseOrDie(R"({"scenarioSearchBudgets": {
      "maxActionSearchDuration": {"default": "1m", "reclaim": "0s"},
      "maxJobSearchDuration": "1.5s", "minJobSearchDuration": "100ms",
      "maxGeneratorSearchDuration": {"default": "1s"},
      "maxScenarios": {"action": 10}}})")
                                    .budgets;
  EXPECT_EQ(budgets.ActionNs("preempt"), 60 * kSecondNs);
  EXPECT_EQ(budgets.ActionNs("reclaim"), 0) << "no limit";
  EXPECT_EQ(budgets.job_ns, 1'500'000'000);
  EXPECT_EQ(budgets.min_job_ns, 100'000'000);
  EXPECT_EQ(budgets.GeneratorNs("unknown"), kSecondNs);
  EXPECT_EQ(budgets.GeneratorNs("NodeLocalGreedy"), 30 * kSecondNs)
      << "a generator with its own limit does not use the default";
  EXPECT_EQ(budgets.action_scenarios, 10);
  EXPECT_EQ(budgets.job_scenarios, SearchBudgets::kUnlimitedScenarios);
}

TEST(ConfigTest, InvalidBudgetsAreRejected) {  // spec 2 C3, E27
  const auto error_of = [](const std::string& members) {
    return ErrorOf(R"({"scenarioSearchBudgets": {)" + members + "}}");
  };
  EXPECT_EQ(error_of(R"("maxJobSearchDuration": "-1s")"),
            "config: scenarioSearchBudgets.maxJobSearchDuration must not be negative");
  EXPECT_EQ(error_of(R"("maxActionSearchDuration": {"reclaim": "-1s"})"),
            "config: scenarioSearchBudgets.maxActionSearchDuration.reclaim must not be negative");
  EXPECT_EQ(error_of(R"("maxJobSearchDuration": "1s", "minJobSearchDuration": "1s")"),
            "config: scenarioSearchBudgets.minJobSearchDuration must be below "
            "maxJobSearchDuration");
  EXPECT_EQ(error_of(R"("minJobSearchDuration": "4m")"),
            "config: scenarioSearchBudgets.minJobSearchDuration must be below "
            "maxJobSearchDuration");
  EXPECT_EQ(error_of(R"("maxGeneratorSearchDuration": {"Greedy": "1s"})"),
            "config: scenarioSearchBudgets.maxGeneratorSearchDuration.Greedy: there is no such "
            "generator; known are default, NodeLocalGreedy and MultiNodeGang");
  EXPECT_EQ(error_of(R"("maxJobSearchDuration": 5)"),
            "config: scenarioSearchBudgets.maxJobSearchDuration must be a duration such as "
            "\"30s\"");
  EXPECT_EQ(error_of(R"("maxJobSearchDuration": "5")"),
            "config: scenarioSearchBudgets.maxJobSearchDuration: duration \"5\" is not valid");
  EXPECT_EQ(error_of(R"("maxScenarios": {"job": -1})"),
            "config: scenarioSearchBudgets.maxScenarios.job must be a whole number, 0 or above");
  EXPECT_EQ(error_of(R"("maxScenarios": 1)"),
            "config: scenarioSearchBudgets.maxScenarios is not an object");
  EXPECT_EQ(error_of(R"("maxActionSearchDuration": "1s")"),
            "config: scenarioSearchBudgets.maxActionSearchDuration is not an object");
  EXPECT_EQ(ErrorOf(R"({"scenarioSearchBudgets": []})"),
            "config: scenarioSearchBudgets is not an object");
}

TEST(ConfigTest, AMinimumNeedsNoMaximum) {
  EXPECT_EQ(ParseOrDie(R"({"scenarioSearchBudgets": {"maxJobSearchDuration": "0s",
      "minJobSearchDuration": "1h"}})")
                .budgets.min_job_ns,
            3600 * kSecondNs);
}

TEST(ConfigTest, UnknownBudgetsAreReportedAndSkipped) {
  EXPECT_THAT(
      ParseOrDie(R"({"scenarioSearchBudgets": {"maxFun": "1s", "maxScenarios": {"fun": 1},
          "maxActionSearchDuration": {"allocate": "1s"}}})")
          .WarningTexts(),
      ElementsAre(
          "configuration member \"scenarioSearchBudgets.maxFun\" is not known and is skipped",
          "configuration member \"scenarioSearchBudgets.maxScenarios.fun\" is not known and is "
          "skipped",
          "scenarioSearchBudgets.maxActionSearchDuration.allocate: there is no such search, and it "
          "is skipped"));
}

// ---- invalid configurations ---------------------------------------------------------------------

TEST(ConfigTest, InvalidConfigurationsAreRejectedWithOneSentence) {
  EXPECT_EQ(ErrorOf("[]"), "config: not a JSON object");
  EXPECT_EQ(ErrorOf("allocate"), "config: not a JSON object");
  EXPECT_EQ(ErrorOf(R"({"actions": "allocate")"), "config: not a JSON object");
  EXPECT_EQ(ErrorOf(R"({"actions": ["allocate"]})"),
            "config: actions is not a string such as \"allocate, reclaim\"");
  EXPECT_EQ(ErrorOf(R"({"tiers": {}})"), "config: tiers is not a list");
  EXPECT_EQ(ErrorOf(R"({"tiers": [{}]})"), "config: a tier has no list of plugins");
  EXPECT_EQ(ErrorOf(R"({"tiers": ["x"]})"), "config: a tier has no list of plugins");
  EXPECT_EQ(ErrorOf(R"({"tiers": [{"plugins": [{}]}]})"), "config: a plugin has no name");
  EXPECT_EQ(ErrorOf(R"({"tiers": [{"plugins": [{"name": "ray", "arguments": "x"}]}]})"),
            "config: arguments of plugin ray are not an object");
  EXPECT_EQ(ErrorOf(R"({"queueDepthPerAction": 5})"),
            "config: queueDepthPerAction is not an object");
  EXPECT_EQ(ErrorOf(R"({"compat": []})"), "config: compat is not an object");
}

// ---- to JSON and back ---------------------------------------------------------------------------

TEST(ConfigTest, AConfigurationIsUnchangedAfterWritingAndReading) {
  const Config config =
      ParseOrDie(R"({"actions": "allocate", "queueDepthPerAction": {"allocate": 3},
      "compat": {"slow_job": "kai"},
      "scenarioSearchBudgets": {"maxJobSearchDuration": "1m30s", "maxScenarios": {"job": 7},
                                "maxActionSearchDuration": {"reclaim": "500ms"}},
      "tiers": [{"plugins": [{"name": "proportion", "arguments": {"kValue": "0.5"}},
                             {"name": "nodeplacement"}]}]})");
  const std::string json = config.ToJson();
  EXPECT_THAT(json, HasSubstr(R"("kValue":"0.5")"));
  const Config again = ParseOrDie(json);
  EXPECT_EQ(again.ToJson(), json);
  EXPECT_EQ(again.actions, config.actions);
  EXPECT_EQ(PluginNames(again), PluginNames(config));
  EXPECT_EQ(again.plugins[0].Argument("kValue", ""), "0.5");
  EXPECT_EQ(again.queue_depth, config.queue_depth);
  EXPECT_FALSE(again.switches.on(Switch::kSlowJob));
  EXPECT_TRUE(again.switches.on(Switch::kQueueDepth));
  EXPECT_EQ(again.budgets, config.budgets);
  EXPECT_EQ(again.WarningTexts(), config.WarningTexts());
}

TEST(ConfigTest, TheDefaultIsUnchangedAfterWritingAndReading) {
  const Config config = ParseOrDie("");
  const Config again = ParseOrDie(config.ToJson());
  EXPECT_EQ(again.ToJson(), config.ToJson());
  EXPECT_EQ(PluginNames(again), PluginNames(config));
}

TEST(ConfigTest, AnyTextIsUnchangedAfterWritingAndReading) {
  Config config = ParseOrDie(R"({"tiers": [{"plugins": [{"name": "numa"}]}]})");
  const std::string text = "a \"quote\", a \\, a\ttab,\na line, \x01 and ü";
  config.plugins[0].arguments["ignoreList"] = text;
  const Config again = ParseOrDie(config.ToJson());
  EXPECT_EQ(again.plugins[0].Argument("ignoreList", ""), text);
}

}  // namespace
}  // namespace kai::config_test
