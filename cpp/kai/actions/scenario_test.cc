#include "kai/actions/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kai/actions/cycle_for_test.h"

namespace kai::scenario_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Strings = std::vector<std::string>;

// A base for all pods of ns/new, and the victims that may be added to it.
struct Base {
  Base(const ClusterMaker& maker, const Strings& groups, const Strings& recorded = {},
       const Strings& offered_nodes = {}, const std::vector<Switch>& as_kai = {})
      : cycle(maker), candidates(cycle.Groups(groups)), offered(cycle.cluster().nodes().size()) {
    for (const Switch which : as_kai) cycle.switches.Set(which, false);
    for (const std::string& node : offered_nodes) offered[cycle.rooms.Node(node)] = 1;
    pool.emplace(cycle.view, Candidates(candidates));
    const PodList pods = cycle.rooms.order().PodsToPlace(cycle.rooms.Group("ns/new"));
    base.emplace(cycle.view, pods, cycle.Victims(recorded), &*pool,
                 offered_nodes.empty() ? nullptr : &offered);
  }
  Base& Grow(int batches) {
    for (int i = 0; i < batches; ++i) EXPECT_TRUE(base->Grow());
    return *this;
  }
  NodeId Node(std::string_view name) { return cycle.rooms.Node(name); }
  std::vector<int32_t> BatchesOn(const Strings& names, bool with_earlier = false) {
    std::vector<NodeId> nodes;
    for (const std::string& name : names) nodes.push_back(Node(name));
    return base->BatchesOn(nodes, with_earlier);
  }
  // The victims that each step adds.
  Strings GrowAll() {
    Strings added;
    while (base->Grow()) {
      const ScenarioBase::Batch& batch = base->batches().back();
      added.push_back(
          cycle.Text(std::span(base->victims()).subspan(batch.begin, batch.end - batch.begin)));
    }
    return added;
  }

  TestCycle cycle;
  std::vector<PodGroupId> candidates;
  IndexVector<NodeId, uint8_t> offered;
  std::optional<VictimPool> pool;
  std::optional<ScenarioBase> base;
};

// a-0 on n1; b-0 on n1 and b-1 on n2 are evicted together; c-0 on n2. The youngest goes first.
ClusterMaker ThreeGroups() {
  return MakeCluster()
      .Node("n1", {.gpus = 4})
      .Node("n2", {.gpus = 8})
      .Node("n3", {.gpus = 1})
      .Running("ns/c", {.gpus = 2, .node = "n2"})
      .Running("ns/b", {.gpus = 1, .node = "n1", .min_member = 2})
      .Running("ns/b", {.gpus = 1, .node = "n2"})
      .Running("ns/a", {.gpus = 1, .node = "n1"})
      .Pending("ns/new", {.gpus = 2});
}
const Strings kThreeGroups = {"ns/a", "ns/b", "ns/c"};

// ---- how it grows (spec 2 V8)

TEST(ScenarioBaseTest, GrowsByOneBatchAtATime) {
  Base base(ThreeGroups(), kThreeGroups);
  EXPECT_THAT(base.base->victims(), IsEmpty());
  EXPECT_THAT(base.GrowAll(), ElementsAre("ns/a-0", "ns/b-1 ns/b-0", "ns/c-0"));
  EXPECT_EQ(base.cycle.Text(base.base->victims()), "ns/a-0 ns/b-1 ns/b-0 ns/c-0");
}

// spec 2 E24: sizes 0, 1, 3
TEST(ScenarioBaseTest, RecordedVictimsAreInEveryScenarioAndInNoBatch) {
  Base base(MakeCluster()
                .Node("n1", {.gpus = 8})
                .Running("ns/e", {.pods = 4, .gpus = 1, .node = "n1", .min_member = 2})
                .Pending("ns/new", {.gpus = 8}),
            {"ns/e"}, {"ns/e-3"});
  EXPECT_EQ(base.cycle.Text(base.base->Make({}).victims), "ns/e-3");
  base.Grow(1);
  EXPECT_EQ(base.base->victims().size(), size_t{1});
  EXPECT_EQ(base.cycle.Text(base.base->Make(base.base->victims()).victims), "ns/e-3 ns/e-2");
  base.Grow(1);
  EXPECT_EQ(base.base->victims().size(), size_t{3});
  EXPECT_FALSE(base.base->Grow());
}

