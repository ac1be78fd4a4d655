#include "kai/model/changes/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/makers/statement_columns.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::statement_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StatementTest : public ::testing::Test {
 protected:
  // Two nodes; ns/run-0 runs on n1, ns/leave-0 leaves it, ns/wait-0 and -1 wait.
  StatementTest()
      : cluster_(MakeCluster()
                     .Node("n1", {.gpus = 8, .millicpu = 10'000})
                     .Node("n2", {.gpus = 8, .millicpu = 10'000})
                     .Running("ns/run", {.gpus = 2, .node = "n1"})
                     .Releasing("ns/leave", {.gpus = 1, .node = "n1"})
                     .Pending("ns/wait", {.pods = 2, .gpus = 4})
                     .Build()),
        statement_(Statement::Open(cluster_.get(), {})) {}

  PodId Pod(std::string_view name) { return PodNamed(*cluster_, StrCat("ns/", name)); }
  NodeId Node(std::string_view name) { return NodeNamed(*cluster_, name); }

  // "idle 5, releasing 1, used 3" GPUs.
  std::string Gpus(std::string_view node) {
    const size_t gpu = kGpuSlot.index();
    const NodeId id = Node(node);
    return StrCat("idle ", static_cast<int>(cluster_->nodes().idle[id][gpu]), ", releasing ",
                  static_cast<int>(cluster_->nodes().releasing[id][gpu]), ", used ",
                  static_cast<int>(cluster_->nodes().used[id][gpu]));
  }
  PodStatus Status(std::string_view pod) { return cluster_->pods().status[Pod(pod)]; }
  int32_t Count(std::string_view group, PodStatus status) {
    return cluster_->sub_groups()
        .counts[PodSetNamed(*cluster_, StrCat("ns/", group), "default")][status];
  }

  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Statement> statement_;
};

TEST_F(StatementTest, PlaceGivesAWaitingPodIdleResources) {  // spec 2 T3
  EXPECT_EQ(Gpus("n2"), "idle 8, releasing 0, used 0");
  statement_->Place(Pod("wait-0"), Node("n2"));
  EXPECT_EQ(Status("wait-0"), PodStatus::kAllocated);
  EXPECT_EQ(cluster_->pods().node[Pod("wait-0")], Node("n2"));
  EXPECT_TRUE(cluster_->pods().is_virtual[Pod("wait-0")]);
  EXPECT_EQ(Gpus("n2"), "idle 4, releasing 0, used 4");
  EXPECT_EQ(Count("wait", PodStatus::kPending), 1);
  EXPECT_EQ(Count("wait", PodStatus::kAllocated), 1);
}

TEST_F(StatementTest, PipelineReservesResourcesThatAreBeingFreed) {  // spec 2 T5, S5
  EXPECT_EQ(Gpus("n1"), "idle 5, releasing 1, used 3");
  statement_->Pipeline(Pod("wait-0"), Node("n1"));
  EXPECT_EQ(Status("wait-0"), PodStatus::kPipelined);
  EXPECT_EQ(Gpus("n1"), "idle 5, releasing -3, used 7");
  EXPECT_EQ(Count("wait", PodStatus::kPipelined), 1);
}

TEST_F(StatementTest, EvictKeepsThePodOnItsNodeAndReleasesItsResources) {  // spec 2 T4
  statement_->Evict(Pod("run-0"));
  EXPECT_EQ(Status("run-0"), PodStatus::kReleasing);
  EXPECT_EQ(cluster_->pods().node[Pod("run-0")], Node("n1"));
  EXPECT_EQ(Gpus("n1"), "idle 5, releasing 3, used 3");
  EXPECT_TRUE(cluster_->pods().is_virtual[Pod("run-0")]);
}

TEST_F(StatementTest, AnEvictedPodThatMovesReleasesItsOldPlace) {  // spec 2 T5
  statement_->Evict(Pod("run-0"));
  statement_->Pipeline(Pod("run-0"), Node("n2"));
  EXPECT_EQ(Status("run-0"), PodStatus::kPipelined);
  EXPECT_EQ(cluster_->pods().node[Pod("run-0")], Node("n2"));
  EXPECT_EQ(Gpus("n1"), "idle 5, releasing 3, used 3");
  EXPECT_EQ(Gpus("n2"), "idle 8, releasing -2, used 2");
}

TEST_F(StatementTest, AnEvictedPodPipelinedToItsOwnNodeRunsAgain) {  // spec 2 T5
  const StatementColumns start(*cluster_);
  statement_->Evict(Pod("run-0"));
  statement_->Pipeline(Pod("run-0"), Node("n1"));
  EXPECT_EQ(Status("run-0"), PodStatus::kRunning);
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

TEST_F(StatementTest, APodThatStaysHasItsOldStatus) {  // spec 2 T4
  statement_->Place(Pod("wait-0"), Node("n2"));
  statement_->Pipeline(Pod("wait-1"), Node("n1"));
  const StatementColumns before(*cluster_);
  for (const char* pod : {"wait-0", "wait-1", "run-0"}) statement_->Evict(Pod(pod));
  statement_->Pipeline(Pod("run-0"), Node("n1"));
  statement_->Pipeline(Pod("wait-0"), Node("n2"));
  statement_->Pipeline(Pod("wait-1"), Node("n1"));
  EXPECT_EQ(StatementColumns(*cluster_), before);
  EXPECT_EQ(Status("wait-0"), PodStatus::kAllocated);
  EXPECT_EQ(Status("wait-1"), PodStatus::kPipelined);
}

TEST_F(StatementTest, AMovedPodThatIsEvictedAgainMayReturnToItsFirstNode) {  // spec 2 T5
  // It occupies both nodes, for each of the two as promised node.
  statement_->Evict(Pod("run-0"));
  statement_->Pipeline(Pod("run-0"), Node("n2"));
  const StatementColumns moved(*cluster_);
  for (const char* node : {"n2", "n1"}) {
    statement_->Evict(Pod("run-0"));
    EXPECT_EQ(Gpus("n2"), "idle 6, releasing 2, used 2");
    statement_->Pipeline(Pod("run-0"), Node(node));
    EXPECT_EQ(Status("run-0"), PodStatus::kPipelined) << node;
    EXPECT_EQ(cluster_->pods().node[Pod("run-0")], Node("n2")) << node;
    EXPECT_EQ(StatementColumns(*cluster_), moved) << node;
  }
}

TEST_F(StatementTest, APodThatStayedMayBeEvictedAgain) {
  statement_->Evict(Pod("run-0"));
  const StatementColumns evicted(*cluster_);
  statement_->Pipeline(Pod("run-0"), Node("n1"));
  statement_->Evict(Pod("run-0"));
  EXPECT_EQ(StatementColumns(*cluster_), evicted);
}

TEST_F(StatementTest, APodThatWasEvictedTwiceReturnsWithOnePipeline) {  // spec 2 W8
  const StatementColumns start(*cluster_);
  statement_->Evict(Pod("run-0"));
  const StatementColumns evicted(*cluster_);
  const SubGroupId pod_set = cluster_->pods().pod_set[Pod("run-0")];
  const int32_t alive = cluster_->sub_groups().counts[pod_set].alive();
  statement_->Evict(Pod("run-0"));
  EXPECT_EQ(cluster_->sub_groups().counts[pod_set].alive(), alive - 1) << "it counts twice";
  statement_->Pipeline(Pod("run-0"), Node("n1"));
  EXPECT_EQ(cluster_->pods().status[Pod("run-0")], PodStatus::kRunning);
  EXPECT_EQ(cluster_->sub_groups().counts[pod_set].alive(), alive) << "and returns once";
  statement_->RollBackTo(1);
  EXPECT_EQ(StatementColumns(*cluster_), evicted);
  statement_->RollBackTo(0);
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

TEST_F(StatementTest, ATerminatingPodMayBePipelinedToAnotherNode) {
  const StatementColumns start(*cluster_);
  statement_->Pipeline(Pod("leave-0"), Node("n2"));
  EXPECT_EQ(Status("leave-0"), PodStatus::kPipelined);
  EXPECT_EQ(Gpus("n1"), "idle 5, releasing 1, used 3") << "the pod is still leaving n1";
  EXPECT_EQ(Gpus("n2"), "idle 8, releasing -1, used 1");
  EXPECT_EQ(Count("leave", PodStatus::kReleasing), 0);
  EXPECT_EQ(Count("leave", PodStatus::kPipelined), 1);
  statement_->RollBackTo(0);
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

TEST_F(StatementTest, RollbackUndoesAStay) {
  const StatementColumns start(*cluster_);
  statement_->Evict(Pod("run-0"));
  const StatementColumns evicted(*cluster_);
  const Statement::Checkpoint mark = statement_->Mark();
  statement_->Pipeline(Pod("run-0"), Node("n1"));
  statement_->RollBackTo(mark);
  EXPECT_EQ(StatementColumns(*cluster_), evicted);
  statement_->Pipeline(Pod("run-0"), Node("n2"));  // now it moves
  EXPECT_EQ(Status("run-0"), PodStatus::kPipelined);
  statement_->RollBackTo(0);
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

TEST_F(StatementTest, AnUndoneEvictionKeepsTheNodeThatThePodReturnsTo) {
  const StatementColumns start(*cluster_);
  statement_->Evict(Pod("run-0"));
  const Statement::Checkpoint mark = statement_->Mark();
  statement_->Pipeline(Pod("run-0"), Node("n2"));
  statement_->Evict(Pod("run-0"));
  statement_->RollBackTo(mark);
  statement_->Pipeline(Pod("run-0"), Node("n1"));
  EXPECT_EQ(Status("run-0"), PodStatus::kRunning);
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

// ---- settled changes (spec 2 T7)

TEST_F(StatementTest, ASettledEvictionIsFinal) {
  statement_->Evict(Pod("run-0"));
  EXPECT_TRUE(cluster_->pods().is_virtual[Pod("run-0")]);
  statement_->Settle();
  EXPECT_FALSE(cluster_->pods().is_virtual[Pod("run-0")]);
  EXPECT_EQ(Status("run-0"), PodStatus::kReleasing);
}

TEST_F(StatementTest, RollingBackEndsWhatWasSettled) {
  const StatementColumns start(*cluster_);
  statement_->Evict(Pod("run-0"));
  statement_->Settle();
  statement_->RollBackTo(0);
  EXPECT_EQ(StatementColumns(*cluster_), start);
  statement_->Evict(Pod("run-0"));
  EXPECT_TRUE(cluster_->pods().is_virtual[Pod("run-0")]);
  statement_->Settle();  // new changes are settled again
  EXPECT_FALSE(cluster_->pods().is_virtual[Pod("run-0")]);
}

TEST_F(StatementTest, ChangesAfterSettleCanBeRolledBack) {
  statement_->Evict(Pod("run-0"));
  statement_->Settle();
  const StatementColumns settled(*cluster_);
  const Statement::Checkpoint mark = statement_->Mark();
  statement_->Pipeline(Pod("wait-0"), Node("n1"));
  EXPECT_TRUE(cluster_->pods().is_virtual[Pod("wait-0")]);
  statement_->Evict(Pod("wait-0"));
  statement_->RollBackTo(mark);
  EXPECT_EQ(StatementColumns(*cluster_), settled);
}

TEST_F(StatementTest, APipelinedPodMayBeEvicted) {  // spec 2 T8
  statement_->Pipeline(Pod("wait-0"), Node("n1"));
  statement_->Evict(Pod("wait-0"));
  EXPECT_EQ(Status("wait-0"), PodStatus::kReleasing);
  EXPECT_EQ(Gpus("n1"), "idle 1, releasing 5, used 7");
}

TEST_F(StatementTest, AnOverduePodNoLongerReleasesItsResources) {  // spec 2 S2, S5
  statement_->MarkStuck(Pod("leave-0"));
  EXPECT_EQ(Status("leave-0"), PodStatus::kStuckInReleasing);
  EXPECT_EQ(Gpus("n1"), "idle 5, releasing 0, used 3");
}

TEST_F(StatementTest, ListsTheChangesSinceAMark) {
  statement_->Place(Pod("wait-0"), Node("n2"));
  const Statement::Checkpoint mark = statement_->Mark();
  EXPECT_THAT(statement_->ChangesSince(mark), IsEmpty());
  statement_->Pipeline(Pod("wait-1"), Node("n1"));
  ASSERT_EQ(statement_->ChangesSince(mark).size(), size_t{1});
  const Change& change = statement_->ChangesSince(mark)[0];
  EXPECT_EQ(change.pod, Pod("wait-1"));
  EXPECT_EQ(change.from, PodStatus::kPending);
  EXPECT_EQ(change.to, PodStatus::kPipelined);
  EXPECT_FALSE(change.from_node.valid());
  EXPECT_EQ(change.to_node, Node("n1"));
  EXPECT_EQ(statement_->ChangesSince(0).size(), size_t{2});
}

TEST_F(StatementTest, RollsBackToNestedMarks) {  // spec 2 E13
  const StatementColumns start(*cluster_);
  statement_->Place(Pod("wait-0"), Node("n2"));
  const StatementColumns first(*cluster_);
  const Statement::Checkpoint outer = statement_->Mark();
  statement_->Evict(Pod("run-0"));
  const StatementColumns second(*cluster_);
  const Statement::Checkpoint inner = statement_->Mark();
  statement_->Pipeline(Pod("run-0"), Node("n2"));
  statement_->MarkStuck(Pod("leave-0"));
  statement_->RollBackTo(inner);
  EXPECT_EQ(StatementColumns(*cluster_), second);
  statement_->Pipeline(Pod("run-0"), Node("n1"));  // changes after an undo can be undone as well
  statement_->RollBackTo(outer);
  EXPECT_EQ(StatementColumns(*cluster_), first);
  statement_->RollBackTo(0);
  EXPECT_EQ(StatementColumns(*cluster_), start);
  statement_->RollBackTo(0);
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

// Doubles of that size are 128 apart: subtracting 64 and adding it again gives another number, so
// old values must be kept.
TEST(StatementRoundingTest, RollsBackSumsThatDoublesCannotSubtractExactly) {
  NodeRow huge = MakeNodeRow("n1", {.mb = 0});
  huge.allocatable = {{"cpu", 64'000}, {"memory", (int64_t{1} << 60) - 128}, {"pods", 110}};
  ClusterMaker maker = MakeCluster().Add(huge).Pending("ns/g");
  maker.rows().pods[0].requests = {{"memory", 64}};
  const auto cluster = maker.Build();
  const StatementColumns start(*cluster);
  {
    const auto statement = Statement::Open(cluster.get(), {});
    statement->Place(PodNamed(*cluster, "ns/g-0"), NodeId(0));
    EXPECT_NE(StatementColumns(*cluster), start);
  }
  EXPECT_EQ(StatementColumns(*cluster), start);
}

TEST_F(StatementTest, DestructionWithoutCommitRestoresTheCluster) {
  const StatementColumns start(*cluster_);
  statement_->Place(Pod("wait-0"), Node("n2"));
  statement_->Evict(Pod("run-0"));
  statement_.reset();
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

TEST_F(StatementTest, CommitKeepsAllChanges) {
  statement_->Place(Pod("wait-0"), Node("n2"));
  statement_->Evict(Pod("run-0"));
  const StatementColumns kept(*cluster_);
  statement_->Commit();
  EXPECT_EQ(statement_->Mark(), Statement::Checkpoint{0});
  EXPECT_THAT(statement_->ChangesSince(0), IsEmpty());
  statement_->Place(Pod("wait-1"), Node("n2"));  // the statement can continue
  statement_.reset();
  EXPECT_EQ(StatementColumns(*cluster_), kept) << "only changes after the commit are undone";
}

TEST_F(StatementTest, OnlyOneStatementExistsAtATime) {
  EXPECT_EQ(Statement::Open(cluster_.get(), {}), nullptr);
  statement_.reset();
  EXPECT_NE(Statement::Open(cluster_.get(), {}), nullptr);
}

// ---- listeners

// Records its calls.
class RecordingListener final : public Listener {
 public:
  RecordingListener(std::string name, std::vector<std::string>* calls)
      : name_(std::move(name)), calls_(calls) {}

  void Applied(const Change& change) override {
    calls_->push_back(StrCat(name_, " +", change.pod.value()));
  }
  void Undone(const Change& change) override {
    calls_->push_back(StrCat(name_, " -", change.pod.value()));
  }

 private:
  std::string name_;
  std::vector<std::string>* calls_;
};

TEST_F(StatementTest, ListenersAreCalledInOrderAndInReverseOnUndo) {
  std::vector<std::string> calls;
  RecordingListener first("first", &calls), second("second", &calls);
  statement_->Listen({&first, &second});
  const PodId wait = Pod("wait-0"), run = Pod("run-0");
  statement_->Place(wait, Node("n2"));
  statement_->Evict(run);
  statement_->RollBackTo(0);
  const auto line = [](const char* name, char sign, PodId pod) {
    return StrCat(name, " ", sign, pod.value());
  };
  EXPECT_THAT(calls, ElementsAre(line("first", '+', wait), line("second", '+', wait),
                                 line("first", '+', run), line("second", '+', run),
                                 line("second", '-', run), line("first", '-', run),
                                 line("second", '-', wait), line("first", '-', wait)));
}

TEST_F(StatementTest, AListenerMayTurnAReturnIntoAMove) {  // spec 2 T5
  class Mover final : public Listener {
    void Applied(const Change&) override {}
    void Undone(const Change&) override {}
    bool IsMoveWithin(PodId, NodeId) const override { return true; }
  };
  Mover mover;
  statement_->Listen({&mover});
  const StatementColumns start(*cluster_);
  statement_->Evict(Pod("run-0"));
  statement_->Pipeline(Pod("run-0"), Node("n1"));
  EXPECT_EQ(Status("run-0"), PodStatus::kPipelined);
  EXPECT_EQ(Gpus("n1"), "idle 7, releasing -1, used 3")
      << "the same room as if it had stayed, but later";
  EXPECT_FALSE(statement_->AnyMoved()) << "it occupies one node";
  statement_->RollBackTo(0);
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

TEST_F(StatementTest, ListenersAreCalledAfterTheColumnsHaveChanged) {
  class Reader final : public Listener {
   public:
    explicit Reader(const Cluster& cluster) : cluster_(cluster) {}
    void Applied(const Change& change) override {
      EXPECT_EQ(cluster_.pods().status[change.pod], change.to);
      EXPECT_EQ(cluster_.pods().node[change.pod], change.to_node);
    }
    void Undone(const Change& change) override {
      EXPECT_EQ(cluster_.pods().status[change.pod], change.from);
      EXPECT_EQ(cluster_.pods().node[change.pod], change.from_node);
    }

   private:
    const Cluster& cluster_;
  };
  Reader reader(*cluster_);
  statement_->Listen({&reader});
  statement_->Place(Pod("wait-0"), Node("n2"));
  statement_->Evict(Pod("run-0"));
  statement_->Pipeline(Pod("run-0"), Node("n2"));
  statement_.reset();
}

// Node n has two GPUs of 100 MiB. ns/leave-0 is leaving the first one, shares it with ns/stay-0,
// and ns/wait-0 waits for its part; ns/other-0 has the second one.
class TracesTest : public ::testing::Test {
 protected:
  TracesTest() {
    ClusterMaker maker = MakeCluster();
    maker.Node("n", {.gpus = 2});
    maker.Releasing("ns/leave", {.gpu_fraction = 0.25, .node = "n"});
    maker.rows().pods.back().gpu_groups = {"first"};
    maker.Running("ns/stay", {.gpu_fraction = 0.5, .node = "n"});
    maker.rows().pods.back().gpu_groups = {"first"};
    maker.Running("ns/other", {.gpu_fraction = 0.25, .node = "n"});
    maker.rows().pods.back().gpu_groups = {"second"};
    maker.Pending("ns/wait", {.gpu_fraction = 0.25});
    cluster_ = maker.Build();
    node_ = NodeNamed(*cluster_, "n");
    stay_ = PodNamed(*cluster_, "ns/stay-0");
    wait_ = PodNamed(*cluster_, "ns/wait-0");
    first_ = cluster_->pods().gpus[stay_];
    second_ = cluster_->pods().gpus[PodNamed(*cluster_, "ns/other-0")];
    statement_ = Statement::Open(cluster_.get(), {});
  }

  void TryToFreeTheFirst() {
    const Statement::Checkpoint start = statement_->Mark();
    statement_->Evict(stay_);
    statement_->Evict(wait_);
    statement_->RollBackTo(start);
  }
  void TryOnTheSecond() {
    const Statement::Checkpoint start = statement_->Mark();
    statement_->Pipeline(stay_, node_, second_);
    statement_->RollBackTo(start);
  }
  double WholeGpusLeaving() { return cluster_->nodes().releasing[node_][kGpuSlot.index()]; }
  const SharedGpu& First() {
    return cluster_->nodes().shared_gpus[node_][static_cast<size_t>(first_.front())];
  }

  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Statement> statement_;
  NodeId node_;
  PodId stay_, wait_;
  GpuList first_, second_;
};

TEST_F(TracesTest, AnUndoneTrialLeavesNone) {
  statement_->Pipeline(wait_, node_, first_);
  const StatementColumns promised(*cluster_);
  const SharedGpu first = First();
  TryToFreeTheFirst();
  statement_->Evict(stay_);
  TryOnTheSecond();
  statement_->Pipeline(stay_, node_, first_);
  EXPECT_EQ(StatementColumns(*cluster_), promised);
  EXPECT_EQ(First(), first);
}

TEST_F(TracesTest, AsKaiEachTrialOnADeviceWithAPipelinedPodCostsTheNodeAGpu) {  // decision 0010
  const StatementColumns start(*cluster_);
  const SharedGpu untouched = First();
  statement_->UndoWith(MakeCountingUndo(cluster_.get()));
  statement_->Pipeline(wait_, node_, first_);
  const SharedGpu promised = First();
  EXPECT_EQ(WholeGpusLeaving(), 0);
  TryToFreeTheFirst();
  EXPECT_EQ(WholeGpusLeaving(), -1);
  TryToFreeTheFirst();
  EXPECT_EQ(WholeGpusLeaving(), -2);
  EXPECT_EQ(First(), promised) << "the device itself loses nothing";
  statement_.reset();
  EXPECT_EQ(StatementColumns(*cluster_), start);
  EXPECT_EQ(First(), untouched);
}

TEST_F(TracesTest, AsKaiAPodThatWasTriedOnOtherGpusCountsTwice) {  // decision 0010
  const StatementColumns start(*cluster_);
  const SharedGpu untouched = First();
  statement_->UndoWith(MakeCountingUndo(cluster_.get()));
  statement_->Evict(stay_);
  TryOnTheSecond();
  statement_->RollBackTo(0);
  EXPECT_EQ(cluster_->pods().status[stay_], PodStatus::kRunning);
  EXPECT_EQ(First().used, 25 + 50 + 50);
  EXPECT_EQ(First().releasing, 25 + 50);
  statement_.reset();
  EXPECT_EQ(StatementColumns(*cluster_), start);
  EXPECT_EQ(First(), untouched);
}

TEST_F(TracesTest, AsKaiAPodThatStaysIsPipelinedToItsOwnGpu) {  // decision 0010
  statement_->UndoWith(MakeCountingUndo(cluster_.get()));
  statement_->Evict(stay_);
  TryOnTheSecond();
  statement_->Pipeline(stay_, node_, first_);
  EXPECT_EQ(cluster_->pods().status[stay_], PodStatus::kPipelined);
}

// ns/wide-0 has a quarter of each of a node's two GPUs.
class OwnGpusTest : public ::testing::Test {
 protected:
  OwnGpusTest() {
    ClusterMaker maker = MakeCluster();
    maker.Node("n", {.gpus = 2});
    maker.Running("ns/wide", {.gpu_fraction = 0.25, .node = "n"});
    maker.rows().pods.back().gpu.count = 2;
    maker.rows().pods.back().gpu_groups = {"first", "second"};
    maker.Running("ns/run", {.gpu_fraction = 0.25, .node = "n"});
    maker.rows().pods.back().gpu_groups = {"first"};
    cluster_ = maker.Build();
    node_ = NodeNamed(*cluster_, "n");
    wide_ = PodNamed(*cluster_, "ns/wide-0");
    run_ = PodNamed(*cluster_, "ns/run-0");
    statement_ = Statement::Open(cluster_.get(), {});
  }

  PodStatus AfterEvictionTo(PodId pod, const GpuList& gpus) {
    statement_->Evict(pod);
    statement_->Pipeline(pod, node_, gpus);
    return cluster_->pods().status[pod];
  }
  int64_t UsedOfFirst() { return cluster_->nodes().shared_gpus[node_].front().used; }

  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Statement> statement_;
  NodeId node_;
  PodId wide_, run_;
};

TEST_F(OwnGpusTest, MatchInAnyOrder) {
  EXPECT_EQ(AfterEvictionTo(wide_, {1, 0}), PodStatus::kRunning);
  EXPECT_EQ(AfterEvictionTo(wide_, {0, 2}), PodStatus::kPipelined) << "one device differs";
}

TEST_F(OwnGpusTest, AsKaiMatchOnlyInTheSameOrder) {
  const StatementColumns start(*cluster_);
  statement_->Recognize({.in_any_order = false});
  EXPECT_EQ(AfterEvictionTo(wide_, {0, 1}), PodStatus::kRunning);
  EXPECT_EQ(AfterEvictionTo(wide_, {1, 0}), PodStatus::kPipelined);
  EXPECT_EQ(UsedOfFirst(), 25 + 25 + 25) << "it leaves the device, and is promised it";
  statement_->RollBackTo(0);
  EXPECT_EQ(StatementColumns(*cluster_), start);
}

TEST_F(OwnGpusTest, AreAllGpusThatThePodStillHolds) {
  EXPECT_EQ(AfterEvictionTo(run_, {1}), PodStatus::kPipelined);
  EXPECT_EQ(AfterEvictionTo(run_, {0}), PodStatus::kPipelined);
  EXPECT_EQ(cluster_->pods().gpus[run_], GpuList({1})) << "returns to its promised place";
  EXPECT_EQ(UsedOfFirst(), 25 + 25);
}

TEST_F(OwnGpusTest, AsKaiAreOnlyTheLastGpusOfThePod) {
  statement_->Recognize({.all = false});
  EXPECT_EQ(AfterEvictionTo(run_, {1}), PodStatus::kPipelined);
  EXPECT_EQ(AfterEvictionTo(run_, {0}), PodStatus::kPipelined);
  EXPECT_EQ(cluster_->pods().gpus[run_], GpuList({0}));
  EXPECT_EQ(UsedOfFirst(), 25 + 25 + 25) << "it leaves the device, and is promised it";
}

TEST_F(OwnGpusTest, AsKaiMemoryStaysOnGpusThatAPodPassedThrough) {
  statement_->Recognize({.all = false});
  statement_->UndoWith(MakeCountingUndo(cluster_.get()));
  EXPECT_EQ(AfterEvictionTo(run_, {1}), PodStatus::kPipelined);
  EXPECT_EQ(cluster_->nodes().shared_gpus[node_].back().used, 25 + 25);
  for (int64_t tries = 1; tries <= 3; ++tries) {
    const Statement::Checkpoint moved = statement_->Mark();
    AfterEvictionTo(run_, {0});
    statement_->RollBackTo(moved);
    EXPECT_EQ(cluster_->nodes().shared_gpus[node_].back().used, 25 + 25 + 25 * tries);
  }
}

#ifndef NDEBUG
using StatementDeathTest = StatementTest;

TEST_F(StatementDeathTest, RefusesInvalidChanges) {
  EXPECT_DEATH(statement_->Place(Pod("run-0"), Node("n2")), "ns/run-0");
  EXPECT_DEATH(statement_->Evict(Pod("wait-0")), "ns/wait-0");
  EXPECT_DEATH(statement_->Pipeline(Pod("leave-0"), Node("n1")), "ns/leave-0")
      << "it was already leaving; no action evicted it";
  EXPECT_DEATH(statement_->MarkStuck(Pod("run-0")), "ns/run-0");
  statement_->Evict(Pod("run-0"));
  EXPECT_DEATH(statement_->Place(Pod("run-0"), Node("n2")), "ns/run-0") << "spec 2 T3";
}

TEST_F(StatementDeathTest, RefusesToPipelineAPodWithASettledEviction) {
  statement_->Evict(Pod("run-0"));
  statement_->Settle();
  EXPECT_DEATH(statement_->Pipeline(Pod("run-0"), Node("n1")), "ns/run-0");
  EXPECT_DEATH(statement_->Pipeline(Pod("run-0"), Node("n2")), "ns/run-0");
}
#endif

TEST_F(StatementTest, EndsForAMarkOfAnotherStatement) {
  EXPECT_DEATH(statement_->RollBackTo(1), "check failed");
}

TEST_F(StatementTest, EndsIfAListenerIsAddedLate) {
  statement_->Evict(Pod("run-0"));
  EXPECT_DEATH(statement_->Listen({}), "before the first change");
}

// ---- random clusters

// The world, and the states of pods at their last eviction.
struct Model {
  oracle::World world;
  std::map<int, oracle::World::PodState> before;

  int Index(const std::string& pod) const { return world.kept().PodIndex(pod); }
  void Evict(const std::string& pod) {
    before.insert_or_assign(Index(pod), world.pods()[static_cast<size_t>(Index(pod))]);
    world.Evict(pod);
  }
  // A pod that was evicted from this node, or that still occupies it, gets its old state (spec 2
  // T5).
  void Pipeline(const std::string& pod, const std::string& node) {
    oracle::World::PodState& state =
        (*world.mutable_pods())[static_cast<size_t>(world.kept().PodIndex(pod))];
    const int target = world.kept().NodeIndex(node);
    const bool is_there =
        std::ranges::any_of(state.leaving, [&](const auto& spot) { return spot.node == target; }) ||
        state.node == target;
    if (state.status == PodStatus::kReleasing && is_there) {
      world.Return(Index(pod), before.at(Index(pod)));
    } else {
      world.Pipeline(pod, node);
    }
  }
};

// Makes a random allowed change, to the cluster and to the model alike.
void DoSomething(Random* random, Cluster* cluster, Statement* statement, Model* model) {
  const PodColumns& pods = cluster->pods();
  const PodId pod(static_cast<int32_t>(random->Below(static_cast<int64_t>(pods.size()))));
  const NodeId node(
      static_cast<int32_t>(random->Below(static_cast<int64_t>(cluster->nodes().size()))));
  const std::string pod_name = cluster->PodName(pod);
  const std::string node_name(cluster->Text(cluster->nodes().name[node]));
  const PodStatus status = pods.status[pod];
  // Pods that share GPUs need a choice of devices: session/sharing_properties_test covers them.
  const bool is_held = IsActiveAllocated(status);
  if (cluster->ClassOf(pod).gpu.IsShared() && !is_held) return;
  if (status == PodStatus::kPending && random->Coin()) {
    statement->Place(pod, node);
    model->world.Place(pod_name, node_name);
  } else if (status == PodStatus::kPending ||
             (status == PodStatus::kReleasing && pods.is_virtual[pod] != 0)) {
    statement->Pipeline(pod, node);
    model->Pipeline(pod_name, node_name);
  } else if (is_held && pods.node[pod].valid()) {
    statement->Evict(pod);
    model->Evict(pod_name);
  }
}

bool AnyPodIsEvicted(const Cluster& cluster) {
  const PodColumns& pods = cluster.pods();
  for (const PodId pod : pods.name.ids()) {
    if (pods.status[pod] == PodStatus::kReleasing && pods.is_virtual[pod] != 0) return true;
  }
  return false;
}

// Compares ledgers and statuses with ones computed from scratch.
void ExpectSame(const Cluster& cluster, const oracle::World& world) {
  for (const NodeId node : cluster.nodes().name.ids()) {
    const std::string name(cluster.Text(cluster.nodes().name[node]));
    const auto row = [&](const ResourceTable<NodeId>& table) {
      oracle::Amounts amounts;
      for (size_t i = 0; i < table.slots(); ++i) {
        amounts[cluster.slots().Name(ResourceSlot(i))] = table[node][i];
      }
      return amounts;
    };
    EXPECT_EQ(row(cluster.nodes().idle), world.Idle(name)) << name;
    EXPECT_EQ(row(cluster.nodes().releasing), world.Releasing(name)) << name;
    EXPECT_EQ(row(cluster.nodes().used), world.Used(name)) << name;
  }
  IndexVector<SubGroupId, StatusCounts> counts(cluster.sub_groups().size());
  for (const PodId pod : cluster.pods().name.ids()) {
    EXPECT_EQ(cluster.pods().status[pod], world.StatusOf(cluster.PodName(pod)));
    const SubGroupId set = cluster.pods().pod_set[pod];
    if (set.valid()) ++counts[set][cluster.pods().status[pod]];
  }
  EXPECT_EQ(cluster.sub_groups().counts, counts);
}

TEST(StatementPropertyTest, LedgersAgreeWithTheSpecAndRollBackExactly) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const ClusterRows rows = MakeRandomCluster(seed, {.sub_groups = true});
    const auto cluster = rows.Build();
    if (cluster->pods().size() == 0) continue;
    Random random(seed);
    struct Mark {
      Statement::Checkpoint checkpoint;
      StatementColumns columns;
      Model model;
    };
    const StatementColumns start(*cluster);
    {
      Model model{.world = oracle::World(rows, {.now_ns = 0}), .before = {}};
      const auto statement = Statement::Open(cluster.get(), {});
      std::vector<Mark> marks = {{statement->Mark(), start, model}};
      for (int step = 0; step < 60; ++step) {
        // Marks are set only while no pod is evicted.
        if (random.OneIn(3) && !AnyPodIsEvicted(*cluster))
          marks.push_back({statement->Mark(), StatementColumns(*cluster), model});
        if (random.OneIn(10)) {  // back to one of the marks; later marks are removed
          marks.resize(static_cast<size_t>(random.Below(static_cast<int64_t>(marks.size()))) + 1,
                       marks[0]);
          statement->RollBackTo(marks.back().checkpoint);
          model = marks.back().model;
          ASSERT_EQ(StatementColumns(*cluster), marks.back().columns);
        }
        DoSomething(&random, cluster.get(), statement.get(), &model);
        if (step % 10 == 9) ExpectSame(*cluster, model.world);
        ASSERT_FALSE(testing::Test::HasFailure());
      }
    }
    ASSERT_EQ(StatementColumns(*cluster), start);
  }
}

}  // namespace
}  // namespace kai::statement_test
