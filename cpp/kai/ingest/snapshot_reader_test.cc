#include "kai/ingest/snapshot_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "kai/base/text.h"

namespace kai::snapshot_reader_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// One object of every kind.
constexpr std::string_view kSmall = R"({
  "config": {"actions": "allocate", "tiers": [{"plugins": [{"name": "predicates"}]}]},
  "schedulerParams": {"schedulerName": "kai-scheduler",
      "partitionParams": {"NodePoolLabelKey": "pool", "NodePoolLabelValue": ""},
                      "fullHierarchyFairness": true,
                          "globalDefaultStalenessGracePeriod": 60000000000,
                          "queueLabelKey": "kai.scheduler/queue"},
  "rawObjects": {
    "nodes": [{"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "8",
        "memory": "16Gi", "pods": "110",
        "nvidia.com/gpu": "2"},
                                                      "conditions": [{"type": "Ready",
                                                          "status": "True"}]}}],
    "queues": [{"metadata": {"name": "root"}, "spec": {"resources": {"gpu": {"quota": 2,
        "limit": -1}}}},
               {"metadata": {"name": "a"}, "spec": {"parentQueue": "root"}}],
    "podGroups": [{"metadata": {"name": "g", "namespace": "ns"}, "spec": {"queue": "a",
        "minMember": 1}}],
    "pods": [{"metadata": {"name": "p", "namespace": "ns", "uid": "u",
        "annotations": {"pod-group-name": "g"}},
              "spec": {"schedulerName": "kai-scheduler",
                  "containers": [{"resources": {"requests": {"cpu": "1",
                  "nvidia.com/gpu": 1}}}]},
              "status": {"phase": "Pending"}}],
    "priorityClasses": [{"metadata": {"name": "train"}, "value": 50}],
    "bindRequests": [{"metadata": {"name": "x", "namespace": "ns"}, "spec": {"podName": "x",
        "selectedNode": "n1"}}],
    "resourceClaims": [{"metadata": {"name": "c", "namespace": "ns"}}],
    "resourceSlices": [{"metadata": {"name": "s"}, "spec": {"nodeName": "n1", "driver": "gpu",
        "devices": []}}],
    "configMaps": [{"metadata": {"name": "caf\u00e9 é"}}], "topologies": null
  },
  "discovery": {"serverVersion": null}
})";

SnapshotRows Read(std::string_view json) {
  absl::StatusOr<SnapshotRows> rows = ReadSnapshotRows(json);
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  return rows.ok() ? *std::move(rows) : SnapshotRows();
}

ClusterRows Rows(std::string_view json) { return Read(json).cluster; }

std::string Error(std::string_view json) {
  const absl::StatusOr<SnapshotRows> rows = ReadSnapshotRows(json);
  if (rows.ok()) return "fine";
  EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(rows.status().message());
}

// A snapshot with these pods only.
std::string Pods(std::string_view pods) {
  return StrCat(R"({"rawObjects": {"pods": [)", pods, "]}}");
}

auto IsRejected(std::string_view kind, std::string_view name, std::string_view field,
                std::string_view message) {
  return AllOf(Field(&Rejection::kind, kind), Field(&Rejection::name, name),
               Field(&Rejection::field, field), Field(&Rejection::message, message));
}

