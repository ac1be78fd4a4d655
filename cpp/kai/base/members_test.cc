#include "kai/base/members.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kai::members_test {
namespace {

struct Inner {
  int32_t a = 1;
  std::optional<int64_t> b = {};
};
struct Plain {
  std::string text = "text";
  std::array<double, 3> numbers = {};
  std::optional<std::string> perhaps;
  Inner inner;
  std::vector<Inner> list;
  bool flag = false;
};
struct Nothing {};

TEST(MembersTest, MembersOfAnyTypeAreCounted) {
  static_assert(MemberCount<Plain>() == 6);
  static_assert(MemberCount<Inner>() == 2);
  static_assert(MemberCount<Nothing>() == 0);
}

TEST(MembersTest, EachMemberIsVisitedOnceInOrder) {
  const Plain plain;
  std::vector<size_t> sizes;
  std::vector<const void*> places;
  VisitMembers(plain, [&](const auto& member) {
    sizes.push_back(sizeof(member));
    places.push_back(&member);
  });
  EXPECT_EQ(sizes,
            (std::vector<size_t>{sizeof(std::string), sizeof(plain.numbers), sizeof(plain.perhaps),
                                 sizeof(Inner), sizeof(std::vector<Inner>), sizeof(bool)}));
  EXPECT_EQ(places, (std::vector<const void*>{&plain.text, &plain.numbers, &plain.perhaps,
                                              &plain.inner, &plain.list, &plain.flag}));
}

}  // namespace
}  // namespace kai::members_test
