#include "kai/placement/fit_report.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace kai::fit_report_test {
namespace {

TEST(FitReportTest, SaysHowOftenEachReasonCameInTheOrderOfTheirTexts) {  // spec 2 M6
  FitReport report;
  report.Count(Reason::NotEnough(kGpuSlot), 2);
  report.Count(Reason::kNodeAffinityMismatch);
  EXPECT_EQ(report.Text(ResourceSlots()),
            "no nodes with enough resources were found: "
            "1 node(s) didn't match Pod's node affinity/selector. \n"
            "2 node(s) didn't have enough resources: GPUs.");
}

TEST(FitReportTest, CountsAreSortedAsTextsNotAsNumbers) {
  FitReport report;
  report.Count(Reason::kNodeUnschedulable, 9);
  report.Count(Reason::kNodeNotReady, 10);
  EXPECT_EQ(report.Text(ResourceSlots()),
            "no nodes with enough resources were found: "
            "10 node has NotReady condition. \n9 node is unschedulable.");
}

TEST(FitReportTest, CountsOfOneReasonAddUp) {
  FitReport report;
  report.Count(Reason::NotEnough(kCpuSlot));
  report.Count(Reason::NotEnough(kCpuSlot), 4);
  EXPECT_EQ(report.Text(ResourceSlots()),
            "no nodes with enough resources were found: "
            "5 node(s) didn't have enough resources: CPU cores.");
}

TEST(FitReportTest, NothingCountedSaysNoMoreThanThat) {
  FitReport report;
  EXPECT_TRUE(report.empty());
  EXPECT_EQ(report.Text(ResourceSlots()), "Unable to schedule pod");
  report.Count(Reason::kNodeNotReady, 0);
  EXPECT_TRUE(report.empty());
}

TEST(FitReportTest, WhatANodeSaidCanBeTakenBack) {
  FitReport all;
  FitReport of_node;
  of_node.Count(Reason::kNodeNotReady);
  of_node.Count(Reason::NotEnough(kGpuSlot));
  all.Add(of_node.reasons(), 1);
  all.Count(Reason::kNodeNotReady);
  all.Add(of_node.reasons(), -1);
  EXPECT_EQ(all.Text(ResourceSlots()),
            "no nodes with enough resources were found: 1 node has NotReady condition.");
}

TEST(FitReportTest, WhatNamesTheNodeIsCountedByItsText) {
  FitReport of_node;
  of_node.Count("the pod may not run on n1");
  FitReport all;
  all.Add(of_node.reasons(), 1);
  all.Count(Reason::kNodeNotReady);
  EXPECT_EQ(all.Text(ResourceSlots()),
            "no nodes with enough resources were found: 1 node has NotReady condition. \n"
            "1 the pod may not run on n1.");
  all.Add(of_node.reasons(), -1);
  EXPECT_EQ(all.Text(ResourceSlots()),
            "no nodes with enough resources were found: 1 node has NotReady condition.");
  of_node.Clear();
  EXPECT_TRUE(of_node.empty());
}

TEST(FitReportTest, ResourcesGoByTheNamesPeopleKnow) {  // spec 3 E2
  ResourceSlots slots;
  const ResourceSlot scalar = slots.Add("example.com/license");
  const ResourceSlot slice = slots.Add("nvidia.com/mig-1g.5gb");
  const auto text = [&](ResourceSlot slot) { return Reason::NotEnough(slot).Text(slots); };
  EXPECT_EQ(text(kGpuSlot), "node(s) didn't have enough resources: GPUs");
  EXPECT_EQ(text(kCpuSlot), "node(s) didn't have enough resources: CPU cores");
  EXPECT_EQ(text(kMemorySlot), "node(s) didn't have enough resources: memory");
  EXPECT_EQ(text(kPodsSlot), "node(s) didn't have enough resources: pods");
  EXPECT_EQ(text(scalar), "node(s) didn't have enough resources: example.com/license");
  EXPECT_EQ(text(slice), "node(s) didn't have enough of mig profile: nvidia.com/mig-1g.5gb");
}

TEST(FitReportTest, EveryFixedReasonHasATextOfItsOwn) {
  const ResourceSlots slots;
  std::set<std::string> texts;
  for (int32_t i = 0; i < Reason::kFixedReasons; ++i) {
    texts.insert(Reason(static_cast<Reason::Fixed>(i)).Text(slots));
  }
  EXPECT_EQ(texts.size(), static_cast<size_t>(Reason::kFixedReasons));
  EXPECT_FALSE(texts.contains(""));
}

TEST(FitReportTest, OverheadIsNamedWhereItIsWhatIsTooMuch) {  // spec 3 E4
  ResourceSlots slots;
  const ResourceSlot scalar = slots.Add("example.com/license");
  const std::vector<double> overhead = {250, 120 * 1024 * 1024, 0, 0, 2000};
  EXPECT_EQ(Reason::NotEnough(kCpuSlot, true).Text(slots, overhead),
            "node(s) didn't have enough resources: CPU cores. Not enough resources due to pod "
            "overhead resources. The overhead resources are  cpu: 250m example.com/license: 2 "
            "memory: 120Mi");
  FitReport report;
  report.Count(Reason::NotEnough(scalar));
  report.Count(Reason::NotEnough(scalar, true));
  EXPECT_EQ(report.reasons().codes.size(), size_t{2}) << "two reasons, and two texts";
}

}  // namespace
}  // namespace kai::fit_report_test
