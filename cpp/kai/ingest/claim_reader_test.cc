#include "kai/ingest/claim_reader.h"

#include <gtest/gtest.h>

#include <limits>

#include "kai/base/text.h"
#include "kai/ingest/read_for_test.h"

namespace kai {
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

TEST(ClaimReaderTest, ReadsTheOldShapeWithoutExactly) {
  EXPECT_EQ(
      GpusOf(
          R"({"name": "r", "deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount",
              "count": 4})"),
      4);
}

TEST(ClaimReaderTest, CountsNothingForAClaimThatStandsForAnExtendedResource) {
  EXPECT_EQ(
      GpusOf(R"({"exactly": {"deviceClassName": "gpu", "count": 2}})",
             R"(, "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"})"),
      0);
}

TEST(ClaimReaderTest, FindsWhoseAClaimIs) {  // spec 3 D4
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

TEST(ClaimReaderTest, CountsTheDevicesOfASlice) {  // spec 3 D3
  const auto slice = [](std::string_view spec) {
    return ReadForTest(&ReadResourceSlice,
                       StrCat(R"({"metadata": {"name": "s"}, "spec": {)", spec, "}}"));
  };
  EXPECT_EQ(slice(
                R"("nodeName": "n1", "devices": [{"name": "0"}, {"name": "1"}],
              "driver": "gpu.nvidia.com")")
                .gpus,
            2);
  EXPECT_EQ(slice(R"("nodeName": "n1", "driver": "gpu.nvidia.com")").node, "n1");
  EXPECT_EQ(slice(R"("devices": [{}, {}], "driver": "network.example.com")").gpus, 0);
  EXPECT_EQ(slice(R"("allNodes": true, "driver": "gpu.nvidia.com", "devices": [{}])").node, "");
}

TEST(ClaimReaderTest, SaysWhichFieldMakesNoSense) {
  EXPECT_EQ(Complaint(&ReadResourceClaim,
                      R"({"metadata": {"name": "c", "namespace": "ns"},
              "spec": {"devices": {"requests": [{"exactly": {"count": -1}}]}}})"),
            "ResourceClaim ns/c: spec.devices.requests[0].exactly.count: -1 is negative");
  EXPECT_EQ(
      Complaint(&ReadResourceSlice, R"({"metadata": {"name": "s"}, "spec": {"devices": {}}})"),
      "ResourceSlice s: spec.devices: expected a list, found an object");
  EXPECT_EQ(Complaint(&ReadResourceClaim, "{}"), "ResourceClaim : metadata.name: is missing");
}

}  // namespace
}  // namespace kai
