#include "kai/ingest/zone_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"
#include "kai/ingest/bind_request_reader.h"
#include "kai/ingest/pod_reader.h"
#include "kai/ingest/read_for_test.h"

namespace kai::zone_reader_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

NodeZonesRow WithManager(std::string_view members) {
  return ReadForTest(&ReadNodeZones,
                     StrCat(R"({"metadata": {"name": "n"}, )", std::string(members), "}"));
}

NodeZonesRow WithAttributes(std::string_view policy, std::string_view scope) {
  return WithManager(StrCat(R"("attributes": [{"name": "topologyManagerPolicy", "value": ")",
                            std::string(policy),
                            R"("}, {"name": "topologyManagerScope", "value": ")",
                            std::string(scope), R"("}], "topologyPolicies": ["Restricted"])"));
}

TEST(ZoneReaderTest, ReadsZonesOfTypeNode) {
  const NodeZonesRow row = ReadForTest(&ReadNodeZones, R"({
      "metadata": {"name": "n1"},
      "zones": [
        {"name": "node-0", "type": "Node", "costs": [{"name": "node-0", "value": 10}], "resources": [
          {"name": "cpu", "capacity": "5", "allocatable": "4", "available": "1500m"},
          {"allocatable": "16Gi", "available": "1Gi", "name": "memory"},
          {"name": "nvidia.com/gpu", "allocatable": 2, "available": 0},
          {"name": "vendor/nic", "allocatable": "3", "available": "3"}]},
        {"name": "cache-0", "type": "Cache", "resources": []}]})");
  EXPECT_EQ(row.name, "n1");
  ASSERT_THAT(row.zones, SizeIs(1));
  EXPECT_EQ(row.zones[0].name, "node-0");
  EXPECT_THAT(row.zones[0].allocatable,
              ElementsAre(Pair("cpu", 4000), Pair("memory", int64_t{16} << 30),
                          Pair("nvidia.com/gpu", 2), Pair("vendor/nic", 3000)));
  EXPECT_THAT(row.zones[0].available,
              ElementsAre(Pair("cpu", 1500), Pair("memory", int64_t{1} << 30),
                          Pair("nvidia.com/gpu", 0), Pair("vendor/nic", 3000)));
  EXPECT_EQ(row.policy, NumaPolicy::kNone);
  EXPECT_EQ(row.scope, NumaScope::kContainer);
}

TEST(ZoneReaderTest, ReadsThePolicyAndScopeFromAttributes) {  // spec 3 U2
  EXPECT_EQ(WithAttributes("single-numa-node", "pod").policy, NumaPolicy::kSingleZone);
  EXPECT_EQ(WithAttributes("single-numa-node", "pod").scope, NumaScope::kPod);
  EXPECT_EQ(WithAttributes("restricted", "container").policy, NumaPolicy::kRestricted);
  EXPECT_EQ(WithAttributes("restricted", "container").scope, NumaScope::kContainer);
  EXPECT_EQ(WithAttributes("best-effort", "?").policy, NumaPolicy::kBestEffort);
  EXPECT_EQ(WithAttributes("?", "pod").policy, NumaPolicy::kNone)
      << "the older format counts only without attributes";
}

TEST(ZoneReaderTest, ReadsThePolicyAndScopeFromTheOlderField) {  // spec 3 U2
  const auto read = [](std::string_view word) {
    return WithManager(StrCat(R"("topologyPolicies": [")", std::string(word), R"("])"));
  };
  EXPECT_EQ(read("SingleNUMANodePodLevel").policy, NumaPolicy::kSingleZone);
  EXPECT_EQ(read("SingleNUMANodePodLevel").scope, NumaScope::kPod);
  EXPECT_EQ(read("SingleNUMANodeContainerLevel").scope, NumaScope::kContainer);
  EXPECT_EQ(read("Restricted").policy, NumaPolicy::kRestricted);
  EXPECT_EQ(read("Restricted").scope, NumaScope::kContainer);
  EXPECT_EQ(read("RestrictedPodLevel").scope, NumaScope::kPod);
  EXPECT_EQ(read("BestEffortPodLevel").policy, NumaPolicy::kBestEffort);
  EXPECT_EQ(read("None").policy, NumaPolicy::kNone);
}

