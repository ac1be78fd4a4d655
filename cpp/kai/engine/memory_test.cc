#include "kai/engine/memory.h"

#include <gtest/gtest.h>

#include <string>

namespace kai::memory_test {
namespace {

EngineMemory Everything() {
  EngineMemory memory;
  memory.assumed.last_id = 9;
  Assumptions::Bound& bound = memory.assumed.bound.emplace_back();
  bound.id = 3;
  bound.uid = "u";
  bound.request.namespace_name = "a";
  bound.request.name = "x-0-request";
  bound.request.pod = "x-0";
  bound.request.node = "n1";
  bound.request.received_type = "Fraction";
  bound.request.gpu_groups = {"g1", "g2"};
  bound.request.zones = {{.zone = "node-0", .amounts = {{"cpu", 1500}, {"nvidia.com/gpu", 2}}}};
  bound.request.backoff_limit = 3;
  bound.request.failed_attempts = 1;
  bound.replaces = true;
  ClaimAllocationRow allocation;
  allocation.devices = {{.request = "r",
                         .device = {.driver = "d", .pool = "p", .device = "gpu-0"},
                         .admin_access = true}};
  allocation.has_node_selector = true;
  allocation.node_selector = {
      {.expressions = {{.key = "rack", .op = SelectorOp::kNotIn, .values = {"r1", "r2"}},
                       {.key = "slot", .op = SelectorOp::kGt, .values = {"4"}},
                       {.key = "ssd", .op = SelectorOp::kExists, .values = {}}},
       .fields = {{.key = "metadata.name", .op = SelectorOp::kIn, .values = {"n1"}}}}};
  bound.request.claims = {{"gpu", allocation}};
  memory.assumed.evicted = {
      {.id = 4, .pod = "a/y-0", .uid = "v", .at_ns = 1'767'225'600'000'000'001}};
  memory.promises = {{.namespace_name = "a",
                      .pod_group = "z",
                      .queue = "q",
                      .created_ns = -5,
                      .pod_set = "default",
                      .pod = "z-0",
                      .node = "n\"1\"",
                      .gpus = {"g1", "g2"},
                      .kept_ns = 7}};
  memory.evictors = {
      {.namespace_name = "a",
       .pod_group = "z",
       .queue = "q",
       .created_ns = -5,
       .unkept = 2,
       .since_ns = 8,
       .evicted_ns = 9,
       .victims = {{.namespace_name = "b", .pod_group = "y", .pod = "y-0", .node = "n1"}},
       .lost = {{.namespace_name = "a", .pod_group = "z", .pod = "z-1", .node = "n2"}},
       .lost_ns = 10}};
  memory.trusted = {.from_ns = 5, .until_ns = 6};
  return memory;
}

TEST(MemoryTest, IsReadBackAsItWasWritten) {
  const std::string text = MemoryJson(Everything());
  const absl::StatusOr<EngineMemory> read = ReadMemory(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->promises, Everything().promises);
  EXPECT_EQ(read->trusted, Everything().trusted);
  EXPECT_EQ(read->evictors, Everything().evictors);
  const BindRequestRow& request = read->assumed.bound[0].request;
  EXPECT_EQ(request.zones, Everything().assumed.bound[0].request.zones);
  EXPECT_EQ(request.claims[0].second.node_selector,
            Everything().assumed.bound[0].request.claims[0].second.node_selector);
  EXPECT_EQ(MemoryJson(*read), text);
}

TEST(MemoryTest, SkipsUnknownMembers) {
  const absl::StatusOr<EngineMemory> read = ReadMemory(
      R"({"later": [1], "version": 1, "promises": [{"pod_group": "a/x", "node": "n", "new": {}}]})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->promises.size(), 1);
  EXPECT_EQ(read->promises[0].pod_group, "x");
  EXPECT_EQ(read->promises[0].pod, "");
}

TEST(MemoryTest, ReportsInvalidValues) {
  const std::pair<const char*, const char*> bad[] = {
      {"{}", "memory: version: expected 1, found 0"},
      {R"({"version": 2})", "memory: version: expected 1, found 2"},
      {R"({"version": 1, "promises": [{"pod_group": "x", "node": "n"}]})",
       R"(memory: promises[0].pod_group: expected "namespace/name")"},
      {R"({"version": 1, "promises": [{"pod_group": "a/x"}]})",
       "memory: promises[0].node: is missing"},
      {R"({"version": 1, "promises": [{"pod_group": "a/x", "node": 1}]})",
       "memory: promises[0].node: expected a string, found a number"},
      {R"({"version": 1, "evictors": [{"queue": "q"}]})",
       R"(memory: evictors[0].pod_group: expected "namespace/name")"},
      {R"({"version": 1, "evictors": [{"pod_group": "a/x", "unkept": -1}]})",
       "memory: evictors[0].unkept: -1 is negative"},
      {R"({"version": 1, "evictors": [{"pod_group": "a/x", "victims": [{"pod_group": "a/y"}]}]})",
       "memory: evictors[0].victims[0].pod: is missing"},
      {R"({"version": 1, "assumed": {"evicted": [{"pod": "a/x-0"}]}})",
       "memory: assumed.evicted[0].id: is missing"},
      {R"({"version": 1, "assumed": {"bound": [{"id": 1}]}})",
       "memory: assumed.bound[0].request: is missing"},
      {R"({"version": 1, "assumed": {"bound": [{"id": 1, "request": {"metadata": {"name": "x"}}}]}})",
       "memory: assumed.bound[0].request.spec.podName: is missing"},
  };
  for (const auto& [text, message] : bad) EXPECT_EQ(ReadMemory(text).status().message(), message);
}

}  // namespace
}  // namespace kai::memory_test
