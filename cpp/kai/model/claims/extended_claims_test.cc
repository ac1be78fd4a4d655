#include "kai/model/claims/extended_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/base/text.h"
#include "kai/testing/makers/claim_rows.h"

namespace kai::extended_claims_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = ContainerRow::Kind;

// Containers in their order, each with a request for this number of GPUs.
std::vector<ExtendedRequestRow> Requested(std::vector<std::pair<Kind, int64_t>> containers,
                                          const std::string& resource = "nvidia.com/gpu") {
  std::vector<ExtendedRequestRow> rows;
  for (const auto& [kind, count] : containers) {
    const auto container = static_cast<int32_t>(rows.size());
    rows.push_back({.container = container,
                    .kind = kind,
                    .container_name = StrCat("c", container),
                    .resource = resource,
                    .count = count});
  }
  return rows;
}

class ExtendedClaimTest : public ::testing::Test {
 protected:
  // "request count, ..." and "container request, ..."
  void Make(const std::vector<ExtendedRequestRow>& asked) {
    std::vector<const DeviceClassRow*> classes;
    for (DeviceClassRow& row : classes_) classes.push_back(&row);
    claim_ = MakeExtendedClaim(asked, ExtendedResources(classes));
    requests_.clear();
    containers_.clear();
    for (const auto& each : claim_.requests)
      requests_.push_back(StrCat(each.name, " ", each.count));
    for (const auto& each : claim_.containers)
      containers_.push_back(StrCat(each.container, " ", each.request));
  }

  std::vector<DeviceClassRow> classes_ = {GpuClass("nvidia.com/gpu")};
  ExtendedClaim claim_;
  std::vector<std::string> requests_;
  std::vector<std::string> containers_;
};

TEST_F(ExtendedClaimTest, EveryContainerThatKeepsRunningHasItsOwnRequest) {  // spec 3 D10
  Make(Requested({{Kind::kSidecar, 1}, {Kind::kApp, 2}, {Kind::kApp, 1}}));
  EXPECT_THAT(requests_, ElementsAre("container-0-request-0 1", "container-1-request-0 2",
                                     "container-2-request-0 1"));
  EXPECT_THAT(containers_, ElementsAre("c0 container-0-request-0", "c1 container-1-request-0",
                                       "c2 container-2-request-0"));
  EXPECT_EQ(claim_.requests[0].class_name, kGpuDriver);
}

TEST_F(ExtendedClaimTest, AnInitContainerUsesTheDevicesOfLaterContainers) {
  Make(Requested({{Kind::kInit, 2}, {Kind::kApp, 1}, {Kind::kApp, 3}}));
  EXPECT_THAT(requests_, ElementsAre("container-1-request-0 1", "container-2-request-0 3"));
  EXPECT_THAT(containers_, ElementsAre("c1 container-1-request-0", "c2 container-2-request-0",
                                       "c0 container-1-request-0", "c0 container-2-request-0"));
}

TEST_F(ExtendedClaimTest, AnInitContainerThatNeedsMoreGetsARequestForTheRest) {
  Make(Requested({{Kind::kInit, 3}, {Kind::kApp, 1}}));
  EXPECT_THAT(requests_, ElementsAre("container-0-request-0 2", "container-1-request-0 1"));
  EXPECT_THAT(containers_, ElementsAre("c1 container-1-request-0", "c0 container-1-request-0",
                                       "c0 container-0-request-0"));
}

TEST_F(ExtendedClaimTest, AnEarlierSidecarKeepsItsDevices) {
  Make(Requested({{Kind::kSidecar, 2}, {Kind::kInit, 1}}));
  EXPECT_THAT(requests_, ElementsAre("container-0-request-0 2", "container-1-request-0 1"));
}

TEST_F(ExtendedClaimTest, OnlyTheMaximumOfInitContainersIsRequested) {
  Make(Requested({{Kind::kInit, 2}, {Kind::kInit, 4}, {Kind::kInit, 3}, {Kind::kApp, 1}}));
  EXPECT_THAT(requests_, ElementsAre("container-1-request-0 3", "container-3-request-0 1"));
  EXPECT_THAT(containers_, ElementsAre("c3 container-3-request-0", "c0 container-3-request-0",
                                       "c0 container-1-request-0", "c1 container-3-request-0",
                                       "c1 container-1-request-0", "c2 container-3-request-0",
                                       "c2 container-1-request-0"));
}

TEST_F(ExtendedClaimTest, TheFirstOfEqualInitContainersNamesTheRequest) {
  Make(Requested({{Kind::kInit, 2}, {Kind::kInit, 2}}));
  EXPECT_THAT(requests_, ElementsAre("container-0-request-0 2"));
}

TEST_F(ExtendedClaimTest, IgnoresAResourceThatNoClassProvides) {
  Make(Requested({{Kind::kApp, 1}}, "amd.com/gpu"));
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(ExtendedClaimTest, EveryClassProvidesItsImplicitResourceName) {
  Make(Requested({{Kind::kApp, 1}}, StrCat("deviceclass.resource.kubernetes.io/", kGpuDriver)));
  EXPECT_THAT(requests_, ElementsAre("container-0-request-0 1"));
}

TEST_F(ExtendedClaimTest, TheNewerOfTwoClassesProvidesTheResource) {
  classes_ = {{.name = "b", .selectors = {}, .extended_resource = "x/y", .created_ns = 1},
              {.name = "a", .selectors = {}, .extended_resource = "x/y", .created_ns = 1},
              {.name = "c", .selectors = {}, .extended_resource = "x/y", .created_ns = 0}};
  Make(Requested({{Kind::kApp, 1}}, "x/y"));
  EXPECT_EQ(claim_.requests[0].class_name, "a") << "by name if they have the same age";
  classes_[2].created_ns = 2;
  Make(Requested({{Kind::kApp, 1}}, "x/y"));
  EXPECT_EQ(claim_.requests[0].class_name, "c");
}

}  // namespace
}  // namespace kai::extended_claims_test
