#include "kai/placement/room_count.h"

#include <gtest/gtest.h>

#include <vector>

#include "kai/placement/rooms_for_test.h"

namespace kai::room_count_test {
namespace {

TEST(RoomCountTest, TheScarcestResourceLimitsTheNumberOfPods) {
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 8, .millicpu = 3000})
                  .Pending("ns/p", {.pods = 4, .gpus = 2, .millicpu = 1000})
                  .Pending("ns/q", {.pods = 3, .gpus = 4, .millicpu = 500})
                  .Build());
  const Cluster& cluster = rooms.cluster();
  ClassPlans& plans = rooms.search().plans();
  const auto fit = [&](const char* pod) {
    return PodsThatFit(&plans, cluster, cluster.pods().pod_class[rooms.Pod(pod)], rooms.Node("n"));
  };
  EXPECT_EQ(fit("ns/p-0"), 3);
  EXPECT_EQ(fit("ns/q-0"), 2);
  const auto may_hold = [&](const std::vector<const char*>& names) {
    std::vector<PodId> pods;
    for (const char* name : names) pods.push_back(rooms.Pod(name));
    return RoomCount(cluster, &plans, &rooms.search().touched()).MayHold(pods);
  };
  EXPECT_TRUE(may_hold({"ns/p-0", "ns/p-1", "ns/p-2"}));
  EXPECT_FALSE(may_hold({"ns/p-0", "ns/p-1", "ns/p-2", "ns/p-3"}));
  EXPECT_FALSE(may_hold({"ns/q-0", "ns/q-1", "ns/q-2"}));
  EXPECT_TRUE(may_hold({"ns/p-0", "ns/p-1", "ns/q-0", "ns/q-1"}))
      << "each kind is counted on its own";
}

TEST(RoomCountTest, PodsThatDifferOnlyInTheNodeNominatedForThemAreCountedTogether) {
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 1})
                  .Pending("ns/p", {.gpus = 1})
                  .Pending("ns/nominated", {.gpus = 1, .nominated_node = "n"})
                  .Build());
  RoomCount room(rooms.cluster(), &rooms.search().plans(), &rooms.search().touched());
  const std::vector<PodId> pods = {rooms.Pod("ns/p-0"), rooms.Pod("ns/nominated-0")};
  EXPECT_TRUE(room.MayHold({pods.data(), 1}));
  EXPECT_FALSE(room.MayHold(pods));
}

TEST(RoomCountTest, RoundingOfPartsOfDevicesRefusesNoPods) {
  Rooms rooms(MakeCluster().Node("n", {.gpus = 1}).Pending("ns/cpu").Build());
  const Cluster& cluster = rooms.cluster();
  std::vector<double> room(cluster.slots().size());
  FillRoom(cluster, rooms.Node("n"), room);
  const auto fit_with = [&](double gpus) {
    room[kGpuSlot.index()] = gpus;
    return PodsThatFit(&rooms.search().plans(), cluster,
                       cluster.pods().pod_class[rooms.Pod("ns/cpu-0")], rooms.Node("n"), room);
  };
  // The node is one GPU in debt, and three leaving pods give back a third of a GPU each.
  const double balance = -1 + 1.0 / 3 + 1.0 / 3 + 1.0 / 3;
  ASSERT_LT(balance, 0);
  EXPECT_EQ(fit_with(balance), fit_with(0));
  EXPECT_EQ(fit_with(-1.0 / 3), 0) << "the node is in debt";
}

}  // namespace
}  // namespace kai::room_count_test