TEST(SnapshotReaderTest, IgnoresClaimsIfTheClusterDoesNotServeThem) {  // spec 3 D1
  const auto serves = [](std::string_view discovery) {
    return Rows(StrCat(R"({"rawObjects": {}, "discovery": )", discovery, "}")).serves_claims;
  };
  EXPECT_EQ(serves("null"), std::nullopt) << "the snapshot has no such list";
  EXPECT_EQ(serves(R"({"resources": null})"), std::nullopt);
  for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
    EXPECT_EQ(serves(StrCat(R"({"resources": [{"groupVersion": "v1"},
                                              {"groupVersion": "resource.k8s.io/)",
                            version, R"("}]})")),
              true);
  }
  EXPECT_EQ(serves(R"({"resources": [{"groupVersion": "resource.k8s.io/v1alpha3"}]})"), false);
  EXPECT_EQ(serves(R"({"resources": []})"), false);
  EXPECT_EQ(serves(R"({"resources": [{"groupVersion": "apps/v1"}]})"), false);

  constexpr std::string_view kOneClaim = R"({
    "rawObjects": {
      "queues": [{"metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"limit": -1}}}}],
      "podGroups": [{"metadata": {"name": "g", "namespace": "ns"}, "spec": {"queue": "a"}}],
      "pods": [{"metadata": {"name": "p", "namespace": "ns",
                             "annotations": {"pod-group-name": "g"}},
                "spec": {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]},
                "status": {"phase": "Pending"}}],
      "resourceClaims": [{"metadata": {"name": "c", "namespace": "ns"},
        "spec": {"devices": {"requests": [{"name": "r",
            "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}}]
    },
    "discovery": {"resources": [RESOURCES]}
  })";
  const auto requested_gpus = [&](std::string_view resources) {
    std::string json(kOneClaim);
    json.replace(json.find("RESOURCES"), 9, resources);
    const absl::StatusOr<SnapshotFile> file = ReadSnapshot(json);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? file->cluster->ClassOf(PodId(0)).requested[kQuotaGpu] : -1;
  };
  EXPECT_EQ(requested_gpus(R"({"groupVersion": "resource.k8s.io/v1beta1"})"), 2);
  EXPECT_EQ(requested_gpus(""), 0);
}

TEST(SnapshotReaderTest, ReadsEveryKind) {
  const ClusterRows rows = Rows(kSmall);
  EXPECT_EQ(rows.nodes.size(), 1);
  EXPECT_EQ(rows.queues.size(), 2);
  EXPECT_EQ(rows.pod_groups.size(), 1);
  EXPECT_EQ(rows.pods.size(), 1);
  EXPECT_EQ(rows.priority_classes.size(), 1);
  EXPECT_EQ(rows.bind_requests.size(), 1);
  EXPECT_EQ(rows.claims.size(), 1);
  EXPECT_EQ(rows.slices.size(), 1);
  EXPECT_THAT(rows.rejections, IsEmpty());
  EXPECT_EQ(Read(kSmall).config_json,
            R"({"actions": "allocate", "tiers": [{"plugins": [{"name": "predicates"}]}]})");
}

TEST(SnapshotReaderTest, DistinguishesMissingListsFromEmptyOnes) {
  const ClusterRows silent = Rows(R"({"rawObjects": {"configMaps": null}})");
  EXPECT_FALSE(silent.config_maps.has_value());
  const ClusterRows none = Rows(R"({"rawObjects": {"configMaps": []}})");
  ASSERT_TRUE(none.config_maps.has_value());
  EXPECT_THAT(*none.config_maps, IsEmpty());
}

TEST(SnapshotReaderTest, ReadsTheObjectsThatPodsReferTo) {
  const auto one = [](std::string_view list) {
    return StrCat("\"", list, R"(": [{"metadata": {"name": "x"}}])");
  };
  const ClusterRows rows = Rows(StrCat(
      R"({"rawObjects": {)", one("configMaps"), ",", one("namespaces"), ",",
      one("persistentVolumeClaims"), ",", one("persistentVolumes"), ",", one("storageClasses"), ",",
      one("csiDrivers"), ",", one("csiStorageCapacities"), ",", one("csiNodes"), "}}"));
  EXPECT_EQ(rows.config_maps->size(), 1);
  EXPECT_EQ(rows.namespaces.size(), 1);
  EXPECT_EQ(rows.storage.claims.size(), 1);
  EXPECT_EQ(rows.storage.volumes.size(), 1);
  EXPECT_EQ(rows.storage.classes.size(), 1);
  EXPECT_EQ(rows.storage.drivers.size(), 1);
  EXPECT_EQ(rows.storage.capacities.size(), 1);
  EXPECT_EQ(rows.storage.nodes.size(), 1);
  EXPECT_THAT(rows.rejections, IsEmpty());
}

TEST(SnapshotReaderTest, BuildsTheCluster) {
  const absl::StatusOr<SnapshotFile> file = ReadSnapshot(kSmall);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->cluster->pods().size(), 1);
  EXPECT_EQ(file->params.node_pool_label_key, "pool");
  EXPECT_THAT(file->config_json, StartsWith(R"({"actions": "allocate")"));
  EXPECT_THAT(file->cluster->rejections(), IsEmpty());
}

TEST(SnapshotReaderTest, AddsItsRejectionsToTheCluster) {
  const absl::StatusOr<SnapshotFile> file =
      ReadSnapshot(Pods(R"({"metadata": {"name": "p", "namespace": "ns"}, "spec": []})"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(file->cluster->rejections(),
              ElementsAre(IsRejected("Pod", "ns/p", "spec", "expected an object, found a list")));
}

TEST(SnapshotReaderTest, ReadsTheSnapshotInsideARecordedCase) {
  const ClusterRows rows = Rows(
      StrCat(R"({"id": "x", "expect": {"pods": {}}, "snapshot": )", kSmall, R"(, "rounds": 1})"));
  EXPECT_EQ(rows.pods.size(), 1);
  EXPECT_EQ(rows.params.node_pool_label_key, "pool");
}

TEST(SnapshotReaderTest, ReadsTheUsageOfQueues) {  // spec 1 F115
  const SnapshotRows rows = Read(
      R"({"usage": {"a": {"gpu": 0.5, "memory": 1}, "gone": {"cpu": 0.25}},
          "rawObjects": {"queues": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}})");
  EXPECT_EQ(rows.cluster.queues.at(0).past_usage, (QuotaVector{0, 1, 0.5}));
  EXPECT_EQ(rows.cluster.queues.at(1).past_usage, QuotaVector{});
  EXPECT_EQ(rows.past_usages.at("gone"), (QuotaVector{0.25, 0, 0}));
}

TEST(SnapshotReaderTest, RejectsInvalidUsage) {
  const auto why = [](std::string_view usage) {
    return std::string(
        ReadSnapshotRows(StrCat(R"({"rawObjects": {}, "usage": {"a": )", usage, "}}"))
            .status()
            .message());
  };
  EXPECT_EQ(why(R"({"gpu": -1})"),
            "the snapshot's usage[\"a\"].gpu: must be a number of at least 0");
  EXPECT_EQ(why(R"({"tpu": 1})"),
            "the snapshot's usage[\"a\"].tpu: is not a resource of queues; use gpu, cpu or "
            "memory");
  EXPECT_NE(why(R"({"gpu": "much"})"), "");
  EXPECT_NE(why("7"), "");
}

TEST(SnapshotReaderTest, AcceptsMembersInAnyOrder) {
  const SnapshotRows rows = Read(
      R"({"rawObjects": {"pods": [{"metadata": {"name": "p"}}]},
          "schedulerParams": {"schedulerName": "late"}, "config": {}})");
  EXPECT_EQ(rows.cluster.pods.size(), 1);
  EXPECT_EQ(rows.cluster.params.scheduler_name, "late");
  EXPECT_EQ(rows.config_json, "{}");
}

TEST(SnapshotReaderTest, UsesDefaultsOfTheFlagsWithoutSchedulerParams) {
  for (const char* json :
       {R"({"rawObjects": {}})", R"({"rawObjects": {}, "schedulerParams": null})"}) {
    const ClusterRows rows = Rows(json);
    EXPECT_EQ(rows.params.scheduler_name, "kai-scheduler");
    EXPECT_TRUE(rows.params.full_hierarchy_fairness);
    EXPECT_EQ(rows.params.max_consolidation_preemptees, 16);
    EXPECT_EQ(rows.params.node_pool_label_key, "kai.scheduler/node-pool");
    EXPECT_EQ(Read(json).config_json, "");
  }
}

TEST(SnapshotReaderTest, ReadsMissingSchedulerParamsAsZero) {
  const ShardParams params = Rows(R"({"rawObjects": {}, "schedulerParams": {}})").params;
  EXPECT_FALSE(params.full_hierarchy_fairness);
  EXPECT_FALSE(params.use_scheduling_signatures);
  EXPECT_FALSE(params.allow_consolidating_reclaim);
  EXPECT_EQ(params.max_consolidation_preemptees, 0);
  EXPECT_EQ(params.default_staleness_grace_ns, 0);
  EXPECT_EQ(params.node_pool_label_key, "");
  EXPECT_EQ(params.queue_label_key, "");
  EXPECT_FALSE(params.count_mig_as_parts);
  EXPECT_FALSE(params.count_all_accelerators);
  EXPECT_EQ(params.scheduler_name, "kai-scheduler");  // an empty name would schedule nothing
  EXPECT_EQ(params.stuck_in_releasing_threshold_ns, 120'000'000'000);  // spec 2 S2
}

TEST(SnapshotReaderTest, AnUnknownParameterIsSkippedAndReported) {
  const SnapshotRows rows = Read(R"({"schedulerParams": {"fullHierarchyFairnes": {"a": [1]},
      "schedulerName": "s", "partitionParams": {"NodePoolLabelValu": 5}, "x": 1},
      "rawObjects": {}})");
  EXPECT_EQ(rows.cluster.params.scheduler_name, "s");
  EXPECT_THAT(
      rows.warnings,
      ElementsAre(
          "schedulerParams: member \"fullHierarchyFairnes\" is not known and is skipped; did "
          "you mean \"fullHierarchyFairness\"?",
          "schedulerParams.partitionParams: member \"NodePoolLabelValu\" is not known and is "
          "skipped; did you mean \"NodePoolLabelValue\"?",
          "schedulerParams: member \"x\" is not known and is skipped"));
  EXPECT_THAT(rows.cluster.rejections, IsEmpty());
}

TEST(SnapshotReaderTest, ReadsAllSchedulerParams) {
  const ShardParams params = Rows(R"({"rawObjects": {}, "schedulerParams": {
      "schedulerName": "s", "restrictSchedulingNodes": true,
          "partitionParams": {"NodePoolLabelKey": "k",
          "NodePoolLabelValue": "v"},
      "maxNumberConsolidationPreemptees": 5, "scheduleCSIStorage": true,
          "useSchedulingSignatures": true,
          "fullHierarchyFairness": true,
      "allowConsolidatingReclaim": true, "numOfStatusRecordingWorkers": 5,
          "globalDefaultStalenessGracePeriod": -1,
          "schedulePeriod": 1000000000,
      "stuckInReleasingThreshold": 7, "detailedFitErrors": true,
          "updatePodEvictionCondition": true, "queueLabelKey": "q", "countMigAsParts": true,
          "countAllAccelerators": true}})")
                                 .params;
  EXPECT_EQ(params.scheduler_name, "s");
  EXPECT_TRUE(params.restrict_node_scheduling);
  EXPECT_EQ(params.node_pool_label_key, "k");
  EXPECT_EQ(params.node_pool_label_value, "v");
  EXPECT_EQ(params.max_consolidation_preemptees, 5);
  EXPECT_TRUE(params.schedule_csi_storage);
  EXPECT_TRUE(params.use_scheduling_signatures);
  EXPECT_TRUE(params.full_hierarchy_fairness);
  EXPECT_TRUE(params.allow_consolidating_reclaim);
  EXPECT_EQ(params.default_staleness_grace_ns, -1);
  EXPECT_EQ(params.stuck_in_releasing_threshold_ns, 7);
  EXPECT_TRUE(params.detailed_fit_errors);
  EXPECT_EQ(params.queue_label_key, "q");
  EXPECT_TRUE(params.count_mig_as_parts);
  EXPECT_TRUE(params.count_all_accelerators);
}

