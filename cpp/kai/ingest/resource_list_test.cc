#include "kai/ingest/resource_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "kai/base/text.h"
#include "kai/ingest/json_document.h"

namespace kai::resource_list_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Reads {"cpu": ...}; an error goes to `complaint`.
ResourceAmounts Read(std::string_view list, std::string* complaint = nullptr) {
  JsonDocument document;
  const std::string json = StrCat("{\"list\": ", list, "}");
  absl::StatusOr<JsonObject> object = document.Parse(json);
  ResourceAmounts amounts;
  const FieldStatus status = ForEachMember(*object, [&](std::string_view, JsonValue& value) {
    return ForEachResource(value, [&](ResourceKind, std::string_view name, int64_t amount) {
      SetAmount(&amounts, name, amount);
    });
  });
  if (complaint != nullptr) {
    *complaint = status.ok() ? "fine" : status.field() + ": " + status.message();
  }
  return amounts;
}

std::string Complain(std::string_view list) {
  std::string complaint;
  Read(list, &complaint);
  return complaint;
}

TEST(ResourceListTest, CountsEachResourceInItsOwnUnit) {  // spec 3 R5
  EXPECT_THAT(
      Read(
          R"({"cpu": "1500m", "memory": "2Ki", "ephemeral-storage": "1k", "storage": "1",
              "nvidia.com/gpu": "2",
              "amd.com/gpu": 1, "pods": "110",
                      "nvidia.com/mig-1g.5gb": "3", "example.com/fpga": "2", "hugepages-2Mi": "4Mi",
                          "attachable-volumes-csi": "5",
                      "kubernetes.io/batch-cpu": "1"})"),
      ElementsAre(Pair("cpu", 1500), Pair("memory", 2048), Pair("ephemeral-storage", 1000),
                  Pair("storage", 1), Pair("nvidia.com/gpu", 2), Pair("amd.com/gpu", 1),
                  Pair("pods", 110), Pair("nvidia.com/mig-1g.5gb", 3),
                  Pair("example.com/fpga", 2000), Pair("hugepages-2Mi", 4194304000),
                  Pair("attachable-volumes-csi", 5000), Pair("kubernetes.io/batch-cpu", 1000)));
}

TEST(ResourceListTest, SkipsOtherNamesWithoutReadingTheirValues) {
  EXPECT_THAT(Read(R"({"gpu": "not even a quantity", "requests.nvidia.com/gpu": {}, "": 1})"),
              ElementsAre());
}

TEST(ResourceListTest, AcceptsNumbersWithoutQuotes) {
  EXPECT_THAT(Read(R"({"cpu": 0.1, "memory": 1e3 , "nvidia.com/gpu": 8})"),
              ElementsAre(Pair("cpu", 100), Pair("memory", 1000), Pair("nvidia.com/gpu", 8)));
}

TEST(ResourceListTest, TheLastOfTwoEqualNamesIsUsed) {
  EXPECT_THAT(Read(R"({"cpu": "1", "memory": "5", "cpu": "2"})"),
              ElementsAre(Pair("cpu", 2000), Pair("memory", 5)));
}

TEST(ResourceListTest, NamesTheInvalidResource) {
  EXPECT_EQ(Complain(R"({"cpu": "1Gx"})"), "list[\"cpu\"]: quantity \"1Gx\" is not valid");
  EXPECT_EQ(Complain(R"({"memory": -1})"), "list[\"memory\"]: quantity \"-1\" is negative");
  EXPECT_EQ(Complain(R"({"nvidia.com/gpu": "-2"})"),
            "list[\"nvidia.com/gpu\"]: quantity \"-2\" is negative");
  EXPECT_EQ(Complain(R"({"nvidia.com/gpu": "0.5"})"),
            "list[\"nvidia.com/gpu\"]: quantity \"0.5\" is not a whole number of devices; for a "
            "part of a GPU use the annotation gpu-fraction");
  EXPECT_EQ(Complain(R"({"cpu": true})"), "list[\"cpu\"]: expected a quantity, found a boolean");
  EXPECT_EQ(Complain(R"({"cpu": {}})"), "list[\"cpu\"]: expected a quantity, found an object");
  EXPECT_EQ(Complain(R"(["cpu"])"), "list: expected an object, found a list");
}

TEST(ResourceListTest, RejectsTooManyResources) {
  std::string list = "{";
  for (int i = 0; i < 1001; ++i) list += StrCat("\"example.com/r", i, "\": 1,");
  list.back() = '}';
  EXPECT_EQ(Complain(list), "list[\"example.com/r1000\"]: has more than 1000 resources");
}

TEST(ResourceListTest, AddsAndComparesByName) {
  ResourceAmounts amounts = {{"cpu", 1}, {"memory", kMax}};
  AddAmounts(&amounts, {{"memory", 1}, {"cpu", 2}, {"pods", 3}});
  EXPECT_THAT(amounts, ElementsAre(Pair("cpu", 3), Pair("memory", kMax), Pair("pods", 3)));
  MaxAmounts(&amounts, {{"cpu", 2}, {"pods", 4}, {"storage", 0}});
  EXPECT_THAT(amounts, ElementsAre(Pair("cpu", 3), Pair("memory", kMax), Pair("pods", 4),
                                   Pair("storage", 0)));
  EXPECT_EQ(AddSaturating(-kMax, -kMax), std::numeric_limits<int64_t>::min());
}

}  // namespace
}  // namespace kai::resource_list_test
