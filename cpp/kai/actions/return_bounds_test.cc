#include "kai/actions/return_bounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/actions/cycle_for_test.h"

namespace kai::return_bounds_test {
namespace {

using Strings = std::vector<std::string>;

// The bounds for the pods of ns/new, if `movable` may lose pods.
struct Bounds {
  Bounds(const ClusterMaker& maker, const Strings& names)
      : cycle(maker),
        groups(cycle.Groups(names)),
        movable(groups),
        pods(cycle.rooms.order().PodsToPlace(cycle.rooms.Group("ns/new"))),
        bounds(cycle.view) {
    bounds.StartPart(pods);
  }

  bool MayFitWithAnyOf() { return bounds.MayFitWithAnyOf(&movable); }
  bool MayFit(const Strings& recorded, const Strings& added) {
    return bounds.MayFit(cycle.Victims(recorded), cycle.Victims(added));
  }

  TestCycle cycle;
  std::vector<PodGroupId> groups;
  ReturnBounds::Movable movable;
  PodList pods;
  ReturnBounds bounds;
};

// Two nodes with four GPUs, each with a running group with this number of GPUs.
ClusterMaker TwoNodes(int64_t on_one, int64_t on_other) {
  return MakeCluster()
      .Node("n1", {.gpus = 4})
      .Node("n2", {.gpus = 4})
      .Running("ns/a", {.gpus = on_one, .node = "n1"})
      .Running("ns/b", {.gpus = on_other, .node = "n2"});
}

TEST(ReturnBoundsTest, MovingAVictimAsLargeAsThePodGainsNothing) {
  Bounds bounds(TwoNodes(4, 2).Pending("ns/new", {.gpus = 4}), {"ns/a"});
  EXPECT_FALSE(bounds.MayFitWithAnyOf());
}

TEST(ReturnBoundsTest, ASmallVictimMayMakeRoomForALargePod) {
  Bounds bounds(TwoNodes(2, 2).Pending("ns/new", {.gpus = 4}), {"ns/a", "ns/b"});
  EXPECT_TRUE(bounds.MayFitWithAnyOf());
  EXPECT_TRUE(bounds.MayFit({}, {"ns/a-0"}));
  EXPECT_TRUE(bounds.MayFit({"ns/a-0"}, {"ns/b-0"}));
}

TEST(ReturnBoundsTest, TwoGpuVictimsFindNoPlaceOnNodesWithOneFreeGpu) {
  // Four GPUs are free, but no two of them on one node.
  ClusterMaker maker = MakeCluster()
                           .Node("n1", {.gpus = 4})
                           .Running("ns/a", {.gpus = 2, .node = "n1"})
                           .Running("ns/b", {.gpus = 2, .node = "n1"});
  for (const char* node : {"n2", "n3", "n4", "n5"}) {
    maker.Node(node, {.gpus = 4}).Running(std::string("ns/on-") + node, {.gpus = 3, .node = node});
  }
  Bounds bounds(maker.Pending("ns/new", {.gpus = 4}), {"ns/a", "ns/b"});
  EXPECT_FALSE(bounds.MayFitWithAnyOf());
  EXPECT_FALSE(bounds.MayFit({}, {"ns/a-0", "ns/b-0"}));
}

TEST(ReturnBoundsTest, OnlyCandidatesOfTheSearchMayMove) {
  Bounds bounds(TwoNodes(2, 3).Node("n3", {.gpus = 2}).Pending("ns/new", {.gpus = 4}),
                {"ns/a", "ns/b"});
  EXPECT_TRUE(bounds.MayFitWithAnyOf());
  const std::vector<PodGroupId> one = bounds.cycle.Groups({"ns/a"});
  const std::vector<PodGroupId> other = bounds.cycle.Groups({"ns/b"});
  ReturnBounds::Movable with_one(one);
  ReturnBounds::Movable with_other(other);
  EXPECT_TRUE(bounds.bounds.MayFitWithAnyOf(&with_one));
  EXPECT_FALSE(bounds.bounds.MayFitWithAnyOf(&with_other));
  EXPECT_TRUE(bounds.MayFit({}, {"ns/a-0"}));
  EXPECT_FALSE(bounds.MayFit({}, {"ns/b-0"}));  // no other node has three free GPUs
}

TEST(ReturnBoundsTest, AGangCountsAsAWhole) {
  Bounds bounds(TwoNodes(2, 2).Pending("ns/new", {.pods = 2, .gpus = 4, .min_member = 2}),
                {"ns/a", "ns/b"});
  EXPECT_FALSE(bounds.MayFitWithAnyOf());
  EXPECT_FALSE(bounds.MayFit({}, {"ns/a-0", "ns/b-0"}));
}

TEST(ReturnBoundsTest, ProvesNothingIfGpusAreShared) {
  Bounds bounds(TwoNodes(4, 3)
                    .Running("ns/half", {.gpu_fraction = 0.5, .node = "n2"})
                    .Pending("ns/new", {.gpus = 4}),
                {"ns/a"});
  EXPECT_TRUE(bounds.MayFitWithAnyOf());
  EXPECT_TRUE(bounds.MayFit({}, {"ns/a-0"}));
}

}  // namespace
}  // namespace kai::return_bounds_test
