#include "kai/placement/node_search.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"
#include "kai/texts/reason_text.h"

namespace kai::node_search_test {
namespace {

PodAffinityTerm PodsOf(std::string app, std::string key) {
  return {.selector = LabelSelector{{.key = "app", .op = SelectorOp::kIn, .values = {app}}},
          .namespaces = {},
          .all_namespaces = false,
          .topology_key = std::move(key)};
}

// ---- situations

TEST(NodeSearchTest, GpuPodsPreferTheNodeWithTheFewestFreeGpus) {  // spec 3 W10, without sharing
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 4})
                  .Node("n2", {.gpus = 4})
                  .Node("n3", {.gpus = 4})
                  .Running("ns/a", {.gpus = 4, .node = "n1"})
                  .Running("ns/b", {.gpus = 1, .node = "n2"})
                  .Pending("ns/p", {.gpus = 1})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n2");  // 2.25 + 1000; n3: 0 + 1000; n1: 9, but full
}

TEST(NodeSearchTest, CpuPodsPreferNodesWithoutGpusToFullerOnes) {  // spec 3 W11
  Rooms rooms(MakeCluster()
                  .Node("c1", {.millicpu = 16'000})
                  .Node("g1", {.gpus = 8, .millicpu = 16'000})
                  .Running("ns/x", {.millicpu = 12'000, .node = "g1"})
                  .Pending("ns/p")
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "c1");  // 0 + 10 + 1000 against 9 + 1000
}

TEST(NodeSearchTest, ScoresOfDomainsCountIfAllNodesAreSearched) {  // spec 4 S1
  Rooms rooms(MakeCluster()
                  .Add(TopologyRow{.name = "t", .levels = {{.node_label = "rack", .alias = ""}}})
                  .Node("n1", {.gpus = 4, .labels = {{"rack", "a"}}})
                  .Node("n2", {.gpus = 4, .labels = {{"rack", "b"}}})
                  .Running("ns/x", {.gpus = 1, .node = "n1"})
                  .Pending("ns/p", {.gpus = 1})
                  .Build());
  const DomainTree& tree = rooms.cluster().topologies()[TopologyId(0)];
  DomainScores scores{
      .tree = &tree, .depth = 1, .steps = IndexVector<TopologyDomainId, int8_t>(tree.size())};
  scores.steps[tree.DomainOf(rooms.Node("n2"))] = DomainScores::kMostSteps;
  const NodeSubset all = NodeSubset::All();
  const NodeSearch::Area area{.nodes = &all, .scores = &scores};
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1");
  rooms.search().Confine(&area);
  EXPECT_EQ(rooms.Find("ns/p-0"), "n2");
  rooms.search().Confine(nullptr);
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1");
}

TEST(NodeSearchTest, ALimitMayForbidNodesOnWhichAPodCountsForMore) {  // spec 1 F79
  class AtMost final : public QueueAllowance {
   public:
    explicit AtMost(double most) : most_(most) {}
    bool Allows(double gpus) const override { return gpus <= most_; }
    QueueRefuses Why(double) const override { return {OverLimit{}}; }

   private:
    double most_;
  };
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "1000"}}})
                  .Node("n2", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "4000"}}})
                  .Pending("ns/p", {.gpu_memory_mib = 500})
                  .Build());
  const auto found = [&](double most) {
    const AtMost allowance(most);
    const PodClassId pods = rooms.cluster().pods().pod_class[rooms.Pod("ns/p-0")];
    return FoundText(rooms.cluster(), rooms.search().Find(pods, &allowance));
  };
  EXPECT_EQ(found(1), "n1");
  EXPECT_EQ(found(0.2), "n2") << "a half of a device on n1";
  EXPECT_EQ(found(0.1), "nowhere");
}

TEST(NodeSearchTest, TheLowerNameIsChosenForEqualScores) {
  Rooms rooms(MakeCluster()
                  .Node("n2", {.gpus = 8})
                  .Node("n10", {.gpus = 8})
                  .Pending("ns/p", {.gpus = 1})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n10");
}

TEST(NodeSearchTest, SpreadingChoosesTheEmptiestNode) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 8})
                  .Node("n2", {.gpus = 8})
                  .Running("ns/x", {.gpus = 1, .node = "n1"})
                  .Pending("ns/p", {.gpus = 1})
                  .Build(),
              {.gpu = Strategy::kSpread});
  EXPECT_EQ(rooms.Find("ns/p-0"), "n2");
}

