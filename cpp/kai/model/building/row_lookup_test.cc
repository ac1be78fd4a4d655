#include "kai/model/building/row_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kai::row_lookup_test {
namespace {

TEST(SortByNameTest, SortsByNamespaceThenName) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<PodGroupRow> rows(random() % 50);
    for (PodGroupRow& row : rows) {
      row.namespace_name = std::vector{"a", "a-b", "", "a/b"}[random() % 4];
      row.name = "job-";
      for (uint64_t size = random() % 20; size > 0; --size) row.name += "12\xc3"[random() % 3];
    }
    std::vector<const PodGroupRow*> sorted = PointersTo(rows);
    SortByName(&sorted);
    EXPECT_TRUE(std::is_sorted(
        sorted.begin(), sorted.end(), [](const PodGroupRow* a, const PodGroupRow* b) {
          return std::pair(a->namespace_name, a->name) < std::pair(b->namespace_name, b->name);
        }));
    std::vector<const PodGroupRow*> all = PointersTo(rows);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, all);
  }
}

}  // namespace
}  // namespace kai::row_lookup_test
