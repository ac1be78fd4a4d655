#include "kai/model/rows/compact_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::compact_rows_test {
namespace {

PodRow Row(int number) {
  PodRow row;
  row.namespace_name = "ns";
  row.name = StrCat("p-", number);
  row.labels = {{"app", "web"}};
  row.requests = {{"cpu", 1000}};
  return row;
}

TEST(CompactPodTest, ExpandsToItsRow) {
  RowParts parts;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (const PodRow& row : MakeRandomCluster(seed).pods) {
      EXPECT_TRUE(parts.Compact(row).Row() == row) << seed << row.name;
    }
    for (const PodGroupRow& row : MakeRandomCluster(seed).pod_groups) {
      EXPECT_TRUE(parts.Compact(PodGroupRow(row)).Row() == row) << seed << row.name;
    }
  }
}

TEST(CompactPodTest, EqualsTheCompactFormOfAnEqualRow) {
  RowParts parts, others;
  const CompactPod pod = parts.Compact(Row(1));
  EXPECT_EQ(pod.spec->requests[0].second, 1000);
  EXPECT_TRUE(pod == parts.Compact(Row(1)));
  EXPECT_TRUE(pod == others.Compact(Row(1))) << "with parts of another RowParts";
  const auto is_other = [&](const auto& change) {
    PodRow row = Row(1);
    change(&row);
    return !(pod == parts.Compact(row)) && !(pod == others.Compact(row));
  };
  EXPECT_TRUE(is_other([](PodRow* row) { row->node_name = "n"; }));
  EXPECT_TRUE(is_other([](PodRow* row) { row->labels.clear(); }));
  EXPECT_TRUE(is_other([](PodRow* row) { row->requests[0].second = 2; }));
  EXPECT_TRUE(is_other([](PodRow* row) { row->preferred_nodes.emplace_back(); }))
      << "not part of the hash";
  EXPECT_TRUE(is_other([](PodRow* row) { row->gpu_groups = {"g"}; }));
}

TEST(CompactPodTest, StoresEqualPartsOnce) {
  RowParts parts;
  const CompactPod a = parts.Compact(Row(1));
  const CompactPod b = parts.Compact(Row(2));
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.spec, b.spec);
  EXPECT_EQ(a.extras, b.extras);
}

TEST(SharedValuesTest, ReleasesUnusedValues) {
  SharedValues<StringPairs> values;
  const auto kept = values.Share({{"kept", "1"}});
  for (int i = 0; i < 100'000; ++i) values.Share({{"passing", StrCat(i)}});
  EXPECT_LT(values.size(), 2000);
  EXPECT_EQ(values.Share({{"kept", "1"}}), kept);
  std::vector<SharedValues<StringPairs>::Pointer> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(values.Share({{"many", StrCat(i)}}));
  EXPECT_GE(values.size(), 10'000);
  many.clear();
  for (int i = 0; i < 50'000; ++i) values.Share({{"passing", StrCat(i)}});
  EXPECT_LT(values.size(), 2000);
}

}  // namespace
}  // namespace kai::compact_rows_test
