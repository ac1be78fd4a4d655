#include "kai/ingest/priority_class_reader.h"

#include <gtest/gtest.h>

#include "kai/ingest/read_for_test.h"

namespace kai::priority_class_reader_test {
namespace {

TEST(PriorityClassReaderTest, ReadsAPriorityClass) {
  const PriorityClassRow row = ReadForTest(
      &ReadPriorityClass,
      R"({"metadata": {"name": "train"}, "value": 50, "globalDefault": true, "description": "x"})");
  EXPECT_EQ(row.name, "train");
  EXPECT_EQ(row.value, 50);
  EXPECT_TRUE(row.global_default);
}

TEST(PriorityClassReaderTest, NamesTheInvalidField) {
  EXPECT_EQ(Complaint(&ReadPriorityClass, R"({"metadata": {"name": "train"}, "value": "high"})"),
            "PriorityClass train: value: expected a whole number, found a string");
  EXPECT_EQ(
      Complaint(&ReadPriorityClass, R"({"metadata": {"name": "train"}, "value": 3000000000})"),
      "PriorityClass train: value: 3000000000 is out of range");
  EXPECT_EQ(Complaint(&ReadPriorityClass, R"({"value": 5})"),
            "PriorityClass : metadata.name: is missing");
}

}  // namespace
}  // namespace kai::priority_class_reader_test