TEST(NodeSearchTest, StartingNowComesBeforeWaitingOnAFullerNode) {  // spec 3 W9
  Rooms rooms(MakeCluster()
                  .Node("busy", {.gpus = 2})
                  .Node("free", {.gpus = 8})
                  .Releasing("ns/old", {.gpus = 2, .node = "busy"})
                  .Pending("ns/p", {.gpus = 2})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "free");
}

TEST(NodeSearchTest, WithoutIdleResourcesThePodIsPipelined) {
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 2})
                  .Releasing("ns/old", {.gpus = 2, .node = "n"})
                  .Pending("ns/p", {.gpus = 2})
                  .Pending("ns/q", {.gpus = 1})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n later");
  rooms.Pipeline("ns/p-0", "n");
  EXPECT_EQ(rooms.Find("ns/q-0"), "nowhere") << "already promised";
}

TEST(NodeSearchTest, OverduePodsReleaseNothing) {  // spec 2 E2
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 2})
                  .Releasing("ns/stuck", {.gpus = 2, .node = "n"})
                  .Pending("ns/p", {.gpus = 2})
                  .Build());
  rooms.statement().MarkStuck(rooms.Pod("ns/stuck-0"));
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
}

TEST(NodeSearchTest, ANominatedNodeOutranksAllScoresButHasToFit) {
  Rooms rooms(MakeCluster()
                  .Node("full", {.gpus = 1})
                  .Node("soon", {.gpus = 1})
                  .Node("free", {.gpus = 1})
                  .Running("ns/stays", {.gpus = 1, .node = "full"})
                  .Releasing("ns/leaves", {.gpus = 1, .node = "soon"})
                  .Pending("ns/to-full", {.gpus = 1, .nominated_node = "full"})
                  .Pending("ns/to-soon", {.gpus = 1, .nominated_node = "soon"})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/to-full-0"), "free");
  EXPECT_EQ(rooms.Find("ns/to-soon-0"), "soon later");  // 10,000,000 against 1000
}

TEST(NodeSearchTest, ElevenPointsOfAffinityOutrankANomination) {  // spec 3 W7
  PodAffinityRow wish;
  wish.preferred = {{.term = PodsOf("web", "zone"), .weight = 11}};
  Rooms rooms(MakeCluster()
                  .Node("near", {.labels = {{"zone", "a"}}})
                  .Node("nominated")
                  .Running("ns/web", {.node = "near", .labels = {{"app", "web"}}})
                  .Pending("ns/p", {.affinity = wish, .nominated_node = "nominated"})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "near");
}

TEST(NodeSearchTest, AScanUsesTheCurrentNodesInsteadOfAnOutdatedIndex) {
  PodAffinityRow wish;  // makes single nodes scored, although it selects no pod
  wish.preferred = {{.term = PodsOf("web", "zone"), .weight = 1}};
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 8})
                  .Node("n2", {.gpus = 8})
                  .Pending("ns/p", {.pods = 2, .gpus = 4})
                  .Pending("ns/wishes", {.gpus = 1, .affinity = wish})
                  .Build());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rooms.Find("ns/p-0"), "n1");  // an index is made
  rooms.Place("ns/p-0", "n2");
  EXPECT_EQ(rooms.Find("ns/wishes-0"), "n2") << "the fuller one";
}

