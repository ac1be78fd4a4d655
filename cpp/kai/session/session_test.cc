#include "kai/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/api/units.h"
#include "kai/base/clock.h"
#include "kai/model/changes/statement.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/matchers/matchers.h"

namespace kai::session_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::Pair;

Session SessionWith(std::string_view config_json, const Session::Options& options = {}) {
  return Session(ParseConfig(config_json), options);
}

Plan RunPlan(const ClusterMaker& maker, std::string_view config_json = "",
             int64_t now_ns = kTestNowNs) {
  return kai::RunPlan(SessionWith(config_json), maker.Build(), /*stopwatch=*/nullptr, now_ns);
}

// A configuration with exactly these plugins.
std::string OnlyPlugins(const std::vector<std::string>& names) {
  std::string plugins;
  for (const std::string& name : names) {
    plugins += (plugins.empty() ? R"({"name": ")" : R"(, {"name": ")") + name + R"("})";
  }
  return R"({"actions": "allocate", "tiers": [{"plugins": [)" + plugins + "]}]}";
}

// ---- a plan is a function -----------------------------------------------------------------------

TEST(SessionTest, APlanDoesNotChangeTheCluster) {
  const std::shared_ptr<Cluster> cluster =
      MakeCluster()
          .Node("n", {.gpus = 2})
          .Releasing("ns/old", {.gpus = 1, .node = "n"})
          .Pending("ns/g", {.pods = 3, .gpus = 1, .min_member = 1})
          .Build();
  const auto idle = cluster->nodes().idle;
  const auto status = cluster->pods().status;
  const Session session = SessionWith("");
  const absl::StatusOr<Plan> first = session.Run(cluster, kTestNowNs, nullptr);
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(*first, PlanIs(Binds("ns/g-0"), Pipelines("ns/g-1")));
  EXPECT_EQ(cluster->nodes().idle, idle);
  EXPECT_EQ(cluster->pods().status, status);
  const absl::StatusOr<Plan> second = session.Run(cluster, kTestNowNs, nullptr);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(DecisionsText(*first), DecisionsText(*second));
}

TEST(SessionTest, AClusterThatIsBeingPlannedIsRejected) {
  const std::shared_ptr<Cluster> cluster = MakeCluster().Node("n").Pending("ns/g").Build();
  const auto other = Statement::Open(cluster.get(), {});
  const absl::StatusOr<Plan> plan = SessionWith("").Run(cluster, kTestNowNs, nullptr);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(plan.status().message(), "this cluster is already being planned: plan a copy, or wait");
}

TEST(SessionTest, APlanKeepsItsClusterAlive) {
  Plan plan = RunPlan(MakeCluster().Node("n").Pending("ns/g"));
  EXPECT_EQ(plan.cluster->PodName(plan.decisions.at(0).pod), "ns/g-0");
}

TEST(SessionTest, AnEmptyClusterHasAnEmptyPlan) {
  const Plan plan = RunPlan(MakeCluster());
  EXPECT_THAT(plan, PlanIs());
  EXPECT_EQ(plan.cluster->pod_groups().name.ids().size(), 0u);
}

TEST(SessionTest, ScanningAllNodesGivesTheSamePlan) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 2})
                                 .Node("n2", {.gpus = 4})
                                 .Pending("ns/a", {.pods = 3, .gpus = 1, .min_member = 3})
                                 .Pending("ns/b", {.gpus = 3});
  const absl::StatusOr<Plan> scanned =
      SessionWith("", {.always_scan = true}).Run(maker.Build(), kTestNowNs, nullptr);
  ASSERT_TRUE(scanned.ok());
  EXPECT_EQ(DecisionsText(*scanned), DecisionsText(RunPlan(maker)));
}

// ---- time ---------------------------------------------------------------------------------------

// Advances by one with every call.
class TickingClock final : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_++; }

 private:
  mutable int64_t now_ns_ = 0;
};

TEST(SessionTest, AStopwatchTimesEveryStepAndTheWhole) {
  const TickingClock clock;
  const absl::StatusOr<Plan> plan =
      SessionWith(R"({"actions": "allocate"})").Run(MakeCluster().Build(), kTestNowNs, &clock);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->timing_ns,
              ElementsAre(Pair("fair_share", Gt(0)), Pair("open", Gt(0)), Pair("allocate", Gt(0)),
                          Pair("close", Gt(0)), Pair("total", Gt(3))));
}

