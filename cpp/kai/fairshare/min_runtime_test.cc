// How long a pod group is protected (spec 1 F102-F106).
#include "kai/fairshare/min_runtime.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kai/base/clock.h"

namespace kai::min_runtime_test {
namespace {

struct Seconds {
  std::optional<int64_t> preempt = std::nullopt;
  std::optional<int64_t> reclaim = std::nullopt;
};

class Tree {
 public:
  Tree& Queue(const std::string& name, const Seconds& seconds, const std::string& parent = "") {
    const auto ns = [](const std::optional<int64_t>& value) {
      return value ? std::optional(*value * kSecondNs) : std::nullopt;
    };
    ids_[name] = queues_.parent.Add(parent.empty() ? QueueId() : ids_.at(parent));
    queues_.preempt_min_runtime_ns.Add(ns(seconds.preempt));
    queues_.reclaim_min_runtime_ns.Add(ns(seconds.reclaim));
    return *this;
  }

  int64_t Preempt(const std::string& victim) const {
    return MinRuntime(queues_, options_).ForPreempt(Id(victim)) / kSecondNs;
  }
  int64_t Reclaim(const std::string& waiting, const std::string& victim,
                  MinRuntime::Method method = MinRuntime::Method::kLowestCommonAncestor) const {
    MinRuntime::Options options = options_;
    options.method = method;
    return MinRuntime(queues_, options).ForReclaim(Id(waiting), Id(victim)) / kSecondNs;
  }

 private:
  QueueId Id(const std::string& name) const {  // invalid: unknown
    const auto found = ids_.find(name);
    return found == ids_.end() ? QueueId() : found->second;
  }

