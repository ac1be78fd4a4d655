#include "kai/placement/touched_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace kai::touched_nodes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kNodes = 3;

TEST(TouchedNodesTest, ListsTheNodesTouchedSinceAVersion) {
  TouchedNodes touched;
  const TouchedNodes::Version start = touched.version();
  EXPECT_THAT(*touched.Since(start, kNodes), IsEmpty());
  touched.Touch(NodeId(2));
  const TouchedNodes::Version later = touched.version();
  touched.Touch(NodeId());
  touched.Touch(NodeId(1));
  EXPECT_THAT(*touched.Since(start, kNodes), ElementsAre(NodeId(2), NodeId(), NodeId(1)));
  EXPECT_THAT(*touched.Since(later, kNodes), ElementsAre(NodeId(), NodeId(1)));
  EXPECT_EQ(touched.last(), NodeId(1));
}

TEST(TouchedNodesTest, WithMoreTouchesThanNodesAllNodesAreListed) {
  TouchedNodes touched;
  const TouchedNodes::Version start = touched.version();
  for (int i = 0; i < 4; ++i) touched.Touch(NodeId(0));
  EXPECT_EQ(touched.Since(start, kNodes), std::nullopt);
  EXPECT_EQ(touched.Since(TouchedNodes::kNone, kNodes), std::nullopt) << "nothing was computed yet";
}

TEST(TouchedNodesTest, VisitsEachNodeOnce) {
  TouchedNodes touched;
  const TouchedNodes::Version start = touched.version();
  for (const size_t node : {1, 0, 1, 1}) touched.Touch(NodeId(node));
  touched.Touch(NodeId());
  for (int visit = 0; visit < 2; ++visit) {
    std::vector<NodeId> visited;
    EXPECT_TRUE(touched.VisitSince(start, 5, [&](NodeId node) { visited.push_back(node); }));
    EXPECT_THAT(visited, ElementsAre(NodeId(1), NodeId(0)));
  }
  EXPECT_FALSE(touched.VisitSince(start, kNodes, [](NodeId) { FAIL(); }));
}

TEST(TouchedNodesTest, DropsOldTouchesAndKeepsCounting) {
  TouchedNodes touched;
  const TouchedNodes::Version start = touched.version();
  for (size_t i = 0; i < 7; ++i) touched.Touch(NodeId(i));
  const TouchedNodes::Version version = touched.version();
  touched.Trim(kNodes);
  EXPECT_EQ(touched.version(), version);
  EXPECT_EQ(touched.Since(start, 100), std::nullopt);
  EXPECT_THAT(*touched.Since(version - 2, kNodes), ElementsAre(NodeId(5), NodeId(6)));
}

}  // namespace
}  // namespace kai::touched_nodes_test
