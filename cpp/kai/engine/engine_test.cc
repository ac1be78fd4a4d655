#include "kai/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::engine_test {
namespace {

// A store, and an engine that follows it.
class EngineTest : public testing::Test {
 protected:
  void Put(const ClusterMaker& maker) {
    const ClusterRows rows = maker.Rows();
    for (const NodeRow& row : rows.nodes) store_.Upsert(row);
    for (const QueueRow& row : rows.queues) store_.Upsert(row);
    for (const PriorityClassRow& row : rows.priority_classes) store_.Upsert(row);
    for (const PodGroupRow& row : rows.pod_groups) store_.Upsert(row);
    for (const PodRow& row : rows.pods) store_.Upsert(row);
  }
  // Its decisions as a short text.
  std::string Plan() {
    const absl::StatusOr<Engine::PlanPtr> plan = engine_.Plan(now_ns_, nullptr);
    std::string text;
    for (const oracle::Decision& each : DecisionsOf(**plan)) {
      const bool binds = each.kind == oracle::Decision::Kind::kBind;
      text += StrCat(binds ? "bind " : "other ", each.pod, " ", each.node, "; ");
    }
    return text;
  }

  Store store_;
  Engine engine_{&store_, ParseConfig("{}"), ShardParams()};
  int64_t now_ns_ = kTestNowNs;
};

ClusterMaker OneNode() { return MakeCluster().Queue("q").Node("n", {.gpus = 2}); }

TEST_F(EngineTest, PlansTheObjectsOfTheStore) {
  EXPECT_EQ(Plan(), "") << "an empty cluster";
  Put(OneNode().Pending("q/a", {.gpus = 2}).Pending("q/b", {.gpus = 2}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  EXPECT_EQ(Plan(), "bind q/a-0 n; ") << "the first binding is not assumed";
}

TEST_F(EngineTest, APodThatEndsFreesItsGpuInPlace) {
  const ClusterMaker maker =
      OneNode().Running("q/a", {.gpus = 2, .node = "n"}).Pending("q/b", {.gpus = 2});
  Put(maker);
  EXPECT_EQ(Plan(), "");
  store_.Delete(Kind::kPod, "q/a-0");
  EXPECT_EQ(Plan(), "bind q/b-0 n; ");
  EXPECT_EQ(engine_.counts().built, 1);
  EXPECT_EQ(engine_.counts().updated, 1);
}

TEST_F(EngineTest, PodsMayArriveBeforeTheirGroup) {
  Put(OneNode());
  Plan();
  const ClusterRows rows = OneNode().Pending("q/late", {.gpus = 1}).Rows();
  store_.Upsert(rows.pods[0]);
  EXPECT_EQ(Plan(), "");
  store_.Upsert(rows.pod_groups[0]);
  EXPECT_EQ(Plan(), "bind q/late-0 n; ");
  store_.Delete(Kind::kPodGroup, "q/late");
  EXPECT_EQ(Plan(), "");
  EXPECT_EQ(engine_.counts().built, 1);
}

TEST_F(EngineTest, AGroupThatStartsChangesOnlyItsTimeStamps) {
  Put(OneNode());
  Plan();
  const ClusterRows rows =
      OneNode().Pending("q/a", {.gpus = 1}).Pending("q/like-a", {.gpus = 1}).Rows();
  for (const PodGroupRow& row : rows.pod_groups) store_.Upsert(row);
  for (const PodRow& row : rows.pods) store_.Upsert(row);
  EXPECT_EQ(Plan(), "bind q/a-0 n; bind q/like-a-0 n; ");
  PodGroupRow group = rows.pod_groups[0];
  group.last_start_ns = 7;
  store_.Upsert(group);
  EXPECT_THAT(engine_.Settled()->pod_groups().last_start_ns.raw(),
              testing::UnorderedElementsAre(7, std::numeric_limits<int64_t>::min()))
      << "the same group, not a replacement";
  EXPECT_EQ(Plan(), "bind q/a-0 n; bind q/like-a-0 n; ");
  group.queue = "nowhere";
  store_.Upsert(group);
  EXPECT_EQ(Plan(), "bind q/like-a-0 n; ");
  EXPECT_EQ(engine_.counts().built, 1);
}

TEST_F(EngineTest, WithoutReasonsItDecidesTheSame) {
  Put(OneNode().Pending("q/a", {.gpus = 2}).Pending("q/b", {.gpus = 2}));
  Engine brief(&store_, ParseConfig("{}"), ShardParams(), {.explains = false});
  const Engine::PlanPtr plan = *engine_.Plan(now_ns_, nullptr);
  const Engine::PlanPtr decided = *brief.Plan(now_ns_, nullptr);
  EXPECT_EQ(DecidedText(*decided), DecidedText(*plan));
  ASSERT_EQ(decided->stamped.size(), 1U);
  EXPECT_TRUE(decided->stamped[0].writes.last_start);
  EXPECT_EQ(decided->outcomes, nullptr);
  EXPECT_EQ(brief.report(), nullptr);
  EXPECT_EQ(brief.Plan(now_ns_, nullptr).value(), decided);
  EXPECT_EQ(brief.report(), nullptr) << "it has no outcomes of groups";
}

TEST_F(EngineTest, ANodeIsCordonedInPlace) {
  Put(OneNode().Node("o", {.gpus = 2}).Pending("q/a", {.gpus = 1}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  NodeRow node = *store_.Find<NodeRow>("n");
  node.unschedulable = true;
  store_.Upsert(node);
  EXPECT_EQ(Plan(), "bind q/a-0 o; ");
  node.unschedulable = false;
  store_.Upsert(node);
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  EXPECT_EQ(engine_.counts().built, 1);
  EXPECT_EQ(engine_.counts().updated, 2);
}

TEST_F(EngineTest, ANodeIsAddedRemovedAndEnlargedInPlace) {
  ClusterMaker both = OneNode().Node("a", {.gpus = 2});
  Put(both.Running("q/old", {.gpus = 2, .node = "n"}).Pending("q/b", {.pods = 2, .gpus = 1}));
  EXPECT_EQ(Plan(), "bind q/b-0 a; bind q/b-1 a; ");
  const NodeRow a = *store_.Find<NodeRow>("a");
  const NodeRow n = *store_.Find<NodeRow>("n");
  store_.Delete(Kind::kNode, "a");
  EXPECT_EQ(Plan(), "");
  store_.Delete(Kind::kNode, "n");
  store_.Upsert(a);
  EXPECT_EQ(Plan(), "bind q/b-0 a; bind q/b-1 a; ");
  store_.Upsert(n);
  store_.Delete(Kind::kNode, "a");
  EXPECT_EQ(Plan(), "") << "the pods of the node are back with it";
  NodeRow grown = n;
  for (auto& [resource, amount] : grown.allocatable) amount *= 2;
  store_.Upsert(grown);
  EXPECT_EQ(Plan(), "bind q/b-0 n; bind q/b-1 n; ");
  EXPECT_EQ(engine_.counts().built, 1);
  EXPECT_EQ(engine_.counts().updated, 4);
}

constexpr char kAligned[] = R"({"tiers": [{"plugins": [{"name": "predicates"},
    {"name": "proportion"}, {"name": "nodeavailability"}, {"name": "numa"}]}]})";

// Node n with GPUs in two zones; the GPUs of a pod must be in one zone.
NodeZonesRow Zones(int64_t first, int64_t second) {
  NodeZonesRow row{.name = "n", .policy = NumaPolicy::kSingleZone, .scope = NumaScope::kPod};
  for (const int64_t gpus : {first, second}) {
    const ResourceAmounts amounts = {{"nvidia.com/gpu", gpus}};
    row.zones.push_back(
        {.name = StrCat("node-", row.zones.size()), .allocatable = amounts, .available = amounts});
  }
  return row;
}

