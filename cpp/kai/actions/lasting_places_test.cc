#include "kai/actions/lasting_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kai/actions/cycle_for_test.h"
#include "kai/base/text.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/matchers/matchers.h"

namespace kai::lasting_places_test {
namespace {

constexpr char kAll[] = "allocate, consolidation, reclaim, preempt";

PodAffinityRow Near(const std::string& app, std::string key = "host") {
  PodAffinityRow row;
  row.required = {
      {.selector = LabelSelector{{.key = "app", .op = SelectorOp::kIn, .values = {app}}},
       .namespaces = {},
       .all_namespaces = true,
       .topology_key = std::move(key)}};
  return row;
}

StringPairs App(std::string name) { return {{"app", std::move(name)}}; }

NodeSpec Host(const std::string& name, int64_t gpus, std::string zone = "z") {
  return {.gpus = gpus, .labels = {{"host", name}, {"zone", std::move(zone)}}};
}

// ---- an eviction never removes the pod that the others must be near

// A pod runs on n1; another one must be near it, and may only use n2.
ClusterMaker FirstAndSecond(PodsSpec first, PodsSpec second, int64_t gpus = 8) {
  first.labels = second.labels = App("x");
  first.affinity = second.affinity = Near("x");
  first.gpus = second.gpus = 1;
  first.node = "n1";
  second.node_selector = {{"host", "n2"}};
  return MakeCluster()
      .Queue("a", {.deserved_gpus = 0})
      .Queue("b", {.deserved_gpus = 1})
      .Node("n1", Host("n1", gpus))
      .Node("n2", Host("n2", gpus))
      .Running(first.queue + "/first", first)
      .Pending(second.queue + "/second", second);
}

TEST(LastingPlacesTest, ConsolidationDoesNotMoveThePodThatAnotherMustBeNear) {
  for (const char* queue : {"a", "b"}) {
    const ClusterMaker maker = FirstAndSecond({.queue = "a"}, {.queue = queue});
    EXPECT_THAT(RunActions(kAll, maker), PlanIs());
    EXPECT_THAT(RunActions(kAll, maker, AsKai("leaving_pods")), PlanIs());
  }
}

TEST(LastingPlacesTest, APreemptorDoesNotEvictThePodThatItMustBeNear) {
  EXPECT_THAT(RunActions(kAll, FirstAndSecond({.queue = "a", .priority = 50},
                                              {.queue = "a", .priority = 75})),
              PlanIs());
}

TEST(LastingPlacesTest, AnOwedQueueDoesNotReclaimFromThePodThatItMustBeNear) {
  EXPECT_THAT(RunActions(kAll, FirstAndSecond({.queue = "a"}, {.queue = "b"}, 1)), PlanIs());
}

TEST(LastingPlacesTest, AVictimMovesTogetherWithThePodThatItMustBeNear) {
  // `worker` must be near `lead`. With one GPU on n2 and one on n3, it would be alone.
  const auto maker = [](int64_t on_n2, int64_t on_n3) {
    return MakeCluster()
        .Node("n1", Host("n1", 3))
        .Node("n2", Host("n2", on_n2))
        .Node("n3", Host("n3", on_n3))
        .Running("ns/lead", {.gpus = 1, .node = "n1", .labels = App("lead")})
        .Running("ns/worker", {.gpus = 1, .node = "n1", .affinity = Near("lead")})
        .Pending("ns/big", {.gpus = 3, .node_selector = {{"host", "n1"}}});
  };
  EXPECT_THAT(RunActions("consolidation", maker(1, 1)), PlanIs());
  EXPECT_THAT(RunActions("consolidation", maker(2, 0)),
              PlanIs(Evicts("ns/worker-0"), Evicts("ns/lead-0"), Pipelines("ns/lead-0", "n2"),
                     Pipelines("ns/worker-0", "n2"), Pipelines("ns/big-0", "n1")));
}

// ---- pods that return count

TEST(LastingPlacesTest, AVictimThatReturnsStillAttracts) {
  // Only `a` has enough GPUs, and `near`, the younger one, is the first victim of a scenario.
  EXPECT_THAT(
      RunActions(
          "preempt",
          MakeCluster()
              .Node("n1", Host("n1", 3))
              .Running("ns/a", {.gpus = 2, .node = "n1", .priority = 50})
              .Running("ns/near", {.gpus = 1, .node = "n1", .labels = App("x"), .priority = 50})
              .Pending("ns/new", {.gpus = 2, .affinity = Near("x"), .priority = 75})),
      PlanIs(Evicts("ns/a-0"), Pipelines("ns/new-0", "n1")));
}

TEST(LastingPlacesTest, AVictimThatMovesWithinTheDomainStillAttracts) {
  // `near` leaves n1, but stays in the zone.
  EXPECT_THAT(
      RunActions("consolidation",
                 MakeCluster()
                     .Node("n1", Host("n1", 2))
                     .Node("n2", Host("n2", 1))
                     .Running("ns/near", {.gpus = 1, .node = "n1", .labels = App("x")})
                     .Pending("ns/new", {.gpus = 2, .affinity = Near("x", "zone")})),
      PlanIs(Evicts("ns/near-0"), Pipelines("ns/near-0", "n2"), Pipelines("ns/new-0", "n1")));
}

TEST(LastingPlacesTest, AVictimThatMovesToAnotherDomainDoesNotAttractInItsOldOne) {
  EXPECT_THAT(RunActions("consolidation",
                         MakeCluster()
                             .Node("n1", Host("n1", 2, "a"))
                             .Node("n2", Host("n2", 1, "b"))
                             .Running("ns/near", {.gpus = 1, .node = "n1", .labels = App("x")})
                             .Pending("ns/new", {.gpus = 2, .affinity = Near("x", "zone")})),
              PlanIs());
}

TEST(LastingPlacesTest, AGangMayTakeThePlaceOfThePodsThatItWouldBeNear) {
  // Once these are gone, the gang is the first of its series.
  EXPECT_THAT(RunActions("preempt", MakeCluster()
                                        .Node("n1", Host("n1", 2))
                                        .Running("ns/old", {.pods = 2,
                                                            .gpus = 1,
                                                            .node = "n1",
                                                            .labels = App("x"),
                                                            .affinity = Near("x"),
                                                            .min_member = 2,
                                                            .priority = 50})
                                        .Pending("ns/new", {.pods = 2,
                                                            .gpus = 1,
                                                            .labels = App("x"),
                                                            .affinity = Near("x"),
                                                            .min_member = 2,
                                                            .priority = 75})),
              PlanIs(Evicts(2, "ns/old"), Pipelines(2, "ns/new", "n1")));
}

TEST(LastingPlacesTest, AGangDoesNotTakeThatPlaceIfOthersOfTheSeriesStayElsewhere) {
  // After the eviction it would have to be on n2, which has no room.
  EXPECT_THAT(
      RunActions(
          "preempt",
          MakeCluster()
              .Node("n1", Host("n1", 1))
              .Node("n2", Host("n2", 0))
              .Running("ns/old", {.gpus = 1, .node = "n1", .labels = App("x"), .priority = 50})
              .Running("ns/stays", {.node = "n2", .labels = App("x"), .priority = 90})
              .Pending("ns/new",
                       {.gpus = 1, .labels = App("x"), .affinity = Near("x"), .priority = 75})),
      PlanIs());
}

// ---- pods that leave for other reasons, and places of the same cycle

TEST(LastingPlacesTest, NoPodIsEvictedForAPlaceBesideAPodThatLeavesAnyway) {
  const auto maker = [](bool leaves) {
    ClusterMaker made = MakeCluster().Node("n1", Host("n1", 1));
    const PodsSpec near{.node = "n1", .labels = App("x"), .priority = 90};
    leaves ? made.Releasing("ns/near", near) : made.Running("ns/near", near);
    return made.Running("ns/old", {.gpus = 1, .node = "n1", .priority = 50})
        .Pending("ns/new", {.gpus = 1, .affinity = Near("x"), .priority = 75});
  };
  EXPECT_THAT(RunActions("preempt", maker(true)), PlanIs());
  EXPECT_THAT(RunActions("preempt", maker(false)),
              PlanIs(Evicts("ns/old-0"), Pipelines("ns/new-0", "n1")));
}

TEST(LastingPlacesTest, APodThatCanStartMayBeBesideAPodThatLeaves) {
  EXPECT_THAT(RunActions("allocate", MakeCluster()
                                         .Node("n1", Host("n1", 1))
                                         .Releasing("ns/near", {.node = "n1", .labels = App("x")})
                                         .Pending("ns/new", {.gpus = 1, .affinity = Near("x")})),
              PlanIs(Binds("ns/new-0", "n1")));
}

TEST(LastingPlacesTest, NoLaterActionOfTheCycleRemovesThePodThatAPlaceNeeds) {
  // b/new is bound beside a/near, which a queue that is owed a GPU would evict otherwise.
  const auto maker = [](PodAffinityRow affinity) {
    return MakeCluster()
        .Queue("a", {.deserved_gpus = 0})
        .Queue("b", {.deserved_gpus = 2, .priority = 200})
        .Queue("c", {.deserved_gpus = 1})
        .Node("n1", Host("n1", 2))
        .Running("a/near", {.gpus = 1, .node = "n1", .labels = App("x")})
        .Pending("b/new", {.gpus = 1, .affinity = std::move(affinity)})
        .Pending("c/owed", {.gpus = 1});
  };
  EXPECT_THAT(RunActions("allocate, reclaim", maker(Near("x"))), PlanIs(Binds("b/new-0", "n1")));
  EXPECT_THAT(RunActions("allocate, reclaim", maker({})),
              PlanIs(Binds("b/new-0", "n1"), Evicts("a/near-0"), Pipelines("c/owed-0", "n1")));
}

}  // namespace
}  // namespace kai::lasting_places_test
