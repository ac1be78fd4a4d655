#include "kai/actions/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/base/clock.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::candidates_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

// Requires only the queue.
constexpr CandidateFilter kAnyGroup = {.ready = false, .pending = false};

bool Is(const Cluster& cluster, std::string_view group, const CandidateFilter& filter) {
  const PlacingOrder placing(cluster, {});
  const PodOrder order(placing, {});
  return IsCandidate(cluster, order, PodGroupNamed(cluster, group), filter);
}

TEST(CandidatesTest, AllocateConsidersReadyGroupsThatWait) {  // spec 2 O1
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1")
                           .Pending("q/waits")
                           .Pending("q/incomplete", {.min_member = 2})
                           .Running("q/runs", {.node = "n1"})
                           .Gated("q/gated")
                           .Build();
  EXPECT_TRUE(Is(*cluster, "q/waits", {}));
  EXPECT_FALSE(Is(*cluster, "q/incomplete", {}));
  EXPECT_FALSE(Is(*cluster, "q/runs", {}));
  EXPECT_FALSE(Is(*cluster, "q/gated", {}));
}

TEST(CandidatesTest, AGroupIsReadyWithEnoughUngatedPods) {  // spec 2 G7
  const CandidateFilter ready = {.ready = true, .pending = false};
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1")
                           .Running("q/mixed", {.node = "n1", .min_member = 2})
                           .Pending("q/mixed")
                           .Pending("q/gated", {.min_member = 2})
                           .Gated("q/gated")
                           .Releasing("q/leaving", {.node = "n1", .min_member = 1})
                           .Build();
  EXPECT_TRUE(Is(*cluster, "q/mixed", ready));
  EXPECT_FALSE(Is(*cluster, "q/gated", ready));
  EXPECT_FALSE(Is(*cluster, "q/leaving", ready));
}

TEST(CandidatesTest, SucceededPodsCountAsPresent) {  // switch completed_pods
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Pending("q/ended", {.pods = 2, .min_member = 3})
                           .Succeeded("q/ended")
                           .Pending("q/short", {.pods = 2, .min_member = 4})
                           .Succeeded("q/short")
                           .Build();
  const PodGroupId ended = PodGroupNamed(*cluster, "q/ended");
  EXPECT_TRUE(Is(*cluster, "q/ended", {}));
  EXPECT_FALSE(Is(*cluster, "q/short", {}));
  const PlacingOrder placing(*cluster, {.comparators = {}, .count_completed = false});
  const PodOrder as_kai(placing, {});  // spec 2 W21
  EXPECT_FALSE(IsCandidate(*cluster, as_kai, ended, {}));
}

TEST(CandidatesTest, TheQueueMustExistAndBeALeaf) {  // spec 1 F8, F10
  const auto cluster = MakeCluster()
                           .Queue("inner")
                           .Queue("leaf", {.parent = "inner"})
                           .Queue("orphan", {.parent = "missing"})
                           .Pending("leaf/g")
                           .Pending("inner/g")
                           .Pending("orphan/g")
                           .Pending("nowhere/g")
                           .Build();
  EXPECT_TRUE(Is(*cluster, "leaf/g", kAnyGroup));
  EXPECT_FALSE(Is(*cluster, "inner/g", kAnyGroup));
  EXPECT_FALSE(Is(*cluster, "orphan/g", kAnyGroup));
  EXPECT_FALSE(Is(*cluster, "nowhere/g", kAnyGroup));
}

TEST(CandidatesTest, SomeActionsConsiderOnlyPreemptibleGroups) {
  const CandidateFilter preemptible = {.ready = false, .pending = false, .preemptible = true};
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Pending("q/train", {.priority = 99})
                           .Pending("q/build", {.priority = 100})
                           .Build();
  EXPECT_TRUE(Is(*cluster, "q/train", preemptible));
  EXPECT_FALSE(Is(*cluster, "q/build", preemptible));
  EXPECT_TRUE(Is(*cluster, "q/build", kAnyGroup));
}

TEST(CandidatesTest, VictimsAreOnANodeOrPipelined) {  // spec 2 S4
  const CandidateFilter active = {.ready = false, .pending = false, .active = true};
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n1")
                           .Running("q/runs", {.node = "n1"})
                           .Releasing("q/leaves", {.node = "n1"})
                           .Pending("q/waits")
                           .Build();
  EXPECT_TRUE(Is(*cluster, "q/runs", active));
  EXPECT_FALSE(Is(*cluster, "q/leaves", active));
  EXPECT_FALSE(Is(*cluster, "q/waits", active));
}

