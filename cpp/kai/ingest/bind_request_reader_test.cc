#include "kai/ingest/bind_request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/ingest/read_for_test.h"
#include "kai/model/claims/extended_claims.h"

namespace kai::bind_request_reader_test {
namespace {

using ::testing::ElementsAre;

TEST(BindRequestReaderTest, ReadsABindRequest) {
  const BindRequestRow row = ReadForTest(&ReadBindRequest, R"({
    "metadata": {"name": "p", "namespace": "ns"},
    "spec": {"podName": "p", "selectedNode": "n1", "receivedResourceType": "Fraction",
        "selectedGPUGroups": ["g1", "g2"],
        "backoffLimit": 3,
             "receivedGPU": {"count": 2, "portion": "0.50"}},
    "status": {"phase": "Failed", "failedAttempts": 2, "reason": "x"}})");
  EXPECT_EQ(row.namespace_name, "ns");
  EXPECT_EQ(row.pod, "p");
  EXPECT_EQ(row.node, "n1");
  EXPECT_EQ(row.received_type, "Fraction");
  EXPECT_THAT(row.gpu_groups, ElementsAre("g1", "g2"));
  EXPECT_EQ(row.backoff_limit, 3);
  EXPECT_EQ(row.phase, "Failed");
  EXPECT_EQ(row.failed_attempts, 2);
}

TEST(BindRequestReaderTest, LeavesAMissingBackoffLimitEmpty) {
  EXPECT_FALSE(
      ReadForTest(&ReadBindRequest, R"({"metadata": {"name": "p"}})").backoff_limit.has_value());
}

TEST(BindRequestReaderTest, ReadsTheAllocationsOfClaims) {  // spec 3 B1
  const BindRequestRow row = ReadForTest(&ReadBindRequest, R"({
    "metadata": {"name": "p", "namespace": "ns"},
    "spec": {
      "extendedResourceClaimAllocation": {
        "allocation": {"devices": {"results": [{"request": "container-0-request-0",
                                                "driver": "d", "pool": "n1", "device": "0"}]}},
        "deviceRequests": [{"name": "container-0-request-0"}],
        "containerMappings": [{"containerName": "c"}]},
      "resourceClaimAllocations": [{"name": "gpu", "allocation": {}}]}})");
  ASSERT_EQ(row.claims.size(), 2U);
  EXPECT_EQ(row.claims[0].first, kExtendedClaim);
  ASSERT_EQ(row.claims[0].second.devices.size(), 1U);
  EXPECT_EQ(row.claims[0].second.devices[0].device.device, "0");
  EXPECT_EQ(row.claims[1].first, "gpu");
}

TEST(BindRequestReaderTest, NamesTheInvalidField) {
  EXPECT_EQ(
      Complaint(
          &ReadBindRequest,
          R"({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"selectedGPUGroups": [1]}})"),
      "BindRequest ns/p: spec.selectedGPUGroups[0]: expected a string, found a number");
  EXPECT_EQ(Complaint(&ReadBindRequest, R"({"spec": {"podName": "p"}})"),
            "BindRequest : metadata.name: is missing");
}

}  // namespace
}  // namespace kai::bind_request_reader_test