TEST(ScenarioBaseTest, TheNextBatchOfAGroupDependsOnItsRecordedVictims) {
  Base base(MakeCluster()
                .Node("n1", {.gpus = 8})
                .Running("ns/e", {.pods = 4, .gpus = 1, .node = "n1", .min_member = 2})
                .Pending("ns/new", {.gpus = 8}),
            {"ns/e"}, {"ns/e-0"});
  EXPECT_THAT(base.GrowAll(), ElementsAre("ns/e-3", "ns/e-2", "ns/e-1"));
}

TEST(ScenarioBaseTest, GroupsRecordedWholeAreSkipped) {
  Base base(ThreeGroups(), kThreeGroups, {"ns/b-1", "ns/b-0"});
  EXPECT_THAT(base.GrowAll(), ElementsAre("ns/a-0", "ns/c-0"));
}

TEST(ScenarioBaseTest, FindsTheBatchesOfANode) {
  Base base(ThreeGroups(), kThreeGroups);
  base.Grow(3);
  EXPECT_THAT(base.BatchesOn({"n1"}), ElementsAre(0, 1));
  EXPECT_THAT(base.BatchesOn({"n2"}), ElementsAre(1, 2));
  EXPECT_THAT(base.BatchesOn({"n3"}), IsEmpty());
  EXPECT_THAT(base.BatchesOn({"n2", "n1"}), ElementsAre(0, 1, 2));
  const std::vector<int32_t> last_two = {1, 2};
  EXPECT_EQ(base.cycle.Text(base.base->VictimsOf(last_two)), "ns/b-1 ns/b-0 ns/c-0");
}

