#include "kai/placement/class_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "kai/base/text.h"
#include "kai/placement/node_room.h"
#include "kai/placement/rooms_for_test.h"

namespace kai::class_plans_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PodClassId ClassOf(const Rooms& rooms, std::string_view pod, const Cluster& cluster) {
  return cluster.pods().pod_class[rooms.Pod(pod)];
}

TEST(ClassPlansTest, PlacedPodsChangeNoPlan) {
  Rooms rooms(MakeCluster()
                  .Node("open", {.gpus = 1})
                  .Node("closed", {.gpus = 1, .cordoned = true})
                  .Pending("ns/p", {.pods = 2, .gpus = 1})
                  .Build());
  const PodClassId pods = ClassOf(rooms, "ns/p-0", rooms.cluster());
  ClassPlans& plans = rooms.search().plans();
  const ClassPlan* const before = &plans.Of(pods);
  rooms.Place("ns/p-0", "open");
  EXPECT_EQ(&plans.Of(pods), before) << "it is made once";
  EXPECT_TRUE(plans.MayRunOn(pods, rooms.Node("open"))) << "room does not matter";
  EXPECT_FALSE(plans.MayRunOn(pods, rooms.Node("closed")));
  EXPECT_FALSE(plans.CanNeverRun(pods));
}

TEST(ClassPlansTest, APodLargerThanAnyNodeCanNeverRun) {
  Rooms rooms(MakeCluster().Node("n", {.gpus = 1}).Pending("ns/p", {.gpus = 2}).Build());
  const PodClassId pods = ClassOf(rooms, "ns/p-0", rooms.cluster());
  EXPECT_TRUE(rooms.search().plans().CanNeverRun(pods));
  EXPECT_FALSE(rooms.search().plans().MayRunOn(pods, rooms.Node("n")));
}

TEST(ClassPlansTest, ALabelWithAValuePerNodeLeavesFewCandidates) {
  ClusterMaker maker =
      MakeCluster().Pending("ns/pinned", {.node_selector = {{"host", "n33"}}}).Pending("ns/free");
  for (int i = 0; i < 40; ++i) maker.Node(StrCat("n", i), {.labels = {{"host", StrCat("n", i)}}});
  Rooms rooms(maker.Build());
  ClassPlans& plans = rooms.search().plans();
  const PodClassId pinned = ClassOf(rooms, "ns/pinned-0", rooms.cluster());
  EXPECT_THAT(plans.Of(pinned).candidates, ElementsAre(rooms.Node("n33")));
  EXPECT_FALSE(plans.MayRunOn(pinned, rooms.Node("n1")));
  EXPECT_FALSE(plans.Of(ClassOf(rooms, "ns/free-0", rooms.cluster())).has_candidates);
}

TEST(ClassPlansTest, PodsWithAMemoryRequestCountForMoreOnSmallerDevices) {
  Rooms rooms(MakeCluster()
                  .Node("large", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "4000"}}})
                  .Node("small", {.gpus = 2, .labels = {{"nvidia.com/gpu.memory", "1000"}}})
                  .Pending("ns/shares", {.gpu_memory_mib = 500})
                  .Pending("ns/whole", {.gpus = 1})
                  .Build());
  ClassPlans& plans = rooms.search().plans();
  const ClassPlan& shares = plans.Of(ClassOf(rooms, "ns/shares-0", rooms.cluster()));
  EXPECT_TRUE(shares.shares);
  EXPECT_THAT(shares.charges, ElementsAre(0.13, 0.5));  // 500 / 4000, rounded up to hundredths
  const ClassPlan& whole = plans.Of(ClassOf(rooms, "ns/whole-0", rooms.cluster()));
  EXPECT_FALSE(whole.shares);
  EXPECT_THAT(whole.charges, IsEmpty());
}

TEST(NodeRoomTest, HoldsPodsNowOrAfterTerminatingPodsEnd) {
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 2})
                  .Releasing("ns/old", {.gpus = 1, .node = "n"})
                  .Pending("ns/one", {.gpus = 1})
                  .Pending("ns/two", {.gpus = 2})
                  .Build());
  const NodeRoom room(rooms.cluster(), {});
  const auto holds = [&](std::string_view pod, Room when) {
    const PodClassId pods = ClassOf(rooms, pod, rooms.cluster());
    return room.Holds(pods, rooms.search().plans().Of(pods), rooms.Node("n"), when);
  };
  EXPECT_TRUE(holds("ns/one-0", Room::kNow));
  EXPECT_FALSE(holds("ns/two-0", Room::kNow));
  EXPECT_TRUE(holds("ns/two-0", Room::kLater));
  rooms.Place("ns/one-0", "n");
  EXPECT_FALSE(holds("ns/two-0", Room::kLater));
}

}  // namespace
}  // namespace kai::class_plans_test