TEST(SnapshotReaderTest, SkipsInvalidObjectsAndContinues) {
  const ClusterRows rows = Rows(Pods(R"(
      {"metadata": {"name": "good-1"}},
      {"metadata": {"name": "typo", "namespace": "ns"},
          "spec": {"containers": [{"resources": {"requests": {"memory": "1Gx", "cpu": "1"}}}]}},
      {"metadata": {"name": "nan", "namespace": "ns", "annotations": {"gpu-fraction": "NaN"}}},
      {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": -1}}}],
          "nodeName": "n"},
          "metadata": {"name": "negative"}},
      17, null, "text", [{"metadata": {"name": "inner"}}], {}, {"metadata": {"namespace": "ns"}},
      {"metadata": {"name": "good-2"}})"));
  EXPECT_THAT(rows.pods,
              ElementsAre(Field(&PodRow::name, "good-1"), Field(&PodRow::name, "good-2")));
  EXPECT_THAT(
      rows.rejections,
      ElementsAre(
          IsRejected("Pod", "ns/typo", "spec.containers[0].resources.requests[\"memory\"]",
                     "quantity \"1Gx\" is not valid"),
          IsRejected("Pod", "ns/nan", "metadata.annotations[\"gpu-fraction\"]",
                     "\"NaN\" is not a number above 0 and up to 1"),
          IsRejected("Pod", "negative", "spec.containers[0].resources.requests[\"nvidia.com/gpu\"]",
                     "quantity \"-1\" is negative"),
          IsRejected("Pod", "", "", "expected an object, found a number (rawObjects.pods[4])"),
          IsRejected("Pod", "", "", "expected an object, found null (rawObjects.pods[5])"),
          IsRejected("Pod", "", "", "expected an object, found a string (rawObjects.pods[6])"),
          IsRejected("Pod", "", "", "expected an object, found a list (rawObjects.pods[7])"),
          IsRejected("Pod", "", "metadata.name", "is missing (rawObjects.pods[8])"),
          IsRejected("Pod", "", "metadata.name", "is missing (rawObjects.pods[9])")));
}