TEST(ScenarioBaseTest, AGroupOnANodeIncludesItsBatchesOnOtherNodes) {  // spec 2 V9
  // The last pod of e is evicted first; only it is on n2.
  Base base(MakeCluster()
                .Node("n1", {.gpus = 4})
                .Node("n2", {.gpus = 4})
                .Running("ns/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 0})
                .Running("ns/e", {.gpus = 1, .node = "n2"})
                .Running("ns/other", {.gpus = 1, .node = "n1", .priority = 60})
                .Pending("ns/new", {.gpus = 4}),
            {"ns/e", "ns/other"});
  base.Grow(4);
  EXPECT_THAT(base.BatchesOn({"n2"}), ElementsAre(0));
  EXPECT_THAT(base.BatchesOn({"n1"}), ElementsAre(1, 2, 3));
  EXPECT_THAT(base.BatchesOn({"n1"}, /*with_earlier=*/true), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(base.base->BatchesOfGroupsOn(base.Node("n2")), ElementsAre(0, 1, 2));
  EXPECT_THAT(base.base->BatchesOfGroupsOn(base.Node("n1")), ElementsAre(0, 1, 2, 3));
}

TEST(ScenarioBaseTest, NodesAreListedInTheOrderOfTheirFirstVictim) {
  Base base(ThreeGroups(), kThreeGroups);
  base.Grow(2);  // a-0 on n1, then b-1 on n2 and b-0 on n1
  EXPECT_THAT(base.base->nodes(), ElementsAre(base.Node("n1"), base.Node("n2")));
  Base from_the_other_end(ThreeGroups(), {"ns/b", "ns/c"});
  from_the_other_end.Grow(2);
  EXPECT_THAT(from_the_other_end.base->nodes(), ElementsAre(base.Node("n2"), base.Node("n1")));
}

// ---- room (spec 2 V9)

TEST(ScenarioRoomTest, CountsFreeResourcesAndThoseOfVictims) {
  Base base(ThreeGroups(), kThreeGroups);
  const auto with = [&](const char* node) { return base.base->GpusWithVictims(base.Node(node)); };
  EXPECT_EQ(base.base->RequestedGpus(), 2);
  EXPECT_EQ(with("n1"), 2);
  EXPECT_EQ(with("n2"), 5);
  EXPECT_EQ(with("n3"), 1);
  EXPECT_EQ(base.base->GpusElsewhere(), 8);
  EXPECT_EQ(base.base->GpusOfUsefulNodes(), 0);
  base.Grow(1);
  EXPECT_EQ(with("n1"), 3);
  EXPECT_EQ(base.base->GpusElsewhere(), 6) << "n2 and n3";
  EXPECT_EQ(base.base->GpusOfUsefulNodes(), 3);
  base.Grow(2);
  EXPECT_EQ(with("n1"), 4);
  EXPECT_EQ(with("n2"), 8);
  EXPECT_EQ(base.base->GpusElsewhere(), 1);
  EXPECT_EQ(base.base->GpusOfUsefulNodes(), 12);
}

TEST(ScenarioRoomTest, ResourcesOfRecordedVictimsAreFreeFromTheStart) {
  Base base(ThreeGroups(), kThreeGroups, {"ns/a-0"});
  EXPECT_EQ(base.base->GpusWithVictims(base.Node("n1")), 3);
  EXPECT_EQ(base.base->GpusElsewhere(), 9);
}

TEST(ScenarioRoomTest, ResourcesOfTerminatingPodsCount) {
  Base base(ThreeGroups().Releasing("ns/gone", {.gpus = 1, .node = "n1"}), kThreeGroups);
  EXPECT_EQ(base.base->GpusWithVictims(base.Node("n1")), 2);
}

TEST(ScenarioRoomTest, ANodeTooSmallForTheSmallestPodIsIgnored) {
  Base base(MakeCluster()
                .Node("n1", {.gpus = 2})
                .Node("n2", {.gpus = 8})
                .Running("ns/small", {.gpus = 1, .node = "n1"})
                .Running("ns/stays", {.gpus = 6, .node = "n2", .preemptibility = "non-preemptible"})
                .Running("ns/large", {.gpus = 1, .node = "n2"})
                .Pending("ns/new", {.gpus = 4, .min_member = 2})
                .Pending("ns/new", {.gpus = 2}),
            {"ns/small", "ns/large"});
  EXPECT_FALSE(base.base->IsUseful(base.Node("n2")));
  base.Grow(1);  // large
  EXPECT_TRUE(base.base->IsUseful(base.Node("n2")));
  EXPECT_EQ(base.base->GpusOfUsefulNodes(), 2);
}

TEST(ScenarioRoomTest, GpusElsewhereCountsOnlyOfferedNodes) {  // spec 2 V3
  Base base(ThreeGroups(), kThreeGroups, {}, {"n1", "n3"});
  EXPECT_EQ(base.base->GpusElsewhere(), 3);
  EXPECT_TRUE(base.base->IsOffered(base.Node("n3")));
  EXPECT_FALSE(base.base->IsOffered(base.Node("n2")));
  base.Grow(3);  // victims on n1 and n2
  EXPECT_EQ(base.base->GpusElsewhere(), 1);
}

// ---- what KAI does not even simulate (spec 2 V10, V12)

// One pod of each size waits; nodes have these numbers of GPUs, all free.
bool KaiTries(const std::vector<int64_t>& pods, const std::vector<int64_t>& nodes,
              const std::vector<Switch>& as_kai = {Switch::kScenarioFilters}) {
  ClusterMaker maker = MakeCluster();
  int number = 0;
  for (const int64_t gpus : nodes) maker.Node("n" + std::to_string(++number), {.gpus = gpus});
  for (const int64_t gpus : pods)
    maker.Pending("ns/new", {.gpus = gpus, .min_member = static_cast<int64_t>(pods.size())});
  return Base(maker, {}, {}, {}, as_kai).base->IsWorthwhile();
}

TEST(ScenarioFilterTest, TheLargestPodsAreMatchedWithTheLargestNodesGreedily) {
  EXPECT_FALSE(KaiTries({4, 3, 3}, {6, 4})) << "although 4 and 3+3 fit";
  EXPECT_TRUE(KaiTries({4, 3, 3}, {7, 4}));
  EXPECT_TRUE(KaiTries({4, 3, 3}, {4, 3, 3}));
  EXPECT_FALSE(KaiTries({4, 3, 3}, {4, 3, 2}));
}

TEST(ScenarioFilterTest, ByDefaultNoScenarioIsFiltered) {  // switch scenario_filters
  EXPECT_TRUE(KaiTries({4, 3, 3}, {6, 4}, {}));
  EXPECT_TRUE(KaiTries({9}, {1}, {}));
}

TEST(ScenarioFilterTest, EqualPodsFillWholeNodes) {
  EXPECT_TRUE(KaiTries({2, 2, 2}, {5, 3}));
  EXPECT_FALSE(KaiTries({2, 2, 2}, {5, 1}));
  EXPECT_FALSE(KaiTries({2, 2, 2}, {3, 1, 1, 1}));
  EXPECT_TRUE(KaiTries({1}, {0, 1}));
}

TEST(ScenarioFilterTest, PodsWithoutGpusPassTheFilter) {
  EXPECT_TRUE(KaiTries({0, 0}, {0}));
  EXPECT_TRUE(KaiTries({4, 0}, {4}));
  EXPECT_FALSE(KaiTries({4, 0}, {3}));
}

TEST(ScenarioFilterTest, EachAddedVictimMakesRoom) {
  for (const bool alike : {true, false}) {  // two ways to count
    ClusterMaker maker = MakeCluster()
                             .Node("n1", {.gpus = 2})
                             .Node("n2", {.gpus = 2})
                             .Running("ns/a", {.gpus = 2, .node = "n1"})
                             .Running("ns/b", {.gpus = 2, .node = "n2"})
                             .Pending("ns/new", {.gpus = 2, .min_member = 2})
                             .Pending("ns/new", {.gpus = alike ? 2 : 1});
    Base base(maker, {"ns/a", "ns/b"}, {}, {}, {Switch::kScenarioFilters});
    EXPECT_FALSE(base.base->IsWorthwhile());
    base.Grow(1);
    EXPECT_FALSE(base.base->IsWorthwhile());
    base.Grow(1);
    EXPECT_TRUE(base.base->IsWorthwhile());
    Base recorded(maker, {"ns/a", "ns/b"}, {"ns/a-0"}, {}, {Switch::kScenarioFilters});
    EXPECT_FALSE(recorded.base->IsWorthwhile());
    EXPECT_TRUE(recorded.Grow(1).base->IsWorthwhile());
  }
}

TEST(ScenarioFilterTest, OneOfTheNodesHasToMatchThePods) {  // spec 2 V10
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 2})
                                 .Node("n2", {.gpus = 2, .labels = {{"zone", "a"}}})
                                 .Running("ns/victim", {.gpus = 1, .node = "n2"})
                                 .Pending("ns/new", {.gpus = 1, .node_selector = {{"zone", "a"}}});
  Base base(maker, {"ns/victim"}, {}, {"n1"}, {Switch::kScenarioFilters});
  EXPECT_FALSE(base.base->IsWorthwhile());
  EXPECT_TRUE(base.Grow(1).base->IsWorthwhile()) << "nodes of victims are checked";
  EXPECT_TRUE(Base(maker, {}, {}, {"n1", "n2"}, {Switch::kScenarioFilters}).base->IsWorthwhile());
}