TEST(NodeSearchTest, NodesThatAFilterRefusesAreSkipped) {
  Rooms rooms(
      MakeCluster()
          .Node("n1", {.gpus = 8, .cordoned = true})
          .Node("n2", {.gpus = 8,
                       .taints = {{.key = "k", .value = "", .effect = TaintEffect::kNoSchedule}}})
          .Node("n3", {.gpus = 8, .labels = {{"gpu", "l40"}}})
          .Node("n4", {.gpus = 8, .labels = {{"gpu", "h100"}}})
          .Pending("ns/p", {.gpus = 1, .node_selector = {{"gpu", "h100"}}})
          .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n4");
}

TEST(NodeSearchTest, OnlyTheNodeOfAPinnedPodIsSearched) {
  ClusterMaker maker =
      MakeCluster().Pending("ns/p", {.gpus = 8, .node_selector = {{"host", "n33"}}});
  for (int i = 0; i < 40; ++i) {
    maker.Node(StrCat("n", i), {.gpus = 8, .labels = {{"host", StrCat("n", i)}}});
  }
  Rooms rooms(maker.Build());
  ASSERT_TRUE(
      rooms.cluster().IsCheckedPerNode(rooms.cluster().ClassOf(rooms.Pod("ns/p-0")).constraint));
  EXPECT_EQ(rooms.Find("ns/p-0"), "n33");
}

TEST(NodeSearchTest, WithoutFiltersAPinIsIgnored) {
  // Filters belong to the plugin predicates; without it pods may run anywhere.
  ClusterMaker maker =
      MakeCluster().Pending("ns/p", {.gpus = 8, .node_selector = {{"host", "n33"}}});
  for (int i = 0; i < 40; ++i) {
    maker.Node(StrCat("n", i), {.gpus = 8, .labels = {{"host", StrCat("n", i)}}});
  }
  Rooms rooms(maker.Build(), {.filters = false});
  EXPECT_EQ(rooms.Find("ns/p-0"), "n0");
}

TEST(NodeSearchTest, SiblingsWithAntiAffinityArePlacedApart) {
  PodAffinityRow apart;
  apart.required_anti = {PodsOf("web", "host")};
  Rooms rooms(
      MakeCluster()
          .Node("n1", {.gpus = 8, .labels = {{"host", "n1"}}})
          .Node("n2", {.gpus = 8, .labels = {{"host", "n2"}}})
          .Pending("ns/p", {.pods = 3, .gpus = 1, .labels = {{"app", "web"}}, .affinity = apart})
          .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1");
  rooms.Place("ns/p-0", "n1");
  EXPECT_EQ(rooms.Find("ns/p-1"), "n2");
  rooms.Place("ns/p-1", "n2");
  EXPECT_EQ(rooms.Find("ns/p-2"), "nowhere");
  EXPECT_EQ(rooms.Explain("ns/p-2"),
            "no nodes with enough resources were found: "
            "2 node(s) didn't match pod anti-affinity rules.");
}

TEST(NodeSearchTest, WithoutNodesThereIsNoPlace) {
  Rooms rooms(MakeCluster().Pending("ns/p").Build(), {.filters = false});
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  EXPECT_EQ(rooms.Explain("ns/p-0"), "Unable to schedule pod");
}

TEST(NodeSearchTest, AClassWithoutANodeIsSearchedAgainOnceRoomIsFreed) {
  Rooms rooms(MakeCluster()
                  .Node("n", {.gpus = 2})
                  .Running("ns/old", {.gpus = 1, .node = "n"})
                  .Pending("ns/small", {.gpus = 1})
                  .Pending("ns/p", {.gpus = 2})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  const Statement::Checkpoint start = rooms.statement().Mark();
  rooms.Place("ns/small-0", "n");
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  rooms.statement().RollBackTo(start);
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  rooms.Evict("ns/old-0");
  EXPECT_EQ(rooms.Find("ns/p-0"), "n later");
}

// ---- the seven rules of score keys, each with the smallest cluster that shows it

// The result of the index, after a check that a scan gives the same.
std::string FindBothWays(const ClusterMaker& maker, std::string_view pod,
                         RoomsOptions options = {}) {
  std::string found = Rooms(maker.Build(), options).Find(pod);
  options.always_scan = true;
  EXPECT_EQ(found, Rooms(maker.Build(), options).Find(pod)) << "with a scan";
  return found;
}

// So large that one core more or less is lost in rounding.
constexpr int64_t kHuge = int64_t{1} << 62;

TEST(ScoreKeyRuleTest, A_ExtremesIncludeNodesThatCannotHoldThePod) {
  // The fuller of two nodes wins, unless a third node makes the difference vanish.
  ClusterMaker maker =
      MakeCluster().Node("b", {.millicpu = 1000}).Node("a", {.millicpu = 2000}).Pending("ns/p");
  EXPECT_EQ(FindBothWays(maker, "ns/p-0"), "b");
  const Taint taint{.key = "k", .value = "", .effect = TaintEffect::kNoSchedule};
  for (const NodeSpec& closed :
       {NodeSpec{.millicpu = kHuge, .cordoned = true},
        NodeSpec{.millicpu = kHuge, .taints = {taint}}, NodeSpec{.millicpu = kHuge, .pods = 0},
        NodeSpec{.millicpu = kHuge, .ready = false}}) {
    ClusterMaker with_third = maker;
    with_third.Node("z", closed);
    EXPECT_EQ(FindBothWays(with_third, "ns/p-0"), "a");
  }
}

TEST(ScoreKeyRuleTest, B_DifferentRoomsCanScoreTheSameAndThenTheLowerNameWins) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("c", {.millicpu = 1000})
                                 .Node("b", {.millicpu = 2000})
                                 .Node("a", {.millicpu = 3000})
                                 .Node("z", {.millicpu = kHuge})
                                 .Pending("ns/one")
                                 .Pending("ns/two", {.millicpu = 2000})
                                 .Pending("ns/three", {.millicpu = 2500});
  EXPECT_EQ(FindBothWays(maker, "ns/one-0"), "a");
  EXPECT_EQ(FindBothWays(maker, "ns/two-0"), "a");
  EXPECT_EQ(FindBothWays(maker, "ns/three-0"), "a");
}

TEST(ScoreKeyRuleTest, B_TiesAreFoundBeyondNodesThatDoNotFit) {
  // Between b and a comes y with the same score, but without memory for the pod.
  const ClusterMaker maker = MakeCluster()
                                 .Node("b", {.millicpu = 1000})
                                 .Node("y", {.millicpu = 2000, .mb = 1})
                                 .Node("a", {.millicpu = 3000})
                                 .Node("z", {.millicpu = kHuge})
                                 .Pending("ns/p", {.mb = 1000});
  EXPECT_EQ(FindBothWays(maker, "ns/p-0"), "a");
}

TEST(ScoreKeyRuleTest, B_BeyondNodesThatDoNotFitALowerScoreIsNoTie) {
  // The pod does not fit on y, which has the score of b; a has a lower score, although its name is
  // lower.
  const ClusterMaker maker = MakeCluster()
                                 .Node("b", {.millicpu = 1000})
                                 .Node("y", {.millicpu = 2000, .mb = 1})
                                 .Node("a", {.millicpu = kHuge / 2})
                                 .Node("z", {.millicpu = kHuge})
                                 .Pending("ns/p", {.mb = 1000});
  EXPECT_EQ(FindBothWays(maker, "ns/p-0"), "b");
}

TEST(ScoreKeyRuleTest, C_TheSumDecidesBetweenStartingNowAndWaiting) {
  // Without the plugin nodeavailability a fuller node wins, although the pod must wait there.
  const ClusterMaker maker = MakeCluster()
                                 .Node("busy", {.gpus = 2})
                                 .Node("free", {.gpus = 8})
                                 .Releasing("ns/old", {.gpus = 2, .node = "busy"})
                                 .Pending("ns/p", {.gpus = 2});
  EXPECT_EQ(FindBothWays(maker, "ns/p-0"), "free");
  EXPECT_EQ(FindBothWays(maker, "ns/p-0", {.availability = false}), "busy later");
}

TEST(ScoreKeyRuleTest, C_AFullerNodeThatFitsLaterDoesNotHideOneThatFitsNow) {
  // Both kinds are in one order; the pod fits now on the third of four.
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 2})
                                 .Node("n2", {.gpus = 3})
                                 .Node("n3", {.gpus = 4})
                                 .Node("n4", {.gpus = 5})
                                 .Releasing("ns/a", {.gpus = 2, .node = "n1"})
                                 .Releasing("ns/b", {.gpus = 3, .node = "n2"})
                                 .Pending("ns/p", {.gpus = 2});
  EXPECT_EQ(FindBothWays(maker, "ns/p-0"), "n3");
}