// ---- preemption delay (spec 2 D1, D2)

// A group created at 10:00 and evicted at 10:30, with a delay of ten minutes; `now` in minutes.
bool IsDelayed(int64_t now_minutes, std::optional<int64_t> evicted_minutes, int64_t delay_minutes,
               std::optional<int64_t> created_minutes = 600) {
  constexpr int64_t kMinuteNs = 60 * kSecondNs;
  ClusterMaker maker = MakeCluster().Queue("q").Pending("q/g");
  PodGroupRow& row = maker.rows().pod_groups[0];
  row.created_ns.reset();
  if (created_minutes) row.created_ns = *created_minutes * kMinuteNs;
  if (evicted_minutes) row.last_eviction_ns = *evicted_minutes * kMinuteNs;
  row.preemption_delay_ns = delay_minutes * kMinuteNs;
  const auto cluster = maker.Build();
  const int64_t now_ns = now_minutes * kMinuteNs;
  const PodGroupId group(0);
  EXPECT_TRUE(Is(*cluster, "q/g", {})) << "allocate ignores the delay";
  return now_ns <
         EndOfPreemptionDelay(*cluster, group, cluster->pod_groups().last_eviction_ns[group]);
}

TEST(PreemptionDelayTest, StartsAtTheLastEviction) {  // the example of spec 2 D1
  EXPECT_TRUE(IsDelayed(/*10:39*/ 639, /*10:30*/ 630, 10));
  EXPECT_FALSE(IsDelayed(/*10:40*/ 640, 630, 10));
}

TEST(PreemptionDelayTest, StartsAtTheCreationOfAGroupThatWasNeverEvicted) {
  EXPECT_TRUE(IsDelayed(609, {}, 10));
  EXPECT_FALSE(IsDelayed(610, {}, 10));
}

TEST(PreemptionDelayTest, IgnoresAnEvictionBeforeTheCreation) {  // spec 2 E12
  EXPECT_TRUE(IsDelayed(605, 500, 10));
}

TEST(PreemptionDelayTest, ZeroIsNoDelay) {  // spec 2 E12
  EXPECT_FALSE(IsDelayed(600, 630, 0));
  EXPECT_FALSE(IsDelayed(600, 630, -5));
}

TEST(PreemptionDelayTest, AGroupOfUnknownAgeIsNotDelayed) {
  EXPECT_FALSE(IsDelayed(605, {}, 10, {}));
  EXPECT_TRUE(IsDelayed(605, 600, 10, {}));
}

// ---- order

TEST(CreationOrderTest, SortsByAgeThenNameThenNamespace) {  // spec 1 F60
  ClusterMaker maker = MakeCluster().Pending("b/x").Pending("a/y").Pending("a/x").Pending("a/old");
  for (PodGroupRow& row : maker.rows().pod_groups) row.created_ns = row.name == "old" ? 1 : 2;
  const auto cluster = maker.Build();
  std::vector<std::string> names;
  for (const PodGroupId group : InOrderOfCreation(cluster->pod_groups())) {
    names.push_back(cluster->PodGroupName(group));
  }
  EXPECT_THAT(names, ElementsAre("a/old", "a/x", "b/x", "a/y"));
}

TEST(CandidatesPropertyTest, AgreeWithTheLiteralSpecOfTheRows) {
  size_t candidates = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    // The session excludes features that are not built.
    const bool all_built = seed % 2 == 0;
    const ClusterRows rows =
        all_built
            ? MakeRandomCluster(seed, {.pod_affinity = false, .shared_gpus = false, .mig = false})
            : MakeRandomCluster(seed);
    const auto cluster = rows.Build();
    const PlacingOrder placing(*cluster, {});
    const PodOrder order(placing, {});
    std::vector<std::string> names;
    for (const PodGroupId group : InOrderOfCreation(cluster->pod_groups())) {
      if (IsCandidate(*cluster, order, group, {})) {
        names.push_back(cluster->PodGroupName(group));
      }
    }
    const std::vector<std::string> expected = oracle::Candidates(oracle::World(rows));
    if (all_built) {
      ASSERT_EQ(names, expected);
    } else {
      ASSERT_THAT(names, IsSupersetOf(expected));
    }
    candidates += names.size();
  }
  EXPECT_GT(candidates, size_t{500});
}

}  // namespace
}  // namespace kai::candidates_test
