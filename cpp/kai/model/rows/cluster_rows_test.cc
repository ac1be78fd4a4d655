#include "kai/model/rows/cluster_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kai/testing/makers/random_cluster.h"

namespace kai::cluster_rows_test {
namespace {

TEST(SwapNodeNamesTest, ObjectsOfANodeMoveWithIt) {
  ClusterRows rows;
  rows.nodes.resize(2);
  rows.nodes[0].name = "n1";
  rows.nodes[0].allocatable = {{"nvidia.com/gpu", 8}};
  rows.nodes[1].name = "n2";
  rows.pods.resize(2);
  rows.pods[0].node_name = "n1";
  rows.pods[1].avoided_nodes = {"n1", "n3"};
  rows.bind_requests.resize(1);
  rows.bind_requests[0].node = "n2";
  rows.SwapNodeNames("n1", "n2");
  EXPECT_EQ(rows.nodes[0].name, "n2");
  EXPECT_EQ(rows.nodes[0].allocatable.size(), 1) << "GPUs stay with the node";
  EXPECT_EQ(rows.nodes[1].name, "n1");
  EXPECT_EQ(rows.pods[0].node_name, "n2");
  EXPECT_EQ(rows.pods[1].avoided_nodes, (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(rows.bind_requests[0].node, "n1");
}

TEST(SwapNodeNamesTest, SwappingTwiceRestoresTheRows) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const ClusterRows before = MakeRandomCluster(seed);
    if (before.nodes.size() < 2) continue;
    ClusterRows rows = before;
    for (int time = 0; time < 2; ++time)
      rows.SwapNodeNames(before.nodes[0].name, before.nodes[1].name);
    EXPECT_TRUE(rows.nodes == before.nodes) << seed;
    EXPECT_TRUE(rows.pods == before.pods) << seed;
  }
}

}  // namespace
}  // namespace kai::cluster_rows_test
