#include "kai/session/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "kai/session/plans_for_test.h"

namespace kai::holders_test {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Kept {
  explicit Kept(const ClusterMaker& maker, std::string_view group)
      : config(ParseConfig("")), plan(RunPlan(Session(config), maker.Build())) {
    const std::vector<PodGroupId> groups = {PodGroupNamed(*plan.cluster, group)};
    const GpuAccount account = AccountOf(plan, TableOf(plan));
    const std::vector<GroupPlaces> places = PlacesOf(plan, account, config, groups);
    by_resource = HoldersOf(plan, account, config, groups, places).front();
    held = by_resource.front();
    rows = RowsOf(held);
  }

  using Rows = std::vector<std::tuple<std::string, std::string, double>>;

  Rows RowsOf(const HeldPlaces& of_resource) const {
    Rows made;
    for (const Holders& each : of_resource.holders) {
      const QueueId level = each.level.valid() ? each.level : each.queue;
      made.emplace_back(WordOf(each.why),
                        level.valid() ? plan.cluster->Text(plan.cluster->queues().name[level]) : "",
                        each.amount);
    }
    return made;
  }
  std::string_view NameOf(NodeId node) const {
    return plan.cluster->Text(plan.cluster->nodes().name[node]);
  }

  Config config;
  Plan plan;
  std::vector<HeldPlaces> by_resource;
  HeldPlaces held;  // of GPUs
  Rows rows;        // of GPUs
};

TEST(HoldersTest, GroupsThatMayLeaveCountAsRoom) {
  const Kept kept(MakeCluster()
                      .Queue("a", {.deserved_gpus = 4})
                      .Queue("b")
                      .Node("n1", {.gpus = 4})
                      .Node("n2", {.gpus = 4})
                      .Running("b/low", {.gpus = 2, .node = "n1"})
                      .Running("b/fixed", {.gpus = 2, .node = "n1", .priority = 200})
                      .Running("b/also", {.gpus = 1, .node = "n2"})
                      .Running("b/fast", {.gpus = 3, .node = "n2", .priority = 200})
                      .Pending("a/new", {.gpus = 4}),
                  "a/new");
  EXPECT_THAT(kept.rows,
              ElementsAre(FieldsAre("non_preemptible", "b", 5), FieldsAre("may_leave", "b", 3)));
  EXPECT_THAT(kept.held.room, ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_THAT(kept.held.own_room, ElementsAre(Pair(0, 2)));
}

TEST(HoldersTest, TheQueueAboveMayBeWithinItsShare) {
  const Kept kept(MakeCluster()
                      .Queue("left", {.deserved_gpus = 2})
                      .Queue("right", {.deserved_gpus = 2})
                      .Queue("b", {.parent = "left"})
                      .Queue("a", {.parent = "right", .deserved_gpus = 2})
                      .Node("n", {.gpus = 2})
                      .Running("b/x", {.gpus = 2, .node = "n"})
                      .Pending("a/new", {.gpus = 2}),
                  "a/new");
  EXPECT_THAT(kept.rows, ElementsAre(FieldsAre("within_share", "left", 2)));
  EXPECT_THAT(kept.held.room, ElementsAre(Pair(0, 1)));
}

TEST(HoldersTest, PodsThatLeaveAnywayCountAsRoom) {
  const Kept kept(MakeCluster()
                      .Queue("a")
                      .Node("n", {.gpus = 4})
                      .Running("a/x", {.gpus = 2, .node = "n"})
                      .Releasing("a/old", {.gpus = 2, .node = "n"})
                      .Pending("a/new", {.gpus = 4}),
                  "a/new");
  EXPECT_THAT(kept.held.room, ElementsAre(Pair(2, 1)));
}

TEST(HoldersTest, AShortageOfCpusHasHoldersOnNodesThatLackNothingElse) {
  const Kept kept(MakeCluster()
                      .Queue("a")
                      .Node("n1", {.gpus = 4, .millicpu = 8000})
                      .Node("n2", {.gpus = 1, .millicpu = 8000})
                      .Running("a/cpus", {.gpus = 0, .millicpu = 6000, .node = "n1"})
                      .Running("a/full", {.gpus = 1, .millicpu = 7000, .node = "n2"})
                      .Pending("a/new", {.gpus = 1, .millicpu = 4000}),
                  "a/new");
  ASSERT_EQ(kept.by_resource.size(), 2);
  const HeldPlaces& cpus = kept.by_resource[1];
  EXPECT_EQ(cpus.slot, kCpuSlot);
  EXPECT_THAT(kept.RowsOf(cpus), ElementsAre(FieldsAre("not_lower", "a", 6)));
  EXPECT_THAT(cpus.room, ElementsAre(Pair(2, 1)));
  EXPECT_EQ(cpus.requested, 4);
  EXPECT_EQ(kept.NameOf(cpus.nearest), "n1");
  EXPECT_EQ(cpus.free, 2);
}

TEST(HoldersTest, AResourceThatNoNodeLacksHasNoHolders) {
  const Kept kept(MakeCluster()
                      .Queue("a")
                      .Node("n", {.gpus = 1, .millicpu = 8000})
                      .Running("a/x", {.gpus = 1, .millicpu = 1000, .node = "n"})
                      .Pending("a/new", {.gpus = 1, .millicpu = 4000}),
                  "a/new");
  EXPECT_EQ(kept.by_resource.size(), 1);
}

TEST(HoldersTest, WithoutAQueueNothingIsKnown) {
  const Kept kept(
      MakeCluster().Queue("a").Node("n", {.gpus = 1}).Pending("a/x", {.gpus = 2, .queue = "none"}),
      "a/x");
  EXPECT_THAT(kept.rows, IsEmpty());
}

}  // namespace
}  // namespace kai::holders_test