TEST(SnapshotReaderTest, ReportsErrorsOfTheWholeText) {
  EXPECT_EQ(Error(""), "the snapshot is not valid JSON: byte 0: expected a value, found the end");
  EXPECT_EQ(Error("PK\x03\x04"),
            "the snapshot is not valid JSON: byte 0: expected a value, found 'P'");
  EXPECT_EQ(Error("[]"), "the snapshot is not a JSON object");
  EXPECT_EQ(Error("{}"), "the snapshot has no rawObjects");
  EXPECT_EQ(Error(R"({"rawObjects": null})"), "the snapshot has no rawObjects");
  EXPECT_EQ(Error(R"({"rawObjects": []})"),
            "the snapshot's rawObjects: expected an object, found a list");
  EXPECT_EQ(Error(R"({"rawObjects": {"pods": {}}})"),
            "the snapshot's rawObjects.pods: expected a list, found an object");
  EXPECT_EQ(Error(R"({"snapshot": 5})"),
            "the snapshot's snapshot: expected an object, found a number");
  EXPECT_EQ(Error(R"({"rawObjects": {}, "config": "x"})"),
            "the snapshot's config: expected an object, found a string");
  EXPECT_EQ(
      Error(R"({"rawObjects": {}, "schedulerParams": {"fullHierarchyFairness": "yes"}})"),
      "the snapshot's schedulerParams.fullHierarchyFairness: expected a boolean, found a string");
  EXPECT_EQ(Error(R"({"rawObjects": {}, "schedulerParams": {"stuckInReleasingThreshold": 1.5}})"),
            "the snapshot's schedulerParams.stuckInReleasingThreshold: expected a whole number, "
            "found 1.5");
}

