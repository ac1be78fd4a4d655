#include "kai/placement/group_part.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::group_part_test {
namespace {

// Two gangs of three pods.
class GroupPartTest : public testing::Test {
 protected:
  PodId Pod(std::string_view name) const { return PodNamed(*cluster_, name); }
  PodGroupId Group(std::string_view name) const { return PodGroupNamed(*cluster_, name); }
  int32_t MinimumOf(std::string_view group) const {
    return part_.MinimumOf(PodSetNamed(*cluster_, group, "default"));
  }

  std::unique_ptr<Cluster> cluster_ = MakeCluster()
                                          .Pending("ns/g", {.pods = 3, .min_member = 3})
                                          .Pending("ns/h", {.pods = 3, .min_member = 3})
                                          .Build();
  PlacingOrder placing_{*cluster_, {}};
  GroupPart part_{placing_};
};

TEST_F(GroupPartTest, WithoutAPartThePlacingOrderApplies) {
  EXPECT_FALSE(part_.group().valid());
  EXPECT_FALSE(part_.HoldsBack(Pod("ns/g-0")));
  EXPECT_EQ(MinimumOf("ns/g"), 3);
}

TEST_F(GroupPartTest, APartHoldsOtherPodsBackAndLowersTheMinimum) {
  part_.Narrow(Group("ns/g"), std::vector{Pod("ns/g-1")});
  EXPECT_FALSE(part_.HoldsBack(Pod("ns/g-1")));
  EXPECT_TRUE(part_.HoldsBack(Pod("ns/g-0")));
  EXPECT_EQ(MinimumOf("ns/g"), 1);
  EXPECT_FALSE(part_.HoldsBack(Pod("ns/h-0")));
  EXPECT_EQ(MinimumOf("ns/h"), 3);
  EXPECT_EQ(placing_.minima()[PodSetNamed(*cluster_, "ns/g", "default")], 3)
      << "the placing order does not change";
}

TEST_F(GroupPartTest, BetweenPartsAllPodsAreHeldBackAndAfterForgetNone) {
  part_.Narrow(Group("ns/g"), std::vector{Pod("ns/g-1")});
  part_.Widen();
  EXPECT_TRUE(part_.HoldsBack(Pod("ns/g-1")));
  EXPECT_EQ(MinimumOf("ns/g"), 3);
  part_.Narrow(Group("ns/g"), std::vector{Pod("ns/g-0"), Pod("ns/g-2")});
  EXPECT_EQ(MinimumOf("ns/g"), 2);
  part_.Forget();
  EXPECT_FALSE(part_.group().valid());
  EXPECT_FALSE(part_.HoldsBack(Pod("ns/g-1")));
  EXPECT_EQ(MinimumOf("ns/g"), 3);
}

TEST_F(GroupPartTest, APartOfAnotherGroupReplacesIt) {
  part_.Narrow(Group("ns/g"), std::vector{Pod("ns/g-1")});
  part_.Narrow(Group("ns/h"), std::vector{Pod("ns/h-0")});
  EXPECT_FALSE(part_.HoldsBack(Pod("ns/g-0")));
  EXPECT_EQ(MinimumOf("ns/g"), 3);
  EXPECT_TRUE(part_.HoldsBack(Pod("ns/h-1")));
  EXPECT_EQ(MinimumOf("ns/h"), 1);
}

}  // namespace
}  // namespace kai::group_part_test
