#include "kai/placement/fit_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace kai::fit_report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(FitReportTest, SumsTheCountsOfEachRefusal) {
  FitReport report;
  report.Count(Refusal::NotEnough(kCpuSlot));
  report.Count(Refusal::kNodeAffinityMismatch);
  report.Count(Refusal::NotEnough(kCpuSlot), 4);
  EXPECT_THAT(report.cause().refusals, ElementsAre(Pair(Refusal(Refusal::kNodeAffinityMismatch), 1),
                                                   Pair(Refusal::NotEnough(kCpuSlot), 5)));
  EXPECT_THAT(report.cause().named, IsEmpty());
}

TEST(FitReportTest, ARefusalWithACountOfZeroIsIgnored) {
  FitReport report;
  EXPECT_TRUE(report.empty());
  report.Count(Refusal::kNodeNotReady, 0);
  EXPECT_TRUE(report.empty());
}

TEST(FitReportTest, TheRefusalsOfANodeCanBeSubtracted) {
  FitReport of_node;
  of_node.Count(Refusal::kNodeNotReady);
  of_node.Count(Refusal::NotEnough(kGpuSlot));
  FitReport all;
  all.Add(of_node.answer(), 1);
  all.Count(Refusal::kNodeNotReady);
  all.Add(of_node.answer(), -1);
  EXPECT_THAT(all.cause().refusals, ElementsAre(Pair(Refusal(Refusal::kNodeNotReady), 1)));
}

TEST(FitReportTest, NamedRefusalsAreCountedByTheirContent) {
  const NamedRefusal here = LegacyMig{.node = NodeId(1)};
  const NamedRefusal there = LegacyMig{.node = NodeId(2)};
  FitReport of_node;
  of_node.Count(here);
  FitReport all;
  all.Add(of_node.answer(), 1);
  all.Count(there);
  all.Count(here);
  EXPECT_THAT(all.cause().named, ElementsAre(Pair(here, 2), Pair(there, 1)));
  all.Add(of_node.answer(), -2);
  EXPECT_THAT(all.cause().named, ElementsAre(Pair(there, 1)));
  EXPECT_EQ(all.answer().named, there);
  of_node.Clear();
  EXPECT_TRUE(of_node.empty());
}

TEST(FitReportTest, RefusalsWithAndWithoutOverheadAreCountedSeparately) {  // spec 3 E4
  FitReport report;
  report.Count(Refusal::NotEnough(kCpuSlot));
  report.Count(Refusal::NotEnough(kCpuSlot, true));
  EXPECT_EQ(report.answer().refusals.size(), size_t{2});
}

}  // namespace
}  // namespace kai::fit_report_test
