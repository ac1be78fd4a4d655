#include "kai/actions/victim_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kai/actions/cycle_for_test.h"
#include "kai/api/units.h"
#include "kai/base/clock.h"
#include "kai/base/text.h"

namespace kai::victim_search_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Strings = std::vector<std::string>;

// The cluster with ns/new before all groups, unless it has a priority; otherwise others would take
// their places back before it is placed.
ClusterMaker Urgent(ClusterMaker maker) {
  for (PodGroupRow& row : maker.rows().pod_groups) {
    if (row.name == "new" && row.priority_class.empty()) row.priority_class = "urgent";
  }
  return maker.Add(PriorityClassRow{.name = "urgent", .value = 75});
}

// A search for ns/new among all groups that may lose pods, with everything visible of it.
struct Search {
  explicit Search(const ClusterMaker& maker, const RoomsOptions& options = {})
      : cycle(Urgent(maker), options) {}

  SearchOutcome Run() {
    const PodGroupId group = cycle.rooms.Group("ns/new");
    std::vector<PodGroupId> candidates = cycle.cluster().pod_groups().lists.may_lose;
    std::erase(candidates, group);
    const Candidates all(std::move(candidates));
    SearchMeter meter(cycle.budgets, "preempt", cycle.view.stopwatch);
    VictimSearch search(cycle.view, group, all,
                        [&](const Scenario& scenario, const QuotaCount& request) {
                          asked.push_back(cycle.Text(scenario.victims));
                          requests.push_back(request[kQuotaGpu]);
                          return accepts(scenario);
                        },
                        &meter, {});
    const SearchOutcome outcome = search.Run();
    scenarios = meter.scenarios();
    if (outcome == SearchOutcome::kSolved) victims = cycle.Text(search.victims());
    return outcome;
  }
  // "ns/a-0 leaves n1", "ns/a-0 -> n2", "ns/a-0 runs on n1"
  std::string Now(std::string_view pod) {
    const PodId id = cycle.rooms.Pod(pod);
    const PodColumns& pods = cycle.cluster().pods();
    const std::string node(pods.node[id].valid()
                               ? cycle.cluster().Text(cycle.cluster().nodes().name[pods.node[id]])
                               : "");
    switch (pods.status[id]) {
      case PodStatus::kPending:
        return "waits";
      case PodStatus::kPipelined:
        return "-> " + node;
      case PodStatus::kReleasing:
        return "leaves " + node;
      case PodStatus::kRunning:
        return (pods.is_virtual[id] != 0 ? "virtually on " : "on ") + node;
      default:
        return "?";
    }
  }

  TestCycle cycle;
  std::function<bool(const Scenario&)> accepts = [](const Scenario&) { return true; };
  Strings asked;                 // scenarios that worked
  std::vector<double> requests;  // GPUs of their placed parts
  std::string victims;           // victims of the solution
  int64_t scenarios = 0;         // number of simulated scenarios
};

// ---- what it takes

ClusterMaker ThreeOnOneNode() {
  return MakeCluster()
      .Node("n1", {.gpus = 3})
      .Running("ns/a", {.gpus = 1, .node = "n1"})
      .Running("ns/b", {.gpus = 1, .node = "n1"})
      .Running("ns/c", {.gpus = 1, .node = "n1"});
}

