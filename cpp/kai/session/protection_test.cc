#include "kai/session/protection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kai/session/plans_for_test.h"

namespace kai::protection_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kMinuteNs = 60'000'000'000;

struct Kept {
  explicit Kept(const ClusterMaker& maker, std::string_view group, std::string_view json = "")
      : config(ParseConfig(json)), plan(RunPlan(Session(config), maker.Build())) {
    const std::vector<PodGroupId> groups = {PodGroupNamed(*plan.cluster, group)};
    made = ProtectionsOf(plan, config, groups).front();
  }

  std::vector<std::pair<std::string, std::string>> Levels() const {
    std::vector<std::pair<std::string, std::string>> levels;
    for (const Protection::Level& each : made.levels)
      levels.emplace_back(plan.cluster->Text(plan.cluster->queues().name[each.queue]),
                          WordOf(each.share));
    return levels;
  }

  Config config;
  Plan plan;
  Protection made;
};

// Two departments; both queues of the first one hold all GPUs.
ClusterMaker Departments(double quota_of_left, double quota_of_a) {
  return MakeCluster()
      .Queue("left", {.deserved_gpus = quota_of_left})
      .Queue("right", {.deserved_gpus = 2})
      .Queue("a", {.parent = "left", .deserved_gpus = quota_of_a})
      .Queue("b", {.parent = "left", .deserved_gpus = 1})
      .Queue("c", {.parent = "right", .deserved_gpus = 2})
      .Node("n", {.gpus = 4})
      .Running("a/x", {.pods = 3, .gpus = 1, .node = "n", .min_member = 2})
      .Running("b/x", {.gpus = 1, .node = "n"});
}

TEST(ProtectionTest, ANonPreemptibleGroupHasNoRivals) {
  const Kept kept(MakeCluster()
                      .Queue("a")
                      .Node("n", {.gpus = 1})
                      .Running("a/x", {.gpus = 1, .node = "n", .priority = 200}),
                  "a/x");
  EXPECT_FALSE(kept.made.preemptible);
  EXPECT_THAT(kept.made.levels, IsEmpty());
}

TEST(ProtectionTest, EachQueueOfThePathIsComparedWithItsSiblings) {
  EXPECT_THAT(Kept(Departments(4, 3), "a/x").Levels(),
              ElementsAre(Pair("a", "within_quota"), Pair("left", "within_quota")));
  EXPECT_THAT(Kept(Departments(4, 2), "a/x").Levels(),
              ElementsAre(Pair("a", "above_quota"), Pair("left", "within_quota")))
      << "its fair share is 3, as its sibling requests no more";
  EXPECT_THAT(Kept(Departments(2, 3), "a/x").Levels(),
              ElementsAre(Pair("a", "within_quota"), Pair("left", "above_quota")));
}

TEST(ProtectionTest, QueuesAreComparedAsTheyAreAfterThePlan) {
  ClusterMaker maker = Departments(3, 2);
  maker.Pending("c/x", {.gpus = 1});
  const Kept before(maker, "b/x", R"({"actions": "allocate"})");
  EXPECT_THAT(before.Levels(), IsEmpty()) << "nothing is reclaimed without the action";
  const Kept after(maker, "b/x", R"({"actions": "reclaim"})");
  EXPECT_EQ(after.plan.evictions.size(), 1);
  EXPECT_THAT(after.Levels(), ElementsAre(Pair("b", "within_quota"), Pair("left", "within_quota")));
}

TEST(ProtectionTest, PodsAboveTheMinimumAreSpare) {
  EXPECT_EQ(Kept(Departments(4, 3), "a/x").made.spare, 1);
  EXPECT_EQ(Kept(Departments(4, 3), "b/x").made.spare, 0);
}

TEST(ProtectionTest, MinimumRunTimesAreThoseOfTheQueues) {
  ClusterMaker maker = Departments(4, 3);
  for (QueueRow& row : maker.rows().queues) {
    if (row.name == "a") row.preempt_min_runtime_ns = 5 * kMinuteNs;
    if (row.name == "left") row.reclaim_min_runtime_ns = 9 * kMinuteNs;
  }
  for (PodGroupRow& row : maker.rows().pod_groups) row.last_start_ns = kTestNowNs - kMinuteNs;
  const Kept kept(maker, "a/x");
  EXPECT_EQ(kept.made.preempt.minimum_ns, 5 * kMinuteNs);
  EXPECT_EQ(kept.made.preempt.until_ns, kTestNowNs + 4 * kMinuteNs);
  for (const Protection::Level& each : kept.made.levels)
    EXPECT_EQ(each.reclaim.until_ns, kTestNowNs + 8 * kMinuteNs);
}

TEST(ProtectionTest, ConsolidationDoesNotMoveBarePods) {
  const auto moves = [](bool bare, std::string_view json) {
    return Kept(MakeCluster()
                    .Queue("a")
                    .Node("n", {.gpus = 1})
                    .Running("a/x", {.gpus = 1, .node = "n", .bare = bare}),
                "a/x", json)
        .made.may_be_moved;
  };
  EXPECT_TRUE(moves(false, ""));
  EXPECT_FALSE(moves(true, ""));
  EXPECT_FALSE(moves(false, R"({"actions": "allocate, reclaim, preempt"})"));
}

}  // namespace
}  // namespace kai::protection_test