TEST(ScoreKeyRuleTest, C_IdleResourcesOfPipelinedPodsAreNotIdle) {
  // After a gang was changed to wait (spec 2 T6), releasing is negative: the node has idle GPUs
  // that are promised.
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 2})
                                 .Node("n2", {.gpus = 4})
                                 .Pending("ns/gang", {.gpus = 2})
                                 .Pending("ns/p", {.gpus = 1});
  for (const bool always_scan : {false, true}) {
    Rooms rooms(maker.Build(), {.always_scan = always_scan});
    rooms.Pipeline("ns/gang-0", "n1");
    EXPECT_EQ(rooms.Find("ns/p-0"), "n2");
  }
}

TEST(ScoreKeyRuleTest, D_ANominatedNodeAffectsOnlyItsOwnPods) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 1})
                                 .Node("n2", {.gpus = 8})
                                 .Pending("ns/nominated", {.gpus = 1, .nominated_node = "n2"})
                                 .Pending("ns/other", {.gpus = 1});
  EXPECT_EQ(FindBothWays(maker, "ns/nominated-0"), "n2");
  EXPECT_EQ(FindBothWays(maker, "ns/other-0"), "n1");
}

TEST(ScoreKeyRuleTest, D_KindsOfNodesAreDistinguishedForPodsWithoutGpus) {
  // The 10 points of c outweigh density; among nodes with GPUs density decides.
  const ClusterMaker maker = MakeCluster()
                                 .Node("c", {.millicpu = 64'000})
                                 .Node("g1", {.gpus = 1, .millicpu = 4000})
                                 .Node("g2", {.gpus = 1, .millicpu = 2000})
                                 .Pending("ns/p")
                                 .Pending("ns/gpu", {.gpus = 1});
  EXPECT_EQ(FindBothWays(maker, "ns/p-0"), "c");
  EXPECT_EQ(FindBothWays(maker, "ns/gpu-0"), "g1");
}

TEST(ScoreKeyRuleTest, E_AffinityOfRunningPodsAttractsPodsWithoutAffinity) {
  PodAffinityRow wish;
  wish.required = {PodsOf("web", "zone")};
  const ClusterMaker maker =
      MakeCluster()
          .Node("n1", {.gpus = 8, .labels = {{"zone", "a"}}})
          .Node("n2", {.gpus = 8, .labels = {{"zone", "b"}}})
          .Running("ns/x", {.gpus = 1, .node = "n1"})  // fuller: first without the preference
          .Running("ns/fan", {.node = "n2", .labels = {{"app", "web"}}, .affinity = wish})
          .Pending("ns/p", {.gpus = 1, .labels = {{"app", "web"}}});
  EXPECT_EQ(FindBothWays(maker, "ns/p-0"), "n2");
  EXPECT_EQ(FindBothWays(maker, "ns/p-0", {.pod_affinity = false}), "n1");
}

TEST(ScoreKeyRuleTest, E_TheStatementUpdatesTheCountsOfPreferences) {
  PodAffinityRow wish;
  wish.preferred = {{.term = PodsOf("web", "zone"), .weight = 1}};
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 8, .labels = {{"zone", "a"}}})
                  .Node("n2", {.gpus = 8, .labels = {{"zone", "b"}}})
                  .Pending("ns/fan", {.affinity = wish})
                  .Pending("ns/p", {.gpus = 1, .labels = {{"app", "web"}}})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1");
  const Statement::Checkpoint start = rooms.statement().Mark();
  rooms.Place("ns/fan-0", "n2");
  EXPECT_EQ(rooms.Find("ns/p-0"), "n2");
  rooms.statement().RollBackTo(start);
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1");
}