// ---- equal scenarios (spec 2 V15)

TEST(ScenarioKeyTest, TheOrderOfVictimsDoesNotMatter) {  // spec 2 E26
  Base base(ThreeGroups(), kThreeGroups);
  const auto key = [&](const Strings& pods) {
    return base.base->Make(base.cycle.Victims(pods)).key;
  };
  EXPECT_EQ(key({"ns/a-0", "ns/c-0"}), key({"ns/c-0", "ns/a-0"}));
  std::set<ScenarioKey> keys;
  for (const Strings& pods :
       {Strings{}, Strings{"ns/a-0"}, Strings{"ns/c-0"}, Strings{"ns/a-0", "ns/c-0"},
        Strings{"ns/b-0"}, Strings{"ns/b-0", "ns/b-1"}})
    keys.insert(key(pods));
  EXPECT_EQ(keys.size(), size_t{6});
}

TEST(ScenarioKeyTest, RecordedVictimsDifferFromAddedOnes) {
  Base without(ThreeGroups(), kThreeGroups);
  Base with(ThreeGroups(), kThreeGroups, {"ns/a-0"});
  EXPECT_NE(with.base->Make({}).key, without.base->Make(without.cycle.Victims({"ns/a-0"})).key);
  EXPECT_NE(with.base->Make({}).key, without.base->Make({}).key);
}

TEST(ScenarioKeyTest, ThePodsToPlaceArePartOfTheKey) {
  TestCycle cycle(ThreeGroups().Pending("ns/two", {.pods = 2, .gpus = 1, .min_member = 2}));
  const std::vector<PodGroupId> candidates = cycle.Groups(kThreeGroups);
  VictimPool pool(cycle.view, Candidates(candidates));
  const PodList pods = cycle.rooms.order().PodsToPlace(cycle.rooms.Group("ns/two"));
  const ScenarioBase whole(cycle.view, pods, {}, &pool, nullptr);
  const ScenarioBase part(cycle.view, std::span(pods).first(1), {}, &pool, nullptr);
  const ScenarioBase again(cycle.view, pods, {}, &pool, nullptr);
  EXPECT_NE(whole.Make({}).key, part.Make({}).key);
  EXPECT_EQ(whole.Make({}).key, again.Make({}).key);
}

}  // namespace
}  // namespace kai::scenario_test
