// Tests the moves of spec 1 F60 one by one. Elements are written "key name" and compared by key
// only: where keys are equal, the layout decides, and it has to be the same as in KAI.
#include "kai/base/lazy_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace kai::lazy_heap_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool KeyLess(const std::string& a, const std::string& b) { return a[0] < b[0]; }

LazyHeap<std::string> Pushed(const std::vector<std::string>& items) {
  LazyHeap<std::string> heap;
  for (const std::string& item : items) heap.Push(item, KeyLess);
  return heap;
}

std::vector<std::string> Drained(LazyHeap<std::string> heap) {
  std::vector<std::string> order;
  while (!heap.empty()) order.push_back(heap.Pop(KeyLess));
  return order;
}

TEST(LazyHeapTest, PushAppendsAndSiftsUpWhileTheChildIsLess) {
  EXPECT_THAT(Pushed({"5", "3"}).items(), ElementsAre("3", "5"));
  EXPECT_THAT(Pushed({"5", "3", "8"}).items(), ElementsAre("3", "5", "8"));
  EXPECT_THAT(Pushed({"5", "3", "8", "1"}).items(), ElementsAre("1", "3", "8", "5"));
  EXPECT_THAT(Pushed({"5", "3", "8", "1", "2"}).items(), ElementsAre("1", "2", "8", "5", "3"));
}

TEST(LazyHeapTest, PopsItsElementsInTheOrderOfTheirKeys) {
  LazyHeap<std::string> heap;
  for (const char* item : {"5", "3", "8"}) heap.Push(item, KeyLess);
  EXPECT_EQ(heap.Top(), "3");
  heap.SiftDownTop(KeyLess);  // no key has changed
  EXPECT_EQ(heap.Pop(KeyLess), "3");
  heap.DropLast();
  EXPECT_THAT(heap.items(), ElementsAre("5"));
}

TEST(LazyHeapTest, PushLeavesANewElementBelowItsEquals) {
  EXPECT_THAT(Pushed({"1a", "1b", "1c", "1d"}).items(), ElementsAre("1a", "1b", "1c", "1d"));
}

TEST(LazyHeapTest, PopSwapsFirstAndLastThenSiftsDown) {
  LazyHeap<std::string> heap = Pushed({"5", "3", "8", "1"});  // 1 3 8 5
  EXPECT_EQ(heap.Pop(KeyLess), "1");
  EXPECT_THAT(heap.items(), ElementsAre("3", "5", "8"));
  EXPECT_EQ(heap.Pop(KeyLess), "3");
  EXPECT_THAT(heap.items(), ElementsAre("5", "8"));
}

TEST(LazyHeapTest, PopMovesTheLastOfEqualElementsToTheTop) {
  LazyHeap<std::string> heap = Pushed({"1a", "1b", "1c", "1d"});
  EXPECT_EQ(heap.Pop(KeyLess), "1a");
  EXPECT_THAT(heap.items(), ElementsAre("1d", "1b", "1c"));
  EXPECT_THAT(Drained(Pushed({"1a", "1b", "1c", "1d"})), ElementsAre("1a", "1d", "1c", "1b"));
}

TEST(LazyHeapTest, TheRightChildRisesOnlyWhenItIsLess) {
  LazyHeap<std::string> tie = Pushed({"1", "2a", "2b", "9"});
  tie.Pop(KeyLess);
  EXPECT_THAT(tie.items(), ElementsAre("2a", "9", "2b"));
  LazyHeap<std::string> less = Pushed({"1", "3", "2", "9"});
  less.Pop(KeyLess);
  EXPECT_THAT(less.items(), ElementsAre("2", "3", "9"));
}

TEST(LazyHeapTest, SiftDownTopMovesTheTopOnlyIfItBecameLarger) {
  LazyHeap<std::string> heap = Pushed({"1a", "2b", "2c", "4d"});
  const auto changed = [](const std::string& a, const std::string& b) {
    const auto key = [](const std::string& item) { return item == "1a" ? '3' : item[0]; };
    return key(a) < key(b);
  };
  heap.SiftDownTop(changed);
  EXPECT_THAT(heap.items(), ElementsAre("2b", "1a", "2c", "4d"));
  heap.SiftDownTop(changed);
  EXPECT_THAT(heap.items(), ElementsAre("2b", "1a", "2c", "4d"));
}

TEST(LazyHeapTest, AKeyThatShrinksBelowTheTopDoesNotMoveItsElement) {
  LazyHeap<std::string> heap = Pushed({"1a", "2b", "3c"});
  const auto changed = [](const std::string& a, const std::string& b) {
    const auto key = [](const std::string& item) { return item == "3c" ? '0' : item[0]; };
    return key(a) < key(b);
  };
  EXPECT_EQ(heap.Top(), "1a");
  EXPECT_EQ(heap.Pop(changed), "1a");
  EXPECT_EQ(heap.Top(), "3c");
}

TEST(LazyHeapTest, TheDepthCapDropsTheElementInTheLastSlot) {  // spec 2 W9
  LazyHeap<std::string> heap = Pushed({"2", "3"});
  heap.Push("1", KeyLess);
  heap.DropLast();
  EXPECT_THAT(heap.items(), ElementsAre("1", "3"));
}

TEST(LazyHeapTest, PoppingTheLastElementEmptiesTheHeap) {
  LazyHeap<std::string> heap = Pushed({"1"});
  EXPECT_EQ(heap.size(), size_t{1});
  EXPECT_EQ(heap.Pop(KeyLess), "1");
  EXPECT_TRUE(heap.empty());
  EXPECT_THAT(heap.items(), IsEmpty());
}

TEST(LazyHeapTest, WorksWithoutAStrictOrder) {
  // "Right first" in both directions (spec 1 F71): no element is ever less, so none moves.
  const auto never = [](const std::string&, const std::string&) { return false; };
  LazyHeap<std::string> heap;
  for (const char* item : {"3", "2", "1"}) heap.Push(item, never);
  EXPECT_EQ(heap.Pop(never), "3");
  EXPECT_EQ(heap.Pop(never), "1");
  // "Left first" in both directions: every element moves.
  const auto always = [](const std::string&, const std::string&) { return true; };
  for (const char* item : {"x", "y"}) heap.Push(item, always);
  EXPECT_THAT(heap.items(), ElementsAre("y", "2", "x"));
}

TEST(LazyHeapTest, SortsWithAStrictOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    LazyHeap<uint32_t> heap;
    std::vector<uint32_t> items;
    for (int i = 0; i < round; ++i) {
      items.push_back(random() % 100);
      heap.Push(items.back(), std::less<>());
    }
    std::sort(items.begin(), items.end());
    std::vector<uint32_t> popped;
    while (!heap.empty()) popped.push_back(heap.Pop(std::less<>()));
    EXPECT_EQ(popped, items);
  }
}

}  // namespace
}  // namespace kai::lazy_heap_test