TEST(ScoreKeyRuleTest, F_OneNegativeElementRefusesEveryPod) {  // spec 3 R26
  const ClusterMaker maker =
      MakeCluster()
          .Node("n1", {.gpus = 2, .more = {{"example.com/x", 1000}}})
          .Node("n2", {.gpus = 8})
          .Running("ns/greedy", {.more = {{"example.com/x", 2000}}, .node = "n1"})
          .Pending("ns/p", {.gpus = 1})
          .Pending("ns/cpu");
  EXPECT_EQ(FindBothWays(maker, "ns/p-0"), "n2");
  EXPECT_EQ(FindBothWays(maker, "ns/cpu-0"), "n2");
}

TEST(ScoreKeyRuleTest, G_AFailureCountsEveryRefusal) {
  Rooms rooms(MakeCluster()
                  .Node("n1", {.gpus = 1})
                  .Node("n2", {.gpus = 2, .cordoned = true})
                  .Node("n3", {.gpus = 2, .ready = false})
                  .Node("n4", {.gpus = 2, .millicpu = 100})
                  .Pending("ns/p", {.gpus = 2})
                  .Build());
  EXPECT_EQ(rooms.Explain("ns/p-0"),
            "no nodes with enough resources were found: 1 node has NotReady condition. \n"
            "1 node is unschedulable. \n"
            "1 node(s) didn't have enough resources: CPU cores. \n"
            "1 node(s) didn't have enough resources: GPUs.");
}

