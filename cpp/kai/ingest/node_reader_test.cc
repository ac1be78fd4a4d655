#include "kai/ingest/node_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/ingest/read_for_test.h"

namespace kai::node_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(NodeReaderTest, ReadsANode) {
  const NodeRow row = ReadForTest(&ReadNode, R"({
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"unschedulable": true, "podCIDR": "10.0.0.0/24",
             "taints": [{"key": "k", "value": "v", "effect": "NoExecute",
                 "timeAdded": "2024-01-01T00:00:00Z"},
                 {"key": "soft", "effect": "PreferNoSchedule"}]},
    "status": {"capacity": {"cpu": "not even read"},
               "allocatable": {"cpu": "128", "memory": "1Gi", "pods": "110",
                   "nvidia.com/gpu": "8", "amd.com/gpu": "0",
                   "nvidia.com/mig-1g.5gb": "7",
                               "hugepages-2Mi": "0", "unknown": "x"},
               "conditions": [{"type": "Ready", "status": "True", "reason": "x"},
                   {"type": "MemoryPressure", "status": "False"},
                              {"type": "DiskPressure", "status": "Unknown"},
                                  {"type": "PIDPressure", "status": "maybe"},
                              {"type": "NetworkUnavailable"}, {"type": "Other",
                                  "status": "True"}]}})");
  EXPECT_EQ(row.name, "n1");
  EXPECT_THAT(row.labels, ElementsAre(Pair("zone", "a")));
  EXPECT_TRUE(row.unschedulable);
  EXPECT_THAT(row.taints, ElementsAre(Taint{"k", "v", TaintEffect::kNoExecute},
                                      Taint{"soft", "", TaintEffect::kPreferNoSchedule}));
  EXPECT_THAT(row.allocatable,
              ElementsAre(Pair("cpu", 128'000), Pair("memory", 1 << 30), Pair("pods", 110),
                          Pair("nvidia.com/gpu", 8), Pair("amd.com/gpu", 0),
                          Pair("nvidia.com/mig-1g.5gb", 7), Pair("hugepages-2Mi", 0)));
  EXPECT_EQ(row.ready, ConditionStatus::kTrue);
  EXPECT_EQ(row.memory_pressure, ConditionStatus::kFalse);
  EXPECT_EQ(row.disk_pressure, ConditionStatus::kUnknown);
  EXPECT_EQ(row.pid_pressure, ConditionStatus::kUnknown);
  EXPECT_EQ(row.network_unavailable, ConditionStatus::kUnknown);
}

TEST(NodeReaderTest, LeavesMissingFieldsEmpty) {
  const NodeRow row =
      ReadForTest(&ReadNode, R"({"metadata": {"name": "n1"}, "status": {"allocatable": null}})");
  EXPECT_THAT(row.allocatable, IsEmpty());
  EXPECT_FALSE(row.unschedulable);
  EXPECT_EQ(row.ready, ConditionStatus::kAbsent);
}

TEST(NodeReaderTest, NamesTheInvalidField) {
  EXPECT_EQ(
      Complaint(&ReadNode,
                R"({"metadata": {"name": "n1"}, "status": {"allocatable": {"memory": "1Gx"}}})"),
      "Node n1: status.allocatable[\"memory\"]: quantity \"1Gx\" is not valid");
  EXPECT_EQ(
      Complaint(
          &ReadNode,
          R"({"metadata": {"name": "n1"}, "status": {"allocatable": {"nvidia.com/gpu": -8}}})"),
      "Node n1: status.allocatable[\"nvidia.com/gpu\"]: quantity \"-8\" is negative");
  EXPECT_EQ(
      Complaint(&ReadNode,
                R"({"metadata": {"name": "n1"}, "spec": {"taints": [{"effect": "NoBody"}]}})"),
      "Node n1: spec.taints[0].effect: \"NoBody\" is not a taint effect");
  EXPECT_EQ(
      Complaint(&ReadNode, R"({"spec": {"unschedulable": "yes"}, "metadata": {"name": "n1"}})"),
      "Node n1: spec.unschedulable: expected a boolean, found a string");
  EXPECT_EQ(Complaint(&ReadNode, R"({"metadata": {}})"), "Node : metadata.name: is missing");
}

}  // namespace
}  // namespace kai::node_reader_test
