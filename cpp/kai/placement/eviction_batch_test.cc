// The next pods to evict from a victim (spec 2 G14, E9).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/placement/pod_order.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_evictions.h"

namespace kai::eviction_batch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "g-3", or "g-1 g-0" for pods that are evicted together; "..." after it if pods remain.
std::string Piece(const Cluster& cluster, const std::vector<PodId>& pods, bool more) {
  std::string text;
  for (const std::string& name : Names(cluster, pods)) text += (text.empty() ? "" : " ") + name;
  return text + (more ? " ..." : "");
}

// All evictions of ns/g, piece by piece.
std::vector<std::string> Pieces(const ClusterMaker& maker) {
  const auto cluster = maker.Build();
  const PlacingOrder placing(*cluster,
                             {.comparators = {PodComparator::kKubeflow, PodComparator::kRay,
                                              PodComparator::kTaskPriority}});
  const PodOrder order(placing, {});
  const PodGroupId group = PodGroupNamed(*cluster, "ns/g");
  IndexVector<PodId, uint8_t> gone(cluster->pods().size());
  std::vector<std::string> pieces;
  for (bool more = true; more;) {
    std::vector<PodId> pods;
    more = order.NextToEvict(group, pieces.empty() ? nullptr : &gone, &pods);
    if (pods.empty()) break;
    for (const PodId pod : pods) gone[pod] = 1;
    pieces.push_back(Piece(*cluster, pods, more));
  }
  return pieces;
}

// ---- groups without sub-groups

TEST(EvictionBatchTest, AnElasticGroupGivesUpPodByPodAndThenTheRest) {
  EXPECT_THAT(
      Pieces(MakeCluster().Node("n").Running("ns/g", {.pods = 4, .node = "n", .min_member = 2})),
      ElementsAre("g-3 ...", "g-2 ...", "g-1 g-0"));
}

TEST(EvictionBatchTest, AGangIsEvictedWhole) {
  EXPECT_THAT(
      Pieces(MakeCluster().Node("n").Running("ns/g", {.pods = 3, .node = "n", .min_member = 3})),
      ElementsAre("g-2 g-1 g-0"));
}

TEST(EvictionBatchTest, AGangBelowItsMinimumIsEvictedWhole) {  // spec 2 E9: unsatisfied
  EXPECT_THAT(
      Pieces(MakeCluster().Node("n").Running("ns/g", {.pods = 2, .node = "n", .min_member = 3})),
      ElementsAre("g-1 g-0"));
}

TEST(EvictionBatchTest, WithoutAMinimumTheLastPodIsEvictedAlone) {
  EXPECT_THAT(
      Pieces(MakeCluster().Node("n").Running("ns/g", {.pods = 2, .node = "n", .min_member = 0})),
      ElementsAre("g-1 ...", "g-0"));
}

TEST(EvictionBatchTest, AGroupWithoutPlacedPodsGivesUpNothing) {  // spec 2 E9
  EXPECT_THAT(Pieces(MakeCluster().Node("n").Pending("ns/g", {.pods = 2})), IsEmpty());
}

TEST(EvictionBatchTest, TerminatingPodsAreNeitherEvictedNorCounted) {  // spec 2 E2
  EXPECT_THAT(Pieces(MakeCluster()
                         .Node("n")
                         .Running("ns/g", {.pods = 2, .node = "n", .min_member = 2})
                         .Releasing("ns/g", {.pods = 2, .node = "n"})),
              ElementsAre("g-1 g-0"));
}

TEST(EvictionBatchTest, WorkersAreEvictedBeforeTheirMaster) {
  const StringPairs master = {{"training.kubeflow.org/job-role", "master"}};
  EXPECT_THAT(Pieces(MakeCluster()
                         .Node("n")
                         .Running("ns/g", {.pods = 2, .node = "n", .min_member = 1})
                         .Running("ns/g", {.node = "n", .labels = master})),
              ElementsAre("g-1 ...", "g-0 ...", "g-2"));
}

TEST(EvictionBatchTest, LowTaskPrioritiesAreEvictedFirst) {
  const auto of = [](std::string priority) {
    return PodsSpec{.node = "n",
                    .labels = {{"kai.scheduler/task-priority", std::move(priority)}},
                    .min_member = 0};
  };
  EXPECT_THAT(Pieces(MakeCluster()
                         .Node("n")
                         .Running("ns/g", of("1"))
                         .Running("ns/g", of("3"))
                         .Running("ns/g", of("2"))),
              ElementsAre("g-0 ...", "g-2 ...", "g-1"));
}

// ---- trees of sub-groups

TEST(EvictionBatchTest, SurplusPodsAreEvictedFirstThenSurplusChildren) {  // spec 2 E9
  EXPECT_THAT(Pieces(GroupOf({Leaf("a", 1), Leaf("b", 1)}, 1)
                         .Running("ns/g", {.pods = 2, .node = "n", .subgroup = "a"})
                         .Running("ns/g", {.node = "n", .subgroup = "b"})),
              ElementsAre("g-1 ...", "g-2 ...", "g-0"));
}

// spec 2 E9
TEST(EvictionBatchTest, WithoutAMinimumOfSubGroupsOneChildIsEvictedWhole) {
  EXPECT_THAT(Pieces(GroupOf({Leaf("a", 2), Leaf("b", 2)}, 0)
                         .Running("ns/g", {.pods = 2, .node = "n", .subgroup = "a"})
                         .Running("ns/g", {.pods = 2, .node = "n", .subgroup = "b"})),
              ElementsAre("g-3 g-2 ...", "g-1 g-0"));
}