// ---- the index, the scan and the oracle agree

// One statement with three searches: the index, a scan of all nodes, and the oracle's world, which
// keeps copies to go back to.
class ThreeWays {
 public:
  ThreeWays(const ClusterRows& rows, const RoomsOptions& options)
      : rooms_(rows.Build(), options), world_(rows, SettingsFor(options)) {
    RoomsOptions plain = options;
    plain.always_scan = true;
    scan_ = MakeSearch(rooms_.cluster(), plain);
    rooms_.statement().Listen({&rooms_.usage(), &rooms_.order(), &rooms_.search(), &scan_->search});
    rooms_.statement().CountReservations(options.filters);
    // The oracle's world uses the time from the start (spec 2 S2).
    const PodColumns& pods = rooms_.cluster().pods();
    const int64_t threshold_ns = rooms_.cluster().params().stuck_in_releasing_threshold_ns;
    for (const PodId pod : pods.name.ids()) {
      const bool overdue = pods.deletion_ns[pod] != std::numeric_limits<int64_t>::min() &&
                           kTestNowNs - pods.deletion_ns[pod] > threshold_ns;
      if (pods.status[pod] == PodStatus::kReleasing && overdue) rooms_.statement().MarkStuck(pod);
    }
  }
  ~ThreeWays() { rooms_.statement().RollBackTo(0); }  // while all listeners still exist

  Rooms& rooms() { return rooms_; }

  void Change(std::string_view pod, std::string_view node, bool now) {
    saved_.emplace_back(rooms_.statement().Mark(), world_);
    const PodId id = rooms_.Pod(pod);
    const GpuList gpus = rooms_.search().Find(rooms_.cluster().pods().pod_class[id]).gpus;
    if (now) {
      rooms_.statement().Place(id, rooms_.Node(node), gpus);
      world_.Place(pod, node);
    } else {
      rooms_.statement().Pipeline(id, rooms_.Node(node), gpus);
      world_.Pipeline(pod, node);
    }
  }
  bool can_go_back() const { return !saved_.empty(); }
  void GoBack() {
    rooms_.statement().RollBackTo(saved_.back().first);
    world_ = saved_.back().second;
    saved_.pop_back();
  }

  // The common result of all three, or a failure.
  oracle::Choice Find(const std::string& pod) {
    const Cluster& cluster = rooms_.cluster();
    const PodClassId pods = cluster.pods().pod_class[rooms_.Pod(pod)];
    const std::string by_index = FoundText(cluster, rooms_.search().Find(pods));
    EXPECT_EQ(by_index, FoundText(cluster, scan_->search.Find(pods))) << pod << ": index and scan";
    const oracle::Choice choice = oracle::FindNode(world_, pod);
    const std::string by_oracle =
        choice.node.empty() ? "nowhere" : choice.node + (choice.now ? "" : " later");
    EXPECT_EQ(by_index, by_oracle) << pod << ": index and oracle";
    return choice;
  }

  // The explanation that followed all changes equals that of a new object.
  void ExpectFreshExplanation(const std::string& pod, const RoomsOptions& options) {
    const auto fresh = MakeSearch(rooms_.cluster(), options);
    EXPECT_EQ(rooms_.Explain(pod),
              TextOf(*fresh->search.Explain(rooms_.Pod(pod)), rooms_.Pod(pod), rooms_.cluster()))
        << pod;
  }

 private:
  static oracle::Settings SettingsFor(const RoomsOptions& options) {
    oracle::Settings settings;
    settings.plugins.clear();  // without proportion: the group placer checks limits
    if (options.filters) settings.plugins.push_back("predicates");
    if (options.availability) settings.plugins.push_back("nodeavailability");
    settings.plugins.push_back("resourcetype");
    if (options.pod_affinity) settings.plugins.push_back("podaffinity");
    settings.plugins.insert(settings.plugins.end(), {"nominatednode", "nodeplacement"});
    settings.gpu_spread = options.gpu == Strategy::kSpread;
    settings.cpu_spread = options.cpu == Strategy::kSpread;
    return settings;
  }

  Rooms rooms_;
  std::unique_ptr<SearchRooms> scan_;
  oracle::World world_;
  std::vector<std::pair<Statement::Checkpoint, oracle::World>> saved_;
};

