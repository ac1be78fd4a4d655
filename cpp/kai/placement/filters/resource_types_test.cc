#include <gtest/gtest.h>

#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"

namespace kai::resource_types_test {
namespace {

constexpr char kSlice[] = "nvidia.com/mig-1g.10gb";
constexpr char kRefused[] = "non MIG jobs cant run on a node with MigStrategy='mixed'";

ClusterMaker PodsOfAllKinds() {
  return MakeCluster()
      .Pending("ns/gpu", {.gpus = 1})
      .Pending("ns/cpu")
      .Pending("ns/mig", {.more = {{kSlice, 1}}});
}

TEST(ResourceTypeFilterTest, MixedNodesRefuseWholeGpus) {
  const auto cluster = PodsOfAllKinds()
                           .Node("mixed", {.gpus = 2,
                                           .more = {{kSlice, 7}},
                                           .labels = {{"nvidia.com/mig.strategy", "mixed"}}})
                           .Node("whole", {.gpus = 8})
                           .Build();
  const auto filter = MakeResourceTypeFilter(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "mixed"), kRefused);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "whole"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/cpu-0", "mixed"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/mig-0", "mixed"), "");
}

TEST(ResourceTypeFilterTest, NodesWithOtherStrategiesAcceptWholeGpus) {
  for (const char* strategy : {"single", "none", ""}) {
    const auto cluster = PodsOfAllKinds()
                             .Node("n", {.gpus = 7,
                                         .more = {{kSlice, 7}},
                                         .labels = {{"nvidia.com/mig.strategy", strategy}}})
                             .Build();
    EXPECT_EQ(AnswerOf(*MakeResourceTypeFilter(*cluster), *cluster, "ns/gpu-0", "n"), "");
  }
}

TEST(ResourceTypeFilterTest, TheMigLabelOverridesTheSlices) {
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
  const auto filter = MakeResourceTypeFilter(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "said-off"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "said-on"), kRefused);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/gpu-0", "no-slices"), "");
}

TEST(ResourceTypeFilterTest,
     EveryStrategyWithEveryRequest) {  // spec 3 T24: every strategy and every request
  const std::string mixed = kRefused;
  const std::string single = "only whole gpu jobs can run on a node with MigStrategy='single'";
  const std::string no_mig = "MIG job cannot be scheduled on non-MIG node";
  const StringPairs kStrategies[] = {
      {{"node-role.kubernetes.io/mig-enabled", "false"}},
      {{"nvidia.com/mig.strategy", "none"}},
      {{"nvidia.com/mig.strategy", "single"}},
      {{"nvidia.com/mig.strategy", "mixed"}},
  };
  struct Row {
    std::string pod;
    std::string off, none, single, mixed;
  };
  const Row kRows[] = {
      {"ns/gpu-0", "", "", "", mixed},        {"ns/cpu-0", "", "", "", ""},
      {"ns/mig-0", no_mig, "", single, ""},   {"ns/fraction-0", "", "", single, mixed},
      {"ns/memory-0", "", "", single, mixed},
  };
  ClusterMaker maker = PodsOfAllKinds()
                           .Pending("ns/fraction", {.gpu_fraction = 0.5})
                           .Pending("ns/memory", {.gpu_memory_mib = 5000});
  const char* const kNodes[] = {"off", "none", "single", "mixed"};
  for (size_t i = 0; i < 4; ++i)
    maker.Node(kNodes[i], {.gpus = 2, .more = {{kSlice, 7}}, .labels = kStrategies[i]});
  const auto cluster = maker.Build();
  const auto filter = MakeResourceTypeFilter(*cluster);
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.pod);
    EXPECT_EQ(AnswerOf(*filter, *cluster, row.pod, "off"), row.off);
    EXPECT_EQ(AnswerOf(*filter, *cluster, row.pod, "none"), row.none);
    EXPECT_EQ(AnswerOf(*filter, *cluster, row.pod, "single"), row.single);
    EXPECT_EQ(AnswerOf(*filter, *cluster, row.pod, "mixed"), row.mixed);
  }
}

TEST(ResourceTypeFilterTest, PodsWithLegacyMigRequestsShareNodesOnlyWithEachOther) {  // spec 3 M4
  ClusterMaker maker = MakeCluster()
                           .Node("n1", {.more = {{kSlice, 7}}})
                           .Node("n2", {.more = {{kSlice, 7}}})
                           .Running("ns/old", {.pods = 2, .more = {{kSlice, 1}}, .node = "n1"})
                           .Pending("ns/older", {.more = {{kSlice, 1}}})
                           .Pending("ns/new", {.more = {{kSlice, 1}}})
                           .Pending("ns/cpu");
  for (PodRow& pod : maker.rows().pods)
    pod.gpu.legacy_mig = pod.pod_group == "old" || pod.pod_group == "older";
  const auto cluster = maker.Build();
  const auto filter = MakeResourceTypeFilter(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/older-0", "n2"),
            "Legacy MIG jobs cannot be scheduled on node n2");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/new-0", "n1"),
            "MIG job cannot be scheduled on node with legacy MIG jobs: <[ns/old-0 ns/old-1]>");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/new-0", "n2"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/cpu-0", "n1"), "");
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/older-0"), Filter::Scope::kNodeClass);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/new-0"), Filter::Scope::kNode);
}

TEST(ResourceTypeFilterTest, OtherPodsAndFinishedPodsDoNotBlockSlices) {
  const NodeSpec mixed = {.more = {{kSlice, 7}}, .labels = {{"nvidia.com/mig.strategy", "mixed"}}};
  ClusterMaker maker = MakeCluster()
                           .Node("n1", mixed)
                           .Node("n2", mixed)
                           .Running("ns/usual", {.more = {{kSlice, 1}}, .node = "n1"})
                           .Succeeded("ns/old", {.more = {{kSlice, 1}}, .node = "n2"})
                           .Pending("ns/new", {.more = {{kSlice, 1}}});
  for (PodRow& pod : maker.rows().pods) pod.gpu.legacy_mig = pod.pod_group == "old";
  const auto cluster = maker.Build();
  const auto filter = MakeResourceTypeFilter(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/new-0", "n1"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/new-0", "n2"), "");
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/new-0"), Filter::Scope::kNodeClass);
}

}  // namespace
}  // namespace kai::resource_types_test
