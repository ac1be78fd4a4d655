#include "kai/ingest/field_managers.h"

#include <gtest/gtest.h>

#include "kai/base/text.h"
#include "kai/ingest/json_document.h"

namespace kai::field_managers_test {
namespace {

bool Owns(std::string_view managed_fields) {
  const std::string json =
      StrCat(R"({"metadata":{"name":"p","managedFields":)", managed_fields, R"(},"status":{}})");
  JsonDocument document;
  return OwnsStatusField(document.Parse(json).value(), "kai-sched", "nominatedNodeName");
}

TEST(FieldManagersTest, TheManagerThatWroteTheFieldOwnsIt) {
  EXPECT_TRUE(Owns(R"([{"manager":"kubelet","fieldsV1":{"f:status":{"f:phase":{}}}},
                       {"fieldsV1":{"f:status":{"f:nominatedNodeName":{}}},"manager":"kai-sched"}])"));
}

TEST(FieldManagersTest, AnotherManagerOrAnotherFieldDoesNotMatch) {
  EXPECT_FALSE(Owns("[]"));
  EXPECT_FALSE(Owns(R"([{"manager":"autoscaler",
                         "fieldsV1":{"f:status":{"f:nominatedNodeName":{}}}}])"));
  EXPECT_FALSE(Owns(R"([{"manager":"kai-sched","fieldsV1":{"f:status":{"f:conditions":{}}}}])"));
  EXPECT_FALSE(Owns(R"([{"manager":"kai-sched",
                         "fieldsV1":{"f:spec":{"f:nominatedNodeName":{}}}}])"));
}

TEST(FieldManagersTest, InvalidManagedFieldsDoNotMatch) {
  EXPECT_FALSE(Owns("null"));
  EXPECT_FALSE(Owns(R"({"manager":"kai-sched"})"));
  EXPECT_FALSE(Owns(R"([7,{"manager":7,"fieldsV1":[]}])"));
}

}  // namespace
}  // namespace kai::field_managers_test
