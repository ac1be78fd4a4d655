#include "kai/placement/ordered_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kai/placement/rooms_for_test.h"

namespace kai::ordered_nodes_test {
namespace {

using ::testing::ElementsAre;

// Nodes with 1, 2 and 3 idle GPUs.
class OrderedNodesTest : public testing::Test {
 protected:
  std::vector<NodeId> Visited(const OrderedNodes& nodes) const {
    std::vector<NodeId> visited;
    nodes.ForEach([&](NodeId node) { visited.push_back(node); });
    return visited;
  }

  Rooms rooms_{MakeCluster()
                   .Node("n1", {.gpus = 1})
                   .Node("n2", {.gpus = 2})
                   .Node("n3", {.gpus = 3})
                   .Pending("ns/p", {.gpus = 3})
                   .Build()};
  NodeId n1_ = rooms_.Node("n1");
  NodeId n3_ = rooms_.Node("n3");
};

TEST_F(OrderedNodesTest, AnIndexIsBuiltAfterAFewSearches) {
  OrderedNodes nodes(rooms_.cluster(), {});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(nodes.IndexFor(false), nullptr);
  EXPECT_EQ(nodes.CountKeys(), 0);
  EXPECT_NE(nodes.IndexFor(false), nullptr);
  EXPECT_EQ(nodes.CountKeys(), 3) << "of the GPU index; there is no CPU index";
  EXPECT_EQ(nodes.IndexFor(true), nullptr);
}

TEST_F(OrderedNodesTest, ExtremesAreTheSameWithAndWithoutAnIndex) {
  OrderedNodes plain(rooms_.cluster(), {});
  OrderedNodes indexed(rooms_.cluster(), {});
  for (int i = 0; i < 5; ++i) indexed.IndexFor(false);
  const auto expect = [&](double least, double most) {
    for (OrderedNodes* nodes : {&plain, &indexed}) {
      EXPECT_EQ(nodes->ExtremesFor(false).least_room, least);
      EXPECT_EQ(nodes->ExtremesFor(false).most_room, most);
    }
  };
  expect(1, 3);
  rooms_.Place("ns/p-0", "n3");
  indexed.Touch(n3_);
  expect(0, 2);
  rooms_.statement().RollBackTo(0);
  indexed.Touch(n3_);
  expect(1, 3);
}

TEST_F(OrderedNodesTest, OtherNodesDoNotMatter) {
  OrderedNodes some(rooms_.cluster(), {}, {{.node = n3_, .band = 0}, {.node = n1_, .band = 1}});
  EXPECT_THAT(Visited(some), ElementsAre(n3_, n1_));
  rooms_.Place("ns/p-0", "n3");
  EXPECT_EQ(some.ExtremesFor(false).least_room, 0);
  EXPECT_EQ(some.ExtremesFor(false).most_room, 1);
  OrderedNodes all(rooms_.cluster(), {});
  EXPECT_EQ(all.members(), nullptr);
  EXPECT_EQ(Visited(all).size(), 3U);
}

}  // namespace
}  // namespace kai::ordered_nodes_test