TEST(SnapshotReaderTest, RejectsInvalidJsonInPartsThatItDoesNotRead) {
  EXPECT_THAT(Error(R"({"rawObjects": {}, "discovery": {"a": [1, 2}})"),
              HasSubstr("expected ',' or ']'"));
  EXPECT_THAT(Error(R"({"rawObjects": {"configMaps": [nonsense]}})"),
              HasSubstr("expected a value"));
  EXPECT_THAT(Error(Pods("{\"metadata\": {\"name\": \"p\"}, \"spec\": {\"unknown\": \"\xff\"}}")),
              HasSubstr("not valid UTF-8"));
}

TEST(SnapshotReaderTest, ReportsATruncatedTextAtAnyLength) {
  for (size_t size = 0; size < kSmall.size(); ++size) {
    EXPECT_THAT(Error(kSmall.substr(0, size)),
                StartsWith(StrCat("the snapshot is not valid JSON: byte ")))
        << size;
  }
}

TEST(SnapshotReaderTest, SurvivesAnyChangeOfAByte) {
  std::mt19937 random(1);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text(kSmall);
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      text[random() % text.size()] = "{}[]\",:\\ 0e-.tn\x80\xc3\n\"\""[random() % 20];
    }
    read += ReadSnapshotRows(text).ok() ? 1 : 0;
  }
  EXPECT_GT(read, 1'000);  // most changes hit a text, and the rest is still a snapshot
}