PodRow InZone(PodRow pod, std::string zone) {
  pod.zone_records = {{.source = ZoneRecordRow::Source::kObserved,
                       .zones = {{.zone = std::move(zone), .amounts = {{"nvidia.com/gpu", 1}}}}}};
  return pod;
}

class ZonesTest : public EngineTest {
 protected:
  std::string Aligned() {
    const absl::StatusOr<Engine::PlanPtr> plan = aligned_.Plan(now_ns_, nullptr);
    std::string text;
    for (const oracle::Decision& each : DecisionsOf(**plan))
      text += StrCat("bind ", each.pod, " ", each.node, "; ");
    return text;
  }

  Engine aligned_{&store_, ParseConfig(kAligned), ShardParams()};
};

TEST_F(ZonesTest, PodsAreAddedAndRemovedInPlaceOnNodesWithZones) {
  const ClusterMaker maker = MakeCluster()
                                 .Queue("q")
                                 .Node("n", {.gpus = 4})
                                 .Running("q/a", {.gpus = 1, .node = "n"})
                                 .Running("q/b", {.gpus = 1, .node = "n"})
                                 .Pending("q/pair", {.gpus = 2});
  Put(maker);
  const ClusterRows rows = maker.Rows();
  store_.Upsert(Zones(2, 2));
  store_.Upsert(InZone(rows.pods[0], "node-0"));
  store_.Upsert(InZone(rows.pods[1], "node-1"));
  EXPECT_EQ(Aligned(), "") << "one GPU is free in each zone";
  store_.Upsert(InZone(rows.pods[1], "node-0"));
  EXPECT_EQ(Aligned(), "bind q/pair-0 n; ") << "both pods were observed in zone 0";
  store_.Upsert(InZone(rows.pods[1], "node-1"));
  EXPECT_EQ(Aligned(), "");
  store_.Delete(Kind::kPod, "q/a-0");
  EXPECT_EQ(Aligned(), "bind q/pair-0 n; ") << "zone 0 is free";
  store_.Upsert(InZone(rows.pods[0], "node-0"));
  EXPECT_EQ(Aligned(), "");
  EXPECT_EQ(aligned_.counts().built, 1);
  EXPECT_EQ(aligned_.counts().updated, 4);
}

TEST_F(ZonesTest, ZonesThatReportOtherAmountsChangeInPlace) {
  Put(MakeCluster().Queue("q").Node("n", {.gpus = 4}).Pending("q/three", {.gpus = 3}));
  store_.Upsert(Zones(2, 2));
  EXPECT_EQ(Aligned(), "");
  store_.Upsert(Zones(1, 3));
  EXPECT_EQ(Aligned(), "bind q/three-0 n; ");
  EXPECT_EQ(aligned_.counts().built, 1);
  NodeZonesRow lenient = Zones(2, 2);
  lenient.policy = NumaPolicy::kBestEffort;
  store_.Upsert(lenient);
  EXPECT_EQ(Aligned(), "bind q/three-0 n; ");
  store_.Upsert(Zones(2, 2));
  EXPECT_EQ(Aligned(), "");
  EXPECT_EQ(aligned_.counts().built, 3) << "the policy changed";
  store_.Delete(Kind::kNodeResourceTopology, "n");
  EXPECT_EQ(Aligned(), "bind q/three-0 n; ");
  EXPECT_EQ(aligned_.counts().built, 4);
}

TEST_F(EngineTest, APodThatSharesAGpuEndsInPlace) {
  ClusterMaker maker = OneNode();
  for (const char* group : {"q/x", "q/y"}) maker.Running(group, {.gpu_fraction = 0.6, .node = "n"});
  for (PodRow& pod : maker.rows().pods) pod.gpu_groups = {pod.name};  // each on its own device
  Put(maker.Pending("q/z", {.gpus = 1}));
  EXPECT_EQ(Plan(), "");
  store_.Delete(Kind::kPod, "q/x-0");
  EXPECT_EQ(Plan(), "bind q/z-0 n; ");
  store_.Upsert(maker.Rows().pods[0]);
  EXPECT_EQ(Plan(), "");
  EXPECT_EQ(engine_.counts().built, 1);
}

