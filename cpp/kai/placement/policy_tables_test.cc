#include "kai/placement/policy_tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kai/base/clock.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/placement/scorers/scorers.h"

namespace kai::policy_tables_test {
namespace {

// Scores nodes by their idle GPUs, refuses nodes without idle GPUs, and records its calls.
struct Notes {
  std::vector<std::vector<std::string>> scored;
  std::vector<std::vector<std::string>> filtered;
  bool fails = false;
};

class FakeRun final : public PolicyRun {
 public:
  FakeRun(const Cluster& cluster, std::shared_ptr<PolicyColumns> columns, Notes* notes)
      : cluster_(cluster), kept_(std::move(columns)), columns_(*kept_), notes_(*notes) {}

  absl::Status Score(size_t, const PolicyPod& pod, size_t rows) override {
    notes_.scored.push_back(Names(rows));
    if (notes_.fails) return absl::AbortedError("it fails");
    for (size_t row = 0; row < rows; ++row) {
      columns_.score[row] = static_cast<double>(IdleMilli(row) - pod.gpu_milli);
      columns_.gpu[row] = -1;
    }
    return absl::OkStatus();
  }
  absl::Status Filter(size_t, const PolicyPod&, size_t rows) override {
    notes_.filtered.push_back(Names(rows));
    for (size_t row = 0; row < rows; ++row) columns_.allowed[row] = IdleMilli(row) > 0;
    return absl::OkStatus();
  }
  absl::Status Order(size_t rows) override {
    for (size_t row = 0; row < rows; ++row)
      columns_.key[row] = -static_cast<double>(columns_.groups->pods[row]);
    return absl::OkStatus();
  }

 private:
  int64_t IdleMilli(size_t row) const {
    const size_t width = columns_.nodes.most_gpus;
    int64_t idle = 0;
    for (size_t i = 0; i < width; ++i) idle += columns_.nodes.gpu_idle_milli[row * width + i];
    return idle;
  }
  std::vector<std::string> Names(size_t rows) const {
    std::vector<std::string> names;
    for (size_t row = 0; row < rows; ++row)
      names.emplace_back(cluster_.Text(cluster_.nodes().name[NodeId(columns_.nodes.node[row])]));
    return names;
  }

  const Cluster& cluster_;
  std::shared_ptr<PolicyColumns> kept_;
  PolicyColumns& columns_;
  Notes& notes_;
};

class FakePolicies final : public TablePolicies {
 public:
  explicit FakePolicies(Notes* notes, bool whole = false) : notes_(notes) {
    scores_ = {{.name = "idle", .whole = whole}};
    filters_ = {{.name = "any", .whole = whole}};
    orders_groups_ = true;
  }
  std::unique_ptr<PolicyRun> Begin(const Cluster& cluster,
                                   std::shared_ptr<PolicyColumns> columns) const override {
    return std::make_unique<FakeRun>(cluster, std::move(columns), notes_);
  }

