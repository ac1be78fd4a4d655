#include "kai/base/id.h"

#include <gtest/gtest.h>

#include <set>
#include <type_traits>

#include "absl/container/flat_hash_set.h"

namespace kai::id_test {
namespace {

using NodeId = Id<struct NodeTag>;
using PodId = Id<struct PodTag>;

template <typename A, typename B>
concept Comparable = requires(A a, B b) { a == b; };

TEST(IdTest, IsInvalidWithoutARow) {
  EXPECT_FALSE(NodeId().valid());
  EXPECT_TRUE(NodeId(0).valid());
  EXPECT_EQ(NodeId(size_t{7}).value(), 7);
  EXPECT_EQ(NodeId(7).index(), size_t{7});
}

TEST(IdTest, IsNotConvertibleToAnIdOfAnotherKind) {
  static_assert(Comparable<NodeId, NodeId>);
  static_assert(!Comparable<NodeId, PodId>);
  static_assert(!std::is_convertible_v<int, NodeId>);
  static_assert(!std::is_convertible_v<NodeId, PodId>);
  static_assert(sizeof(NodeId) == 4);
}

TEST(IdTest, ComparesAndHashesByValue) {
  EXPECT_EQ(NodeId(3), NodeId(3));
  EXPECT_LT(NodeId(), NodeId(0));
  const absl::flat_hash_set<NodeId> hashed = {NodeId(1), NodeId(2), NodeId(1)};
  EXPECT_EQ(hashed.size(), size_t{2});
  EXPECT_EQ(*std::set<NodeId>({NodeId(2), NodeId(1)}).begin(), NodeId(1));
}

}  // namespace
}  // namespace kai::id_test
