#include "kai/placement/room_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace kai::room_tree_test {
namespace {

constexpr size_t kWidth = 4;

struct Filed {
  RoomTree::Item item;
  std::vector<double> row;
};

// A simple reference: all items, in order.
class Plain {
 public:
  void Insert(const Filed& filed) { filed_.push_back(filed), Sort(); }
  Filed Take(size_t at) {
    Filed taken = filed_[at];
    filed_.erase(filed_.begin() + static_cast<ptrdiff_t>(at));
    return taken;
  }
  Filed& operator[](size_t at) { return filed_[at]; }
  size_t size() const { return filed_.size(); }
  const std::vector<Filed>& all() const { return filed_; }

  int32_t FirstCovering(const RoomTree::Query& query, RoomTree::Test passes) const {
    for (const auto& [item, row] : filed_) {
      if ((item.bits & query.bits) == 0) continue;
      if (query.after != nullptr && item.key <= *query.after) continue;
      bool covers = true;
      for (size_t i = 0; i < query.wanted.size(); ++i) covers = covers && row[i] >= query.wanted[i];
      if (covers && passes(item.place)) return item.place;
    }
    return -1;
  }
  int32_t FirstAfter(double key) const {
    for (const auto& [item, row] : filed_) {
      if (item.key > key) return item.place;
    }
    return -1;
  }

 private:
  void Sort() {
    std::ranges::sort(
        filed_, [](const Filed& a, const Filed& b) { return RoomTree::IsBefore(a.item, b.item); });
  }
  std::vector<Filed> filed_;
};

int32_t PlaceOf(const RoomTree::Item* item) { return item == nullptr ? -1 : item->place; }

class RoomTreeTest : public testing::TestWithParam<int> {
 protected:
  RoomTreeTest() : random_(static_cast<unsigned>(GetParam())) {}

  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  Filed Some(int32_t place) {
    Filed filed{.item = {.key = static_cast<double>(Below(6) - 2),
                         .rank = place,
                         .place = place,
                         .bits = uint64_t{1} << Below(3)},
                .row = std::vector<double>(kWidth)};
    for (double& amount : filed.row) amount = Below(5) - 1;
    return filed;
  }

  // Queries of all kinds have the same results.
  void ExpectSame(const RoomTree& tree, const Plain& plain) {
    const std::vector<Filed>& all = plain.all();
    ASSERT_EQ(tree.empty(), all.empty());
    EXPECT_EQ(PlaceOf(tree.First()), all.empty() ? -1 : all.front().item.place);
    EXPECT_EQ(PlaceOf(tree.Last()), all.empty() ? -1 : all.back().item.place);
    for (int i = 0; i < 20; ++i) {
      std::vector<double> wanted(Below(2) == 0 ? kWidth : 2);
      for (double& amount : wanted) amount = Below(5) - 1;
      const double after = Below(7) - 3;
      const int32_t odd = Below(2);
      const auto passes = [&](int32_t place) { return place % 2 >= odd; };
      const RoomTree::Query query{.wanted = wanted,
                                  .bits = static_cast<uint64_t>(Below(8)),
                                  .after = Below(2) == 0 ? &after : nullptr};
      ASSERT_EQ(tree.FirstCovering(query, passes), plain.FirstCovering(query, passes));
      ASSERT_EQ(PlaceOf(tree.FirstAfter(after)), plain.FirstAfter(after));
    }
  }

  std::mt19937 random_;
};

TEST_P(RoomTreeTest, AgreesWithAScanOfAllItemsAfterAnyChanges) {
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  RoomTree tree(kWidth);
  Plain plain;
  const int most = 1 + Below(400);
  int32_t places = 0;
  if (Below(2) == 0) {
    for (; places < most / 2; ++places) plain.Insert(Some(places));
    std::vector<RoomTree::Item> items;
    for (const Filed& each : plain.all()) items.push_back(each.item);
    tree.Build(items, [&](int32_t place, std::span<double> row) {
      const auto filed =
          std::ranges::find(plain.all(), place, [](const Filed& each) { return each.item.place; });
      std::ranges::copy(filed->row, row.begin());
    });
    ExpectSame(tree, plain);
  }
  // First more items are added than removed, then all are removed.
  for (int step = 0; step < 3 * most; ++step) {
    const int what = Below(4);
    const bool grows = step < most;
    if (plain.size() == 0 ? grows : what < (grows ? 2 : 0)) {
      const Filed filed = Some(places++);
      plain.Insert(filed);
      tree.Insert(filed.item, filed.row);
    } else if (plain.size() > 0) {
      const auto at = static_cast<size_t>(Below(static_cast<int>(plain.size())));
      if (what == 2) {
        Filed& filed = plain[at];
        filed.row = Some(0).row;
        filed.item.bits = uint64_t{1} << Below(3);
        tree.Update(filed.item, filed.row);
      } else {
        tree.Erase(plain.Take(at).item);
      }
    }
    if (step % 16 == 0) ExpectSame(tree, plain);
  }
  while (plain.size() > 0)
    tree.Erase(plain.Take(static_cast<size_t>(Below(static_cast<int>(plain.size())))).item);
  ExpectSame(tree, plain);
}

INSTANTIATE_TEST_SUITE_P(All, RoomTreeTest, testing::Range(0, 60));

TEST(RoomTreeOrderTest, EqualKeysAreOrderedByRank) {
  RoomTree tree(2);
  const std::vector<double> row = {1, 1};
  for (const int32_t rank : {3, 1, 2})
    tree.Insert({.key = 7, .rank = rank, .place = 10 * rank, .bits = 1}, row);
  EXPECT_EQ(tree.FirstCovering({.wanted = row, .bits = 1}, [](int32_t) { return true; }), 10);
  EXPECT_EQ(tree.Last()->place, 30);
}

}  // namespace
}  // namespace kai::room_tree_test
