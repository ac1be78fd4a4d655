#include "kai/placement/domain_rooms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/placement/rooms_for_test.h"

namespace kai::domain_rooms_test {
namespace {

TEST(DomainRoomsTest, FollowTheTouchedNodes) {
  TopologyRow topology{.name = "t", .levels = {{.node_label = "rack", .alias = ""}}};
  const auto cluster = MakeCluster()
                           .Add(std::move(topology))
                           .Node("a", {.gpus = 8, .labels = {{"rack", "r"}}})
                           .Node("b", {.gpus = 3, .labels = {{"rack", "r"}}})
                           .Pending("ns/p", {.gpus = 2})
                           .Build();
  const TopologyId id(0);
  const DomainTree& tree = cluster->topologies()[id];
  const PodId pod = PodNamed(*cluster, "ns/p-0");
  const NodeId node = NodeNamed(*cluster, "b");
  const TopologyDomainId rack = tree.DomainOf(node);
  const std::span<const double> largest = cluster->RequestOf(pod);
  std::vector<NodeId> touched;
  DomainRooms rooms(*cluster, tree, cluster->domain_totals(id), &touched, 0);
  EXPECT_EQ(rooms.FreeOf(rack)[kGpuSlot.index()], 11);
  EXPECT_EQ(rooms.CountsFor(largest)[rack], 5) << "4 and 1";
  const auto statement = Statement::Open(cluster.get(), {});
  statement->Place(pod, node);
  touched.push_back(node);
  EXPECT_EQ(rooms.FreeOf(rack)[kGpuSlot.index()], 9);
  EXPECT_EQ(rooms.CountsFor(largest)[rack], 4);
  statement->RollBackTo(0);
  touched.push_back(node);
  EXPECT_EQ(rooms.FreeOf(rack)[kGpuSlot.index()], 11);
  EXPECT_EQ(rooms.CountsFor(largest)[rack], 5);
}

}  // namespace
}  // namespace kai::domain_rooms_test
