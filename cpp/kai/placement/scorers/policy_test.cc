#include <gtest/gtest.h>

#include <random>

#include "kai/model/changes/statement.h"
#include "kai/placement/gpu_picker.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::policy_test {
namespace {

using packing::Policy;

constexpr Policy kAll[] = {Policy::kBestFit,       Policy::kDotProduct, Policy::kGpuPacking,
                           Policy::kGpuClustering, Policy::kFgd,        Policy::kRandom,
                           Policy::kLeastWaste};

PodClassId ClassOf(const Cluster& cluster, std::string_view pod) {
  return cluster.pods().pod_class[PodNamed(cluster, pod)];
}

TEST(PolicyScorerTest, BestFitChoosesTheNodeWithTheLeastRoom) {
  const auto cluster = MakeCluster()
                           .Node("large", {.gpus = 8})
                           .Node("small", {.gpus = 2})
                           .Pending("ns/p", {.gpus = 1})
                           .Build();
  const auto scorer = MakePolicyScorer(*cluster, {.policy = Policy::kBestFit, .exact = true});
  const auto score = [&](std::string_view node) {
    return scorer->Score(ClassOf(*cluster, "ns/p-0"), NodeNamed(*cluster, node), {});
  };
  // 63 of 64 cores are left, and 7 or 1 of 8 GPUs: 100 (1 - (63/64 + 7/8) / 2) = 7.03
  EXPECT_DOUBLE_EQ(score("large"), 100 * (1 - (63.0 / 64 + 7.0 / 8) / 2));
  EXPECT_DOUBLE_EQ(score("small"), 100 * (1 - (63.0 / 64 + 1.0 / 8) / 2));
}

TEST(PolicyScorerTest, FgdChoosesTheGpuThatTypicalPodsCanSpare) {
  ClusterMaker maker = MakeCluster().Node("n", {.gpus = 2});
  for (const char* device : {"a", "b"}) {
    maker.Running(std::string("ns/") + device,
                  {.gpu_fraction = device[0] == 'a' ? 0.5 : 0.6, .node = "n"});
    maker.rows().pods.back().gpu_groups = {device};
  }
  maker.Pending("ns/p", {.gpu_fraction = 0.3});
  const auto cluster = maker.Build();
  // 500 and 400 are idle. Typical pods request 500, so only the first GPU is useful for them.
  const auto fgd = MakePolicyScorer(
      *cluster,
      {.policy = Policy::kFgd,
       .exact = true,
       .typical_pods = packing::PodMix{{.pod = {.gpus = 1, .gpu_milli = 500}, .weight = 1}}});
  const GpuPicker packs(*cluster, {.pack = true});
  const GpuPicker descends(*cluster, {.pack = true, .chooser = fgd->gpu_chooser()});
  const PodClassId pods = ClassOf(*cluster, "ns/p-0");
  EXPECT_EQ(packs.Pick(pods, NodeId(0), true).gpus, GpuList{1}) << "the fullest GPU";
  EXPECT_EQ(descends.Pick(pods, NodeId(0), true).gpus, GpuList{1}) << "not useful for other pods";
  const auto other = MakePolicyScorer(
      *cluster,
      {.policy = Policy::kFgd,
       .exact = true,
       .typical_pods = packing::PodMix{{.pod = {.gpus = 1, .gpu_milli = 400}, .weight = 3},
                                       {.pod = {.gpus = 1, .gpu_milli = 200}, .weight = 2}}});
  const GpuPicker spares(*cluster, {.pack = true, .chooser = other->gpu_chooser()});
  // On the first GPU 200 are left, useful for 2 of 5: F = (3 * 200) / 5. On the second 100, useful
  // for none: F = (5 * 100) / 5.
  EXPECT_EQ(spares.Pick(pods, NodeId(0), true).gpus, GpuList{1});
}

TEST(PolicyScorerTest, RandomScoresDifferForPodsOfOneClass) {
  const auto cluster =
      MakeCluster().Node("n", {.gpus = 2}).Pending("ns/p", {.pods = 2, .gpus = 1}).Build();
  const auto scorer = MakePolicyScorer(*cluster, {.policy = Policy::kRandom, .seed = 1});
  const auto score = [&](std::string_view pod) {
    return scorer->Score(ClassOf(*cluster, pod), NodeId(0), {.pod = PodNamed(*cluster, pod)});
  };
  EXPECT_EQ(score("ns/p-0"), score("ns/p-0"));
  EXPECT_NE(score("ns/p-0"), score("ns/p-1"));
}

// Cached scores of a node equal those of a new scorer.
TEST(PolicyScorerTest, CachedScoresAreRightAfterEveryChangeAndRollback) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    ClusterMaker maker = MakeCluster();
    for (int i = 0; i < 4; ++i)
      maker.Node("n" + std::to_string(i), {.gpus = 2 + i, .millicpu = 16'000});
    for (int i = 0; i < 8; ++i) {
      const std::string name = "ns/p" + std::to_string(i);
      const PodsSpec spec{.gpus = i % 3, .millicpu = 500 * (1 + i % 4)};
      maker.Pending(name, spec);
    }
    const auto cluster = maker.Build();
    const PolicyOptions options{.policy = kAll[seed % std::size(kAll)],
                                .exact = seed % 2 == 0,
                                .seed = seed,
                                .typical_pods = std::nullopt,
                                .typical_percent = 100};
    const auto kept = MakePolicyScorer(*cluster, options);
    const auto statement = Statement::Open(cluster.get(), {kept->listener()});
    const auto compare = [&] {
      const auto fresh = MakePolicyScorer(*cluster, options);
      for (const PodId pod : cluster->pods().name.ids()) {
        for (const NodeId node : cluster->nodes().name.ids()) {
          const PodClassId pods = cluster->pods().pod_class[pod];
          ASSERT_EQ(kept->Score(pods, node, {.pod = pod}), fresh->Score(pods, node, {.pod = pod}));
        }
      }
    };
    std::vector<Statement::Checkpoint> marks;
    for (int step = 0; step < 20; ++step) {
      const PodId pod(static_cast<int32_t>(random() % cluster->pods().size()));
      const NodeId node(static_cast<int32_t>(random() % cluster->nodes().size()));
      if (!marks.empty() && random() % 3 == 0) {
        statement->RollBackTo(marks.back());
        marks.pop_back();
      } else if (cluster->pods().status[pod] == PodStatus::kPending) {
        marks.push_back(statement->Mark());
        statement->Place(pod, node);
      } else if (cluster->pods().status[pod] == PodStatus::kAllocated) {
        marks.push_back(statement->Mark());
        statement->Evict(pod);
      }
      compare();
      if (testing::Test::HasFatalFailure()) return;
    }
    statement->RollBackTo(0);
  }
}

}  // namespace
}  // namespace kai::policy_test