TEST(VictimSearchTest, EvictsNoMoreThanItNeeds) {  // spec 2 E18
  Search one(ThreeOnOneNode().Pending("ns/new", {.gpus = 1}));
  EXPECT_EQ(one.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(one.victims, "ns/c-0");
  EXPECT_EQ(one.Now("ns/c-0"), "leaves n1");
  EXPECT_EQ(one.Now("ns/b-0"), "on n1");
  EXPECT_EQ(one.Now("ns/new-0"), "-> n1");
  Search two(ThreeOnOneNode().Pending("ns/new", {.gpus = 2}));
  EXPECT_EQ(two.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(two.victims, "ns/c-0 ns/b-0");
}

TEST(VictimSearchTest, AnElasticVictimLosesOnePodSeveralOrAll) {  // spec 2 E19
  const auto victims = [](int64_t gpus) {
    Search search(MakeCluster()
                      .Node("n1", {.gpus = 4})
                      .Running("ns/e", {.pods = 4, .gpus = 1, .node = "n1", .min_member = 2})
                      .Pending("ns/new", {.gpus = gpus}));
    EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
    return search.victims;
  };
  EXPECT_EQ(victims(1), "ns/e-3");
  EXPECT_EQ(victims(2), "ns/e-3 ns/e-2");
  EXPECT_EQ(victims(3), "ns/e-3 ns/e-2 ns/e-1 ns/e-0");
}

TEST(VictimSearchTest, OnePodOfAnElasticVictimMayMoveAndAnotherBeLost) {  // spec 2 E19
  Search search(MakeCluster()
                    .Node("n1", {.gpus = 2})
                    .Node("n2", {.gpus = 1})
                    .Running("ns/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 1})
                    .Pending("ns/new", {.gpus = 2}));
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(search.Now("ns/new-0"), "-> n1");
  EXPECT_EQ(search.Now("ns/e-0"), "-> n2");
  EXPECT_EQ(search.Now("ns/e-1"), "leaves n1");
}

TEST(VictimSearchTest, AGangOfWholeNodesEmptiesAllOfThem) {  // spec 2 E20
  ClusterMaker maker = MakeCluster();
  for (int node = 0; node < 11; ++node) {
    const std::string name = StrCat("n", node);
    maker.Node(name, {.gpus = 4});
    for (int pod = 0; pod < 4; ++pod)
      maker.Running(StrCat("ns/", name, "-", pod), {.gpus = 1, .node = name});
  }
  maker.Pending("ns/new", {.pods = 11, .gpus = 4, .min_member = 11});
  for (const ScenarioGenerator generator :
       {ScenarioGenerator::kNodeLocalGreedy, ScenarioGenerator::kMultiNodeGang}) {
    Search search(maker);
    if (generator == ScenarioGenerator::kMultiNodeGang) search.cycle.view.generators = {generator};
    EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
    int leaving = 0;
    for (const PodId pod : search.cycle.cluster().pods().name.ids())
      leaving += search.cycle.cluster().pods().status[pod] == PodStatus::kReleasing ? 1 : 0;
    EXPECT_EQ(leaving, 44);
    EXPECT_EQ(search.cycle.rooms.order().CountOf(search.cycle.rooms.Group("ns/new"),
                                                 PodStatus::kPipelined),
              11);
  }
}

TEST(VictimSearchTest, AVictimThatFitsElsewhereMoves) {  // spec 2 E22
  Search search(MakeCluster()
                    .Node("n1", {.gpus = 2})
                    .Node("n2", {.gpus = 2})
                    .Running("ns/a", {.gpus = 1, .node = "n1"})
                    .Running("ns/b", {.gpus = 1, .node = "n2"})
                    .Pending("ns/new", {.gpus = 2}));
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(search.Now("ns/b-0"), "-> n1");
  EXPECT_EQ(search.Now("ns/new-0"), "-> n2");
  EXPECT_EQ(search.Now("ns/a-0"), "on n1");
}

TEST(VictimSearchTest, AnUnnecessaryVictimStays) {  // spec 2 T5
  // Only n1 is possible. c comes first and is evicted without effect: it returns to n2 as if it had
  // not been evicted.
  Search search(MakeCluster()
                    .Node("n1", {.gpus = 1, .labels = {{"zone", "a"}}})
                    .Node("n2", {.gpus = 1})
                    .Running("ns/a", {.gpus = 1, .node = "n1", .node_selector = {{"zone", "a"}}})
                    .Running("ns/c", {.gpus = 1, .node = "n2"})
                    .Pending("ns/new", {.gpus = 1, .node_selector = {{"zone", "a"}}}));
  search.cycle.view.generators = {ScenarioGenerator::kMultiNodeGang};
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_THAT(search.asked, Contains("ns/c-0 ns/a-0"));
  EXPECT_EQ(search.Now("ns/c-0"), "on n2");
  EXPECT_EQ(search.Now("ns/a-0"), "leaves n1");
  EXPECT_EQ(search.victims, "ns/a-0") << "a pod that stayed is not a victim";
}

TEST(VictimSearchTest, ASiblingThatStaysIsRecordedWithTheOthers) {
  // e-1 is placed again on its old node; it uses the only attempt of e in the last probe.
  Search search(
      MakeCluster()
          .Node("n1", {.gpus = 2, .labels = {{"disk", "ssd"}}})
          .Node("n2", {.gpus = 4})
          .Running("ns/e", {.pods = 2, .gpus = 1, .node = "n2", .min_member = 1})
          .Running("ns/e", {.gpus = 1, .node = "n1"})
          .Running("ns/e", {.gpus = 1, .node = "n2"})
          .Running("ns/y", {.gpus = 1, .node = "n1"})
          .Pending("ns/new", {.gpus = 2, .node_selector = {{"disk", "ssd"}}, .priority = 75}));
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(search.Now("ns/e-2"), "leaves n1");
  EXPECT_EQ(search.Now("ns/y-0"), "-> n2");
}

// ---- what it leaves behind

TEST(VictimSearchTest, AnUnsolvedSearchLeavesTheClusterUnchanged) {  // spec 2 E26
  Search search(ThreeOnOneNode().Pending("ns/new", {.pods = 2, .gpus = 1, .min_member = 2}));
  search.accepts = [](const Scenario&) { return false; };
  const Statement::Checkpoint start = search.cycle.rooms.statement().Mark();
  EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
  EXPECT_EQ(search.cycle.rooms.statement().Mark(), start);
  EXPECT_THAT(search.asked, Not(IsEmpty()));
  for (const char* pod : {"ns/a-0", "ns/b-0", "ns/c-0"}) EXPECT_EQ(search.Now(pod), "on n1");
  EXPECT_EQ(search.Now("ns/new-0"), "waits");
  EXPECT_THAT(search.cycle.rooms.order().PodsToPlace(search.cycle.rooms.Group("ns/new")), SizeIs(2))
      << "the group has no part any more";
}

TEST(VictimSearchTest, TheValidatorRunsOnTheSimulatedCluster) {
  Search search(ThreeOnOneNode().Pending("ns/new", {.gpus = 3}));
  search.accepts = [&](const Scenario& scenario) {
    EXPECT_EQ(scenario.victims.size(), size_t{3});
    for (const Victim& victim : scenario.victims)
      EXPECT_EQ(search.Now(search.cycle.cluster().PodName(victim.pod)), "leaves n1");
    EXPECT_EQ(search.Now("ns/new-0"), "-> n1");
    return true;
  };
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
}

// Two replicas; one is enough.
ClusterMaker EitherReplica() {
  PodGroupRow row;
  row.namespace_name = "ns";
  row.name = "new";
  row.min_sub_group = 1;
  row.sub_groups = {Leaf("a", 1), Leaf("b", 1)};
  return ThreeOnOneNode()
      .Add(row)
      .Pending("ns/new", {.gpus = 1, .subgroup = "a"})
      .Pending("ns/new", {.gpus = 1, .subgroup = "b"});
}

TEST(VictimSearchTest, EnoughReplicasAreASolution) {  // switch min_sub_group
  Search search(EitherReplica());
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(search.Now("ns/new-0"), "-> n1");
  EXPECT_EQ(search.Now("ns/new-1"), "waits");
}

TEST(VictimSearchTest, AsKaiEnoughReplicasAreNoSolutionAndNothingChanges) {  // spec 2 W1, W2
  Search search(EitherReplica(), {.satisfy_tree = false});
  EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
  EXPECT_THAT(search.asked, Not(IsEmpty())) << "one scenario worked";
  EXPECT_EQ(search.Now("ns/new-0"), "waits");
  EXPECT_EQ(search.Now("ns/c-0"), "on n1");
}

// ---- without a chance

TEST(VictimSearchTest, WithoutGeneratorsNoScenarioIsTried) {
  Search search(ThreeOnOneNode().Pending("ns/new", {.gpus = 1}));
  search.cycle.view.generators.clear();
  EXPECT_EQ(search.Run(), SearchOutcome::kNoGenerator);
}

TEST(VictimSearchTest,
     WithoutVictimsThereIsNoScenario) {  // spec 2 E24, spec 2 W22: even where there is room
  Search search(MakeCluster().Node("n1", {.gpus = 2}).Pending("ns/new", {.gpus = 1}));
  EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
  EXPECT_EQ(search.scenarios, 0);
}

TEST(VictimSearchTest, APodThatNoEvictionMakesFitIsNotTried) {
  const auto run = [](bool plain) {
    Search search(
        MakeCluster()
            .Node("n1", {.gpus = 2})
            .Node("n2", {.gpus = 2})
            .Running("ns/stays", {.gpus = 1, .node = "n1", .preemptibility = "non-preemptible"})
            .Running("ns/too", {.gpus = 1, .node = "n2", .preemptibility = "non-preemptible"})
            .Running("ns/a", {.gpus = 1, .node = "n1"})
            .Running("ns/b", {.gpus = 1, .node = "n2"})
            .Pending("ns/new", {.gpus = 2}));
    search.cycle.view.plain_search = plain;
    EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
    return search.scenarios;
  };
  EXPECT_EQ(run(false), 0);
  EXPECT_GT(run(true), 0);
}

// ---- parts (spec 2 V1)

// `nodes` nodes with one GPU, each with a pod group of its own; `fixed` of them cannot be emptied.
ClusterMaker OneGpuNodes(int nodes, int fixed, int gang) {
  ClusterMaker maker = MakeCluster();
  for (int i = 0; i < nodes; ++i) {
    const std::string name = StrCat("n", i);
    maker.Node(name, {.gpus = 1});
    maker.Running(
        StrCat("ns/", name),
        {.gpus = 1, .node = name, .preemptibility = i < fixed ? "non-preemptible" : "preemptible"});
  }
  return maker.Pending("ns/new", {.pods = gang, .gpus = 1, .min_member = gang});
}

std::vector<double> PartsOf(const ClusterMaker& maker, SearchOutcome outcome, bool plain) {
  Search search(maker);
  search.cycle.view.generators = {ScenarioGenerator::kMultiNodeGang};
  search.cycle.view.plain_search = plain;
  EXPECT_EQ(search.Run(), outcome);
  return search.requests;
}

TEST(ProbeTest, PartsDoubleUntilTheWholeGroupIsPlaced) {  // the example of spec 2 V1
  const ClusterMaker maker = OneGpuNodes(11, 0, 11);
  EXPECT_THAT(PartsOf(maker, SearchOutcome::kSolved, /*plain=*/true),
              ElementsAre(1, 2, 4, 8, 11, 11));
  EXPECT_THAT(PartsOf(maker, SearchOutcome::kSolved, /*plain=*/false), ElementsAre(1, 2, 4, 8, 11))
      << "if every victim was needed, the solution is kept";
}

TEST(ProbeTest, TheGapBetweenTheLargestSuccessAndTheSmallestFailureIsHalved) {
  // Nine of eleven fit: 8 works, 11 fails, 9 works, 10 fails, and 11 is tried again.
  for (const bool plain : {true, false}) {
    EXPECT_THAT(PartsOf(OneGpuNodes(11, 2, 11), SearchOutcome::kGeneratorsExhausted, plain),
                ElementsAre(1, 2, 4, 8, 9));
  }
}

TEST(ProbeTest, EachPartStartsFromTheVictimsOfThePreviousPart) {
  Search search(OneGpuNodes(4, 0, 4));
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_THAT(search.asked, ElementsAre("ns/n3-0", "ns/n3-0 ns/n2-0", "ns/n3-0 ns/n2-0 ns/n1-0",
                                        "ns/n3-0 ns/n2-0 ns/n1-0 ns/n0-0"));
  EXPECT_THAT(search.requests, ElementsAre(1, 2, 3, 4));
}

// ---- generators (spec 2 V9)

TEST(GeneratorTest, NodeLocalGreedyEmptiesOneNodeAfterTheOther) {
  // Going from two to four pods needs two more nodes, and so does going from three to five: too
  // many at once.
  const auto outcome = [](int gang, std::vector<ScenarioGenerator> generators) {
    Search search(OneGpuNodes(gang, 0, gang));
    search.cycle.view.generators = std::move(generators);
    return search.Run();
  };
  using enum ScenarioGenerator;
  EXPECT_EQ(outcome(4, {kNodeLocalGreedy}), SearchOutcome::kSolved);
  EXPECT_EQ(outcome(5, {kNodeLocalGreedy}), SearchOutcome::kGeneratorsExhausted);
  EXPECT_EQ(outcome(5, {kMultiNodeGang}), SearchOutcome::kSolved);
  EXPECT_EQ(outcome(5, {kNodeLocalGreedy, kMultiNodeGang}), SearchOutcome::kSolved);
}

TEST(GeneratorTest, OneGeneratorTriesAllPartsBeforeTheNextStarts) {  // spec 2 E25
  Search search(OneGpuNodes(5, 0, 5));
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_THAT(search.requests, ElementsAre(1, 2, 3, /*the next one*/ 1, 2, 4, 5));
}

TEST(GeneratorTest, NodeLocalGreedyIncludesTheLossesOfAGroupOnOtherNodes) {
  // gang is on both nodes; all of it is evicted for one pod on n1.
  Search search(MakeCluster()
                    .Node("n1", {.gpus = 2, .labels = {{"zone", "a"}}})
                    .Node("n2", {.gpus = 2})
                    .Running("ns/a", {.gpus = 1, .node = "n1"})
                    .Running("ns/gang", {.gpus = 1, .node = "n1", .min_member = 2})
                    .Running("ns/gang", {.gpus = 1, .node = "n2"})
                    .Running("ns/b", {.gpus = 1, .node = "n2"})
                    .Pending("ns/new", {.gpus = 2, .node_selector = {{"zone", "a"}}}));
  search.cycle.view.generators = {ScenarioGenerator::kNodeLocalGreedy};
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_THAT(search.asked, Contains("ns/gang-1 ns/gang-0 ns/a-0"));
  EXPECT_EQ(search.Now("ns/b-0"), "on n2");
}

TEST(GeneratorTest, AsKaiNodeLocalGreedyEvictsRecordedVictimsAgain) {  // spec 2 W8
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 1})
                                 .Node("n2", {.gpus = 1})
                                 .Running("ns/old", {.gpus = 1, .node = "n1"})
                                 .Running("ns/old", {.gpus = 1, .node = "n2"})
                                 .Pending("ns/new", {.pods = 2, .gpus = 1, .min_member = 2});
  Search fixed(maker);
  EXPECT_EQ(fixed.Run(), SearchOutcome::kSolved);
  EXPECT_THAT(fixed.asked, ElementsAre("ns/old-1", "ns/old-1 ns/old-0"));
  Search as_kai(maker);
  as_kai.cycle.switches.Set(Switch::kSingleVictims, false);
  EXPECT_EQ(as_kai.Run(), SearchOutcome::kSolved);
  EXPECT_THAT(as_kai.asked, ElementsAre("ns/old-1", "ns/old-1 ns/old-1 ns/old-0"));
}

TEST(GeneratorTest, MultiNodeGangTriesTheFewestAndSmallestNodesFirst) {
  Search search(MakeCluster()
                    .Node("n1", {.gpus = 1})
                    .Node("n2", {.gpus = 2})
                    .Node("n3", {.gpus = 3})
                    .Running("ns/a", {.gpus = 1, .node = "n1"})
                    .Running("ns/b", {.gpus = 2, .node = "n2"})
                    .Running("ns/c", {.gpus = 3, .node = "n3"})
                    .Pending("ns/new", {.gpus = 1}));
  search.cycle.view.generators = {ScenarioGenerator::kMultiNodeGang};
  search.accepts = [](const Scenario&) { return false; };
  EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
  EXPECT_THAT(search.asked,
              ElementsAre("ns/c-0",                                             // c
                          "ns/b-0", "ns/c-0 ns/b-0",                            // and b
                          "ns/a-0", "ns/b-0 ns/a-0", "ns/c-0 ns/b-0 ns/a-0"));  // and a
}

TEST(GeneratorTest, AScenarioThatFailedIsNotTriedTwice) {  // spec 2 V15
  Search search(ThreeOnOneNode().Pending("ns/new", {.gpus = 1}));
  search.accepts = [](const Scenario&) { return false; };
  EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
  EXPECT_THAT(search.asked, ElementsAre("ns/c-0", "ns/c-0 ns/b-0", "ns/c-0 ns/b-0 ns/a-0"));
  EXPECT_EQ(search.scenarios, 3);
}

// ---- the rest of the cluster

TEST(GeneratorTest, AsKaiTheFiltersCheckSufficientVictimsAlone) {  // spec 2 V1, spec 4 F4
  ClusterMaker maker =
      MakeCluster()
          .Add(TopologyRow{.name = "net", .levels = {{"zone", ""}}})
          .Node("n1", {.gpus = 2, .labels = {{"zone", "a"}}})
          .Node("n2", {.gpus = 2, .labels = {{"zone", "b"}}})
          .Running("ns/new", {.gpus = 1, .node = "n1", .min_member = 2})
          .Pending("ns/new", {.gpus = 1})
          .Running("ns/a", {.gpus = 1, .node = "n1"})
          .Running("ns/b", {.gpus = 2, .node = "n2", .node_selector = {{"zone", "nowhere"}}});
  for (PodGroupRow& row : maker.rows().pod_groups) {
    if (row.name == "new")
      row.topology = {.topology = "net", .required_level = "zone", .preferred_level = ""};
  }
  Search fixed(maker);
  EXPECT_EQ(fixed.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(fixed.victims, "ns/a-0");
  // The filter also counts the running pod: both zones are too small without ns/b.
  Search as_kai(maker);
  as_kai.cycle.switches.Set(Switch::kScenarioFilters, false);
  EXPECT_EQ(as_kai.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(as_kai.victims, "ns/b-0 ns/a-0");
}

TEST(SimulationTest, OtherWaitingGroupsAreNotPlacedInTheSimulation) {
  Search search(ThreeOnOneNode()
                    .Pending("ns/first", {.gpus = 1, .priority = 90})
                    .Pending("ns/new", {.gpus = 1}));
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(search.Now("ns/first-0"), "waits");
  EXPECT_EQ(search.Now("ns/new-0"), "-> n1");
}

TEST(SimulationTest, GroupsThatGoFirstMayBePlacedAgainBeforeTheGroup) {
  // The victim is more important and takes its place back, so nothing is won.
  Search search(MakeCluster()
                    .Node("n1", {.gpus = 1})
                    .Running("ns/old", {.gpus = 1, .node = "n1", .priority = 60})
                    .Pending("ns/new", {.gpus = 1, .priority = 50}));
  EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
  EXPECT_THAT(search.asked, IsEmpty());
  EXPECT_EQ(search.scenarios, 1);
}

TEST(SimulationTest, AGroupGetsOneAttemptToReturn) {  // spec 2 V13, W19
  // On n2 there is room for both pods of e.
  Search search(MakeCluster()
                    .Node("n1", {.gpus = 2, .labels = {{"zone", "a"}}})
                    .Node("n2", {.gpus = 2})
                    .Running("ns/e", {.pods = 2, .gpus = 1, .node = "n1", .min_member = 0})
                    .Pending("ns/new", {.gpus = 2, .node_selector = {{"zone", "a"}}}));
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
  EXPECT_EQ(search.Now("ns/e-0"), "-> n2");
  EXPECT_EQ(search.Now("ns/e-1"), "leaves n1");
}

// ---- budgets (spec 2 V4-V6, V17)

// The validator accepts nothing; every longer list of the five pods on the node works.
Search SearchThatCannotSucceed() {
  return Search(MakeCluster()
                    .Node("n1", {.gpus = 5})
                    .Running("ns/a", {.gpus = 1, .node = "n1"})
                    .Running("ns/b", {.gpus = 1, .node = "n1"})
                    .Running("ns/c", {.gpus = 1, .node = "n1"})
                    .Running("ns/d", {.gpus = 1, .node = "n1"})
                    .Running("ns/e", {.gpus = 1, .node = "n1"})
                    .Pending("ns/new", {.gpus = 1}));
}

TEST(SearchBudgetTest, WithoutABudgetEverythingIsTried) {
  Search search = SearchThatCannotSucceed();
  search.accepts = [](const Scenario&) { return false; };
  EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
  EXPECT_EQ(search.scenarios, 5);
}

TEST(SearchBudgetTest, ACountOfScenariosEndsTheSearch) {
  Search search = SearchThatCannotSucceed();
  search.accepts = [](const Scenario&) { return false; };
  search.cycle.budgets.job_scenarios = 3;
  const Statement::Checkpoint start = search.cycle.rooms.statement().Mark();
  EXPECT_EQ(search.Run(), SearchOutcome::kDeadlineExhausted);
  EXPECT_EQ(search.scenarios, 3);
  EXPECT_EQ(search.cycle.rooms.statement().Mark(), start);
}

TEST(SearchBudgetTest, ABudgetOfZeroScenariosForTheActionStartsNoSearch) {
  Search search = SearchThatCannotSucceed();
  search.cycle.budgets.action_scenarios = 0;
  EXPECT_EQ(search.Run(), SearchOutcome::kNotAttempted);
}

TEST(SearchBudgetTest, ASolutionWithinTheBudgetIsUsed) {
  Search search = SearchThatCannotSucceed();
  search.cycle.budgets.job_scenarios = 2;  // the whole group again, with its victims
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
}

TEST(SearchBudgetTest, TimeEndsTheSearchBetweenScenarios) {  // spec 2 V6
  Search search = SearchThatCannotSucceed();
  ManualClock clock;
  search.cycle.view.stopwatch = &clock;
  search.cycle.budgets.job_ns = 2 * kSecondNs;
  search.accepts = [&](const Scenario&) {
    clock.Advance(kSecondNs);
    return false;
  };
  EXPECT_EQ(search.Run(), SearchOutcome::kDeadlineExhausted);
  EXPECT_EQ(search.scenarios, 2);
}

TEST(SearchBudgetTest, AScenarioThatTakesTooLongIsStillUsedIfItWorks) {  // spec 2 V6
  Search search = SearchThatCannotSucceed();
  ManualClock clock;
  search.cycle.view.stopwatch = &clock;
  search.cycle.budgets.job_ns = kSecondNs;
  search.accepts = [&](const Scenario&) {
    clock.Advance(5 * kSecondNs);
    return true;
  };
  EXPECT_EQ(search.Run(), SearchOutcome::kSolved);
}

TEST(SearchBudgetTest, TheTimeOfAGeneratorEndsItAndNotTheSearch) {
  Search search = SearchThatCannotSucceed();
  ManualClock clock;
  search.cycle.view.stopwatch = &clock;
  search.cycle.budgets.generator_ns = {{"default", 0}, {"NodeLocalGreedy", 2 * kSecondNs}};
  search.accepts = [&](const Scenario&) {
    clock.Advance(kSecondNs);
    return false;
  };
  EXPECT_EQ(search.Run(), SearchOutcome::kGeneratorsExhausted);
  EXPECT_EQ(search.scenarios, 5) << "two by the first generator, the other three by the next";
}

}  // namespace
}  // namespace kai::victim_search_test
