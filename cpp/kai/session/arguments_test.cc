#include "kai/session/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace kai::arguments_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kHourNs = 3'600'000'000'000;

// The built-in configuration with these arguments of one plugin, as a JSON object.
Config WithPlugin(const std::string& name, const std::string& arguments) {
  absl::StatusOr<Config> config =
      Config::Parse(R"({"plugins": {")" + name + R"(": )" + arguments + "}}", {});
  EXPECT_TRUE(config.ok()) << config.status().message();
  return *std::move(config);
}

TEST(MinRuntimeArgumentsTest, AreZeroByDefault) {  // spec 1 F102
  for (const char* arguments : {"{}", "null", R"({"defaultPreemptMinRuntime": ""})"}) {
    const Config config = WithPlugin("minruntime", arguments);
    const MinRuntime::Options options = MinRuntimeOptions(config);
    EXPECT_EQ(options.preempt_ns, 0);
    EXPECT_EQ(options.reclaim_ns, 0);
    EXPECT_EQ(options.method, MinRuntime::Method::kLowestCommonAncestor);
    EXPECT_THAT(config.WarningTexts(), IsEmpty());
  }
  EXPECT_EQ(MinRuntimeOptions(WithPlugin("proportion", "{}")).preempt_ns, 0);
}

TEST(MinRuntimeArgumentsTest, AreDurationsWithDaysAndWeeks) {
  const Config config = WithPlugin("minruntime", R"({"defaultPreemptMinRuntime": "1d12h",
          "defaultReclaimMinRuntime": "1w", "reclaimResolveMethod": "queue"})");
  const MinRuntime::Options options = MinRuntimeOptions(config);
  EXPECT_EQ(options.preempt_ns, 36 * kHourNs);
  EXPECT_EQ(options.reclaim_ns, 7 * 24 * kHourNs);
  EXPECT_EQ(options.method, MinRuntime::Method::kQueue);
  EXPECT_THAT(config.WarningTexts(), IsEmpty());
}

TEST(MinRuntimeArgumentsTest, InvalidValuesAreReportedAndReplacedByDefaults) {
  const Config config = WithPlugin("minruntime", R"({"defaultPreemptMinRuntime": "-1h",
          "defaultReclaimMinRuntime": "long", "reclaimResolveMethod": "LCA"})");
  const MinRuntime::Options options = MinRuntimeOptions(config);
  EXPECT_EQ(options.preempt_ns, 0);
  EXPECT_EQ(options.reclaim_ns, 0);
  EXPECT_EQ(options.method, MinRuntime::Method::kLowestCommonAncestor);
  EXPECT_THAT(config.WarningTexts(),
              ElementsAre("plugin minruntime: argument defaultPreemptMinRuntime \"-1h\" is not a "
                          "duration such as 30m or 1d, and counts as 0",
                          "plugin minruntime: argument defaultReclaimMinRuntime \"long\" is not a "
                          "duration such as 30m or 1d, and counts as 0",
                          "plugin minruntime: argument reclaimResolveMethod \"LCA\" is neither lca "
                          "nor queue, and counts as lca; did you mean \"lca\"?"));
}

