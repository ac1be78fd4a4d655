#include "kai/ingest/pod_group_reader.h"

#include <gtest/gtest.h>

#include "kai/base/clock.h"
#include "kai/base/text.h"
#include "kai/ingest/read_for_test.h"

namespace kai::pod_group_reader_test {
namespace {

TEST(PodGroupReaderTest, ReadsAPodGroup) {
  const PodGroupRow row = ReadForTest(&ReadPodGroup, R"({
    "metadata": {"name": "g", "namespace": "ns", "creationTimestamp": "1970-01-01T00:00:01Z",
        "labels": {"a": "b"},
                 "annotations": {"kai.scheduler/last-start-timestamp": "1970-01-01T00:00:02Z",
                     "kai.scheduler/stale-podgroup-timestamp": "1970-01-01T00:00:03Z",
                                 "kai.scheduler/last-eviction-timestamp": "1970-01-01T00:00:04Z",
                                 "kai.scheduler/top-owner-metadata": "kind: Job\nname: train\nuid: a name: b",
                                     "other": 5}},
    "spec": {"queue": "q", "priorityClassName": "train", "preemptibility": "non-preemptible",
        "minMember": 3, "minSubGroup": 1,
             "preemptionDelay": "5m", "stalenessGracePeriod": "-1s", "schedulingBackoff": -1,
                 "markUnschedulable": false,
             "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack",
                 "preferredTopologyLevel": "host"},
             "subGroups": [{"name": "leaders"}, {"name": "workers", "parent": "all",
                 "minMember": 4, "minSubGroup": 2,
                 "topologyConstraint": {"topology": "u"}}]}})");
  EXPECT_EQ(row.namespace_name, "ns");
  EXPECT_EQ(row.name, "g");
  EXPECT_EQ(row.labels.size(), 1);
  EXPECT_EQ(row.created_ns, 1'000'000'000);
  EXPECT_EQ(row.last_start_ns, 2'000'000'000);
  EXPECT_EQ(row.stale_since_ns, 3'000'000'000);
  EXPECT_EQ(row.last_eviction_ns, 4'000'000'000);
  EXPECT_EQ(row.owner_name, "train");
  EXPECT_EQ(row.queue, "q");
  EXPECT_EQ(row.priority_class, "train");
  EXPECT_EQ(row.preemptibility, "non-preemptible");
  EXPECT_EQ(row.min_member, 3);
  EXPECT_EQ(row.min_sub_group, 1);
  EXPECT_EQ(row.preemption_delay_ns, 300'000'000'000);
  EXPECT_EQ(row.staleness_grace_ns, -1'000'000'000);
  EXPECT_EQ(row.scheduling_backoff, -1);
  EXPECT_FALSE(row.mark_unschedulable);
  EXPECT_EQ(row.topology.topology, "t");
  EXPECT_EQ(row.topology.required_level, "rack");
  EXPECT_EQ(row.topology.preferred_level, "host");
  ASSERT_EQ(row.sub_groups.size(), 2);
  EXPECT_EQ(row.sub_groups[0].name, "leaders");
  EXPECT_FALSE(row.sub_groups[0].parent.has_value());
  EXPECT_FALSE(row.sub_groups[0].min_member.has_value());
  EXPECT_EQ(row.sub_groups[1].parent, "all");
  EXPECT_EQ(row.sub_groups[1].min_member, 4);
  EXPECT_EQ(row.sub_groups[1].min_sub_group, 2);
  EXPECT_EQ(row.sub_groups[1].topology.topology, "u");
}

TEST(PodGroupReaderTest, LeavesMissingFieldsEmpty) {
  const PodGroupRow row =
      ReadForTest(&ReadPodGroup, R"({"metadata": {"name": "g"}, "spec": {"minMember": null}})");
  EXPECT_FALSE(row.min_member.has_value());
  EXPECT_FALSE(row.scheduling_backoff.has_value());
  EXPECT_FALSE(row.preemption_delay_ns.has_value());
  EXPECT_TRUE(row.mark_unschedulable);
  EXPECT_EQ(row.latest_condition_node_pool, "");
}

TEST(PodGroupReaderTest, IgnoresAnInvalidTime) {  // spec 2 G16
  EXPECT_FALSE(ReadForTest(&ReadPodGroup,
                           R"({"metadata": {"name": "g",
                           "annotations": {"kai.scheduler/last-start-timestamp": "soon"}}})")
                   .last_start_ns.has_value());
}

TEST(PodGroupReaderTest, FindsTheNodePoolOfTheLatestCondition) {
  const auto latest = [](std::string_view conditions) {
    return ReadForTest(&ReadPodGroup,
                       StrCat(R"({"metadata": {"name": "g"}, "status": {"schedulingConditions": [)",
                              conditions, "]}}"))
        .latest_condition_node_pool;
  };
  EXPECT_EQ(latest(""), "");
  EXPECT_EQ(latest(
                R"({"nodePool": "a", "transitionID": "9"}, {"nodePool": "b", "transitionID": "10"},
              {"nodePool": "c",
              "transitionID": "8"})"),
            "b");
  EXPECT_EQ(
      latest(R"({"nodePool": "a", "transitionID": "7"}, {"nodePool": "b", "transitionID": "7"})"),
      "b");
  EXPECT_EQ(
      latest(R"({"nodePool": "a", "transitionID": "x"}, {"nodePool": "b", "transitionID": "-5"})"),
      "b");
  EXPECT_EQ(latest(
                R"({"nodePool": "a", "transitionID": "1"}, {"nodePool": "b"}, {"nodePool": "c",
              "transitionID": "99999999999999999999"})"),
            "a");
}

TEST(PodGroupReaderTest, NamesTheInvalidField) {
  const auto complain = [](std::string_view spec) {
    return Complaint(
        &ReadPodGroup,
        StrCat(R"({"metadata": {"name": "g", "namespace": "ns"}, "spec": {)", spec, "}}"));
  };
  EXPECT_EQ(complain(R"("minMember": -1)"), "PodGroup ns/g: spec.minMember: -1 is negative");
  EXPECT_EQ(complain(R"("minMember": 2147483648)"),
            "PodGroup ns/g: spec.minMember: 2147483648 is out of range");
  EXPECT_EQ(complain(R"("minMember": "3")"),
            "PodGroup ns/g: spec.minMember: expected a whole number, found a string");
  EXPECT_EQ(complain(R"("preemptibility": "maybe")"),
            "PodGroup ns/g: spec.preemptibility: \"maybe\" is not preemptible or non-preemptible");
  EXPECT_EQ(complain(R"("subGroups": [{"name": "a"}, {"minMember": 1}])"),
            "PodGroup ns/g: spec.subGroups[1].name: is missing");
  EXPECT_EQ(complain(R"("subGroups": [{"name": "a", "minMember": -4}])"),
            "PodGroup ns/g: spec.subGroups[0].minMember: -4 is negative");
  EXPECT_EQ(complain(R"("preemptionDelay": "soon")"),
            "PodGroup ns/g: spec.preemptionDelay: duration \"soon\" is not valid");
  EXPECT_EQ(complain(R"("topologyConstraint": "rack")"),
            "PodGroup ns/g: spec.topologyConstraint: expected an object, found a string");
  EXPECT_EQ(complain(R"("markUnschedulable": 0)"),
            "PodGroup ns/g: spec.markUnschedulable: expected a boolean, found a number");
}

TEST(PodGroupReaderTest, ReadsTheAnnotationsForJobOrders) {
  const auto read = [](const std::string& annotations) {
    return ReadForTest(&ReadPodGroup, R"({"metadata": {"name": "g", "namespace": "ns",
        "annotations": {)" + annotations + "}}}");
  };
  const PodGroupRow row = read(
      R"("kai.scheduler/run-time-estimate": "1h30m", "kai.scheduler/attained-service":
         "run=3600 gpu=28800.5  evictions=2 until=1970-01-01T00:00:09Z")");
  EXPECT_EQ(row.estimate_ns, 5400 * kSecondNs);
  EXPECT_EQ(row.service, (ServiceRow{.run_ns = 3600 * kSecondNs,
                                     .gpu_ns = 28'800'500'000'000,
                                     .until_ns = 9 * kSecondNs,
                                     .evictions = 2}));
  EXPECT_EQ(read("").estimate_ns, std::nullopt);
  EXPECT_EQ(read("").service, ServiceRow());
  for (const std::string text :
       {"an hour", "run=1h", "run=-1", "run=1e300", "run=nan", "gpus=5", "evictions=-1",
        "evictions=1.5", "until=tomorrow", "run=5 until", "=", "run="}) {
    EXPECT_EQ(read(R"("kai.scheduler/attained-service": ")" + text + R"(")").service, ServiceRow())
        << text << ": an invalid value is ignored";
  }
}

}  // namespace
}  // namespace kai::pod_group_reader_test
