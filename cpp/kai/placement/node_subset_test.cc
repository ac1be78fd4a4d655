#include "kai/placement/node_subset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kai::node_subset_test {
namespace {

TEST(NodeSubsetTest, HoldsItsNodesAndNoOthers) {
  const NodeSubset some = NodeSubset::Of({NodeId(4), NodeId(2)});
  EXPECT_FALSE(some.all());
  EXPECT_THAT(some.nodes(), testing::ElementsAre(NodeId(2), NodeId(4)));
  EXPECT_TRUE(some.Holds(NodeId(2)));
  EXPECT_FALSE(some.Holds(NodeId(3)));
}

TEST(NodeSubsetTest, AllNodesNeedNoList) {
  EXPECT_TRUE(NodeSubset::All().Holds(NodeId(3)));
  const NodeSubset all = NodeSubset::All();
  EXPECT_TRUE(all.all());
  EXPECT_TRUE(all.nodes().empty());
  EXPECT_FALSE(NodeSubset::Of({}).Holds(NodeId(3))) << "an empty list is not all nodes";
}

}  // namespace
}  // namespace kai::node_subset_test
