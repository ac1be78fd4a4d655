#include <gtest/gtest.h>

#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

constexpr char kSlice[] = "nvidia.com/mig-1g.10gb";
constexpr char kRefused[] = "non MIG jobs cant run on a node with MigStrategy='mixed'";

ClusterMaker PodsOfAllKinds() {
  return MakeCluster()
      .Pending("ns/gpu", {.gpus = 1})
      .Pending("ns/cpu")
      .Pending("ns/mig", {.more = {{kSlice, 1}}});
}

TEST(MigStrategyFilterTest, WholeGpusStayAwayFromMixedNodes) {
  const auto cluster = PodsOfAllKinds()
                           .Node("mixed", {.gpus = 2,
                                           .more = {{kSlice, 7}},
                                           .labels = {{"nvidia.com/mig.strategy", "mixed"}}})
                           .Node("whole", {.gpus = 8})
                           .Build();
  const auto filter = MakeMigStrategyFilter(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "mixed"), kRefused);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "whole"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/cpu-0", "mixed"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/mig-0", "mixed"), "");
}

TEST(MigStrategyFilterTest, OtherStrategiesTakeWholeGpus) {
  for (const char* strategy : {"single", "none", ""}) {
    const auto cluster = PodsOfAllKinds()
                             .Node("n", {.gpus = 7,
                                         .more = {{kSlice, 7}},
                                         .labels = {{"nvidia.com/mig.strategy", strategy}}})
                             .Build();
    EXPECT_EQ(AnswerOf(*MakeMigStrategyFilter(*cluster), *cluster, "ns/gpu-0", "n"), "");
  }
}

TEST(MigStrategyFilterTest, WhetherMigIsOnSaysTheLabelBeforeTheSlices) {
  const auto cluster =
      PodsOfAllKinds()
          .Node("said-off", {.gpus = 2,
                             .more = {{kSlice, 7}},
                             .labels = {{"nvidia.com/mig.strategy", "mixed"},
                                        {"node-role.kubernetes.io/mig-enabled", "false"}}})
          .Node("said-on", {.gpus = 2,
                            .labels = {{"nvidia.com/mig.strategy", "mixed"},
                                       {"node-role.kubernetes.io/mig-enabled", "true"}}})
          .Node("no-slices", {.gpus = 2, .labels = {{"nvidia.com/mig.strategy", "mixed"}}})
          .Build();
  const auto filter = MakeMigStrategyFilter(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "said-off"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "said-on"), kRefused);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "no-slices"), "");
}

}  // namespace
}  // namespace kai