TEST_F(EngineTest, AQueueGetsAnotherLimitInPlace) {
  Put(OneNode().Pending("q/a", {.gpus = 2}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  QueueRow queue = *store_.Find<QueueRow>("q");
  queue.resources[kQuotaGpu].limit = 1;
  store_.Upsert(queue);
  EXPECT_EQ(Plan(), "");
  queue.resources[kQuotaGpu].limit = 2;
  store_.Upsert(queue);
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  EXPECT_EQ(engine_.counts().built, 1);
}

TEST_F(EngineTest, TheUsageOfQueuesChangesInPlace) {  // spec 1 F44
  ClusterMaker maker = MakeCluster().Queue("a").Queue("b").Node("n", {.gpus = 1});
  Put(maker.Pending("a/x", {.gpus = 1}).Pending("b/x", {.gpus = 1}));
  EXPECT_EQ(Plan(), "bind a/x-0 n; ");
  store_.SetPastUsages({{"a", {0, 0, 0.9}}});
  EXPECT_EQ(Plan(), "bind b/x-0 n; ");
  store_.SetPastUsages({{"a", {0, 0, 0.9}}, {"b", {0, 0, 0.95}}});
  EXPECT_EQ(Plan(), "bind a/x-0 n; ");
  store_.SetPastUsages({{"a", {0, 0, 0.9}}, {"b", {0, 0, 0.95}}, {"c", {1, 1, 1}}});
  EXPECT_FALSE(engine_.has_changed());
  EXPECT_EQ(engine_.counts().built, 1);
}

TEST_F(EngineTest, AnEqualObjectIsNoChange) {
  Put(OneNode().Pending("q/a", {.gpus = 1}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  Put(OneNode().Pending("q/a", {.gpus = 1}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  EXPECT_EQ(engine_.counts().built, 1);
  EXPECT_EQ(engine_.counts().updated, 0);
}

TEST_F(EngineTest, EqualClaimsAndVolumesAreNoChange) {
  Put(OneNode().Pending("q/a", {.gpus = 1}));
  const auto say = [&](int version) {
    const std::string metadata =
        StrCat(R"({"metadata":{"namespace":"q","name":"x","resourceVersion":")", version,
               R"(","labels":{"a":"b"},"managedFields":[{"manager":")", version, R"("}]},)");
    const std::string request = R"("spec":{"devices":{"requests":[{"name":"r"}]}},)";
    const std::string slice =
        R"("spec":{"driver":"d","nodeName":"n","pool":{"name":"p","generation":1},)"
        R"("devices":[{"name":"g","attributes":{"v":{"version":"1.2.3"}},)"
        R"("capacity":{"memory":{"value":"1Gi"}}}]}})";
    const std::string status =
        R"("status":{"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}})";
    store_.Upsert(Kind::kResourceClaim, StrCat(metadata, request, status));
    store_.Upsert(Kind::kResourceSlice, StrCat(metadata, slice));
    for (const Kind kind :
         {Kind::kDeviceClass, Kind::kPersistentVolumeClaim, Kind::kPersistentVolume,
          Kind::kStorageClass, Kind::kCsiDriver, Kind::kCsiStorageCapacity}) {
      store_.Upsert(kind, StrCat(metadata, R"("spec":{"storageClassName":"s"}})"));
    }
  };
  say(1);
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  const int64_t built = engine_.counts().built;
  say(2);
  EXPECT_FALSE(engine_.has_changed());
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  EXPECT_EQ(engine_.counts().built, built);
}

TEST_F(EngineTest, CsiNodesMatterOnlyWithVolumeLimits) {
  Put(OneNode().Pending("q/a", {.gpus = 1}).Pending("q/b", {.gpus = 1}));
  Engine counts(&store_, ParseConfig(R"({"extras": {"volume_limits": true}})"), ShardParams());
  CsiNodeRow row;
  row.name = "n";
  row.most_volumes = {{"driver", 1}};
  EXPECT_EQ(Plan(), "bind q/a-0 n; bind q/b-0 n; ");
  ASSERT_TRUE(counts.Plan(now_ns_, nullptr).ok());
  store_.Upsert(row);
  EXPECT_FALSE(engine_.has_changed());
  EXPECT_TRUE(counts.has_changed());
  store_.Delete(Kind::kPod, "q/b-0");
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  EXPECT_EQ(engine_.counts().built, 1) << "CSINodes do not prevent changes in place";
}

TEST_F(EngineTest, OtherChangesRebuildTheCluster) {
  Put(OneNode().Pending("q/a", {.pods = 2, .gpus = 2}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  Put(MakeCluster().Queue("another").Node("m", {.gpus = 2}));
  EXPECT_EQ(Plan(), "bind q/a-0 m; bind q/a-1 n; ");
  EXPECT_EQ(engine_.counts().built, 2);
}

ConfigMapRow Map(std::string_view name) {
  return {.namespace_name = "q", .name = std::string(name)};
}

TEST_F(EngineTest, AConfigMapThatAPodWaitsForIsAddedInPlace) {  // spec 3 P13
  ClusterMaker maker = OneNode().Pending("q/a", {.gpus = 1}).Pending("q/b", {.gpus = 1});
  maker.rows().pods[0].config_maps = {"root", "settings"};
  Put(maker);
  store_.Upsert(Map("root"));
  store_.Synced(Kind::kConfigMap);
  EXPECT_EQ(Plan(), "bind q/b-0 n; ");
  store_.Upsert(Map("settings"));
  EXPECT_EQ(Plan(), "bind q/a-0 n; bind q/b-0 n; ");
  store_.Delete(Kind::kConfigMap, "q/settings");
  EXPECT_EQ(Plan(), "bind q/b-0 n; ");
  store_.Upsert(ConfigMapRow{.namespace_name = "other", .name = "settings"});
  EXPECT_EQ(Plan(), "bind q/b-0 n; ");
  EXPECT_EQ(engine_.counts().built, 1);
  EXPECT_EQ(engine_.counts().updated, 2);
}

TEST_F(EngineTest, AConfigMapThatNoPodNeedsStartsNoPlan) {
  Put(OneNode().Pending("q/a", {.gpus = 1}));
  store_.Upsert(Map("root"));
  store_.Synced(Kind::kConfigMap);
  Plan();
  store_.Upsert(Map("p-abc-shared-gpu-0"));
  store_.Upsert(Map("p-abc-shared-gpu-0-evar"));
  EXPECT_FALSE(engine_.has_changed());
  Plan();
  EXPECT_EQ(engine_.counts().repeated, 1);
  // It is stored: a pod that needs it may come later.
  ClusterMaker later = OneNode().Pending("q/late", {.gpus = 1});
  later.rows().pods[0].config_maps = {"p-abc-shared-gpu-0"};
  Put(later);
  EXPECT_EQ(Plan(), "bind q/a-0 n; bind q/late-0 n; ");
  store_.Reject(Kind::kConfigMap,
                {.kind = "ConfigMap", .name = "q/odd", .field = "metadata", .message = "is odd"});
  EXPECT_TRUE(engine_.has_changed()) << "plans list rejected objects";
  Plan();
  store_.Upsert(Map("odd"));
  EXPECT_TRUE(engine_.has_changed());
  Plan();
  EXPECT_EQ(engine_.counts().built, 1);
}

TEST_F(EngineTest, PodsWaitForConfigMapsOnlyIfThereAreAnyOrTheKindIsSynced) {
  ClusterMaker maker = OneNode().Pending("q/a", {.gpus = 1});
  maker.rows().pods[0].config_maps = {"settings"};
  Put(maker);
  EXPECT_EQ(Plan(), "bind q/a-0 n; ") << "it is not known which ConfigMaps exist";
  store_.Upsert(Map("other"));
  EXPECT_EQ(Plan(), "");
  store_.Delete(Kind::kConfigMap, "q/other");
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  store_.Synced(Kind::kConfigMap);
  EXPECT_EQ(Plan(), "");
}

// A pod that has to be on a node with pods of some namespaces.
ClusterMaker Beside(SelectorRequirement namespaces) {
  ClusterMaker maker = MakeCluster().Queue("q").Node("n", {.gpus = 4}).Node("o", {.gpus = 4});
  for (NodeRow& node : maker.rows().nodes) node.labels = {{"kubernetes.io/hostname", node.name}};
  PodAffinityTerm term;
  term.selector = LabelSelector();
  term.topology_key = "kubernetes.io/hostname";
  term.namespace_selector = {std::move(namespaces)};
  PodAffinityRow affinity;
  affinity.required = {term};
  return maker.Running("east/a", {.gpus = 1, .node = "n"})
      .Running("west/b", {.gpus = 1, .node = "o"})
      .Pending("q/p", {.gpus = 1, .affinity = affinity});
}

TEST_F(EngineTest, ANamespaceThatGetsTheLabelOfATermCounts) {
  Put(Beside({.key = "team", .op = SelectorOp::kIn, .values = {"red"}}));
  const auto team = [](std::string name, std::string color) {
    return NamespaceRow{.name = std::move(name), .labels = {{"team", std::move(color)}}};
  };
  store_.Upsert(team("east", "blue"));
  store_.Upsert(team("west", "blue"));
  EXPECT_EQ(Plan(), "");
  store_.Upsert(team("west", "red"));
  EXPECT_EQ(Plan(), "bind q/p-0 o; ");
  EXPECT_EQ(engine_.counts().built, 2) << "the term selects other pods now";
  store_.Upsert(team("east", "green"));
  store_.Upsert(team("new", "blue"));
  EXPECT_EQ(Plan(), "bind q/p-0 o; ");
  store_.Delete(Kind::kNamespace, "new");
  EXPECT_EQ(Plan(), "bind q/p-0 o; ");
  EXPECT_EQ(engine_.counts().built, 2);
  EXPECT_EQ(engine_.counts().updated, 2) << "no term selects these namespaces";
  store_.Delete(Kind::kNamespace, "west");
  EXPECT_EQ(Plan(), "");
}

TEST_F(EngineTest, ANamespaceThatIsAddedWithItsFirstPodCounts) {
  Put(Beside({.key = "kubernetes.io/metadata.name",
              .op = SelectorOp::kNotIn,
              .values = {"q", "east", "west"}}));
  EXPECT_EQ(Plan(), "");
  const ClusterRows later = MakeCluster().Running("new/c", {.gpus = 1, .node = "o"}).Rows();
  store_.Upsert(later.pods[0]);
  EXPECT_EQ(Plan(), "bind q/p-0 o; ");
}

TEST_F(EngineTest, SeveralEnginesWithTheirOwnConfigurationsShareAStore) {
  Engine spread(&store_, ParseConfig(R"({"tiers": [{"plugins": [{"name": "predicates"},
      {"name": "nodeplacement", "arguments": {"gpu": "spread"}}]}]})"),
                ShardParams());
  Put(OneNode()
          .Running("q/old", {.gpus = 1, .node = "n"})
          .Node("o", {.gpus = 2})
          .Pending("q/a", {.gpus = 1}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  const absl::StatusOr<Engine::PlanPtr> plan = spread.Plan(kTestNowNs, nullptr);
  ASSERT_EQ((*plan)->decisions.size(), 1);
  const Cluster& cluster = *(*plan)->cluster;
  EXPECT_EQ(cluster.Text(cluster.nodes().name[(*plan)->decisions[0].node]), "o");
}

TEST_F(EngineTest, WithoutChangesTheLastPlanIsRepeated) {
  Put(OneNode().Pending("q/a", {.gpus = 2}).Pending("q/b", {.gpus = 2}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  now_ns_ += 3600 * kSecondNs;
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  EXPECT_EQ(engine_.counts().repeated, 1);
  EXPECT_EQ(engine_.NextWake(), std::nullopt) << "time does not change this plan";
  store_.Delete(Kind::kPod, "q/a-0");
  EXPECT_EQ(Plan(), "bind q/b-0 n; ");
  EXPECT_EQ(engine_.counts().repeated, 1);
}

TEST_F(EngineTest, APlanIsRepeatedUntilItsWakeTime) {
  ClusterMaker maker = OneNode().Running("q/gang", {.pods = 1, .gpus = 1, .node = "n"});
  PodGroupRow& gang = maker.rows().pod_groups[0];
  gang.min_member = 2;
  gang.stale_since_ns = now_ns_ - 10 * kSecondNs;
  gang.staleness_grace_ns = 60 * kSecondNs;
  Put(maker);
  EXPECT_EQ(Plan(), "");
  const std::optional<Engine::Wake> wake = engine_.NextWake();
  ASSERT_TRUE(wake.has_value());
  EXPECT_EQ(wake->at_ns, now_ns_ + 50 * kSecondNs);
  EXPECT_EQ(wake->reason, WakeReason::kGangStale);
  now_ns_ = wake->at_ns - 1;
  EXPECT_EQ(Plan(), "");
  EXPECT_EQ(engine_.counts().repeated, 1);
  now_ns_ = wake->at_ns;
  EXPECT_EQ(Plan(), "other q/gang-0 ; ") << "evicted";
  EXPECT_EQ(engine_.counts().repeated, 1);
  now_ns_ -= kSecondNs;
  EXPECT_EQ(Plan(), "") << "the clock was set back";
}

// ---- when durations count -----------------------------------------------------------------------

constexpr int64_t kHourNs = 3600 * kSecondNs;
constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// A gang that became stale at `since_ns` and may stay so for a minute.
ClusterMaker StaleGang(int64_t since_ns) {
  ClusterMaker maker = OneNode().Running("q/gang", {.pods = 1, .gpus = 1, .node = "n"});
  PodGroupRow& gang = maker.rows().pod_groups[0];
  gang.min_member = 2;
  gang.stale_since_ns = since_ns;
  gang.staleness_grace_ns = 60 * kSecondNs;
  return maker;
}

TEST_F(EngineTest, AGangStaysWhileTheTimeIsInDoubt) {
  Put(StaleGang(now_ns_ - 4 * kSecondNs));
  engine_.Trust({.until_ns = now_ns_});
  EXPECT_EQ(Plan(), "");
  now_ns_ += 2 * kHourNs;
  EXPECT_EQ(Plan(), "");
  now_ns_ -= 2 * kHourNs - 5 * kSecondNs;
  engine_.Trust({});
  EXPECT_EQ(Plan(), "") << "stale for 9 s";
  now_ns_ += 51 * kSecondNs;
  EXPECT_EQ(Plan(), "other q/gang-0 ; ");
}

TEST_F(EngineTest, AGangThatWasOverdueBeforeTheDoubtIsEvicted) {
  Put(StaleGang(now_ns_ - 61 * kSecondNs));
  engine_.Trust({.until_ns = now_ns_});
  now_ns_ += 2 * kHourNs;
  EXPECT_EQ(Plan(), "other q/gang-0 ; ");
}

TEST_F(EngineTest, AfterAJumpOfTheClockAGraceBeginsAgain) {
  Put(StaleGang(now_ns_ - 4 * kSecondNs));
  EXPECT_EQ(Plan(), "");
  now_ns_ += 2 * kHourNs;
  engine_.Trust({.from_ns = now_ns_});
  EXPECT_TRUE(engine_.has_changed());
  EXPECT_EQ(Plan(), "");
  EXPECT_EQ(engine_.NextWake()->at_ns, now_ns_ + 60 * kSecondNs);
  now_ns_ += 60 * kSecondNs;
  EXPECT_EQ(Plan(), "other q/gang-0 ; ");
}

TEST_F(EngineTest, ATimeStampOfADoubtfulTimeIsTheCurrentOne) {
  ClusterMaker maker = StaleGang(0);
  maker.rows().pod_groups[0].stale_since_ns.reset();
  Put(maker);
  engine_.Trust({.until_ns = now_ns_ - 30 * kSecondNs});
  const Engine::PlanPtr plan = *engine_.Plan(now_ns_, nullptr);
  EXPECT_EQ(plan->now_ns, now_ns_);
  EXPECT_EQ(engine_.NextWake()->at_ns, now_ns_ + 60 * kSecondNs);
}

// p/r runs for a minute, and its queue protects it for two; q/a is owed its GPUs.
ClusterMaker ProtectedVictim(int64_t now_ns) {
  ClusterMaker maker = MakeCluster()
                           .Queue("p")
                           .Queue("q", {.deserved_gpus = 2})
                           .Node("n", {.gpus = 2})
                           .Running("p/r", {.gpus = 2, .node = "n"})
                           .Pending("q/a", {.gpus = 2});
  maker.rows().pod_groups[0].last_start_ns = now_ns - 60 * kSecondNs;
  maker.rows().queues[0].reclaim_min_runtime_ns = 120 * kSecondNs;
  return maker;
}

TEST_F(EngineTest, AMinimumRunTimeDoesNotEndWhileTheTimeIsInDoubtAndBeginsAgainAfterAJump) {
  Put(ProtectedVictim(now_ns_));
  engine_.Trust({.until_ns = now_ns_});
  now_ns_ += 2 * kHourNs;
  EXPECT_EQ(Plan(), "");
  engine_.Trust({.from_ns = now_ns_});
  EXPECT_EQ(Plan(), "");
  now_ns_ += 120 * kSecondNs - 1;
  EXPECT_EQ(Plan(), "");
  now_ns_ += 1;
  EXPECT_EQ(Plan(), "other p/r-0 ; other q/a-0 n; ");
}

TEST_F(EngineTest, AGroupIsHeldOffWhileTheTimeIsInDoubtAndAgainAfterAJump) {
  ClusterMaker maker = ProtectedVictim(now_ns_);
  maker.rows().queues[0].reclaim_min_runtime_ns.reset();
  Put(maker);
  store_.HoldOff("q/a", now_ns_, 10 * kSecondNs);
  engine_.Trust({.until_ns = now_ns_ + 9 * kSecondNs});
  now_ns_ += 2 * kHourNs;
  EXPECT_EQ(Plan(), "");
  engine_.Trust({.from_ns = now_ns_});
  EXPECT_EQ(Plan(), "");
  now_ns_ += 10 * kSecondNs;
  EXPECT_EQ(Plan(), "other p/r-0 ; other q/a-0 n; ");
}

TEST_F(EngineTest, APodThatLeavesIsNotOverdueWhileTheTimeIsInDoubtOrAfterAJump) {
  ClusterMaker maker =
      OneNode().Running("q/leaving", {.gpus = 2, .node = "n"}).Pending("q/a", {.gpus = 2});
  maker.rows().pods[0].deletion_ns = now_ns_;
  Put(maker);
  const int64_t threshold_ns = ShardParams().stuck_in_releasing_threshold_ns;
  engine_.Trust({.until_ns = now_ns_ + threshold_ns});
  now_ns_ += 2 * kHourNs;
  EXPECT_EQ(Plan(), "other q/a-0 n; ") << "promised";
  engine_.Trust({.from_ns = now_ns_, .until_ns = kForever});
  EXPECT_EQ(Plan(), "other q/a-0 n; ");
  now_ns_ += threshold_ns + 1;
  EXPECT_EQ(Plan(), "");
}

// ---- assumptions of a scheduler -----------------------------------------------------------------

BindRequestRow RequestFor(std::string pod, std::string node) {
  BindRequestRow request;
  request.namespace_name = "q";
  request.name = pod;
  request.pod = std::move(pod);
  request.node = std::move(node);
  request.received_type = "Regular";
  return request;
}

TEST_F(EngineTest, APodThatIsAssumedToBeBoundHoldsItsNode) {
  Put(OneNode().Pending("q/a", {.gpus = 2}).Pending("q/b", {.gpus = 2}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  const auto id = engine_.AssumeBound(RequestFor("a-0", "n"));
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(Plan(), "");
  EXPECT_TRUE(engine_.Forget(*id));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ") << "the API server refused the binding";
  EXPECT_EQ(engine_.counts().built, 1);
}

TEST_F(EngineTest, AGroupAvoidsANodeWhileTheStoreHasTheOverlay) {
  Put(OneNode().Node("o", {.gpus = 2}).Pending("q/a", {.gpus = 1}));
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  store_.Avoid("q/a", {"n"});
  EXPECT_EQ(Plan(), "bind q/a-0 o; ");
  store_.Avoid("q/a", {"o", "n"});
  EXPECT_EQ(Plan(), "");
  Put(OneNode().Pending("q/a", {.gpus = 1}));
  EXPECT_EQ(Plan(), "") << "it holds for later versions of the group, too";
  store_.Avoid("q/other", {"n"});
  store_.Avoid("q/a", {});
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  EXPECT_EQ(engine_.counts().built, 1);
}

TEST_F(EngineTest, APodThatChoosesItsNodesAvoidsSomeOfThem) {
  PodRow pod = OneNode().Pending("q/a", {.gpus = 1}).Rows().pods[0];
  Put(OneNode().Node("o", {.gpus = 2}).Pending("q/a", {.gpus = 1}));
  pod.has_node_affinity = true;
  pod.node_affinity.emplace_back();  // a term without requirements matches no node
  NodeSelectorTerm n_or_o;
  n_or_o.fields.push_back({.key = "metadata.name", .op = SelectorOp::kIn, .values = {"n"}});
  pod.node_affinity.push_back(n_or_o);
  store_.Upsert(pod);
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
  store_.Avoid("q/a", {"n"});
  EXPECT_EQ(Plan(), "") << "the term without requirements still matches no node";
}

TEST_F(EngineTest, AGroupThatIsHeldOffEvictsNothingUntilItsTime) {
  const ClusterMaker maker = MakeCluster()
                                 .Queue("p")
                                 .Queue("q", {.deserved_gpus = 2})
                                 .Node("n", {.gpus = 2})
                                 .Running("p/r", {.gpus = 2, .node = "n"})
                                 .Pending("q/a", {.gpus = 2});
  Put(maker);
  EXPECT_EQ(Plan(), "other p/r-0 ; other q/a-0 n; ");
  store_.HoldOff("q/a", now_ns_, 10 * kSecondNs);
  EXPECT_EQ(Plan(), "");
  Put(maker);
  EXPECT_EQ(Plan(), "") << "it holds for later versions of the group, too";
  EXPECT_EQ(engine_.NextWake()->at_ns, now_ns_ + 10 * kSecondNs);
  now_ns_ += 10 * kSecondNs;
  EXPECT_EQ(Plan(), "other p/r-0 ; other q/a-0 n; ");
}

TEST_F(EngineTest, AnAssumptionEndsOnceTheStoreShowsIt) {
  const ClusterMaker maker = OneNode().Pending("q/a", {.gpus = 2}).Pending("q/b", {.gpus = 2});
  Put(maker);
  Plan();
  const auto id = engine_.AssumeBound(RequestFor("a-0", "n"));
  EXPECT_EQ(Plan(), "");
  store_.Upsert(RequestFor("a-0", "n"));
  EXPECT_EQ(Plan(), "");
  EXPECT_FALSE(engine_.Forget(*id)) << "it was confirmed";
  store_.Delete(Kind::kBindRequest, "q/a-0");
  EXPECT_EQ(Plan(), "bind q/a-0 n; ");
}

TEST_F(EngineTest, OnlyItsUidAndANodeConfirmAnAssumedBinding) {
  const ClusterMaker maker = OneNode().Pending("q/a", {.gpus = 2}).Pending("q/b", {.gpus = 2});
  PodRow pod = maker.Rows().pods[0];
  pod.uid = "u";
  Put(maker);
  store_.Upsert(pod, 5);
  Plan();
  EXPECT_EQ(engine_.AssumeBoundTo("q/a-0", "another", "n"), std::nullopt);
  EXPECT_EQ(engine_.AssumeBoundTo("q/none", "u", "n"), std::nullopt);
  const auto id = engine_.AssumeBoundTo("q/a-0", "u", "n");
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(Plan(), "");
  store_.Upsert(pod, 4);  // an old version
  pod.labels.emplace_back("new", "label");
  store_.Upsert(pod, 6);  // newer, but from before the binding
  EXPECT_EQ(Plan(), "");
  pod.node_name = "elsewhere";
  store_.Upsert(pod, 7);
  EXPECT_EQ(Plan(), "bind q/b-0 n; ") << "the store wins over the assumption";
  EXPECT_FALSE(engine_.Forget(*id));
  EXPECT_EQ(engine_.AssumeBoundTo("q/a-0", "u", "n"), std::nullopt) << "it has a node";
}

TEST_F(EngineTest, AnAssumptionEndsWithItsPod) {
  const ClusterMaker maker = OneNode().Pending("q/a", {.gpus = 2}).Pending("q/b", {.gpus = 2});
  Put(maker);
  Plan();
  const auto id = engine_.AssumeBound(RequestFor("a-0", "n"));
  PodRow another = maker.Rows().pods[0];
  another.uid = "another";
  store_.Upsert(another);
  EXPECT_EQ(Plan(), "bind q/a-0 n; ") << "another pod of that name waits";
  EXPECT_FALSE(engine_.Forget(*id));
  EXPECT_EQ(engine_.AssumeBound(RequestFor("unknown", "n")), std::nullopt);
}

TEST_F(EngineTest, AnAssumedEvictionMakesAPodTerminatingUntilTheStoreShowsIt) {
  const ClusterMaker maker =
      OneNode().Running("q/a", {.gpus = 2, .node = "n"}).Pending("q/b", {.gpus = 2});
  Put(maker);
  EXPECT_EQ(Plan(), "");
  const auto id = engine_.AssumeEvicted("q/a-0", now_ns_);
  EXPECT_EQ(Plan(), "other q/b-0 n; ") << "b-0 gets what a-0 will free";
  PodRow late = maker.Rows().pods[0];
  late.labels.emplace_back("new", "label");
  store_.Upsert(late);
  EXPECT_EQ(Plan(), "other q/b-0 n; ") << "the update is from before the deletion";
  EXPECT_TRUE(engine_.Forget(*id));
  EXPECT_EQ(Plan(), "");
  engine_.AssumeEvicted("q/a-0", now_ns_);
  store_.Delete(Kind::kPod, "q/a-0");
  EXPECT_EQ(Plan(), "bind q/b-0 n; ");
}

// ---- promises -----------------------------------------------------------------------------------

// The only running pod has to make room for a group of higher priority.
ClusterMaker InTheWay() {
  return OneNode()
      .Running("q/low", {.gpus = 2, .node = "n", .priority = 10})
      .Pending("q/high", {.gpus = 2, .priority = 20});
}
ClusterMaker TopOfAll() { return OneNode().Pending("q/top", {.gpus = 2, .priority = 30}); }

TEST_F(EngineTest, PromisedResourcesAreNotGivenToOtherGroups) {
  Put(InTheWay());
  EXPECT_EQ(Plan(), "other q/low-0 ; other q/high-0 n; ");
  engine_.AssumeEvicted("q/low-0", now_ns_);
  Put(TopOfAll());
  EXPECT_EQ(Plan(), "other q/high-0 n; ") << "though q/top has a higher priority";
  store_.Delete(Kind::kPod, "q/low-0");
  EXPECT_EQ(Plan(), "bind q/high-0 n; ");
  engine_.AssumeBound(RequestFor("high-0", "n"));
  EXPECT_EQ(Plan(), "other q/high-0 ; other q/top-0 n; ") << "a started pod can be a victim again";
}

TEST_F(EngineTest, AsKaiPromisesEndWithTheCycle) {
  Engine as_kai(&store_, ParseConfig(R"({"compat": {"promises": "kai"}})"), ShardParams());
  Put(InTheWay());
  ASSERT_EQ((*as_kai.Plan(now_ns_, nullptr))->decisions.size(), 2);
  as_kai.AssumeEvicted("q/low-0", now_ns_);
  Put(TopOfAll());
  const Engine::PlanPtr plan = *as_kai.Plan(now_ns_, nullptr);
  ASSERT_EQ(plan->decisions.size(), 1);
  EXPECT_EQ(plan->cluster->PodName(plan->decisions[0].pod), "q/top-0");
}

TEST_F(EngineTest, APromiseEndsIfTheVictimsStay) {
  Put(InTheWay());
  EXPECT_EQ(Plan(), "other q/low-0 ; other q/high-0 n; ");
  Put(TopOfAll());
  EXPECT_EQ(Plan(), "other q/low-0 ; other q/top-0 n; ") << "the victim was not evicted";
}

TEST_F(EngineTest, APromiseEndsWithItsNode) {
  Put(InTheWay()
          .Node("o", {.gpus = 2})
          .Running("q/other", {.gpus = 2, .node = "o", .priority = 15}));
  EXPECT_EQ(Plan(), "other q/low-0 ; other q/high-0 n; ");
  engine_.AssumeEvicted("q/low-0", now_ns_);
  EXPECT_EQ(Plan(), "other q/high-0 n; ");
  store_.Delete(Kind::kNode, "n");
  EXPECT_EQ(Plan(), "other q/other-0 ; other q/high-0 o; ");
}

TEST_F(EngineTest, AVictimOnANodeThatIsGoneGivesNoRoom) {
  const ClusterMaker maker =
      OneNode()
          .Running("q/low", {.pods = 2, .gpus = 1, .node = "n", .min_member = 2, .priority = 10})
          .Pending("q/high", {.gpus = 2, .priority = 20});
  Put(maker);
  PodRow second = maker.Rows().pods[1];
  second.node_name = "gone";
  store_.Upsert(second);
  EXPECT_EQ(Plan(), "other q/low-1 ; other q/low-0 ; other q/high-0 n; ");
  Put(OneNode().Node("p", {.gpus = 1}));
  const std::string memory = engine_.ExportMemory();
  EXPECT_THAT(memory, testing::HasSubstr("low-0"));
  EXPECT_THAT(memory, testing::Not(testing::HasSubstr("low-1")));
}

TEST_F(EngineTest, APromiseEndsIfTheGroupMovesToAnotherQueue) {
  Put(InTheWay());
  Plan();
  engine_.AssumeEvicted("q/low-0", now_ns_);
  EXPECT_EQ(Plan(), "other q/high-0 n; ");
  Put(TopOfAll().Queue("another"));
  EXPECT_EQ(Plan(), "other q/high-0 n; ");
  PodGroupRow group = InTheWay().Rows().pod_groups[1];
  group.queue = "another";
  store_.Upsert(group);
  EXPECT_EQ(Plan(), "other q/top-0 n; ");
}

// Two half-full nodes. A pod that needs a whole node makes the pod of one node move to the other.
ClusterMaker HalfFull() {
  return OneNode()
      .Node("o", {.gpus = 2})
      .Running("q/left", {.gpus = 1, .node = "n"})
      .Running("q/right", {.gpus = 1, .node = "o"})
      .Pending("q/wide", {.gpus = 2});
}

class MovedPodTest : public EngineTest {
 protected:
  // q/right is leaving node o, and q/small could use the place on n that is promised to q/right.
  void SetUp() override {
    Put(HalfFull());
    ASSERT_EQ(Plan(), "other q/right-0 ; other q/right-0 n; other q/wide-0 o; ");
    engine_.AssumeEvicted("q/right-0", now_ns_);
    Put(OneNode().Pending("q/small", {.gpus = 1}));
  }
  void Return(const std::string& name) {
    PodRow pod = HalfFull().Rows().pods[1];
    pod.name = name;
    pod.uid = "another";
    pod.node_name.clear();
    pod.phase = Phase::kPending;
    store_.Upsert(pod);
  }
};

TEST_F(MovedPodTest, ATerminatingPodHoldsThePlaceThatItMovesTo) {
  EXPECT_EQ(Plan(), "other q/right-0 n; other q/wide-0 o; ");
  store_.Delete(Kind::kPod, "q/right-0");
  Return("right-0");
  EXPECT_EQ(Plan(), "bind q/right-0 n; bind q/wide-0 o; ");
  store_.Delete(Kind::kPod, "q/left-0");
  EXPECT_EQ(Plan(), "bind q/right-0 n; bind q/wide-0 o; bind q/small-0 n; ")
      << "promised until they have started";
}

TEST_F(MovedPodTest, APodOfAnotherNameTakesItsPlace) {
  Return("right-x7k2");
  EXPECT_EQ(Plan(), "bind q/right-x7k2 n; other q/wide-0 o; ") << "created before right-0 was gone";
}

TEST_F(MovedPodTest, APlaceIsHeldWhileThePodIsMissing) {
  EXPECT_EQ(Plan(), "other q/right-0 n; other q/wide-0 o; ");
  store_.Delete(Kind::kPod, "q/right-0");
  store_.Delete(Kind::kPodGroup, "q/small");
  EXPECT_EQ(Plan(), "bind q/wide-0 o; ");
  const std::optional<Engine::Wake> wake = engine_.NextWake();
  ASSERT_TRUE(wake.has_value());
  EXPECT_EQ(wake->reason, WakeReason::kPromiseEnds);
  EXPECT_EQ(wake->at_ns, now_ns_ + ShardParams().stuck_in_releasing_threshold_ns);
  Put(OneNode().Pending("q/tiny", {.gpus = 1}));
  Return("right-0");
  EXPECT_EQ(Plan(), "bind q/right-0 n; bind q/wide-0 o; ") << "no GPU is left for q/tiny";
  now_ns_ = wake->at_ns;
  EXPECT_EQ(Plan(), "bind q/right-0 n; bind q/wide-0 o; ") << "it has a pod, so it does not end";
}

TEST_F(MovedPodTest, APlaceIsReleasedIfItIsUnusedForTooLong) {
  store_.Delete(Kind::kPod, "q/right-0");
  Plan();
  now_ns_ += ShardParams().stuck_in_releasing_threshold_ns;
  engine_.AssumeBound(RequestFor("small-0", "n"));
  EXPECT_EQ(Plan(), "bind q/wide-0 o; ");
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
}

TEST_F(MovedPodTest, APlaceIsPromisedWhileTheTimeIsInDoubtAndAgainAfterAJump) {
  store_.Delete(Kind::kPod, "q/right-0");
  Plan();
  engine_.Trust({.until_ns = now_ns_});
  now_ns_ += 2 * kHourNs;
  engine_.AssumeBound(RequestFor("small-0", "n"));
  EXPECT_EQ(Plan(), "bind q/wide-0 o; ");
  ASSERT_TRUE(engine_.NextWake().has_value()) << "the promise was dropped";
  EXPECT_EQ(engine_.NextWake()->reason, WakeReason::kPromiseEnds);
  engine_.Trust({.from_ns = now_ns_});
  Plan();
  const int64_t rest_ns = ShardParams().stuck_in_releasing_threshold_ns;
  ASSERT_TRUE(engine_.NextWake().has_value()) << "the promise was dropped";
  EXPECT_EQ(engine_.NextWake()->at_ns, now_ns_ + rest_ns);
  now_ns_ += rest_ns;
  Plan();
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
}

TEST_F(EngineTest, AnEngineContinuesWithTheMemoryOfAnother) {
  Put(InTheWay());
  Plan();
  const auto id = engine_.AssumeEvicted("q/low-0", now_ns_);
  Put(TopOfAll());
  Engine next(&store_, ParseConfig("{}"), ShardParams());
  ASSERT_TRUE(next.ImportMemory(engine_.ExportMemory()).ok());
  const Engine::PlanPtr plan = *next.Plan(now_ns_, nullptr);
  EXPECT_EQ(TextOf(*plan), TextOf(**engine_.Plan(now_ns_, nullptr)));
  ASSERT_EQ(plan->decisions.size(), 1);
  EXPECT_EQ(plan->cluster->PodName(plan->decisions[0].pod), "q/high-0");
  EXPECT_TRUE(next.Forget(*id)) << "numbers of assumptions are kept";
}

TEST_F(EngineTest, AnEngineContinuesWithTheTrustedTimeOfAnother) {
  Put(StaleGang(now_ns_ - 4 * kSecondNs));
  now_ns_ += 2 * kHourNs;
  for (const TrustedTime& trusted :
       {TrustedTime{.from_ns = now_ns_}, TrustedTime{.until_ns = now_ns_ - kHourNs * 2}}) {
    engine_.Trust(trusted);
    EXPECT_EQ(Plan(), "");
    Engine next(&store_, ParseConfig("{}"), ShardParams());
    ASSERT_TRUE(next.ImportMemory(engine_.ExportMemory()).ok());
    EXPECT_EQ(TextOf(**next.Plan(now_ns_, nullptr)), TextOf(**engine_.Plan(now_ns_, nullptr)));
  }
}

// ---- promises that end unkept -------------------------------------------------------------------

// q/high gets the room of q/low on node n, and later another scheduler takes it; q/other on node o
// could make room as well.
class UnkeptPromiseTest : public EngineTest {
 protected:
  static ClusterMaker TwoNodes() {
    return InTheWay()
        .Node("o", {.gpus = 2})
        .Running("q/other", {.gpus = 2, .node = "o", .priority = 15});
  }
  void SetUp() override {
    Put(TwoNodes());
    ASSERT_EQ(Plan(), "other q/low-0 ; other q/high-0 n; ");
  }
  void LoseTheRoom() {
    store_.Delete(Kind::kPod, "q/low-0");
    Put(OneNode().Foreign("z/foreign", {.gpus = 2, .node = "n"}));
  }
  std::vector<std::string> ReasonsOf(const std::string& group) {
    const Engine::PlanPtr plan = *engine_.Plan(now_ns_, nullptr);
    std::vector<std::string> messages;
    for (const ReportedReason& each : OutcomeOf(*plan, group).reasons)
      messages.push_back(each.message);
    return messages;
  }
};

TEST_F(UnkeptPromiseTest, TheGroupEvictsNothingForAWhile) {
  LoseTheRoom();
  EXPECT_EQ(Plan(), "");
  EXPECT_THAT(
      ReasonsOf("q/high"),
      testing::Contains("Workload lost the room of the last pods that were evicted for it and may "
                        "not trigger evictions before 1970-01-12T13:46:50Z"));
  const std::optional<Engine::Wake> wake = engine_.NextWake();
  ASSERT_TRUE(wake.has_value());
  EXPECT_EQ(wake->at_ns, now_ns_ + 10 * kSecondNs);
  EXPECT_EQ(wake->reason, WakeReason::kPreemptionDelay);
  now_ns_ += 10 * kSecondNs;
  EXPECT_EQ(Plan(), "other q/other-0 ; other q/high-0 o; ");
}

TEST_F(UnkeptPromiseTest, ItUsesRoomThatIsFree) {
  LoseTheRoom();
  EXPECT_EQ(Plan(), "");
  Put(OneNode().Node("p", {.gpus = 2}));
  EXPECT_EQ(Plan(), "bind q/high-0 p; ");
}

TEST_F(UnkeptPromiseTest, OtherGroupsWithTheSameRequestMayEvict) {
  LoseTheRoom();
  EXPECT_EQ(Plan(), "");
  Put(OneNode().Pending("q/like-high", {.gpus = 2, .priority = 20}));
  EXPECT_EQ(Plan(), "other q/other-0 ; other q/like-high-0 o; ");
}

TEST_F(UnkeptPromiseTest, EachTimeTheDelayIsTwiceAsLong) {
  LoseTheRoom();
  Plan();
  for (const int64_t seconds : {10, 20, 40, 80, 160, 320, 320}) {
    now_ns_ += seconds * kSecondNs - 1;
    EXPECT_EQ(Plan(), "") << seconds;
    now_ns_ += 1;
    EXPECT_EQ(Plan(), "other q/other-0 ; other q/high-0 o; ") << seconds;
    // Its room on o is lost, and the pod comes back.
    store_.Delete(Kind::kPod, "q/other-0");
    Put(OneNode().Node("o", {.gpus = 2}).Foreign("z/again", {.gpus = 2, .node = "o"}));
    EXPECT_EQ(Plan(), "") << seconds;
    store_.Delete(Kind::kPod, "z/again-0");
    Put(TwoNodes());
    store_.Delete(Kind::kPod, "q/low-0");
  }
}

TEST_F(UnkeptPromiseTest, RoomThatLastsEndsTheCount) {
  LoseTheRoom();
  Plan();
  now_ns_ += 10 * kSecondNs;
  EXPECT_EQ(Plan(), "other q/other-0 ; other q/high-0 o; ");
  store_.Delete(Kind::kPod, "q/other-0");
  EXPECT_EQ(Plan(), "bind q/high-0 o; ");
  engine_.AssumeBound(RequestFor("high-0", "o"));
  now_ns_ += 630 * kSecondNs;
  EXPECT_EQ(Plan(), "");
  Put(OneNode().Node("p", {.gpus = 1}));
  EXPECT_THAT(engine_.ExportMemory(), testing::HasSubstr(R"("unkept": 1)"));
  now_ns_ += 11 * kSecondNs;
  EXPECT_EQ(Plan(), "");
  Put(OneNode().Node("p", {.gpus = 0}));
  EXPECT_EQ(engine_.ExportMemory().find("unkept"), std::string::npos);
}

// q/high has the room of q/low, and runs.
class LostRoomTest : public UnkeptPromiseTest {
 protected:
  void SetUp() override {
    UnkeptPromiseTest::SetUp();
    store_.Delete(Kind::kPod, "q/low-0");
    ASSERT_EQ(Plan(), "bind q/high-0 n; ");
    Run();
    ASSERT_EQ(Plan(), "");
  }
  static ClusterMaker WithLabel() {
    return MakeCluster().Queue("q").Node("n", {.gpus = 2, .labels = {{"host", "n"}}});
  }
  // Its pod group stays the same.
  void Run() {
    const ClusterRows rows =
        WithLabel().Running("q/high", {.gpus = 2, .node = "n", .priority = 20}).Rows();
    store_.Upsert(rows.nodes[0]);
    store_.Upsert(rows.pods[0]);
  }
  // q/top may only use n.
  static ClusterMaker Top() {
    return WithLabel().Pending("q/top",
                               {.gpus = 2, .node_selector = {{"host", "n"}}, .priority = 30});
  }
  // The owner of q/high-0 creates it again.
  void ComeBack() {
    store_.Delete(Kind::kPod, "q/high-0");
    PodRow pod = OneNode().Pending("q/high", {.gpus = 2, .priority = 20}).Rows().pods[0];
    pod.uid += "x";
    store_.Upsert(pod);
  }
};

TEST_F(LostRoomTest, AGroupWhosePodsAreEvictedInTurnWaitsAsWell) {
  now_ns_ += 600 * kSecondNs;
  Put(Top());
  EXPECT_EQ(Plan(), "other q/high-0 ; other q/top-0 n; ");
  ComeBack();
  EXPECT_EQ(Plan(), "bind q/top-0 n; ");
  EXPECT_THAT(ReasonsOf("q/high"),
              testing::Contains(testing::StartsWith("Workload lost the room of the last pods")));
  now_ns_ += 10 * kSecondNs;
  EXPECT_EQ(Plan(), "bind q/top-0 n; other q/other-0 ; other q/high-0 o; ");
}

TEST_F(LostRoomTest, AGroupThatKeptItsRoomForLongEvictsAtOnce) {
  now_ns_ += 641 * kSecondNs;
  Put(Top());
  EXPECT_EQ(Plan(), "other q/high-0 ; other q/top-0 n; ");
  ComeBack();
  EXPECT_EQ(Plan(), "bind q/top-0 n; other q/other-0 ; other q/high-0 o; ");
}

TEST_F(LostRoomTest, APlanThatWasNotCarriedOutHasNoConsequence) {
  Put(Top());
  EXPECT_EQ(Plan(), "other q/high-0 ; other q/top-0 n; ");
  store_.Delete(Kind::kPod, "q/top-0");
  PodRow more = OneNode().Pending("q/high", {.gpus = 2, .priority = 20}).Rows().pods[0];
  more.name = "high-1";
  more.uid = "more";
  store_.Upsert(more);
  EXPECT_EQ(Plan(), "other q/other-0 ; other q/high-1 o; ");
}

TEST_F(LostRoomTest, AnEngineContinuesWithTheMemoryOfAnother) {
  Put(Top());
  EXPECT_EQ(Plan(), "other q/high-0 ; other q/top-0 n; ");
  Put(WithLabel().Node("p", {.gpus = 1}));
  Engine next(&store_, ParseConfig("{}"), ShardParams());
  ASSERT_TRUE(next.ImportMemory(engine_.ExportMemory()).ok());
  ComeBack();
  const Engine::PlanPtr plan = *next.Plan(now_ns_, nullptr);
  EXPECT_EQ(TextOf(*plan), TextOf(**engine_.Plan(now_ns_, nullptr)));
  EXPECT_EQ(plan->unkept_promises.size(), 1);
}

TEST_F(UnkeptPromiseTest, APlanThatWasNotCarriedOutHasNoConsequence) {
  Put(OneNode().Pending("q/small", {.gpus = 2, .priority = 5}));
  EXPECT_EQ(Plan(), "other q/low-0 ; other q/high-0 n; ");
}

TEST_F(UnkeptPromiseTest, OnlyTheVictimsOfAnOpenPromiseCount) {
  // The second plan gives the room of q/low to q/first, and that of q/other to q/high.
  Put(OneNode().Pending("q/first", {.gpus = 2, .priority = 25}));
  EXPECT_EQ(Plan(), "other q/low-0 ; other q/first-0 n; other q/other-0 ; other q/high-0 o; ");
  LoseTheRoom();
  EXPECT_EQ(Plan(), "other q/other-0 ; other q/high-0 o; ") << "q/first has lost its room";
}

TEST_F(UnkeptPromiseTest, AnEngineContinuesWithTheMemoryOfAnother) {
  LoseTheRoom();
  EXPECT_EQ(Plan(), "");
  now_ns_ += kSecondNs;
  Engine next(&store_, ParseConfig("{}"), ShardParams());
  ASSERT_TRUE(next.ImportMemory(engine_.ExportMemory()).ok());
  Put(OneNode().Node("p", {.gpus = 1}));
  const Engine::PlanPtr plan = *next.Plan(now_ns_, nullptr);
  EXPECT_EQ(TextOf(*plan), TextOf(**engine_.Plan(now_ns_, nullptr)));
  EXPECT_EQ(plan->decisions.size(), 0);
}

TEST_F(UnkeptPromiseTest, AsKaiItEvictsAgainAtOnce) {
  Engine as_kai(&store_, ParseConfig(R"({"compat": {"unkept_promises": "kai"}})"), ShardParams());
  ASSERT_EQ((*as_kai.Plan(now_ns_, nullptr))->decisions.size(), 2);
  LoseTheRoom();
  EXPECT_EQ((*as_kai.Plan(now_ns_, nullptr))->decisions.size(), 2);
}

TEST_F(EngineTest, ImportDropsAssumptionsThatHaveComeTrue) {
  Put(InTheWay());
  Plan();
  engine_.AssumeEvicted("q/low-0", now_ns_);
  engine_.AssumeBound(RequestFor("high-0", "n"));
  const std::string memory = engine_.ExportMemory();
  store_.Delete(Kind::kPod, "q/low-0");
  PodRow high = InTheWay().Rows().pods[1];
  high.node_name = "n";
  store_.Upsert(high);
  Engine next(&store_, ParseConfig("{}"), ShardParams());
  ASSERT_TRUE(next.ImportMemory(memory).ok());
  EXPECT_FALSE(next.Forget(1));
  EXPECT_FALSE(next.Forget(2));
  EXPECT_EQ(next.AssumeEvicted("q/high-0", now_ns_), 3) << "a number is used only once";
}

TEST_F(EngineTest, InvalidMemoryIsRejectedAndChangesNothing) {
  Put(InTheWay());
  Plan();
  engine_.AssumeEvicted("q/low-0", now_ns_);
  const std::string memory = engine_.ExportMemory();
  EXPECT_EQ(engine_.ImportMemory("[]").message(), "memory: is not a JSON object");
  EXPECT_EQ(engine_.ExportMemory(), memory);
}

}  // namespace
}  // namespace kai::engine_test