TEST(EvictionBatchTest, AnUnsatisfiedRootGivesUpAllPodsAtOnce) {  // spec 2 E9
  EXPECT_THAT(Pieces(GroupOf({Leaf("a", 2), Leaf("b", 1)})
                         .Running("ns/g", {.node = "n", .subgroup = "a"})
                         .Running("ns/g", {.node = "n", .subgroup = "b"})),
              ElementsAre("g-0 g-1"));
}

TEST(EvictionBatchTest, AnUnsatisfiedRootStillGivesUpSurplusPodsFirst) {
  EXPECT_THAT(Pieces(GroupOf({Leaf("a", 2), Leaf("b", 1)})
                         .Running("ns/g", {.node = "n", .subgroup = "a"})
                         .Running("ns/g", {.pods = 2, .node = "n", .subgroup = "b"})),
              ElementsAre("g-2 ...", "g-0 g-1"));
}

TEST(EvictionBatchTest, WithNoSatisfiedChildNothingIsSurplus) {
  // No pod is needed, but the only child is incomplete as well.
  EXPECT_THAT(
      Pieces(GroupOf({Leaf("a", 3)}, 0).Running("ns/g", {.pods = 2, .node = "n", .subgroup = "a"})),
      ElementsAre("g-1 g-0"));
}

TEST(EvictionBatchTest, TheChildFurthestAboveItsMinimumGivesUpFirst) {  // reverse spec 2 G11
  // a has three pods with a minimum of one, b has four with a minimum of two.
  EXPECT_THAT(Pieces(GroupOf({Leaf("a", 1), Leaf("b", 2)})
                         .Running("ns/g", {.pods = 3, .node = "n", .subgroup = "a"})
                         .Running("ns/g", {.pods = 4, .node = "n", .subgroup = "b"})),
              ElementsAre("g-2 ...", "g-6 ...", "g-1 ...", "g-5 ...", "g-0 g-4 g-3"));
}

TEST(EvictionBatchTest, SurplusIsFoundAtAnyDepth) {
  // The root needs both children; one of the two replicas inside s is enough.
  EXPECT_THAT(Pieces(GroupOf({Leaf("b", 1), Set("s", 1), Leaf("s1", 1, "s"), Leaf("s2", 1, "s")})
                         .Running("ns/g", {.node = "n", .subgroup = "b"})
                         .Running("ns/g", {.node = "n", .subgroup = "s1"})
                         .Running("ns/g", {.node = "n", .subgroup = "s2"})),
              ElementsAre("g-2 ...", "g-0 g-1"));
}

TEST(EvictionBatchTest, ASurplusSetIsEvictedWithItsSubtree) {
  EXPECT_THAT(Pieces(GroupOf({Set("s", {}), Leaf("s1", 1, "s"), Leaf("s2", 1, "s"), Set("t", {}),
                              Leaf("t1", 1, "t"), Leaf("t2", 1, "t")},
                             1)
                         .Running("ns/g", {.node = "n", .subgroup = "s1"})
                         .Running("ns/g", {.node = "n", .subgroup = "s2"})
                         .Running("ns/g", {.node = "n", .subgroup = "t1"})
                         .Running("ns/g", {.node = "n", .subgroup = "t2"})),
              ElementsAre("g-3 g-2 ...", "g-0 g-1"));
}

// ---- the elastic state of a shrinking group

TEST(EvictionBatchTest, AGroupShrinksToItsMinimumAndBelow) {  // spec 1 F73
  const auto cluster =
      MakeCluster().Node("n").Running("ns/g", {.pods = 3, .node = "n", .min_member = 2}).Build();
  const PlacingOrder placing(*cluster, {});
  const PodOrder order(placing, {});
  const PodGroupId group = PodGroupNamed(*cluster, "ns/g");
  IndexVector<PodId, uint8_t> gone(cluster->pods().size());
  EXPECT_EQ(order.ElasticStateWithout(group, gone), ElasticState::kAbove);
  gone[PodNamed(*cluster, "ns/g-2")] = 1;
  EXPECT_EQ(order.ElasticStateWithout(group, gone), ElasticState::kAt);
  gone[PodNamed(*cluster, "ns/g-1")] = 1;
  EXPECT_EQ(order.ElasticStateWithout(group, gone), ElasticState::kBelow);
}

TEST(EvictionBatchPropertyTest, TreesOfAllShapesAgreeWithTheOracle) {
  size_t pieces = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const ClusterRows rows =
        MakeRandomCluster(seed, {.max_nodes = 2, .max_pods = 9, .sub_groups = true});
    Rooms rooms(rows.Build());
    const Cluster& cluster = rooms.cluster();
    const oracle::World world(rows);
    for (const PodGroupId group : cluster.pod_groups().name.ids()) {
      const std::string name = cluster.PodGroupName(group);
      IndexVector<PodId, uint8_t> gone(cluster.pods().size());
      for (bool more = true; more; ++pieces) {
        std::vector<std::string> left;
        for (const PodId pod : cluster.pods().name.ids()) {
          if (cluster.pods().group[pod] == group && cluster.pods().pod_set[pod].valid() &&
              IsActiveAllocated(cluster.pods().status[pod]) && gone[pod] == 0)
            left.push_back(cluster.PodName(pod));
        }
        std::vector<PodId> batch;
        more = rooms.order().NextToEvict(group, &gone, &batch);
        std::vector<std::string> taken;
        for (const PodId pod : batch) {
          gone[pod] = 1;
          taken.push_back(cluster.PodName(pod));
        }
        ASSERT_EQ(taken, oracle::NextBatch(world, name, left)) << name;
        ASSERT_EQ(more, taken.size() < left.size()) << name;
      }
    }
  }
  EXPECT_GT(pieces, size_t{1000}) << "too few pods were evicted";
}

}  // namespace
}  // namespace kai::eviction_batch_test
