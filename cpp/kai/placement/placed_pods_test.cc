#include "kai/placement/placed_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kai/placement/rooms_for_test.h"

namespace kai::placed_pods_test {
namespace {

// Keeps counts as filters do.
class Counter final : public Listener {
 public:
  explicit Counter(const Cluster& cluster) : counts(cluster.nodes().size()) {
    ForEachPlacedPod(cluster, [&](PodId, NodeId node, bool is_leaving) {
      ++counts[node].all;
      counts[node].leaving += is_leaving ? 1 : 0;
    });
  }
  void Applied(const Change& change) override {
    const PodCountChange by = PodCountChangeOf(change);
    counts[change.to_node].all += by.all;
    counts[change.to_node].leaving += by.leaving;
  }
  void Undone(const Change& change) override {
    const PodCountChange by = PodCountChangeOf(change);
    counts[change.to_node].all -= by.all;
    counts[change.to_node].leaving -= by.leaving;
  }

  IndexVector<NodeId, PodCountChange> counts;
};

TEST(PlacedPodsTest, CountsFollowChangesAndRollback) {
  const auto cluster = MakeCluster()
                           .Node("n", {.gpus = 8})
                           .Running("ns/stays", {.gpus = 1, .node = "n"})
                           .Releasing("ns/leaves", {.gpus = 1, .node = "n"})
                           .Pending("ns/comes", {.gpus = 1})
                           .Build();
  Counter counter(*cluster);
  const auto counts = [&] {
    const PodCountChange& here = counter.counts[NodeNamed(*cluster, "n")];
    return std::pair(here.all, here.leaving);
  };
  EXPECT_EQ(counts(), std::pair(2, 1));
  const auto statement = Statement::Open(cluster.get(), {&counter});
  statement->Place(PodNamed(*cluster, "ns/comes-0"), NodeNamed(*cluster, "n"));
  EXPECT_EQ(counts(), std::pair(3, 1));
  statement->Evict(PodNamed(*cluster, "ns/stays-0"));
  EXPECT_EQ(counts(), std::pair(3, 2)) << "a leaving pod still counts";
  statement->RollBackTo(0);
  EXPECT_EQ(counts(), std::pair(2, 1));
}

}  // namespace
}  // namespace kai::placed_pods_test
