#include "kai/ingest/kinds.h"

#include <gtest/gtest.h>

namespace kai::kinds_test {
namespace {

TEST(KindsTest, TheTableListsKindsInTheOrderOfTheEnum) {
  size_t place = 0;
  AnyKind([&](const auto& each) {
    EXPECT_EQ(static_cast<size_t>(each.kind), place++);
    EXPECT_EQ(KindNamed(each.name), each.kind);
    EXPECT_EQ(NameOf(each.kind), each.name);
    return false;
  });
  EXPECT_EQ(KindNamed("Deployment"), std::nullopt);
}

}  // namespace
}  // namespace kai::kinds_test
