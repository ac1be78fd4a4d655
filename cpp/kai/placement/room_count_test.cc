#include "kai/placement/room_count.h"

#include <gtest/gtest.h>

#include <vector>

#include "kai/placement/rooms_for_test.h"

namespace kai::room_count_test {
namespace {

TEST(RoomCountTest, TheScarcestResourceSaysHowManyPodsFit) {
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 8, .millicpu = 3000})
                  .Pending("ns/p", {.pods = 4, .gpus = 2, .millicpu = 1000})
                  .Pending("ns/q", {.gpus = 4, .millicpu = 500})
                  .Build());
  const Cluster& cluster = rooms.cluster();
  ClassPlans& plans = rooms.search().plans();
  const auto fit = [&](const char* pod) {
    return PodsThatFit(&plans, cluster, cluster.pods().pod_class[rooms.Pod(pod)], rooms.Node("n"));
  };
  EXPECT_EQ(fit("ns/p-0"), 3);
  EXPECT_EQ(fit("ns/q-0"), 2);
  RoomCount count(cluster, &plans);
  std::vector<PodId> pods = {rooms.Pod("ns/p-0"), rooms.Pod("ns/p-1"), rooms.Pod("ns/p-2")};
  EXPECT_TRUE(count.MayHold(pods));
  pods.push_back(rooms.Pod("ns/p-3"));
  EXPECT_FALSE(count.MayHold(pods));
}

}  // namespace
}  // namespace kai::room_count_test