  QueueColumns queues_;
  std::map<std::string, QueueId> ids_;
  MinRuntime::Options options_{.preempt_ns = 7 * kSecondNs, .reclaim_ns = 9 * kSecondNs};
};

// The tree of spec 1 F105, and a second tree.
Tree Example() {
  Tree tree;
  tree.Queue("a", {}).Queue("b", {.reclaim = 600}, "a");
  tree.Queue("c", {}, "b").Queue("d", {.reclaim = 60}, "b");
  tree.Queue("leaf1", {.reclaim = 0}, "c").Queue("leaf2", {.reclaim = 180}, "c");
  tree.Queue("leaf3", {}, "d");
  tree.Queue("other", {.preempt = 5}).Queue("leaf4", {.reclaim = 30}, "other");
  tree.Queue("leaf5", {.preempt = 0}, "other");
  return tree;
}

TEST(MinRuntimeTest, IsSetByTheVictimsBranchBelowTheCommonAncestor) {  // spec 1 F105
  const Tree tree = Example();
  EXPECT_EQ(tree.Reclaim("leaf1", "leaf3"), 60);
  EXPECT_EQ(tree.Reclaim("leaf1", "leaf2"), 180);
  EXPECT_EQ(tree.Reclaim("leaf2", "leaf1"), 0) << "0 is a value";
  EXPECT_EQ(tree.Reclaim("leaf3", "leaf1"), 600) << "c has no value, b has one";
}

TEST(MinRuntimeTest, IsSetByTheVictimsTopQueueIfTheQueuesAreInDifferentTrees) {  // spec 1 F105
  const Tree tree = Example();
  EXPECT_EQ(tree.Reclaim("leaf1", "leaf4"), 9) << "the value of leaf4 is not used";
  EXPECT_EQ(tree.Reclaim("leaf4", "leaf1"), 9);
}

TEST(MinRuntimeTest, IsTheQueuesOwnWithinOneQueue) {  // spec 1 F105
  const Tree tree = Example();
  EXPECT_EQ(tree.Reclaim("leaf2", "leaf2"), 180);
  EXPECT_EQ(tree.Reclaim("leaf1", "c"), 600) << "the common ancestor itself, and up";
  EXPECT_EQ(tree.Reclaim("c", "leaf2"), 180);
}

TEST(MinRuntimeTest, WithMethodQueueTheNearestAncestorOfTheVictimSetsIt) {  // spec 1 F105
  const Tree tree = Example();
  const auto by_queue = MinRuntime::Method::kQueue;
  EXPECT_EQ(tree.Reclaim("leaf1", "leaf4", by_queue), 30);
  EXPECT_EQ(tree.Reclaim("leaf4", "leaf3", by_queue), 60);
  EXPECT_EQ(tree.Reclaim("leaf4", "c", by_queue), 600);
}

TEST(MinRuntimeTest, PreemptionUsesTheQueueOfTheVictimAndItsAncestors) {  // spec 1 F105
  const Tree tree = Example();
  EXPECT_EQ(tree.Preempt("leaf4"), 5);
  EXPECT_EQ(tree.Preempt("leaf5"), 0) << "0 is a value";
  EXPECT_EQ(tree.Preempt("leaf1"), 7) << "no queue has a value";
}

TEST(MinRuntimeTest, IsTheDefaultForUnknownQueues) {  // spec 1 F105
  const Tree tree = Example();
  EXPECT_EQ(tree.Preempt("missing"), 7);
  EXPECT_EQ(tree.Reclaim("missing", "leaf2"), 9);
  EXPECT_EQ(tree.Reclaim("leaf2", "missing"), 9);
  EXPECT_EQ(tree.Reclaim("missing", "leaf2", MinRuntime::Method::kQueue), 9);
}

TEST(MinRuntimeTest, ProtectsUntilTheRuntimeIsOver) {  // spec 1 F103
  EXPECT_EQ(MinRuntime::EndOf(100, 60), 160);
  EXPECT_EQ(MinRuntime::EndOf(100, 0), 100);
}

TEST(MinRuntimeTest, AGroupThatNeverStartedIsNotProtected) {  // spec 1 F103
  constexpr int64_t kNoStart = std::numeric_limits<int64_t>::min();
  constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(MinRuntime::EndOf(kNoStart, kForever), kNoStart);
  EXPECT_EQ(MinRuntime::EndOf(1'700'000'000 * kSecondNs, kForever), kForever);
}

TEST(MinRuntimeTest, TheRuntimeOfAQueueProtectsAnElasticGroup) {
  QueueColumns queues;
  const QueueId waiting_queue = queues.parent.Add(QueueId());
  const QueueId victim_queue = queues.parent.Add(QueueId());
  for (int i = 0; i < 2; ++i) queues.preempt_min_runtime_ns.Add(std::nullopt);
  queues.reclaim_min_runtime_ns.Add(std::nullopt);
  queues.reclaim_min_runtime_ns.Add(60);
  const MinRuntime::Options options{.reclaim_ns = 10};
  const int64_t runtime_ns = MinRuntime(queues, options).ForReclaim(waiting_queue, victim_queue);
  EXPECT_EQ(runtime_ns, 60);
  const int64_t started_ns = 100, now_ns = 159;
  const bool is_protected = now_ns < MinRuntime::EndOf(started_ns, runtime_ns);
  EXPECT_TRUE(is_protected);
  const bool elastic = true;
  const std::vector<MinRuntime::PodSetLoss> losses = {
      {.min_available = 2, .active = 3, .victims = 2}};
  EXPECT_FALSE(MinRuntime::MayLose(elastic, is_protected, losses)) << "one pod would be left";
}

bool MayLose(const std::vector<MinRuntime::PodSetLoss>& pod_sets, bool elastic = true,
             bool is_protected = true) {
  return MinRuntime::MayLose(elastic, is_protected, pod_sets);
}

TEST(MinRuntimeTest, AProtectedElasticGroupKeepsItsMinimum) {  // spec 1 F106
  EXPECT_TRUE(MayLose({{.min_available = 1, .active = 3, .victims = 2}}));
  EXPECT_FALSE(MayLose({{.min_available = 1, .active = 3, .victims = 3}}));
}

TEST(MinRuntimeTest, EveryPodSetKeepsItsOwnMinimum) {  // spec 1 F106
  EXPECT_TRUE(MayLose({{.min_available = 1, .active = 2, .victims = 1}, {2, 3, 1}}));
  EXPECT_FALSE(MayLose({{.min_available = 1, .active = 2, .victims = 1}, {2, 2, 1}}));
}

TEST(MinRuntimeTest, APodSetWithoutVictimsMayBeBelowItsMinimum) {  // spec 1 F106
  EXPECT_TRUE(MayLose({{.min_available = 1, .active = 2, .victims = 1}, {4, 1, 0}}));
}

TEST(MinRuntimeTest, OnlyProtectedElasticGroupsHaveToKeepTheirMinimum) {  // spec 1 F106
  EXPECT_TRUE(MayLose({{1, 3, 3}}, /*elastic=*/true, /*is_protected=*/false));
  EXPECT_TRUE(MayLose({{3, 3, 3}}, /*elastic=*/false, /*is_protected=*/true));
}

}  // namespace
}  // namespace kai::min_runtime_test
