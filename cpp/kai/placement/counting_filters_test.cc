// Filters that count placed pods, on random clusters with printed seeds: after any changes they
// agree with a count from scratch, and after a rollback they give their old answers.
#include <gtest/gtest.h>

#include <map>

#include "kai/placement/rooms_for_test.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::counting_filters_test {
namespace {

constexpr uint64_t kSeeds = 120;
constexpr int kSteps = 25;

// The answers for every class of pods and every node.
std::vector<int> AnswersOf(const Filter& filter, const Cluster& cluster) {
  std::vector<int> answers;
  for (const PodClassId pod_class : cluster.pod_classes().info.ids()) {
    if (filter.ScopeFor(pod_class) == Filter::Scope::kNothing) continue;
    for (const NodeId node : cluster.nodes().name.ids()) {
      answers.push_back((filter.Check(pod_class, node, nullptr) ? 1 : 0) +
                        (filter.MustWait(pod_class, node) ? 2 : 0) +
                        (filter.Lasts(pod_class, node) ? 4 : 0));
    }
  }
  return answers;
}

class CountingFilters : public testing::TestWithParam<Leaving> {
 protected:
  static std::vector<std::unique_ptr<Filter>> MakeAll(const Cluster& cluster) {
    std::vector<std::unique_ptr<Filter>> filters;
    filters.push_back(MakeHostPortFilter(cluster, GetParam()));
    filters.push_back(MakeInterPodAffinityFilter(cluster, GetParam()));
    filters.push_back(MakeTopologySpreadFilter(cluster));
    return filters;
  }

  static oracle::Settings Settings() {
    oracle::Settings settings;
    settings.switches.Set(Switch::kLeavingPods, GetParam() == Leaving::kMakeRoom);
    settings.extras.Set(Extra::kTopologySpread, true);
    std::erase(settings.plugins, "proportion");
    return settings;
  }
};

// Makes a random change, in the cluster and in the oracle's world alike.
void Step(const Cluster& cluster, Statement* statement, oracle::World* world, Random* random) {
  const PodColumns& pods = cluster.pods();
  const PodId pod(static_cast<size_t>(random->Below(static_cast<int64_t>(pods.size()))));
  const NodeId node(
      static_cast<size_t>(random->Below(static_cast<int64_t>(cluster.nodes().size()))));
  const std::string name = cluster.PodName(pod);
  const std::string target(cluster.Text(cluster.nodes().name[node]));
  const PodStatus status = pods.status[pod];
  const bool may_move =
      status == PodStatus::kReleasing && pods.is_virtual[pod] != 0 && world->NodeOf(name) != target;
  if (status == PodStatus::kPending && random->Coin()) {
    statement->Place(pod, node);
    world->Place(name, target, {"any"});  // the device, if it shares one
  } else if (status == PodStatus::kPending || may_move) {
    // Moving to an earlier node is a return, which the world cannot express.
    for (const Change& change : statement->ChangesSince(0)) {
      if (change.pod == pod && change.to_node == node) return;
    }
    statement->Pipeline(pod, node);
    world->Pipeline(name, target, {"any"});
  } else if (IsActiveAllocated(status) && pods.node[pod].valid()) {
    statement->Evict(pod);
    world->Evict(name);
  }
}

TEST_P(CountingFilters, AgreeWithANewCountAndRollBackExactly) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const ClusterRows rows =
        MakeRandomCluster(seed, {.max_nodes = 5, .max_groups = 6, .bad_queues = false});
    const std::unique_ptr<Cluster> cluster = rows.Build();
    if (cluster->pods().size() == 0) continue;
    Random random(seed);
    const oracle::World start(rows, Settings());
    oracle::World world = start;
    const std::vector<std::unique_ptr<Filter>> filters = MakeAll(*cluster);
    std::vector<Listener*> listeners;
    std::vector<std::vector<int>> before;
    for (const auto& filter : filters) {
      if (filter->listener() != nullptr) listeners.push_back(filter->listener());
      before.push_back(AnswersOf(*filter, *cluster));
    }
    const auto search =
        MakeSearch(*cluster, {.pod_affinity = false, .leaving = GetParam(), .spread = true});
    listeners.push_back(&search->search);
    const auto statement = Statement::Open(cluster.get(), listeners);
    // Skips clusters with overdue pods: this test marks none, in neither of the two.
    bool any_overdue = false;
    for (const PodId pod : cluster->pods().leaving) {
      any_overdue = any_overdue || world.StatusOf(cluster->PodName(pod)) != PodStatus::kReleasing;
    }
    if (any_overdue) continue;

    for (int step = 0; step < kSteps; ++step) Step(*cluster, statement.get(), &world, &random);
    for (const PodId pod : cluster->pods().name.ids()) {
      if (cluster->pods().status[pod] != PodStatus::kPending ||
          cluster->ClassOf(pod).needs_namespaces)
        continue;
      const std::string name = cluster->PodName(pod);
      const oracle::Choice expected = oracle::FindNode(world, name);
      EXPECT_EQ(FoundText(*cluster, search->search.Find(cluster->pods().pod_class[pod])),
                expected.node.empty() ? "nowhere" : expected.node + (expected.now ? "" : " later"))
          << name;
    }
    statement->RollBackTo(0);
    const std::vector<std::unique_ptr<Filter>> fresh = MakeAll(*cluster);
    for (size_t i = 0; i < filters.size(); ++i) {
      EXPECT_EQ(AnswersOf(*filters[i], *cluster), before[i]);
      EXPECT_EQ(AnswersOf(*fresh[i], *cluster), before[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Leaving, CountingFilters,
                         testing::Values(Leaving::kMakeRoom, Leaving::kStillCount));

}  // namespace
}  // namespace kai::counting_filters_test