TEST(SaturationMultiplierTest, IsANumberOfAtLeastOne) {  // spec 1 F93
  const std::pair<const char*, double> table[] = {
      {"{}", 1},
      {R"({"relcaimerSaturationMultiplier": "1.5"})", 1.5},
      {R"({"relcaimerSaturationMultiplier": "+2"})", 2},
      {R"({"relcaimerSaturationMultiplier": 1.25})", 1.25},
  };
  for (const auto& [arguments, multiplier] : table) {
    const Config config = WithPlugin("proportion", arguments);
    EXPECT_EQ(SaturationMultiplier(config), multiplier) << arguments;
    EXPECT_THAT(config.WarningTexts(), IsEmpty());
  }
  const Config misspelt = WithPlugin("proportion", R"({"reclaimerSaturationMultiplier": "2"})");
  EXPECT_EQ(SaturationMultiplier(misspelt), 1);
  EXPECT_THAT(
      misspelt.WarningTexts(),
      ElementsAre("plugin proportion: argument \"reclaimerSaturationMultiplier\" is not known "
                  "and is skipped; did you mean \"relcaimerSaturationMultiplier\"?"));
  for (const char* wrong : {"wrong", "0.5", "-1", "nan", "1.5x", "+-2", " 2"}) {
    const Config config = WithPlugin(
        "proportion", std::string(R"({"relcaimerSaturationMultiplier": ")") + wrong + R"("})");
    EXPECT_EQ(SaturationMultiplier(config), 1) << wrong;
    EXPECT_THAT(config.WarningTexts(),
                ElementsAre(std::string("plugin proportion: argument "
                                        "relcaimerSaturationMultiplier \"") +
                            wrong + "\" is not a number of 1 or above, and counts as 1"));
  }
  EXPECT_EQ(SaturationMultiplier(WithPlugin("priority", "{}")), 1);
}

TEST(PolicyArgumentsTest, AreFgdWithWholeScoresAndThePodsOfTheClusterByDefault) {
  const PolicyOptions options = PolicyOptionsOf(WithPlugin("placementpolicy", "{}"));
  EXPECT_EQ(options.policy, packing::Policy::kFgd);
  EXPECT_FALSE(options.exact);
  EXPECT_EQ(options.seed, 0U);
  EXPECT_EQ(options.typical_pods, std::nullopt);
  EXPECT_EQ(options.typical_percent, 95);
}

TEST(PolicyArgumentsTest, NameAPolicyASeedAndTypicalPods) {
  const Config config = WithPlugin("placementpolicy",
                                   R"({"policy": "best-fit", "scores": "exact", "seed": 7,
          "typicalPods": " 0.5 4 30,8 96.5 1 , 0 2 3", "typicalPercent": 80})");
  EXPECT_THAT(config.WarningTexts(), IsEmpty());
  const PolicyOptions options = PolicyOptionsOf(config);
  EXPECT_EQ(options.policy, packing::Policy::kBestFit);
  EXPECT_TRUE(options.exact);
  EXPECT_EQ(options.seed, 7U);
  EXPECT_EQ(options.typical_percent, 80);
  ASSERT_TRUE(options.typical_pods);
  ASSERT_EQ(options.typical_pods->size(), 3U);
  const packing::PodMix& mix = *options.typical_pods;
  EXPECT_EQ(mix[0].pod, (packing::PodShape{.cpu_milli = 4'000, .gpus = 1, .gpu_milli = 500}));
  EXPECT_EQ(mix[0].weight, 30);
  EXPECT_EQ(mix[1].pod, (packing::PodShape{.cpu_milli = 96'500, .gpus = 8, .gpu_milli = 1000}));
  EXPECT_EQ(mix[2].pod, (packing::PodShape{.cpu_milli = 2'000}));
}

TEST(PolicyArgumentsTest, InvalidValuesAreReportedAndReplacedByDefaults) {
  for (const std::string pods :
       {"1 2", "1 2 3 4", "1 2 0", "1.5 2 3", "-1 2 3", "1 2 three", ","}) {
    const Config config = WithPlugin("placementpolicy", R"({"typicalPods": ")" + pods + R"("})");
    EXPECT_EQ(PolicyOptionsOf(config).typical_pods, std::nullopt) << pods;
    EXPECT_EQ(config.WarningTexts().size(), 1U) << pods;
  }
  const Config config =
      WithPlugin("placementpolicy", R"({"policy": "bestfit", "seed": -1, "typicalPercent": 0})");
  EXPECT_THAT(
      config.WarningTexts(),
      ElementsAre(
          "plugin placementpolicy: argument policy \"bestfit\" is not a placement policy, and "
          "counts as fgd; did you mean \"best-fit\"?",
          "plugin placementpolicy: argument seed \"-1\" is not a whole number of 0 or above, "
          "and counts as 0",
          "plugin placementpolicy: argument typicalPercent \"0\" is not a whole number from "
          "1 to 100, and counts as 95"));
}

TEST(JobOrderArgumentsTest, HaveDefaultsByPolicy) {
  const JobOrderOptions plain = JobOrderOptionsOf(WithPlugin("joborder", "{}"));
  EXPECT_EQ(plain.policy, JobPolicy::kFifo);
  EXPECT_FALSE(plain.preempts || plain.within_priority || plain.favor_small);
  EXPECT_THAT(plain.thresholds_ns,
              ElementsAre(325'000'000'000, 720'000'000'000, 1'800'000'000'000));
  EXPECT_EQ(plain.lease_ns, 0);
  EXPECT_EQ(plain.weight_age, 1000);
  EXPECT_EQ(plain.weight_size, 1000);
  EXPECT_EQ(plain.weight_priority, 10'000);
  EXPECT_EQ(plain.max_age_ns, 7 * 24 * kHourNs);
  for (const std::string name : {"sjf", "srtf", "las", "2d-las", "finish-time", "multifactor"}) {
    const JobOrderOptions options =
        JobOrderOptionsOf(WithPlugin("joborder", R"({"policy": ")" + name + R"("})"));
    EXPECT_EQ(options.policy, *JobPolicyOf(name));
    EXPECT_EQ(options.preempts, name != "sjf" && name != "multifactor") << name;
    EXPECT_EQ(options.lease_ns, name == "finish-time" ? kHourNs / 6 : 0) << name;
  }
}

TEST(JobOrderArgumentsTest, AreTheGivenValues) {
  const Config config = WithPlugin(
      "joborder", R"({"policy": "las", "preempts": false, "within": "priority", "lease": "1h",
                      "thresholds": " 0.5, 60", "weightAge": 5, "weightSize": 0,
                      "weightPriority": "7", "maxAge": "1d", "favorSmall": true})");
  EXPECT_THAT(config.WarningTexts(), IsEmpty());
  const JobOrderOptions options = JobOrderOptionsOf(config);
  EXPECT_EQ(options.policy, JobPolicy::kLeastService);
  EXPECT_FALSE(options.preempts);
  EXPECT_TRUE(options.within_priority && options.favor_small);
  EXPECT_THAT(options.thresholds_ns, ElementsAre(500'000'000, 60'000'000'000));
  EXPECT_EQ(options.lease_ns, kHourNs);
  EXPECT_EQ(options.weight_age, 5);
  EXPECT_EQ(options.weight_size, 0);
  EXPECT_EQ(options.weight_priority, 7);
  EXPECT_EQ(options.max_age_ns, 24 * kHourNs);
}

TEST(JobOrderArgumentsTest, InvalidValuesAreReportedAndReplacedByDefaults) {
  for (const std::string list : {"5, 5", "10,5", "0", "-1", "soon", ",", "1e12"}) {
    const Config config = WithPlugin("joborder", R"({"thresholds": ")" + list + R"("})");
    EXPECT_EQ(JobOrderOptionsOf(config).thresholds_ns.size(), 3U) << list;
    EXPECT_EQ(config.WarningTexts().size(), 1U) << list;
  }
  const Config config = WithPlugin(
      "joborder", R"({"policy": "stf", "preempts": "perhaps", "lease": "soon", "maxAge": "0s",
                      "weightAge": -1})");
  EXPECT_EQ(JobOrderOptionsOf(config).policy, JobPolicy::kFifo);
  EXPECT_EQ(JobOrderOptionsOf(config).weight_age, 1000);
  EXPECT_THAT(
      config.WarningTexts(),
      ElementsAre(
          "plugin joborder: argument policy \"stf\" is not a job order, and counts as fifo; "
          "did you mean \"sjf\"?",
          "plugin joborder: argument preempts \"perhaps\" is neither true nor false, and "
          "counts as missing",
          "plugin joborder: argument lease \"soon\" is not a duration such as 30m or 1d, "
          "and counts as missing",
          "plugin joborder: argument maxAge \"0s\" is not a duration above 0 such as 12h "
          "or 7d, and counts as 7d",
          "plugin joborder: argument weightAge \"-1\" is not a whole number from 0 to "
          "1000000000, and counts as its default"));
}

TEST(NumaArgumentsTest, AreAListAndAFlag) {  // spec 3 U13
  const ZoneLedger::Options without = NumaOptions(WithPlugin("numa", "{}"));
  EXPECT_THAT(without.ignored, IsEmpty());
  EXPECT_TRUE(without.reconstruct);
  EXPECT_TRUE(without.wait_for_leaving);
  const Config config = WithPlugin(
      "numa", R"({"ignoreList": " memory ,, vendor/nic,", "reconstructAvailable": "false"})");
  EXPECT_THAT(NumaOptions(config).ignored, ElementsAre("memory", "vendor/nic"));
  EXPECT_FALSE(NumaOptions(config).reconstruct);
  EXPECT_THAT(config.WarningTexts(), IsEmpty());
  EXPECT_FALSE(NumaOptions(WithPlugin("numa", R"({"reconstructAvailable": false})")).reconstruct);
}

TEST(NumaArgumentsTest, AnInvalidFlagIsReportedAndCountsAsTrue) {
  const Config config = WithPlugin("numa", R"({"reconstructAvailable": "perhaps"})");
  EXPECT_TRUE(NumaOptions(config).reconstruct);
  EXPECT_THAT(config.WarningTexts(),
              ElementsAre("plugin numa: argument reconstructAvailable "
                          "\"perhaps\" is neither true nor false, and counts as "
                          "true"));
}

}  // namespace
}  // namespace kai::arguments_test
