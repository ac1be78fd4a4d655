#include "kai/ingest/queue_reader.h"

#include <gtest/gtest.h>

#include "kai/api/units.h"
#include "kai/ingest/read_for_test.h"

namespace kai::queue_reader_test {
namespace {

TEST(QueueReaderTest, ReadsAQueue) {
  const QueueRow row = ReadForTest(&ReadQueue, R"({
    "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:01Z",
        "labels": {"kai.scheduler/node-pool": "x"}},
    "spec": {"displayName": "Team A", "parentQueue": "root", "priority": 200,
        "preemptMinRuntime": "10s",
        "reclaimMinRuntime": "1h30m",
             "resources": {"gpu": {"quota": 2.5, "overQuotaWeight": 3, "limit": -1},
                 "cpu": {"quota": 1000},
                 "tpu": {"quota": "x"}}},
    "status": {"allocated": {"cpu": "5"}}})");
  EXPECT_EQ(row.name, "a");
  EXPECT_EQ(row.display_name, "Team A");
  EXPECT_EQ(row.parent, "root");
  EXPECT_EQ(row.labels.size(), 1);
  EXPECT_EQ(row.created_ns, 1'000'000'000);
  EXPECT_EQ(row.priority, 200);
  EXPECT_EQ(row.resources[kQuotaGpu].quota, 2.5);
  EXPECT_EQ(row.resources[kQuotaGpu].over_quota_weight, 3);
  EXPECT_EQ(row.resources[kQuotaGpu].limit, -1);
  EXPECT_EQ(row.resources[kQuotaCpu].quota, 1000);
  EXPECT_EQ(row.resources[kQuotaCpu].limit, 0);
  EXPECT_EQ(row.resources[kQuotaMemory].quota, 0);
  EXPECT_EQ(row.preempt_min_runtime_ns, 10'000'000'000);
  EXPECT_EQ(row.reclaim_min_runtime_ns, 5'400'000'000'000);
}

TEST(QueueReaderTest, ReadsMissingResourcesAsZero) {
  const QueueRow row =
      ReadForTest(&ReadQueue, R"({"metadata": {"name": "a"}, "spec": {"resources": null}})");
  for (const QuotaRow& quota : row.resources) EXPECT_EQ(quota.limit, 0);
  EXPECT_FALSE(row.priority.has_value());
  EXPECT_FALSE(row.preempt_min_runtime_ns.has_value());
}

TEST(QueueReaderTest, NamesTheInvalidField) {
  EXPECT_EQ(
      Complaint(&ReadQueue,
                R"({"metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"quota": "two"}}}})"),
      "Queue a: spec.resources.gpu.quota: expected a number, found a string");
  EXPECT_EQ(
      Complaint(&ReadQueue,
                R"({"metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"limit": 1e999}}}})"),
      "Queue a: spec.resources.gpu.limit: 1e999 is out of range");
  for (const std::string field : {"quota", "limit", "overQuotaWeight"}) {
    const auto read = [&](const std::string& amount) {
      return Complaint(
          &ReadQueue, R"({"metadata": {"name": "a"}, "spec": {"resources": {"memory": {")" + field +
                          "\": " + amount + "}}}}");
    };
    const std::string refused = "Queue a: spec.resources.memory." + field +
                                ": is more than the largest amount of Kubernetes, 2^63";
    EXPECT_EQ(read("1e308"), refused);
    EXPECT_EQ(read("-1e19"), refused);
    EXPECT_EQ(read("9223372036854775807"), "fine");
  }
  EXPECT_EQ(Complaint(&ReadQueue, R"({"metadata": {"name": "a"}, "spec": {"priority": 1.5}})"),
            "Queue a: spec.priority: expected a whole number, found 1.5");
  EXPECT_EQ(
      Complaint(&ReadQueue, R"({"metadata": {"name": "a"}, "spec": {"reclaimMinRuntime": "1d"}})"),
      "Queue a: spec.reclaimMinRuntime: duration \"1d\" is not valid");
  EXPECT_EQ(
      Complaint(&ReadQueue, R"({"metadata": {"name": "a"}, "spec": {"preemptMinRuntime": 10}})"),
      "Queue a: spec.preemptMinRuntime: expected a string, found a number");
  EXPECT_EQ(Complaint(&ReadQueue, R"({"spec": {}})"), "Queue : metadata.name: is missing");
}

}  // namespace
}  // namespace kai::queue_reader_test
