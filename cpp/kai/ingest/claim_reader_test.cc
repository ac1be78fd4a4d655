#include "kai/ingest/claim_reader.h"

#include <gtest/gtest.h>

#include <limits>

#include "kai/base/text.h"
#include "kai/ingest/read_for_test.h"

namespace kai::claim_reader_test {
namespace {

int64_t GpusOf(std::string_view requests, std::string_view metadata = "") {
  return ReadForTest(&ReadResourceClaim,
                     StrCat(R"({"metadata": {"name": "c")", metadata,
                            R"(}, "spec": {"devices": {"requests": [)", requests, "]}}}"))
      .gpus;
}

TEST(ClaimReaderTest, CountsTheGpusOfAClaim) {  // spec 3 D2
  EXPECT_EQ(GpusOf(
                R"({"exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount",
              "count": 2}})"),
            2);
  EXPECT_EQ(
      GpusOf(R"({"exactly": {"deviceClassName": "big-GPU", "allocationMode": "ExactCount"}})"), 1);
  EXPECT_EQ(
      GpusOf(R"({"exactly": {"deviceClassName": "gpu", "allocationMode": "All", "count": 7}})"), 1);
  EXPECT_EQ(
      GpusOf(R"({"exactly": {"deviceClassName": "gpu", "allocationMode": "Some", "count": 7}})"),
      0);
  EXPECT_EQ(GpusOf(
                R"({"exactly": {"deviceClassName": "mig.nvidia.com", "allocationMode": "ExactCount",
              "count": 7}})"),
            0);
  EXPECT_EQ(GpusOf(R"({"firstAvailable": [{"deviceClassName": "gpu", "count": 7}]})"), 0);
  EXPECT_EQ(GpusOf(
                R"({"exactly": {"deviceClassName": "gpu", "count": 2}},
              {"exactly": {"deviceClassName": "gpu", "count": 3}})"),
            5);
  EXPECT_EQ(GpusOf(
                R"({"exactly": {"deviceClassName": "gpu", "count": 9223372036854775807}},
              {"exactly": {"deviceClassName": "gpu", "count": 1}})"),
            std::numeric_limits<int64_t>::max());
}

TEST(ClaimReaderTest, ReadsTheOlderFormatWithoutExactly) {
  EXPECT_EQ(
      GpusOf(
          R"({"name": "r", "deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount",
              "count": 4})"),
      4);
}

TEST(ClaimReaderTest, CountsNothingForAClaimOfAnExtendedResource) {
  EXPECT_EQ(
      GpusOf(R"({"exactly": {"deviceClassName": "gpu", "count": 2}})",
             R"(, "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"})"),
      0);
}

TEST(ClaimReaderTest, FindsTheOwnerPodOfAClaim) {  // spec 3 D4
  const auto owner = [](std::string_view metadata, std::string_view status) {
    return ReadForTest(&ReadResourceClaim, StrCat(R"({"metadata": {"name": "c", "namespace": "ns")",
                                                  metadata, R"(}, "status": {)", status, "}}"))
        .owner_pod;
  };
  constexpr std::string_view kReserved =
      R"("reservedFor": [{"resource": "jobs", "name": "j"}, {"resource": "pods", "name": "p1"},
          {"resource": "pods",
          "name": "p2"}])";
  EXPECT_EQ(owner("", ""), "");
  EXPECT_EQ(owner("", kReserved), "p1");
  EXPECT_EQ(
      owner(R"(, "ownerReferences": [{"kind": "Job", "name": "j"}, {"name": "p3", "kind": "Pod"}])",
            kReserved),
      "p3");
}