TEST(SnapshotReaderTest, SkipsDeeplyNestedValuesAndRejectsTooDeepOnes) {
  const auto nested = [](int levels) {
    return Pods(StrCat(R"({"metadata": {"name": "p"}, "unknown": )", std::string(levels, '['),
                       std::string(levels, ']'), "}"));
  };
  EXPECT_EQ(Rows(nested(990)).pods.size(), 1);
  EXPECT_THAT(Error(nested(1'000)), HasSubstr("nested deeper than 1000 levels"));
  EXPECT_THAT(Error(nested(10'000'000)), HasSubstr("nested deeper than 1000 levels"));
}

TEST(SnapshotReaderTest, RejectsAThousandPodsAsQuicklyAsItReadsThem) {
  std::string pods;
  const std::string long_name(10'000, 'n');
  for (int i = 0; i < 1'000; ++i)
    StrAppend(&pods, i > 0 ? "," : "", R"({"spec": 5, "metadata": {"name": ")", long_name, "\"}}");
  const ClusterRows rows = Rows(Pods(pods));
  EXPECT_EQ(rows.rejections.size(), 1'000);
  EXPECT_EQ(rows.rejections.back().name, long_name);  // in full, as users search for names
}

TEST(SnapshotReaderTest, KeepsTheLastOfTwoEqualLists) {
  EXPECT_THAT(Rows(
                  R"({"rawObjects": {"pods": [{"metadata": {"name": "p"}}],
              "pods": [{"metadata": {"name": "q"}}]}})")
                  .pods,
              ElementsAre(Field(&PodRow::name, "q")));
}

TEST(SnapshotReaderTest, PassesEqualNamesToTheBuilder) {
  const std::string twice = Pods(
      R"({"metadata": {"name": "p", "namespace": "ns"}}, {"metadata": {"name": "p",
          "namespace": "ns"}})");
  EXPECT_EQ(Rows(twice).pods.size(), 2);
  const absl::StatusOr<SnapshotFile> file = ReadSnapshot(twice);
  ASSERT_TRUE(file.ok());
  ASSERT_FALSE(file->cluster->rejections().empty());
  EXPECT_EQ(file->cluster->rejections()[0].name, "ns/p");
}

}  // namespace
}  // namespace kai::snapshot_reader_test
