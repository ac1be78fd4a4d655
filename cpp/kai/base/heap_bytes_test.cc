#include "kai/base/heap_bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kai/base/id.h"
#include "kai/base/index_vector.h"
#include "kai/base/interned.h"
#include "kai/base/interner.h"
#include "kai/base/memory_report.h"
#include "kai/base/sparse_table.h"

namespace kai::heap_bytes_test {
namespace {

const std::string kLong(100, 'x');
constexpr size_t kLongBytes = 112;

struct Row {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<std::string> parent;
  std::shared_ptr<const std::string> shared;
  int64_t amount = 0;
};

TEST(HeapBytesTest, CountsTheBlocksOfTheAllocator) {
  EXPECT_EQ(HeapBytes(std::string("short")), 0);
  EXPECT_EQ(HeapBytes(std::string(100, 'x')), kLongBytes);
  EXPECT_EQ(HeapBytes(std::vector<int64_t>(4)), 48);
  EXPECT_EQ(HeapBytes(std::vector<int64_t>()), 0);
  EXPECT_EQ(HeapBytes(std::make_unique<int64_t>(1)), 32) << "the smallest block";
  EXPECT_EQ(HeapBytes(std::array<std::string, 2>{kLong, ""}), kLongBytes);
}

TEST(HeapBytesTest, CountsTheMembersOfPlainStructs) {
  Row row;
  EXPECT_EQ(HeapBytes(row), 0);
  row.name = kLong;
  row.labels.reserve(1);
  row.labels.emplace_back("key", kLong);
  row.parent = kLong;
  row.shared = std::make_shared<const std::string>(kLong);
  EXPECT_EQ(HeapBytes(row), 3 * kLongBytes + BlockBytes(2 * sizeof(std::string)));
  EXPECT_EQ(HeapBytesOfAll(row, row), 2 * HeapBytes(row));
}

TEST(HeapBytesTest, CountsTheCapacityOfTables) {
  absl::flat_hash_map<std::string, int64_t> table;
  EXPECT_EQ(HeapBytes(table), 0);
  table.reserve(1000);
  const size_t empty = HeapBytes(table);
  EXPECT_GT(empty, 1000 * sizeof(std::pair<const std::string, int64_t>));
  table[kLong] = 1;
  EXPECT_EQ(HeapBytes(table), empty + kLongBytes);
}

TEST(HeapBytesTest, CountsTheContainersOfThisProject) {
  using TestId = Id<struct TestTag>;
  IndexVector<TestId, std::string> texts;
  texts.Reserve(2);
  texts.Add(kLong);
  EXPECT_EQ(HeapBytes(texts), kLongBytes + BlockBytes(2 * sizeof(std::string)));
  Interned<TestId, std::string> interned;
  interned.Add(kLong);
  EXPECT_GT(HeapBytes(interned), kLongBytes + sizeof(std::string));
  Interner names;
  const size_t before = HeapBytes(names);
  for (int i = 0; i < 1000; ++i) names.Intern(kLong + std::to_string(i));
  EXPECT_GT(HeapBytes(names), before + 1000 * kLong.size());
}

TEST(SparseTableTest, ReleasesItsMemory) {
  absl::flat_hash_set<int> values_;
  for (int i = 0; i < 100'000; ++i) values_.insert(i);
  const size_t full = values_.capacity();
  for (int i = 0; i < 50'000; ++i) {
    values_.erase(i);
    ShrinkIfSparse(&values_);  // after something was erased
  }
  EXPECT_EQ(values_.capacity(), full) << "a third is in use, so the table keeps its room";
  for (int i = 50'000; i < 99'990; ++i) {
    values_.erase(i);
    ShrinkIfSparse(&values_);
  }
  EXPECT_LE(values_.capacity(), 1024);
  EXPECT_EQ(values_.size(), 10);
  EXPECT_TRUE(values_.contains(99'999));
}

TEST(MemoryReportTest, SumsItsColumns) {
  const size_t bytes = 1'000'000;
  MemoryReport report;
  report.Add("Pod", "texts", 40'000, bytes);
  report.Add("Pod", "index", 40'000, 17);
  report.Add("Pod", "rejections", 0, 0);
  EXPECT_EQ(report.columns.size(), 2) << "columns without bytes are left out";
  EXPECT_EQ(report.bytes(), 1'000'017);
}

}  // namespace
}  // namespace kai::heap_bytes_test
