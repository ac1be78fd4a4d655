#include "kai/base/index_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/base/id.h"

namespace kai::index_vector_test {
namespace {

using ::testing::ElementsAre;

using NodeId = Id<struct NodeTag>;
using PodId = Id<struct PodTag>;

template <typename Vector, typename IdT>
concept Indexable = requires(Vector vector, IdT id) { vector[id]; };

TEST(IndexVectorTest, AcceptsOnlyIdsOfItsKind) {
  static_assert(Indexable<IndexVector<NodeId, double>, NodeId>);
  static_assert(!Indexable<IndexVector<NodeId, double>, PodId>);
  static_assert(!Indexable<IndexVector<NodeId, double>, int>);
}

TEST(IndexVectorTest, AddReturnsTheIdOfTheNewRow) {
  IndexVector<NodeId, std::string> names;
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(names.Add("n1"), NodeId(0));
  EXPECT_EQ(names.Add("n2"), NodeId(1));
  names[NodeId(0)] += "!";
  EXPECT_THAT(names.raw(), ElementsAre("n1!", "n2"));
  EXPECT_EQ(names.size(), size_t{2});
}

TEST(IndexVectorTest, ListsItsIdsInOrder) {
  const IndexVector<NodeId, double> scores(3, 9.0);
  std::vector<NodeId> seen;
  for (const NodeId node : scores.ids()) seen.push_back(node);
  EXPECT_THAT(seen, ElementsAre(NodeId(0), NodeId(1), NodeId(2)));
  EXPECT_EQ(scores.ids().size(), size_t{3});
  EXPECT_TRUE((IndexVector<NodeId, double>().ids().empty()));
}

TEST(IndexVectorTest, ResizeFillsTheRowsThatItAdds) {
  IndexVector<NodeId, int> counts(1, 5);
  counts.Resize(2, 7);
  counts.Resize(3);
  EXPECT_THAT(counts.raw(), ElementsAre(5, 7, 0));
}

TEST(IndexVectorTest, ComparesByRows) {
  IndexVector<NodeId, int> a(2, 1);
  IndexVector<NodeId, int> b(2, 1);
  EXPECT_EQ(a, b);
  b[NodeId(1)] = 2;
  EXPECT_NE(a, b);
}

#ifndef NDEBUG
TEST(IndexVectorDeathTest, AnIdWithoutARowEndsTheProgram) {
  IndexVector<NodeId, int> counts(2);
  EXPECT_DEATH(counts[NodeId(2)] = 1, "check failed");
  EXPECT_DEATH(counts[NodeId()] = 1, "check failed");
}
#endif

}  // namespace
}  // namespace kai::index_vector_test
