#include "kai/placement/node_states.h"

#include <gtest/gtest.h>

#include "kai/placement/rooms_for_test.h"

namespace kai::node_states_test {
namespace {

TEST(NodeStatesTest, NodesOfOneClassWithTheSameRoomAreAlike) {
  Rooms rooms(MakeCluster()
                  .Node("a", {.gpus = 4})
                  .Node("b", {.gpus = 4})
                  .Node("c", {.gpus = 8})
                  .Node("d", {.gpus = 4, .cordoned = true})
                  .Pending("ns/p", {.gpus = 1})
                  .Build());
  NodeStates states(rooms.cluster(), &rooms.search().touched());
  states.Refresh();
  EXPECT_EQ(states.Of(rooms.Node("a")), states.Of(rooms.Node("b")));
  EXPECT_NE(states.Of(rooms.Node("a")), states.Of(rooms.Node("c")));
  EXPECT_NE(states.Of(rooms.Node("a")), states.Of(rooms.Node("d")));
  EXPECT_EQ(states.size(), 3);
}

TEST(NodeStatesTest, ANewPodDistinguishesItsNode) {
  Rooms rooms(MakeCluster()
                  .Node("a", {.gpus = 4})
                  .Node("b", {.gpus = 4})
                  .Pending("ns/p", {.pods = 2, .gpus = 1})
                  .Build());
  NodeStates states(rooms.cluster(), &rooms.search().touched());
  states.Refresh();
  rooms.Place("ns/p-0", "a");
  states.Refresh();
  EXPECT_NE(states.Of(rooms.Node("a")), states.Of(rooms.Node("b")));
  rooms.Place("ns/p-1", "b");
  states.Refresh();
  EXPECT_EQ(states.Of(rooms.Node("a")), states.Of(rooms.Node("b")));
}

}  // namespace
}  // namespace kai::node_states_test
