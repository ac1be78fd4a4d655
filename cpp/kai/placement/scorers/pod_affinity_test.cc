#include <gtest/gtest.h>

#include "kai/model/changes/statement.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::pod_affinity_test {
namespace {

constexpr double kPoint = 1'000'000;

PodAffinityTerm PodsOf(std::string app, std::string key = "zone") {
  return {.selector = LabelSelector{{.key = "app", .op = SelectorOp::kIn, .values = {app}}},
          .namespaces = {},
          .all_namespaces = false,
          .topology_key = std::move(key)};
}

PodAffinityRow Prefers(std::string app, int32_t weight) {
  PodAffinityRow row;
  row.preferred = {{.term = PodsOf(std::move(app)), .weight = weight}};
  return row;
}
PodAffinityRow PrefersWithout(std::string app, int32_t weight) {
  PodAffinityRow row;
  row.preferred_anti = {{.term = PodsOf(std::move(app)), .weight = weight}};
  return row;
}

ClusterMaker Zones() {
  return MakeCluster()
      .Node("a1", {.labels = {{"zone", "a"}}})
      .Node("a2", {.labels = {{"zone", "a"}}})
      .Node("b1", {.labels = {{"zone", "b"}}})
      .Node("lone");
}

// The score of a node for the pod ns/p-0.
double PointsOf(const Cluster& cluster, std::string_view node) {
  const PodClassId pods = cluster.pods().pod_class[PodNamed(cluster, "ns/p-0")];
  const auto scorer = MakePodAffinityScorer(cluster);
  if (scorer->DependsOn(pods) == Scorer::Dependence::kNothing) return 0;
  return scorer->Score(pods, NodeNamed(cluster, node), {}) / kPoint;
}

TEST(PodAffinityScorerTest, APreferenceScoresItsWeightForEveryPodInTheDomain) {
  const auto cluster = Zones()
                           .Running("ns/web", {.pods = 2, .node = "a1", .labels = {{"app", "web"}}})
                           .Running("ns/more", {.node = "b1", .labels = {{"app", "web"}}})
                           .Pending("ns/p", {.affinity = Prefers("web", 30)})
                           .Build();
  EXPECT_EQ(PointsOf(*cluster, "a1"), 60);
  EXPECT_EQ(PointsOf(*cluster, "a2"), 60);
  EXPECT_EQ(PointsOf(*cluster, "b1"), 30);
  EXPECT_EQ(PointsOf(*cluster, "lone"), 0);
}

TEST(PodAffinityScorerTest, APreferredAntiAffinityLowersTheScoreOfTheDomain) {
  const auto cluster = Zones()
                           .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
                           .Pending("ns/p", {.affinity = PrefersWithout("web", 7)})
                           .Build();
  EXPECT_EQ(PointsOf(*cluster, "a2"), -7);
  EXPECT_EQ(PointsOf(*cluster, "b1"), 0);
}

TEST(PodAffinityScorerTest, PreferencesOfPlacedPodsCountToo) {
  const auto cluster = Zones()
                           .Running("ns/friend", {.node = "a1", .affinity = Prefers("web", 5)})
                           .Running("ns/foe", {.node = "b1", .affinity = PrefersWithout("web", 3)})
                           .Pending("ns/p", {.labels = {{"app", "web"}}})
                           .Build();
  EXPECT_EQ(PointsOf(*cluster, "a2"), 5);
  EXPECT_EQ(PointsOf(*cluster, "b1"), -3);
}

TEST(PodAffinityScorerTest, ARequiredTermOfAPlacedPodScoresOnePoint) {
  PodAffinityRow required;
  required.required = {PodsOf("web")};
  const auto cluster = Zones()
                           .Running("ns/bound", {.node = "b1", .affinity = required})
                           .Pending("ns/p", {.labels = {{"app", "web"}}})
                           .Build();
  EXPECT_EQ(PointsOf(*cluster, "b1"), 1);
  EXPECT_EQ(PointsOf(*cluster, "a1"), 0);
}

TEST(PodAffinityScorerTest, ARequiredTermOfTheIncomingPodScoresNothing) {
  PodAffinityRow required;
  required.required = {PodsOf("web")};
  const auto cluster = Zones()
                           .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
                           .Pending("ns/p", {.affinity = required})
                           .Build();
  EXPECT_EQ(PointsOf(*cluster, "a1"), 0);
}

TEST(PodAffinityScorerTest, BothDirectionsAddUp) {
  const auto cluster =
      Zones()
          .Running(
              "ns/web",
              {.node = "a1", .labels = {{"app", "web"}}, .affinity = PrefersWithout("batch", 4)})
          .Pending("ns/p", {.labels = {{"app", "batch"}}, .affinity = Prefers("web", 10)})
          .Build();
  EXPECT_EQ(PointsOf(*cluster, "a1"), 6);
}

TEST(PodAffinityScorerTest, FollowsTheStatement) {
  const auto cluster = Zones()
                           .Pending("ns/web", {.labels = {{"app", "web"}}})
                           .Pending("ns/p", {.affinity = Prefers("web", 1)})
                           .Build();
  const auto statement = Statement::Open(cluster.get(), {});
  const Statement::Checkpoint start = statement->Mark();
  statement->Pipeline(PodNamed(*cluster, "ns/web-0"), NodeNamed(*cluster, "b1"));
  EXPECT_EQ(PointsOf(*cluster, "b1"), 1);
  statement->RollBackTo(start);
  EXPECT_EQ(PointsOf(*cluster, "b1"), 0);
}

TEST(PodAffinityScorerTest, DependsOnNothingWithoutPreferences) {
  const auto cluster = Zones()
                           .Pending("ns/wishful", {.affinity = Prefers("web", 1)})
                           .Pending("ns/p", {.labels = {{"app", "web"}}})
                           .Build();
  const auto scorer = MakePodAffinityScorer(*cluster);
  const PodClassId pods = cluster->pods().pod_class[PodNamed(*cluster, "ns/p-0")];
  EXPECT_EQ(scorer->DependsOn(pods), Scorer::Dependence::kNothing);
  const auto statement = Statement::Open(cluster.get(), {});
  statement->Place(PodNamed(*cluster, "ns/wishful-0"), NodeNamed(*cluster, "a1"));
  EXPECT_EQ(scorer->DependsOn(pods), Scorer::Dependence::kNode);
}

TEST(PodAffinityScorerTest, PreferencesThatCancelOutAreStillEvaluated) {
  // +2 and -2 are in different zones: their sum must not count as no preference.
  const auto cluster = Zones()
                           .Running("ns/friend", {.node = "a1", .affinity = Prefers("web", 2)})
                           .Running("ns/foe", {.node = "b1", .affinity = PrefersWithout("web", 2)})
                           .Pending("ns/p", {.labels = {{"app", "web"}}})
                           .Build();
  EXPECT_EQ(PointsOf(*cluster, "a1"), 2);
  EXPECT_EQ(PointsOf(*cluster, "b1"), -2);
}

}  // namespace
}  // namespace kai::pod_affinity_test
