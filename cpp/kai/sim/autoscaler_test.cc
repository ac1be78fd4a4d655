#include "kai/sim/autoscaler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/clock.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::autoscaler_test {
namespace {

using Stage = Autoscaler::NodeState::Stage;
using Nodes = std::vector<int32_t>;

NodeRow NodeNamed(std::string name, int64_t gpus) {
  NodeRow node;
  node.name = std::move(name);
  node.allocatable = {
      {"cpu", 64'000}, {"memory", int64_t{1} << 40}, {"pods", 110}, {"nvidia.com/gpu", gpus}};
  return node;
}

PodNeeds Gpus(int64_t gpus) { return {.micro_gpus = gpus * kMicroGpusOfOne, .millicpu = 1000}; }

// Nodes n0, n1, ... with 8 GPUs each. The first `there` exist, the others can be ordered.
struct Park {
  explicit Park(size_t count, size_t there = 0, int64_t gpus = 8) {
    pools = {{.name = "p", .nodes = {}, .ready_ns = 5, .idle_ns = 100}};
    for (size_t i = 0; i < count; ++i) {
      nodes.push_back(NodeNamed("n" + std::to_string(i), gpus));
      if (i >= there) pools[0].nodes.push_back(nodes.back().name);
    }
    for (size_t i = 0; i < count; ++i)
      states.push_back({.stage = i < there ? Stage::kTakesPods : Stage::kAbsent,
                        .room = SpareRoom::Of(nodes[i])});
  }
  Autoscaler::Orders Look(const std::vector<Autoscaler::Waiting>& waiting, int64_t now_ns = 0) {
    std::vector<Autoscaler::NodeState> used = states;
    return Autoscaler(pools, nodes).Look(now_ns, waiting, &used);
  }

  std::vector<SimNodePool> pools;
  std::vector<NodeRow> nodes;
  std::vector<Autoscaler::NodeState> states;
};

TEST(AutoscalerTest, OrdersTheNodesThatPodsNeed) {
  Park park(5);
  EXPECT_EQ(park.Look({{.pods = 3, .least = 3, .needs = Gpus(4)}}).order, (Nodes{0, 1}));
  EXPECT_EQ(park.Look({}).order, Nodes());
}

TEST(AutoscalerTest, ExistingAndOrderedNodesAreFilledFirst) {
  Park park(4, 1);
  park.states[1].stage = Stage::kOrdered;
  EXPECT_EQ(park.Look({{.pods = 2, .least = 2, .needs = Gpus(8)}}).order, Nodes());
  EXPECT_EQ(park.Look({{.pods = 3, .least = 3, .needs = Gpus(8)}}).order, (Nodes{2}));
}

TEST(AutoscalerTest, OrdersNothingForAGangThatExceedsTheMaximumSize) {
  Park park(2);
  EXPECT_EQ(park.Look({{.pods = 3, .least = 3, .needs = Gpus(8)}}).order, Nodes());
  EXPECT_EQ(park.Look({{.pods = 3, .least = 2, .needs = Gpus(8)}}).order, (Nodes{0, 1}));
  EXPECT_EQ(park.Look({{.pods = 1, .least = 1, .needs = Gpus(9)}}).order, Nodes());
}

TEST(AutoscalerTest, PartsOfAGpuShareTheGpusOfANode) {
  Park park(3, 0, 2);
  const PodNeeds half{.micro_gpus = kMicroGpusOfOne / 2, .millicpu = 1000};
  EXPECT_EQ(park.Look({{.pods = 4, .least = 1, .needs = half}}).order, (Nodes{0}));
  EXPECT_EQ(park.Look({{.pods = 5, .least = 1, .needs = half}}).order, (Nodes{0, 1}));
}

TEST(AutoscalerTest, OrdersFromTheCheapestPoolThatFitsThePod) {
  Park park(3);
  park.nodes[1] = NodeNamed("n1", 2);
  park.states[1].room = SpareRoom::Of(park.nodes[1]);
  park.pools = {{.name = "large", .nodes = {"n0"}, .price = 3},
                {.name = "small", .nodes = {"n1"}, .price = 1},
                {.name = "also-large", .nodes = {"n2"}, .price = 3}};
  EXPECT_EQ(park.Look({{.pods = 1, .needs = Gpus(2)}}).order, (Nodes{1}));
  EXPECT_EQ(park.Look({{.pods = 1, .needs = Gpus(4)}}).order, (Nodes{2}));
}

TEST(AutoscalerTest, RemovesNodesThatAreEmptyForLongDownToTheMinimum) {
  Park park(3);
  for (Autoscaler::NodeState& state : park.states) {
    state.stage = Stage::kTakesPods;
    state.empty_since_ns = 50;
  }
  park.states[2].empty_since_ns = 70;
  park.pools[0].least = 1;
  EXPECT_EQ(park.Look({}, 149).remove, Nodes());
  EXPECT_EQ(park.Look({}, 149).look_again_ns, 150);
  EXPECT_EQ(park.Look({}, 150).remove, (Nodes{1, 0}));
  EXPECT_EQ(park.Look({}, 170).remove, (Nodes{2, 1}));
  // A waiting pod keeps a node on which it fits.
  EXPECT_EQ(park.Look({{.pods = 1, .needs = Gpus(1)}}, 170).remove, (Nodes{2, 1}));
  EXPECT_EQ(park.Look({{.pods = 2, .needs = Gpus(8)}}, 170).remove, (Nodes{2}));
}

// ---- comparison with a plain one ----------------------------------------------------------------

// The absent nodes that get pods. Tries every job and pod again, on a copy of the state.
Nodes PlainOrders(const Park& park, const std::vector<Autoscaler::Waiting>& waiting) {
  std::vector<Autoscaler::NodeState> states = park.states;
  Nodes opened;
  for (const Autoscaler::Waiting& job : waiting) {
    std::vector<Autoscaler::NodeState> trial = states;
    Nodes trial_opened = opened;
    int32_t found = 0;
    for (int32_t pod = 0; pod < job.pods; ++pod) {
      Nodes candidates;
      for (const Stage stage : {Stage::kTakesPods, Stage::kOrdered})
        for (size_t i = 0; i < trial.size(); ++i)
          if (trial[i].stage == stage) candidates.push_back(static_cast<int32_t>(i));
      candidates.insert(candidates.end(), trial_opened.begin(), trial_opened.end());
      for (size_t i = 0; i < trial.size(); ++i) {
        if (trial[i].stage != Stage::kAbsent) continue;
        const auto node = static_cast<int32_t>(i);
        if (std::ranges::find(trial_opened, node) == trial_opened.end()) {
          candidates.push_back(node);
          break;
        }
      }
      const auto node = std::ranges::find_if(candidates, [&](int32_t each) {
        return trial[static_cast<size_t>(each)].room.Fits(job.needs);
      });
      if (node == candidates.end()) break;
      trial[static_cast<size_t>(*node)].room.Take(job.needs);
      if (trial[static_cast<size_t>(*node)].stage == Stage::kAbsent &&
          std::ranges::find(trial_opened, *node) == trial_opened.end())
        trial_opened.push_back(*node);
      ++found;
    }
    if (found < job.least) continue;
    states = std::move(trial);
    opened = std::move(trial_opened);
  }
  return opened;
}

TEST(AutoscalerPropertyTest, OrdersTheSameAsAPlainPacking) {
  const auto [first, end] = Seeds(500);
  for (uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    Park park(static_cast<size_t>(random.Between(1, 8)), 0, random.Between(1, 4));
    for (Autoscaler::NodeState& state : park.states) {
      if (random.OneIn(4)) state.stage = Stage::kTakesPods;
      if (random.OneIn(4)) state.stage = Stage::kOrdered;
      if (random.OneIn(6)) state.stage = Stage::kClosed;
    }
    std::vector<Autoscaler::Waiting> waiting(static_cast<size_t>(random.Below(10)));
    for (Autoscaler::Waiting& job : waiting) {
      job.pods = static_cast<int32_t>(random.Between(1, 5));
      job.least = static_cast<int32_t>(random.Between(0, job.pods));
      job.needs = Gpus(random.Between(0, 3));
      if (random.OneIn(3)) job.needs.micro_gpus = random.Between(1, 3) * kMicroGpusOfOne / 4;
    }
    const Nodes orders = park.Look(waiting).order;
    EXPECT_EQ(orders, PlainOrders(park, waiting));
  }
}

}  // namespace
}  // namespace kai::autoscaler_test