 private:
  Notes* notes_;
};

using Lists = std::vector<std::vector<std::string>>;

std::unique_ptr<Cluster> ThreeNodes() {
  return MakeCluster()
      .Node("c", {.gpus = 4})
      .Node("a", {.gpus = 2})
      .Node("b", {.gpus = 8})
      .Pending("ns/p", {.pods = 3, .gpus = 1})
      .Build();
}

TEST(PolicyTablesTest, RowsAreSortedByName) {
  const auto cluster = ThreeNodes();
  Notes notes;
  const auto tables =
      std::make_shared<PolicyTables>(*cluster, std::make_shared<FakePolicies>(&notes));
  std::vector<NodeId> nodes = {NodeNamed(*cluster, "c"), NodeNamed(*cluster, "a")};
  const PodClassId pods = cluster->pods().pod_class[PodNamed(*cluster, "ns/p-0")];
  tables->ScoreNodes(0, pods, &nodes);
  EXPECT_EQ(notes.scored, Lists({{"a", "c"}}));
  EXPECT_EQ(nodes[0], NodeNamed(*cluster, "a"));
  EXPECT_EQ(tables->columns().score[0], 1000);
  EXPECT_EQ(tables->columns().score[1], 3000);
}

TEST(PolicyTablesTest, ARunWritesTheFirstRows) {
  const auto cluster = ThreeNodes();
  Notes notes;
  const FakePolicies policies(&notes);
  const auto columns = std::make_shared<PolicyColumns>();
  columns->nodes.node = {0, 1, 2};
  columns->nodes.gpu_idle_milli = {500, 700, 900};
  columns->nodes.most_gpus = 1;
  columns->score.assign(3, -1);
  columns->gpu.assign(3, 0);
  const std::unique_ptr<PolicyRun> run = policies.Begin(*cluster, columns);
  EXPECT_TRUE(run->Score(0, {.gpus = 1}, 2).ok());
  EXPECT_EQ(columns->score, (std::vector<double>{500, 700, -1}));
}

// A statement with the tables as its listener.
struct Trial {
  explicit Trial(std::unique_ptr<Cluster> its, bool whole = false)
      : cluster(std::move(its)),
        tables(std::make_shared<PolicyTables>(*cluster,
                                              std::make_shared<FakePolicies>(&notes, whole))),
        scorer(MakeTableScorer(tables, 0, true)),
        filter(MakeTableFilter(*cluster, tables, 0, false)),
        statement(Statement::Open(cluster.get(), {scorer->listener()})) {
    for (const std::string_view name : {"a", "b", "c"}) all.push_back(NodeNamed(*cluster, name));
    pods = cluster->pods().pod_class[PodNamed(*cluster, "ns/p-0")];
  }
  void Place(std::string_view pod, std::string_view node) {
    statement->Place(PodNamed(*cluster, pod), NodeNamed(*cluster, node));
  }
  double Score(std::string_view node) { return scorer->Score(pods, NodeNamed(*cluster, node), {}); }

  Notes notes;
  std::unique_ptr<Cluster> cluster;
  std::shared_ptr<PolicyTables> tables;
  std::unique_ptr<Scorer> scorer;
  std::unique_ptr<Filter> filter;
  std::unique_ptr<Statement> statement;
  std::vector<NodeId> all;
  PodClassId pods;
};

TEST(TableScorerTest, ARowWisePolicyIsCalledForDifferentRows) {
  Trial trial(ThreeNodes());
  trial.scorer->Prepare(trial.pods, trial.all);
  trial.scorer->Prepare(trial.pods, trial.all);
  EXPECT_EQ(trial.notes.scored, Lists({{"a", "b", "c"}}));
  const auto before = trial.statement->Mark();
  trial.Place("ns/p-0", "b");
  trial.scorer->Prepare(trial.pods, trial.all);
  EXPECT_EQ(trial.notes.scored, Lists({{"a", "b", "c"}, {"b"}}));
  EXPECT_EQ(trial.Score("b"), 6000);
  trial.statement->RollBackTo(before);
  trial.Place("ns/p-1", "a");
  trial.scorer->Prepare(trial.pods, trial.all);
  EXPECT_EQ(trial.notes.scored.back(), std::vector<std::string>({"a", "b"}))
      << "one score is cached for each node";
  EXPECT_EQ(trial.Score("b"), 7000);
}

TEST(TableScorerTest, AWholeTablePolicyIsCalledEachTime) {
  Trial trial(ThreeNodes(), /*whole=*/true);
  trial.scorer->Prepare(trial.pods, trial.all);
  trial.scorer->Prepare(trial.pods, trial.all);
  EXPECT_EQ(trial.notes.scored, Lists({{"a", "b", "c"}, {"a", "b", "c"}}));
  EXPECT_EQ(trial.Score("c"), 3000);
}

TEST(TableScorerTest, AfterAFailureThePolicyIsNotCalled) {
  Trial trial(ThreeNodes());
  trial.notes.fails = true;
  trial.scorer->Prepare(trial.pods, trial.all);
  trial.Place("ns/p-0", "b");
  trial.scorer->Prepare(trial.pods, trial.all);
  EXPECT_EQ(trial.notes.scored.size(), 1u);
  EXPECT_EQ(trial.Score("b"), 0);
  EXPECT_EQ(trial.tables->status(), absl::AbortedError("it fails"));
  EXPECT_FALSE(trial.filter->Check(trial.pods, trial.all[0], nullptr));
}

TEST(TableFilterTest, CallsThePolicyOnceForAllDifferentNodes) {
  for (const bool whole : {false, true}) {
    Trial trial(ThreeNodes(), whole);
    EXPECT_TRUE(trial.filter->Check(trial.pods, trial.all[0], nullptr));
    EXPECT_TRUE(trial.filter->Check(trial.pods, trial.all[2], nullptr));
    EXPECT_EQ(trial.notes.filtered, Lists({{"a", "b", "c"}}));
    trial.Place("ns/p-0", "a");
    trial.Place("ns/p-1", "a");
    EXPECT_FALSE(trial.filter->Check(trial.pods, trial.all[0], nullptr));
    EXPECT_TRUE(trial.filter->Check(trial.pods, trial.all[1], nullptr));
    EXPECT_EQ(trial.notes.filtered.back(),
              whole ? std::vector<std::string>({"a", "b", "c"}) : std::vector<std::string>({"a"}));
    EXPECT_EQ(trial.notes.filtered.size(), 2u);
  }
}

AttainedService ServiceOf(const Cluster& cluster, int64_t now_ns) {
  const PlacingOrder placing(cluster, {.comparators = {}, .count_completed = true});
  return {cluster, PodOrder(placing, {}), now_ns};
}

TEST(PolicyTablesTest, GroupsThatWaitHaveKeys) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 4})
                           .Pending("ns/one", {.gpus = 1})
                           .Pending("ns/two", {.pods = 2, .gpus = 1})
                           .Running("ns/runs", {.gpus = 1, .node = "n"})
                           .Build();
  Notes notes;
  PolicyTables tables(*cluster, std::make_shared<FakePolicies>(&notes));
  const GroupKeys keys = tables.OrderGroups(ServiceOf(*cluster, 0));
  for (const PodGroupId group : keys.ids()) {
    const std::string name = cluster->PodGroupName(group);
    const double expected = name == "ns/one"   ? -1
                            : name == "ns/two" ? -2
                                               : std::numeric_limits<double>::infinity();
    EXPECT_EQ(keys[group], expected) << name;
  }
}