TEST(SessionTest, WithoutAStopwatchNothingIsTimed) {
  for (const auto& [name, ns] : RunPlan(MakeCluster()).timing_ns) EXPECT_EQ(ns, 0) << name;
}

TEST(SessionTest, OverduePodsReleaseNothing) {  // spec 2 E1, E2
  ClusterMaker maker = MakeCluster()
                           .Node("n", {.gpus = 1})
                           .Releasing("ns/old", {.gpus = 1, .node = "n"})
                           .Pending("ns/g", {.gpus = 1});
  const int64_t deleted_ns = *maker.rows().pods[0].deletion_ns;
  EXPECT_THAT(RunPlan(maker, "", deleted_ns + 30 * kSecondNs), PlanIs(Pipelines("ns/g-0")));
  EXPECT_THAT(RunPlan(maker, "", deleted_ns + 120 * kSecondNs), PlanIs(Pipelines("ns/g-0")))
      << "a pod is not overdue at exactly the threshold";
  EXPECT_THAT(RunPlan(maker, "", deleted_ns + 300 * kSecondNs), PlanIs());
  maker.params().stuck_in_releasing_threshold_ns = 600 * kSecondNs;
  EXPECT_THAT(RunPlan(maker, "", deleted_ns + 300 * kSecondNs), PlanIs(Pipelines("ns/g-0")));
  maker.params().stuck_in_releasing_threshold_ns = 0;  // falls back to two minutes
  EXPECT_THAT(RunPlan(maker, "", deleted_ns + 30 * kSecondNs), PlanIs(Pipelines("ns/g-0")));
  EXPECT_THAT(RunPlan(maker, "", deleted_ns + 300 * kSecondNs), PlanIs());
}

TEST(SessionTest, PodsDeletedLongAgoAreOverdueToo) {
  ClusterMaker maker = MakeCluster()
                           .Node("n", {.gpus = 1})
                           .Releasing("ns/old", {.gpus = 1, .node = "n"})
                           .Pending("ns/g", {.gpus = 1});
  maker.rows().pods[0].deletion_ns = std::numeric_limits<int64_t>::min() + 1;
  EXPECT_THAT(RunPlan(maker), PlanIs());
}

TEST(SessionTest, PodsThatNeverStartedAreNotOverdue) {  // spec 2 S2: phase Pending
  ClusterMaker maker = MakeCluster()
                           .Node("n", {.gpus = 1})
                           .Releasing("ns/old", {.gpus = 1, .node = "n"})
                           .Pending("ns/g", {.gpus = 1});
  maker.rows().pods[0].phase = Phase::kPending;
  EXPECT_THAT(RunPlan(maker, "", kTestNowNs + 300 * kSecondNs), PlanIs(Pipelines("ns/g-0")));
}

// ---- what each plugin brings --------------------------------------------------------------------

TEST(SessionPluginTest, WithoutPredicatesThereAreNoFilters) {
  const ClusterMaker maker =
      MakeCluster().Node("n", {.gpus = 1, .cordoned = true}).Pending("ns/g", {.gpus = 1});
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"predicates"})), PlanIs());
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"priority"})), PlanIs(Binds("ns/g-0", "n")));
}

TEST(SessionPluginTest, WithoutProportionThereAreNoGatesAndNoQueueNumbers) {
  const ClusterMaker maker = MakeCluster()
                                 .Queue("team", {.deserved_gpus = 4, .limit_gpus = 1})
                                 .Node("n", {.gpus = 2})
                                 .Pending("team/g", {.gpus = 2});
  const Plan with = RunPlan(maker, OnlyPlugins({"proportion"}));
  EXPECT_THAT(with, PlanIs());
  EXPECT_TRUE(with.has_queue_numbers);
  EXPECT_EQ(with.queues[QueueId(0)][kQuotaGpu].deserved, 4);
  EXPECT_EQ(with.queues[QueueId(0)][kQuotaGpu].request, 2);
  const Plan without = RunPlan(maker, OnlyPlugins({"priority"}));
  EXPECT_THAT(without, PlanIs(Binds("team/g-0", "n")));
  EXPECT_FALSE(without.has_queue_numbers);
  EXPECT_EQ(without.queues[QueueId(0)][kQuotaGpu].deserved, 0);
}

