#include "kai/session/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::plan_json_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// tests/conformance/test_two_ways.py compares whole plans with Python's output.
TEST(PlanJsonTest, WritesDecisionsAndPodGroups) {
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
