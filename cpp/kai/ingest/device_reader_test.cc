#include "kai/ingest/device_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/base/text.h"
#include "kai/ingest/read_for_test.h"

namespace kai::device_reader_test {
namespace {

using ::testing::ElementsAre;

ResourceSliceRow Slice(std::string_view spec) {
  return ReadForTest(&ReadResourceSlice,
                     StrCat(R"({"metadata": {"name": "s"}, "spec": {)", spec, "}}"));
}

TEST(DeviceReaderTest, CountsTheGpusOfASlice) {  // spec 3 D3
  EXPECT_EQ(Slice(R"("nodeName": "n1", "devices": [{"name": "0"}, {"name": "1"}],
                     "driver": "gpu.nvidia.com")")
                .gpus,
            2);
  EXPECT_EQ(Slice(R"("nodeName": "n1", "driver": "gpu.nvidia.com")").node, "n1");
  EXPECT_EQ(Slice(R"("devices": [{}, {}], "driver": "network.example.com")").gpus, 0);
  EXPECT_EQ(Slice(R"("allNodes": true, "driver": "gpu.nvidia.com", "devices": [{}])").node, "");
}

TEST(DeviceReaderTest, ReadsTheNodesOfASlice) {
  EXPECT_TRUE(Slice(R"("allNodes": true)").all_nodes);
  EXPECT_TRUE(Slice(R"("perDeviceNodeSelection": true)").slice.nodes_per_device);
  const ResourceSliceRow some = Slice(R"("nodeSelector": {"nodeSelectorTerms": [
      {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}]})");
  EXPECT_TRUE(some.has_node_selector);
  ASSERT_EQ(some.node_selector.size(), 1U);
  EXPECT_EQ(some.node_selector[0].expressions[0].key, "rack");
  EXPECT_FALSE(Slice(R"("nodeName": "n")").has_node_selector);
}

// The same device in the format of v1 and v1beta2, and in that of v1beta1.
class DeviceShapeTest : public ::testing::TestWithParam<std::string> {};

TEST_P(DeviceShapeTest, ReadsADevice) {
  const ResourceSliceRow row = Slice(StrCat(R"("devices": [)", GetParam(), R"(],
          "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2},
          "driver": "gpu.nvidia.com",
          "sharedCounters": [{"name": "set", "counters": {"memory": {"value": "80Gi"}}}])"));
  EXPECT_EQ(row.slice.name, "s");
  EXPECT_EQ(row.slice.pool, "p");
  EXPECT_EQ(row.slice.generation, 3);
  EXPECT_EQ(row.slice.slices_in_pool, 2);
  ASSERT_EQ(row.slice.counter_sets.size(), 1U);
  EXPECT_EQ(row.slice.counter_sets[0].counters.at("memory"), Quantity::Parse("80Gi").value());
  ASSERT_EQ(row.slice.devices.size(), 1U);
  const Device& device = row.slice.devices[0];
  EXPECT_EQ(device.id(), (DeviceId{"gpu.nvidia.com", "p", "gpu-0"}));
  EXPECT_EQ(*device.FindAttribute("gpu.nvidia.com/model"), AttributeValue(std::string("A100")));
  EXPECT_EQ(*device.FindAttribute("dra.net/numaNode"), AttributeValue(int64_t{1}));
  EXPECT_EQ(*device.FindAttribute("healthy"), AttributeValue(true));
  EXPECT_EQ(*device.FindAttribute("driverVersion"),
            AttributeValue(Semver::Parse("550.54.15").value()));
  EXPECT_EQ(device.FindCapacity("memory")->value, Quantity::Parse("40Gi").value());
  ASSERT_EQ(device.consumes.size(), 1U);
  EXPECT_EQ(device.consumes[0].counter_set, "set");
  EXPECT_TRUE(device.has_binding_conditions);
}

constexpr char kDescription[] = R"("attributes": {
    "model": {"string": "A100"}, "dra.net/numaNode": {"int": 1}, "healthy": {"bool": true},
    "driverVersion": {"version": "550.54.15"}, "later": {"strings": ["a"]}},
  "capacity": {"memory": {"value": "40Gi"}},
  "consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "40Gi"}}}],
  "bindingConditions": ["attached"])";

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceShapeTest,
                         ::testing::Values(StrCat(R"({"name": "gpu-0", )", kDescription, "}"),
                                           StrCat(R"({"name": "gpu-0", "basic": {)", kDescription,
                                                  "}}")),
                         [](const auto& shape) { return shape.index == 0 ? "V1" : "V1beta1"; });

TEST(DeviceReaderTest, ReadsAClass) {
  const DeviceClassRow row = ReadForTest(&ReadDeviceClass, R"({
    "metadata": {"name": "gpu.nvidia.com"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}},
                           {"rego": {}}],
             "extendedResourceName": "nvidia.com/gpu"}})");
  EXPECT_EQ(row.name, "gpu.nvidia.com");
  EXPECT_THAT(row.selectors, ElementsAre("device.driver == 'gpu.nvidia.com'", ""))
      << "a selector of an unknown kind selects nothing";
  EXPECT_EQ(row.extended_resource, "nvidia.com/gpu");
  EXPECT_EQ(ReadForTest(&ReadDeviceClass, R"({"metadata": {"name": "c"}})").name, "c");
}

TEST(DeviceReaderTest, NamesTheInvalidField) {
  const auto complaint = [](std::string_view spec) {
    return Complaint(&ReadResourceSlice,
                     StrCat(R"({"metadata": {"name": "s"}, "spec": {)", spec, "}}"));
  };
  EXPECT_EQ(complaint(R"("devices": {})"),
            "ResourceSlice s: spec.devices: expected a list, found an object");
  EXPECT_THAT(complaint(R"("devices": [{"attributes": {"v": {"version": "1.x"}}}])"),
              ::testing::StartsWith("ResourceSlice s: spec.devices[0].attributes[\"v\"]"));
  EXPECT_EQ(complaint(R"("devices": [{"capacity": {"memory": {"value": "much"}}}])"),
            "ResourceSlice s: spec.devices[0].capacity[\"memory\"].value: quantity \"much\" is "
            "not valid");
  EXPECT_EQ(Complaint(&ReadResourceSlice, "{}"), "ResourceSlice : metadata.name: is missing");
  EXPECT_EQ(Complaint(&ReadDeviceClass, R"({"metadata": {"name": "c"}, "spec": 5})"),
            "DeviceClass c: spec: expected an object, found a number");
}

}  // namespace
}  // namespace kai::device_reader_test