TEST(ClaimReaderTest, ReadsTheRequests) {
  const ResourceClaimRow row = ReadForTest(&ReadResourceClaim, R"({
    "metadata": {"name": "c", "namespace": "ns", "labels": {"kai.scheduler/queue": "q"}},
    "spec": {"devices": {
      "requests": [
        {"name": "gpus", "exactly": {"deviceClassName": "gpu", "allocationMode": "All",
          "adminAccess": true, "selectors": [{"cel": {"expression": "device.driver == 'd'"}}],
          "capacity": {"requests": {"memory": "10Gi"}}}},
        {"name": "any", "firstAvailable": [{"name": "big", "deviceClassName": "b", "count": 1},
                                           {"name": "two", "deviceClassName": "s", "count": 2}]}],
      "constraints": [{"matchAttribute": "dra.net/numaNode", "requests": ["gpus"]}]}}})");
  EXPECT_EQ(row.labels, (StringPairs{{"kai.scheduler/queue", "q"}}));
  ASSERT_EQ(row.spec.requests.size(), 2U);
  const DeviceChoiceRow& gpus = row.spec.requests[0].exactly;
  EXPECT_EQ(gpus.name, "gpus");
  EXPECT_EQ(gpus.mode, "All");
  EXPECT_TRUE(gpus.admin_access);
  EXPECT_EQ(gpus.selectors, std::vector<std::string>{"device.driver == 'd'"});
  EXPECT_EQ(gpus.capacity.at("memory"), Quantity::Parse("10Gi").value());
  EXPECT_EQ(row.spec.requests[1].exactly.name, "any");
  ASSERT_EQ(row.spec.requests[1].first_available.size(), 2U);
  EXPECT_EQ(row.spec.requests[1].first_available[1].count, 2);
  ASSERT_EQ(row.spec.constraints.size(), 1U);
  EXPECT_EQ(row.spec.constraints[0].attribute, "dra.net/numaNode");
  EXPECT_EQ(row.spec.constraints[0].requests, std::vector<std::string>{"gpus"});
  EXPECT_FALSE(row.allocation.has_value());
}

TEST(ClaimReaderTest, ReadsTheAllocationAndTheConsumers) {
  const ResourceClaimRow row = ReadForTest(&ReadResourceClaim, R"({
    "metadata": {"name": "c", "namespace": "ns"}, "spec": {},
    "status": {
      "allocation": {
        "devices": {"results": [
          {"request": "gpus", "driver": "d", "pool": "p", "device": "0"},
          {"request": "look", "driver": "d", "pool": "p", "device": "1", "adminAccess": true}]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
          {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}},
      "reservedFor": [{"resource": "pods", "name": "p1", "uid": "u1"},
                      {"resource": "jobs", "name": "j", "uid": "u2"}]}})");
  ASSERT_TRUE(row.allocation.has_value());
  ASSERT_EQ(row.allocation->devices.size(), 2U);
  EXPECT_EQ(row.allocation->devices[0].device, (DeviceId{"d", "p", "0"}));
  EXPECT_EQ(row.allocation->devices[0].request, "gpus");
  EXPECT_TRUE(row.allocation->devices[1].admin_access);
  EXPECT_TRUE(row.allocation->has_node_selector);
  ASSERT_EQ(row.allocation->node_selector.size(), 1U);
  ASSERT_EQ(row.consumers.size(), 2U);
  EXPECT_EQ(row.consumers[0].pod, "p1");
  EXPECT_EQ(row.consumers[0].uid, "u1");
  EXPECT_EQ(row.consumers[1].pod, "") << "the consumer is not a pod";
}

TEST(ClaimReaderTest, NamesTheInvalidField) {
  EXPECT_EQ(Complaint(&ReadResourceClaim,
                      R"({"metadata": {"name": "c", "namespace": "ns"},
              "spec": {"devices": {"requests": [{"exactly": {"count": -1}}]}}})"),
            "ResourceClaim ns/c: spec.devices.requests[0].exactly.count: -1 is negative");
  EXPECT_EQ(Complaint(&ReadResourceClaim,
                      R"({"metadata": {"name": "c"}, "status": {"allocation": {"devices": {
              "results": [{"device": 7}]}}}})"),
            "ResourceClaim c: status.allocation.devices.results[0].device: expected a string, "
            "found a number");
  EXPECT_EQ(Complaint(&ReadResourceClaim, "{}"), "ResourceClaim : metadata.name: is missing");
}

}  // namespace
}  // namespace kai::claim_reader_test
