#include "kai/ingest/named_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/ingest/read_for_test.h"

namespace kai::named_reader_test {
namespace {

TEST(NamedReaderTest, ReadsNamesAndNamespaceLabels) {
  const ConfigMapRow map =
      ReadForTest(&ReadConfigMap, R"({"metadata": {"namespace": "ns", "name": "c"}, "data": {}})");
  EXPECT_EQ(map.namespace_name, "ns");
  EXPECT_EQ(map.name, "c");
  const NamespaceRow space =
      ReadForTest(&ReadNamespace, R"({"metadata": {"name": "ns", "labels": {"team": "a"}}})");
  EXPECT_EQ(space.name, "ns");
  EXPECT_THAT(space.labels, testing::ElementsAre(testing::Pair("team", "a")));
}

TEST(NamedReaderTest, ReportsInvalidFields) {
  EXPECT_EQ(Complaint(&ReadConfigMap, R"({"metadata": {}})"),
            "ConfigMap : metadata.name: is missing");
  EXPECT_EQ(Complaint(&ReadNamespace, R"({"metadata": {"name": "n", "labels": 5}})"),
            "Namespace n: metadata.labels: expected an object, found a number");
}

}  // namespace
}  // namespace kai::named_reader_test