TEST(ZoneReaderTest, ReportsInvalidFieldsWithOneSentence) {
  const auto complaint = [](std::string_view zones) {
    return Complaint(&ReadNodeZones,
                     StrCat(R"({"metadata": {"name": "n"}, "zones": )", std::string(zones), "}"));
  };
  EXPECT_EQ(complaint("5"), "NodeResourceTopology n: zones: expected a list, found a number");
  EXPECT_EQ(complaint(R"([{"type": "Node"}])"),
            "NodeResourceTopology n: zones[0].name: is missing");
  EXPECT_EQ(complaint(R"([{"name": "z", "type": "Node", "resources": [{"allocatable": "1"}]}])"),
            "NodeResourceTopology n: zones[0].resources[0].name: is missing");
  EXPECT_EQ(complaint(R"([{"name": "z", "type": "Node", "resources": [
                          {"name": "cpu", "allocatable": "-1"}]}])"),
            "NodeResourceTopology n: zones[0].resources[0].allocatable: quantity \"-1\" is "
            "negative");
  EXPECT_EQ(Complaint(&ReadNodeZones, R"({"zones": []})"),
            "NodeResourceTopology : metadata.name: is missing");
}

TEST(ZoneReaderTest, ReadsRecordsFromAnnotationsOfPods) {  // spec 3 U12
  const PodRow pod = ReadForTest(&ReadPod, R"({"metadata": {"name": "p", "annotations": {
      "kai.scheduler/numa-placement-observed":
        "[{\"zone\":\"node-0\",\"amount\":{\"nvidia.com/gpu\":\"2\",\"cpu\":\"8\"}}]",
      "kai.scheduler/numa-placement-predicted": "[]"}}})");
  ASSERT_THAT(pod.zone_records, SizeIs(2));
  EXPECT_EQ(pod.zone_records[0].source, ZoneRecordRow::Source::kObserved);
  ASSERT_THAT(pod.zone_records[0].zones, SizeIs(1));
  EXPECT_EQ(pod.zone_records[0].zones[0].zone, "node-0");
  EXPECT_THAT(pod.zone_records[0].zones[0].amounts,
              ElementsAre(Pair("nvidia.com/gpu", 2), Pair("cpu", 8000)));
  EXPECT_EQ(pod.zone_records[1].source, ZoneRecordRow::Source::kPredicted);
  EXPECT_THAT(pod.zone_records[1].zones, IsEmpty());
}

TEST(ZoneReaderTest, AnInvalidRecordIsReportedAndThePodIsKept) {
  const auto problem = [](std::string_view text) {
    const ZoneRecordRow record = ReadZoneRecord(ZoneRecordRow::Source::kObserved, text);
    EXPECT_THAT(record.zones, IsEmpty());
    return record.problem;
  };
  EXPECT_EQ(problem("[{]"), "is not valid JSON");
  EXPECT_EQ(problem(""), "is not valid JSON");
  EXPECT_EQ(problem("}{"), "is not valid JSON");
  EXPECT_EQ(problem("{}"), "expected a list, found an object");
  EXPECT_EQ(problem(R"([{"zone": "a", "amount": {"cpu": "x"}}])"),
            "[0].amount[\"cpu\"]: quantity \"x\" is not valid");
  EXPECT_EQ(problem("null"), "");
}

TEST(ZoneReaderTest, ReadsPredictedZonesFromBindRequests) {
  const BindRequestRow row = ReadForTest(&ReadBindRequest, R"({"metadata": {"name": "p"}, "spec": {
      "podName": "p", "predictedNUMAZones": [{"zone": "node-1", "amount": {"cpu": "500m"}}]}})");
  ASSERT_THAT(row.zones, SizeIs(1));
  EXPECT_EQ(row.zones[0].zone, "node-1");
  EXPECT_THAT(row.zones[0].amounts, ElementsAre(Pair("cpu", 500)));
}

TEST(ZoneReaderTest, ListsContainersIfThereAreSeveral) {
  const PodRow one = ReadForTest(&ReadPod, R"({"metadata": {"name": "p"}, "spec": {
      "containers": [{"resources": {"requests": {"cpu": 2}}}]},
      "status": {"qosClass": "Guaranteed"}})");
  EXPECT_THAT(one.containers, IsEmpty());
  EXPECT_TRUE(one.guaranteed);
  const PodRow many = ReadForTest(&ReadPod, R"({"metadata": {"name": "p"}, "spec": {
      "initContainers": [{"resources": {"requests": {"cpu": 1}}},
                         {"restartPolicy": "Always", "resources": {"requests": {"cpu": 3}}}],
      "containers": [{"resources": {"requests": {"cpu": 2, "nvidia.com/gpu": 1}}}]},
      "status": {"qosClass": "Burstable"}})");
  EXPECT_FALSE(many.guaranteed);
  ASSERT_THAT(many.containers, SizeIs(3));
  EXPECT_EQ(many.containers[0].kind, ContainerRow::Kind::kInit);
  EXPECT_EQ(many.containers[1].kind, ContainerRow::Kind::kSidecar);
  EXPECT_EQ(many.containers[2].kind, ContainerRow::Kind::kApp);
  EXPECT_THAT(many.containers[2].requests, ElementsAre(Pair("cpu", 2000), Pair("gpu", 1)));
}

}  // namespace
}  // namespace kai::zone_reader_test