struct Setup {
  const char* name;
  RoomsOptions options;

  friend void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }
};

class NodeSearchPropertyTest : public testing::TestWithParam<Setup> {};

TEST_P(NodeSearchPropertyTest, IndexScanAndOracleAgreeAfterAnyChanges) {
  const RoomsOptions& options = GetParam().options;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    RandomClusterOptions shape{.max_nodes = random.OneIn(4) ? 24 : 8};
    shape.pod_affinity = random.Coin();
    const ClusterRows rows = MakeRandomCluster(seed, shape);
    ThreeWays ways(rows, options);
    const Cluster& cluster = ways.rooms().cluster();
    const auto is_waiting = [&](PodId pod) {
      return cluster.pods().status[pod] == PodStatus::kPending &&
             cluster.pods().group[pod].valid() && !cluster.ClassOf(pod).needs_namespaces;
    };
    for (int step = 0; step < 12; ++step) {
      std::vector<std::string> waiting;
      for (const PodId pod : cluster.pods().name.ids()) {
        if (is_waiting(pod)) waiting.push_back(cluster.PodName(pod));
      }
      if (waiting.empty() && !ways.can_go_back()) break;
      if (waiting.empty() || (random.OneIn(5) && ways.can_go_back())) {
        ways.GoBack();
        continue;
      }
      for (int i = 0; i < 3; ++i) {
        const std::string& pod = random.Pick(waiting);
        if (ways.Find(pod).node.empty() || random.OneIn(4)) {
          ways.ExpectFreshExplanation(pod, options);
        }
      }
      const std::string& pod = random.Pick(waiting);
      const oracle::Choice choice = ways.Find(pod);
      if (HasFailure()) return;
      if (choice.node.empty()) continue;
      // Sometimes pipelined although it could start now, as when a gang is changed to wait (spec 2
      // T6).
      ways.Change(pod, choice.node, choice.now && !random.OneIn(3));
    }
  }
}

// The plans and the order of nodes follow every change. A search of the next cycle that uses them
// gives the same results as a new one.
TEST_P(NodeSearchPropertyTest, StateKeptBetweenCyclesChangesNoResult) {
  const RoomsOptions& options = GetParam().options;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    const auto cluster = MakeRandomCluster(seed, {.max_nodes = 12}).Build();
    const auto kept = MakeSearch(*cluster, options);
    for (int cycle = 0; cycle < 4; ++cycle) {
      NodeSearch search(&kept->plans, &kept->nodes,
                        {.room = {.devices = {.pack = true}, .pod_slots = options.filters}});
      const auto fresh = MakeSearch(*cluster, options);
      const auto statement = Statement::Open(cluster.get(), {&search, &fresh->search});
      for (const PodId pod : cluster->pods().name.ids()) {
        if (cluster->pods().status[pod] != PodStatus::kPending || random.OneIn(4)) continue;
        const PodClassId pods = cluster->pods().pod_class[pod];
        const NodeSearch::Found found = search.Find(pods);
        const NodeSearch::Found expected = fresh->search.Find(pods);
        ASSERT_EQ(FoundText(*cluster, found), FoundText(*cluster, expected));
        ASSERT_EQ(found.gpus, expected.gpus);
        if (!found.node.valid()) {
          ASSERT_EQ(TextOf(*search.Explain(pod), pod, *cluster),
                    TextOf(*fresh->search.Explain(pod), pod, *cluster));
        } else if (found.now) {
          statement->Place(pod, found.node, found.gpus);
        } else {
          statement->Pipeline(pod, found.node, found.gpus);
        }
      }
      statement->RollBackTo(0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeSearchPropertyTest,
    testing::Values(Setup{"Binpack", {}},
                    Setup{"Spread", {.gpu = Strategy::kSpread, .cpu = Strategy::kSpread}},
                    Setup{"SpreadGpusOnly", {.gpu = Strategy::kSpread}},
                    Setup{"WithoutPodAffinity", {.pod_affinity = false}},
                    Setup{"WithoutAvailability", {.availability = false}},
                    Setup{"WithoutFilters", {.filters = false, .pod_affinity = false}}),
    [](const auto& setup) { return std::string(setup.param.name); });

}  // namespace
}  // namespace kai::node_search_test