TEST(SessionPluginTest, WithoutProportionQueuesAreSortedByAgeThenName) {
  const ClusterMaker maker = MakeCluster()
                                 .Queue("b", {.deserved_gpus = 8, .created_s = 10})
                                 .Queue("a", {.created_s = 10})
                                 .Queue("old", {.created_s = 5})
                                 .Node("n", {.gpus = 8})
                                 .Pending("b/g", {.gpus = 1})
                                 .Pending("a/g", {.pods = 2, .gpus = 1, .min_member = 2})
                                 .Pending("old/g", {.gpus = 1})
                                 .Pending("old/h", {.gpus = 1});
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"priority"})),
              PlanIs(Binds("old/g-0"), Binds("old/h-0"), Binds(2, "a/g"), Binds("b/g-0")));
}

TEST(SessionPluginTest, WithoutPriorityAndElasticGroupsAreSortedByAge) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n", {.gpus = 3})
                                 .Pending("ns/old", {.pods = 2, .gpus = 1, .min_member = 1})
                                 .Pending("ns/new", {.gpus = 1, .priority = 90});
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({})),
              PlanIs(Binds("ns/old-0"), Binds("ns/old-1"), Binds("ns/new-0")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"elastic"})),
              PlanIs(Binds("ns/old-0"), Binds("ns/new-0"), Binds("ns/old-1")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"priority"})),
              PlanIs(Binds("ns/new-0"), Binds("ns/old-0"), Binds("ns/old-1")));
}

TEST(SessionPluginTest, PriorityAndElasticApplyInPluginOrder) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n", {.gpus = 3})
                                 .Running("ns/high", {.gpus = 1, .node = "n", .priority = 90})
                                 .Pending("ns/high", {.gpus = 1})  // above the group's minimum
                                 .Pending("ns/low", {.gpus = 1});
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"priority", "elastic"})),
              PlanIs(Binds("ns/high-1"), Binds("ns/low-0")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"elastic", "priority"})),
              PlanIs(Binds("ns/low-0"), Binds("ns/high-1")));
}

TEST(SessionPluginTest, PodOrderPluginsApplyInPluginOrder) {
  const ClusterMaker maker =
      MakeCluster()
          .Node("n", {.gpus = 1})
          .Pending("ns/g", {.gpus = 1, .min_member = 1})
          .Pending("ns/g", {.gpus = 1, .labels = {{"ray.io/node-type", "head"}}})
          .Pending("ns/g", {.gpus = 1, .labels = {{"kai.scheduler/task-priority", "1"}}})
          .Pending("ns/g", {.gpus = 1, .labels = {{"training.kubeflow.org/job-role", "master"}}});
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({})), PlanIs(Binds("ns/g-0")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"ray", "taskorder", "kubeflow"})),
              PlanIs(Binds("ns/g-1")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"taskorder", "kubeflow"})), PlanIs(Binds("ns/g-2")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"kubeflow", "ray"})), PlanIs(Binds("ns/g-3")));
}

std::string PlacementConfig(std::string_view arguments) {
  return R"({"actions": "allocate", "tiers": [{"plugins": [{"name": "predicates"},
      {"name": "nodeplacement", "arguments": )" +
         std::string(arguments) + "}]}]}";
}

TEST(SessionPluginTest, NodePlacementPacksUnlessSpreadIsSet) {  // spec 3 W5
  const ClusterMaker maker = MakeCluster()
                                 .Node("full", {.gpus = 4})
                                 .Node("idle", {.gpus = 4})
                                 .Running("ns/x", {.gpus = 1, .millicpu = 32'000, .node = "full"})
                                 .Pending("ns/a-gpu", {.gpus = 1, .millicpu = 0})
                                 .Pending("ns/b-cpu", {.millicpu = 1000});
  EXPECT_THAT(RunPlan(maker, PlacementConfig("{}")),
              PlanIs(Binds("ns/a-gpu-0", "full"), Binds("ns/b-cpu-0", "full")));
  EXPECT_THAT(RunPlan(maker, PlacementConfig(R"({"gpu": "spread"})")),
              PlanIs(Binds("ns/a-gpu-0", "idle"), Binds("ns/b-cpu-0", "full")));
  EXPECT_THAT(RunPlan(maker, PlacementConfig(R"({"cpu": "spread"})")),
              PlanIs(Binds("ns/a-gpu-0", "full"), Binds("ns/b-cpu-0", "idle")));
  EXPECT_THAT(RunPlan(maker, PlacementConfig(R"({"gpu": "sideways", "cpu": ""})")),
              PlanIs(Binds("ns/a-gpu-0", "full"), Binds("ns/b-cpu-0", "full")));
}

// Adds a node whose zones have these amounts of CPU, in millicores.
ClusterMaker& AddZones(ClusterMaker* maker, const std::string& node, NumaPolicy policy,
                       const std::vector<int64_t>& zones) {
  NodeZonesRow row{.name = node, .policy = policy, .scope = NumaScope::kPod};
  for (const int64_t millicpu : zones) {
    const ResourceAmounts amounts = {{"cpu", millicpu}};
    row.zones.push_back({.name = "zone-" + std::to_string(row.zones.size()),
                         .allocatable = amounts,
                         .available = amounts});
  }
  return maker->Node(node).Add(std::move(row));
}

TEST(SessionPluginTest, OnlyWithNumaPodsAvoidNodesThatCannotAlignThem) {
  ClusterMaker maker = MakeCluster();
  AddZones(&maker, "n", NumaPolicy::kSingleZone, {4000, 4000})
      .Pending("ns/p", {.millicpu = 6000, .guaranteed = true});
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"predicates"})), PlanIs(Binds("ns/p-0", "n")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"predicates", "numa"})), PlanIs());
}