TEST(PolicyTablesTest, AnotherOrderLeavesTheColumnsOfTheLastOne) {
  const auto cluster = MakeCluster().Node("n", {.gpus = 4}).Pending("ns/one", {.gpus = 1}).Build();
  Notes notes;
  PolicyTables tables(*cluster, std::make_shared<FakePolicies>(&notes));
  tables.OrderGroups(ServiceOf(*cluster, kTestNowNs));
  const std::shared_ptr<const PolicyGroupColumns> kept = tables.columns().groups;
  const std::vector<double> waited = kept->waited_s;
  tables.OrderGroups(ServiceOf(*cluster, kTestNowNs + kSecondNs));
  EXPECT_EQ(kept->waited_s, waited);
  EXPECT_EQ(tables.columns().groups->waited_s[0], waited[0] + 1);
}

TEST(PolicyTablesTest, RowsOfGroupsHaveTheirEstimateAndAttainedService) {
  ClusterMaker maker = MakeCluster().Node("n", {.gpus = 4});
  maker.Pending("ns/again", {.gpus = 1});
  maker.rows().pod_groups.back().estimate_ns = 90 * kSecondNs;
  ServiceRow& service = maker.rows().pod_groups.back().service;
  service.run_ns = 1'500'000'000;
  service.gpu_ns = 6 * kSecondNs;
  service.evictions = 2;
  // Two of its pods run.
  maker.Running("ns/grows", {.pods = 2, .gpus = 1, .node = "n"});
  maker.rows().pod_groups.back().last_start_ns = kTestNowNs - 10 * kSecondNs;
  maker.rows().pods.push_back(maker.rows().pods.back());
  maker.rows().pods.back().name = "grows-2";
  maker.rows().pods.back().node_name.clear();
  maker.rows().pods.back().phase = Phase::kPending;
  const auto cluster = maker.Build();
  Notes notes;
  PolicyTables tables(*cluster, std::make_shared<FakePolicies>(&notes));
  tables.OrderGroups(ServiceOf(*cluster, kTestNowNs));
  const PolicyGroupColumns& groups = *tables.columns().groups;
  ASSERT_EQ(groups.group, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(groups.attained_s, (std::vector<double>{1.5, 10}));
  EXPECT_EQ(groups.attained_gpu_s, (std::vector<double>{6, 20}));
  EXPECT_EQ(groups.evictions, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(groups.estimate_s[0], 90);
  EXPECT_TRUE(std::isnan(groups.estimate_s[1]));
}

}  // namespace
}  // namespace kai::policy_tables_test
