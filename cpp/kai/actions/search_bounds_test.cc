#include "kai/actions/search_bounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/actions/candidates.h"
#include "kai/actions/cycle_for_test.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::search_bounds_test {
namespace {

using Strings = std::vector<std::string>;

// The bounds for the pods of ns/new.
struct Bounds {
  explicit Bounds(const ClusterMaker& maker)
      : cycle(maker),
        pods(cycle.rooms.order().PodsToPlace(cycle.rooms.Group("ns/new"))),
        bounds(cycle.view, pods) {}

  bool NeverFits(const Strings& candidates) {
    const std::vector<PodGroupId> groups = cycle.Groups(candidates);
    return bounds.NeverFits(groups);
  }
  // Whether the first `count` pods may be held without these victims, some of them recorded.
  bool MayHold(size_t count, const Strings& recorded, const Strings& added) {
    bounds.StartPart(count, cycle.Victims(recorded));
    return bounds.MayHold(cycle.Victims(added));
  }

  TestCycle cycle;
  PodList pods;
  SearchBounds bounds;
};

// ---- one pod

// a and b hold half a node each.
ClusterMaker TwoHalves() {
  return MakeCluster()
      .Node("n1", {.gpus = 4})
      .Running("ns/a", {.gpus = 2, .node = "n1"})
      .Running("ns/b", {.gpus = 2, .node = "n1"});
}

TEST(NeverFitsTest, RulesOutAPodLargerThanAllThatANodeCanFree) {
  EXPECT_TRUE(Bounds(TwoHalves().Pending("ns/new", {.gpus = 3})).NeverFits({"ns/a"}));
  EXPECT_FALSE(Bounds(TwoHalves().Pending("ns/new", {.gpus = 3})).NeverFits({"ns/a", "ns/b"}));
  EXPECT_FALSE(Bounds(TwoHalves().Pending("ns/new", {.gpus = 2})).NeverFits({"ns/a"}));
}

TEST(NeverFitsTest, RoomOnSeveralNodesDoesNotAddUpForOnePod) {
  EXPECT_TRUE(Bounds(MakeCluster()
                         .Node("n1", {.gpus = 4})
                         .Node("n2", {.gpus = 2})
                         .Running("ns/a", {.gpus = 2, .node = "n1"})
                         .Running("ns/b", {.gpus = 2, .node = "n1"})
                         .Pending("ns/new", {.gpus = 4}))
                  .NeverFits({"ns/a"}));
}

TEST(NeverFitsTest, ChecksOnlyNodesOnWhichThePodMayRun) {
  const auto of = [](StringPairs selector) {
    return MakeCluster()
        .Node("n1", {.gpus = 2, .labels = {{"zone", "a"}}})
        .Node("n2", {.gpus = 2, .labels = {{"zone", "b"}}})
        .Running("ns/a", {.gpus = 2, .node = "n1"})
        .Running("ns/b", {.gpus = 2, .node = "n2"})
        .Pending("ns/new", {.gpus = 2, .node_selector = std::move(selector)});
  };
  EXPECT_TRUE(Bounds(of({{"zone", "b"}})).NeverFits({"ns/a"}));
  EXPECT_FALSE(Bounds(of({{"zone", "a"}})).NeverFits({"ns/a"}));
}

TEST(NeverFitsTest, ResourcesBeingFreedCountAsRoom) {
  const auto of = [](bool leaves) {
    ClusterMaker maker = TwoHalves();
    if (leaves) maker.rows().pods[1].deletion_ns = kTestNowNs;
    return maker.Pending("ns/new", {.gpus = 4});
  };
  EXPECT_TRUE(Bounds(of(false)).NeverFits({"ns/a"}));
  EXPECT_FALSE(Bounds(of(true)).NeverFits({"ns/a"}));
}

TEST(NeverFitsTest, CountsEveryResource) {
  const auto of = [](int64_t millicpu) {
    return MakeCluster()
        .Node("n1", {.gpus = 2, .millicpu = 10'000})
        .Running("ns/a", {.gpus = 2, .millicpu = 6000, .node = "n1"})
        .Running("ns/stays", {.millicpu = 2000, .node = "n1"})
        .Pending("ns/new", {.gpus = 1, .millicpu = millicpu});
  };
  EXPECT_TRUE(Bounds(of(8001)).NeverFits({"ns/a"}));
  EXPECT_FALSE(Bounds(of(8000)).NeverFits({"ns/a"}));
}

TEST(NeverFitsTest, PartsOfADeviceAddUpToAWholeOne) {
  // In doubles, 1 - 0.1 - 0.2 - 0.7 is not exactly 0, and the returned sum is not exactly 1.
  ClusterMaker maker = MakeCluster().Node("n1", {.gpus = 1});
  for (const auto& [name, part] : {std::pair("ns/a", 0.1), {"ns/b", 0.2}, {"ns/c", 0.7}}) {
    maker.Running(name, {.gpu_fraction = part, .node = "n1"});
    maker.rows().pods.back().gpu_groups = {"device"};
  }
  EXPECT_FALSE(Bounds(maker.Pending("ns/new", {.gpus = 1})).NeverFits({"ns/a", "ns/b", "ns/c"}));
}

TEST(NeverFitsTest, AnOvercommittedNodeHoldsNoPodUntilEnoughVictimsLeave) {  // spec 3 R26
  // The node lost a device while two pods ran. The new pod requests no GPU.
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 1})
                                 .Running("ns/a", {.gpus = 1, .node = "n1"})
                                 .Running("ns/b", {.gpus = 1, .node = "n1"})
                                 .Pending("ns/new");
  EXPECT_TRUE(Bounds(maker).NeverFits({}));
  EXPECT_FALSE(Bounds(maker).NeverFits({"ns/a"}));
}

// ---- parts of a group

// Two nodes with four GPUs; a holds three on the first, b and c two each on the second.
ClusterMaker ThreeVictims() {
  return MakeCluster()
      .Node("n1", {.gpus = 4})
      .Node("n2", {.gpus = 4})
      .Running("ns/a", {.gpus = 3, .node = "n1"})
      .Running("ns/b", {.gpus = 2, .node = "n2"})
      .Running("ns/c", {.gpus = 2, .node = "n2"});
}

TEST(MayHoldTest, CountsPodsPerNode) {
  Bounds bounds(ThreeVictims().Pending("ns/new", {.pods = 4, .gpus = 2, .min_member = 4}));
  EXPECT_FALSE(bounds.MayHold(1, {}, {}));
  EXPECT_TRUE(bounds.MayHold(1, {}, {"ns/b-0"}));
  EXPECT_FALSE(bounds.MayHold(2, {}, {"ns/b-0"})) << "three GPUs are free, but not on one node";
  EXPECT_TRUE(bounds.MayHold(2, {}, {"ns/a-0"}));
  EXPECT_TRUE(bounds.MayHold(3, {}, {"ns/a-0", "ns/b-0"}));
  EXPECT_FALSE(bounds.MayHold(4, {}, {"ns/a-0", "ns/b-0"}));
  EXPECT_TRUE(bounds.MayHold(4, {}, {"ns/a-0", "ns/b-0", "ns/c-0"}));
}

TEST(MayHoldTest, RecordedVictimsAreAlwaysRemoved) {
  Bounds bounds(ThreeVictims().Pending("ns/new", {.pods = 4, .gpus = 2, .min_member = 4}));
  EXPECT_TRUE(bounds.MayHold(1, {"ns/b-0"}, {}));
  EXPECT_FALSE(bounds.MayHold(2, {"ns/b-0"}, {}));
  EXPECT_TRUE(bounds.MayHold(2, {"ns/b-0"}, {"ns/c-0"})) << "on the same node";
  EXPECT_TRUE(bounds.MayHold(4, {"ns/b-0", "ns/a-0"}, {"ns/c-0"}));
  EXPECT_FALSE(bounds.MayHold(4, {"ns/b-0"}, {"ns/c-0"}));
}

TEST(MayHoldTest, OneCheckDoesNotAffectTheNext) {
  Bounds bounds(ThreeVictims().Pending("ns/new", {.pods = 4, .gpus = 2, .min_member = 4}));
  bounds.bounds.StartPart(3, bounds.cycle.Victims({"ns/b-0"}));
  const std::vector<Victim> much = bounds.cycle.Victims({"ns/a-0", "ns/c-0"});
  const std::vector<Victim> little = bounds.cycle.Victims({"ns/c-0"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(bounds.bounds.MayHold(much));
    EXPECT_FALSE(bounds.bounds.MayHold(little));
  }
}

TEST(MayHoldTest, EveryKindOfPodIsCountedSeparately) {
  // Each kind finds room alone; the bounds ignore that both need the same room.
  const auto of = [](int64_t large) {
    return MakeCluster()
        .Node("n1", {.gpus = 4})
        .Running("ns/a", {.gpus = 3, .node = "n1"})
        .Pending("ns/new", {.gpus = 1, .min_member = 2})
        .Pending("ns/new", {.gpus = large});
  };
  EXPECT_TRUE(Bounds(of(4)).MayHold(2, {}, {"ns/a-0"}));
  EXPECT_TRUE(Bounds(of(4)).MayHold(1, {}, {})) << "the large pod is not in the part";
  EXPECT_FALSE(Bounds(of(4)).MayHold(2, {}, {}));
}

TEST(MayHoldTest, ProvesNothingForAGroupOfManyKinds) {
  ClusterMaker maker =
      MakeCluster().Node("n1", {.gpus = 1}).Running("ns/a", {.gpus = 1, .node = "n1"});
  for (int i = 0; i < 17; ++i)
    maker.Pending("ns/new", {.gpus = 1, .millicpu = 100 + i, .min_member = 17});
  EXPECT_TRUE(Bounds(maker).MayHold(17, {}, {}));
}

TEST(MayHoldTest, BoundsTheVictimsOfOneNode) {
  // Each of three nodes could hold two of the pods without its own group.
  ClusterMaker maker = MakeCluster();
  for (const char* node : {"n1", "n2", "n3"}) {
    maker.Node(node, {.gpus = 2}).Running(std::string("ns/") + node, {.gpus = 2, .node = node});
  }
  maker.Pending("ns/new", {.pods = 4, .gpus = 1, .min_member = 4});
  Bounds bounds(maker);
  EXPECT_FALSE(bounds.NeverFits({"ns/n1", "ns/n2", "ns/n3"}));
  const auto with_one = [&](size_t count, const Strings& recorded) {
    bounds.bounds.StartPart(count, bounds.cycle.Victims(recorded));
    return bounds.bounds.MayHoldWithOneNode();
  };
  EXPECT_TRUE(with_one(2, {}));
  EXPECT_FALSE(with_one(3, {}));
  EXPECT_TRUE(with_one(4, {"ns/n2-0"}));
}

TEST(MayHoldTest, ProvesNothingForGroupsOnSeveralNodes) {
  // If one pod of the gang is evicted, so is the other.
  Bounds bounds(MakeCluster()
                    .Node("n1", {.gpus = 1})
                    .Node("n2", {.gpus = 1})
                    .Running("ns/gang", {.gpus = 1, .node = "n1", .min_member = 2})
                    .Running("ns/gang", {.gpus = 1, .node = "n2"})
                    .Pending("ns/new", {.pods = 2, .gpus = 1, .min_member = 2}));
  EXPECT_FALSE(bounds.NeverFits({"ns/gang"}));
  bounds.bounds.StartPart(2, {});
  EXPECT_TRUE(bounds.bounds.MayHoldWithOneNode());
}

// ---- compared with a trial

struct Tally {
  size_t ruled_out = 0;
  size_t ruled_out_with_one = 0;
  size_t placed = 0;
};

// Tries a random part of a random waiting group without random victims, and compares the result
// with the bound. `exact`: a part of pods of one kind is placed if the bound allows it.
void TryOne(TestCycle* cycle, Random* random, bool exact, Tally* tally) {
  const Cluster& cluster = cycle->cluster();
  PodOrder& order = cycle->rooms.order();
  std::vector<PodGroupId> waiting;
  for (const PodGroupId group : cluster.pod_groups().lists.waiting) {
    if (cycle->view.MayRun(group) && IsCandidate(cluster, order, group, {}) &&
        !order.PodsToPlace(group).empty())
      waiting.push_back(group);
  }
  if (waiting.empty()) return;
  const PodGroupId group = random->Pick(waiting);
  const PodList pods = order.PodsToPlace(group);

  std::vector<PodGroupId> candidates;
  for (const PodGroupId each : InOrderOfCreation(cluster.pod_groups())) {
    if (each != group && random->OneIn(2)) candidates.push_back(each);
  }
  // Either victims on all nodes, or only those of one node.
  NodeId only;
  if (random->OneIn(3) && cluster.nodes().size() > 0)
    only =
        NodeId(static_cast<int32_t>(random->Below(static_cast<int64_t>(cluster.nodes().size()))));
  std::vector<Victim> recorded, added;
  for (const PodId pod : cluster.pods().name.ids()) {
    const PodGroupId owner = cluster.pods().group[pod];
    if (!cluster.pods().pod_set[pod].valid() || !IsActiveAllocated(cluster.pods().status[pod]) ||
        random->OneIn(3) ||
        std::find(candidates.begin(), candidates.end(), owner) == candidates.end())
      continue;
    const NodeId node = cluster.pods().node[pod];
    if (random->OneIn(3)) {
      recorded.push_back({pod, node});
    } else if (!only.valid() || node == only) {
      added.push_back({pod, node});
    }
  }
  const size_t count = static_cast<size_t>(random->Between(1, static_cast<int64_t>(pods.size())));

  SearchBounds bounds(cycle->view, pods);
  const bool never = bounds.NeverFits(candidates);
  bounds.StartPart(count, recorded);
  const bool may_hold = bounds.MayHold(added);
  const bool may_hold_with_one_node = bounds.MayHoldWithOneNode();

  order.Narrow(group, std::span(pods).first(count));
  const Statement::Checkpoint start = cycle->rooms.statement().Mark();
  for (const Victim& victim : recorded) cycle->rooms.statement().Evict(victim.pod);
  for (const Victim& victim : added) cycle->rooms.statement().Evict(victim.pod);
  const bool placed = cycle->rooms.placer()
                          .Place(group, GroupPlacer::Mode::kSimulate, &cycle->rooms.statement())
                          .placed;
  cycle->rooms.statement().RollBackTo(start);
  order.Widen();
  order.ForgetParts();

  const std::string what = cluster.PodGroupName(group) + ", first " + std::to_string(count) +
                           " pods, without " + cycle->Text(recorded) + " and " + cycle->Text(added);
  if (placed) {
    EXPECT_FALSE(never) << what;
    EXPECT_TRUE(may_hold) << what;
    if (only.valid()) {
      EXPECT_TRUE(may_hold_with_one_node) << what;
    }
  }
  const PodClassId first = cluster.pods().pod_class[pods.front()];
  const bool alike = std::all_of(pods.begin(), pods.end(),
                                 [&](PodId pod) { return cluster.pods().pod_class[pod] == first; });
  if (exact && alike) {
    EXPECT_EQ(placed, may_hold) << what;
  }
  tally->placed += placed ? 1 : 0;
  tally->ruled_out += may_hold ? 0 : 1;
  tally->ruled_out_with_one += may_hold_with_one_node ? 0 : 1;
}

TEST(SearchBoundsPropertyTest, PlacedPodsWereNeverRuledOut) {
  Tally tally;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    TestCycle cycle(MakeRandomCluster(seed, {.max_nodes = 4, .max_running_groups = 12}).Build());
    Random random(seed);
    for (int i = 0; i < 5; ++i) TryOne(&cycle, &random, /*exact=*/false, &tally);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(tally.placed, size_t{300});
  EXPECT_GT(tally.ruled_out, size_t{300});
  EXPECT_GT(tally.ruled_out_with_one, size_t{20});
}

TEST(SearchBoundsPropertyTest, IsExactForEqualPodsWithoutAffinity) {
  Tally tally;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    TestCycle cycle(MakeRandomCluster(seed, {.max_nodes = 4,
                                             .max_running_groups = 12,
                                             .pod_affinity = false,
                                             .terms = std::nullopt})
                        .Build(),
                    {.check_capacity = false});
    Random random(seed);
    // The sum of the parts of several devices may exceed what one device holds.
    const bool exact = !cycle.cluster().shares_gpus();
    for (int i = 0; i < 5; ++i) TryOne(&cycle, &random, exact, &tally);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(tally.placed, size_t{300});
  EXPECT_GT(tally.ruled_out, size_t{300});
  EXPECT_GT(tally.ruled_out_with_one, size_t{20});
}

}  // namespace
}  // namespace kai::search_bounds_test