TEST(SessionPluginTest, WithoutZonesNumaRefusesAndPrefersNothing) {
  EXPECT_THAT(RunPlan(MakeCluster().Node("n").Pending("ns/p", {.guaranteed = true}),
                      OnlyPlugins({"predicates", "numa"})),
              PlanIs(Binds("ns/p-0", "n")));
}

TEST(SessionPluginTest, NumaPrefersTheNodeWhereThePodIsInFewerZones) {
  ClusterMaker maker = MakeCluster();
  AddZones(&maker, "a", NumaPolicy::kBestEffort, {4000, 4000});
  AddZones(&maker, "b", NumaPolicy::kBestEffort, {8000, 8000})
      .Pending("ns/p", {.millicpu = 6000, .guaranteed = true});
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"nodeplacement"})), PlanIs(Binds("ns/p-0", "a")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"nodeplacement", "numa"})), PlanIs(Binds("ns/p-0", "b")));
}

TEST(SessionPluginTest, WithoutScorersTheLowestNameIsChosen) {
  const ClusterMaker maker =
      MakeCluster().Node("a", {.gpus = 8}).Node("b", {.gpus = 1}).Pending("ns/g", {.gpus = 1});
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"predicates"})), PlanIs(Binds("ns/g-0", "a")));
  EXPECT_THAT(RunPlan(maker, OnlyPlugins({"predicates", "nodeplacement"})),
              PlanIs(Binds("ns/g-0", "b")));
}

TEST(SessionPluginTest, QueueNumbersAreThoseOfTheCycleStart) {
  const Plan plan = RunPlan(MakeCluster()
                                .Queue("team", {.deserved_gpus = 4})
                                .Node("n", {.gpus = 8})
                                .Running("team/old", {.gpus = 1, .node = "n"})
                                .Pending("team/new", {.gpus = 2}));
  EXPECT_THAT(plan, PlanIs(Binds("team/new-0")));
  const QueueId team = QueueNamed(*plan.cluster, "team");
  const Share& gpus = plan.queues[team][kQuotaGpu];
  const QueueSums& sums = plan.cluster->queues().sums[team];
  EXPECT_EQ(sums.allocated[kQuotaGpu], 1);
  EXPECT_EQ(gpus.request, 3);
  EXPECT_EQ(gpus.fair_share, 3);
}

// ---- actions ------------------------------------------------------------------------------------

TEST(SessionTest, ActionsRunInTheListedOrderWithRepeats) {
  const ClusterMaker maker = MakeCluster().Node("n", {.gpus = 1}).Pending("ns/g", {.gpus = 1});
  EXPECT_THAT(RunPlan(maker, R"({"actions": "allocate, allocate"})"), PlanIs(Binds("ns/g-0")));
}

TEST(SessionTest, WithoutActionsNothingHappens) {
  const Plan plan = RunPlan(MakeCluster().Node("n").Pending("ns/g"), R"({"actions": "nothing"})");
  EXPECT_THAT(plan, PlanIs());
  EXPECT_THAT(plan, Reasons("ns/g", reason_codes::kNotConsidered));
}

}  // namespace
}  // namespace kai::session_test
