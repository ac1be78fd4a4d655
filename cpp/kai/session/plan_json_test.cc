#include "kai/session/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::plan_json_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PythonFloatTest, IsWhatReprPrints) {
  const std::pair<double, const char*> printed[] = {
      {0, "0.0"},
      {1, "1.0"},
      {-2.5, "-2.5"},
      {0.1, "0.1"},
      {0.30000000000000004, "0.30000000000000004"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {123456789012345.6, "123456789012345.6"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {1.25e17, "1.25e+17"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {5e-324, "5e-324"},
  };
  for (const auto& [value, text] : printed) EXPECT_EQ(PythonFloat(value), text);
}

// tests/conformance/test_two_ways.py compares whole plans with what Python writes.
TEST(PlanJsonTest, HasTheMembersThatGrowWithTheCluster) {
  const Plan plan = RunPlan(Session(ParseConfig("")), MakeCluster()
                                                          .Queue("vision", {.deserved_gpus = 1})
                                                          .Node("n\"1\"", {.gpus = 1})
                                                          .Pending("vision/train", {.gpus = 1})
                                                          .Pending("vision/wide", {.gpus = 9})
                                                          .Build());
  const std::string json = PlanJson(plan, TableOf(plan), "2026-01-01T00:00:00Z");
  EXPECT_THAT(json, StartsWith(R"("decisions": [{"kind": "bind", "pod": "vision/train-0", )"
                               R"("node": "n\"1\"", "gpus": 1}], "pod_groups": {)"));
  EXPECT_THAT(json, HasSubstr(R"("writes": {"last_start": "2026-01-01T00:00:00Z", )"
                              R"("stale_since": null, "last_eviction": null}})"));
  EXPECT_THAT(json, HasSubstr(R"("pods": {"vision/wide-0": {"message": ")"));
  EXPECT_THAT(json, HasSubstr(R"("queues": {"vision": {"gpu": {"deserved": 1, )"));
}

}  // namespace
}  // namespace kai::plan_json_test
