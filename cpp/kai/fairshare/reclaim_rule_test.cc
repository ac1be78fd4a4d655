// Which queue may take resources from which: the examples of spec 1 F95, other situations, and the
// pseudocode of spec 1 F94 on random trees.
#include "kai/fairshare/reclaim_rule.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_evictions.h"

namespace kai::reclaim_rule_test {
namespace {

// One resource of a queue, usually GPUs. CPU and memory are 0 unless a test sets them.
struct Numbers {
  double allocated = 0;
  double deserved = 0;
  double fair_share = 0;
  double limit = kUnlimited;
  double non_preemptible = 0;
};

struct Piece {  // of GPUs
  std::string queue;
  double gpus = 0;
};

// Queues by name, and functions that test the rule on them.
class Tree {
 public:
  Tree& Queue(const std::string& name, const Numbers& gpus, const std::string& parent = "") {
    queues_.name.Add(NameId());
    queues_.parent.Add(parent.empty() ? QueueId() : ids_.at(parent));
    QueueShare share;
    share.fill({.limit = kUnlimited});
    ids_[name] = shares_.Add(share);
    sums_.Add({});
    return Set(name, kQuotaGpu, gpus);
  }
  Tree& Set(const std::string& name, QuotaResource resource, const Numbers& numbers) {
    const QueueId queue = ids_.at(name);
    shares_[queue][resource] = {
        .deserved = numbers.deserved, .limit = numbers.limit, .fair_share = numbers.fair_share};
    const auto set = [&](QuotaCount* sum, double amount) {
      QuotaVector amounts = sum->values();
      amounts[resource] = amount;
      *sum = amounts;
    };
    set(&sums_[queue].allocated, numbers.allocated);
    set(&sums_[queue].allocated_non_preemptible, numbers.non_preemptible);
    return *this;
  }

  // The queues below the common ancestor: "a b"; "-" for a queue that is not below it.
  std::string Fork(const std::string& first, const std::string& second) const {
    const QueueFork fork = ForkOf(queues_, ids_.at(first), ids_.at(second));
    return NameOf(fork.first) + " " + NameOf(fork.second);
  }
  QueueId operator[](const std::string& name) const { return ids_.at(name); }
  ReclaimRule Rule(const std::string& reclaimer, bool preemptible = true,
                   double multiplier = 1) const {
    return {{queues_, shares_, sums_},
            {.queue = ids_.at(reclaimer), .preemptible = preemptible},
            {.saturation_multiplier = multiplier}};
  }
  std::vector<QueueLoss> Losses(const std::vector<Piece>& pieces) const {
    std::vector<QueueLoss> losses;
    for (const Piece& piece : pieces)
      losses.push_back({ids_.at(piece.queue), {0, 0, piece.gpus}, piece.gpus});
    return losses;
  }
  // For a preemptible reclaimer that requests GPUs.
  bool MayTake(const std::string& reclaimer, double gpus, const std::vector<Piece>& pieces,
               double multiplier = 1) const {
    return Rule(reclaimer, true, multiplier).Accepts(Losses(pieces), {0, 0, gpus});
  }
  bool MayTakeForGood(const std::string& reclaimer, double gpus,
                      const std::vector<Piece>& pieces) const {
    return Rule(reclaimer, /*preemptible=*/false).Accepts(Losses(pieces), {0, 0, gpus});
  }

 private:
  std::string NameOf(QueueId queue) const {
    for (const auto& [name, id] : ids_) {
      if (id == queue) return name;
    }
    return "-";
  }

  QueueColumns queues_;
  IndexVector<QueueId, QueueShare> shares_;
  IndexVector<QueueId, QueueSums> sums_;
  std::map<std::string, QueueId> ids_;
};

constexpr double kGpuOnly = 0;

TEST(ReclaimRuleTest, AQueueBelowItsDeservedAmountReclaimsFromOneAboveIt) {
  QueueColumns queues;
  IndexVector<QueueId, QueueShare> shares;
  IndexVector<QueueId, QueueSums> sums;
  const auto add = [&](double allocated) {
    queues.name.Add(NameId());
    queues.parent.Add(QueueId());
    QueueShare share;
    share.fill({.limit = kUnlimited});
    share[kQuotaGpu] = {.deserved = 4, .limit = kUnlimited, .fair_share = 4};
    sums.Add({.allocated = {0, 0, allocated}});
    return shares.Add(share);
  };
  const QueueId reclaimer = add(0);
  const QueueId victim = add(8);
  const QuotaCount request = {0, 0, 4};
  ReclaimRule rule({queues, shares, sums}, {.queue = reclaimer, .preemptible = true}, {});
  EXPECT_TRUE(rule.MayStart(request));
  EXPECT_TRUE(rule.MayBeVictim(victim, request));
  const std::vector<QueueLoss> losses(4, {victim, {0, 0, 1}, 1});
  EXPECT_TRUE(rule.Accepts(losses, request));
  const std::vector<QueueLoss> more(6, {victim, {0, 0, 1}, 1});
  EXPECT_FALSE(rule.Accepts(more, request)) << "the queue deserves the fifth GPU";
}

// ---- the fork of two queues

TEST(QueueForkTest, IsBelowTheFirstCommonQueue) {
  Tree tree;
  tree.Queue("all", {}).Queue("a", {}, "all").Queue("b", {}, "all").Queue("other", {});
  tree.Queue("a1", {}, "a").Queue("a2", {}, "a").Queue("b1", {}, "b");
  EXPECT_EQ(tree.Fork("a1", "a2"), "a1 a2");
  EXPECT_EQ(tree.Fork("a1", "b1"), "a b");
  EXPECT_EQ(tree.Fork("a1", "b"), "a b");
  EXPECT_EQ(tree.Fork("b", "a1"), "b a");
  EXPECT_EQ(tree.Fork("a1", "other"), "all other");
}

TEST(QueueForkTest, AQueueIsNotBelowItself) {
  Tree tree;
  tree.Queue("all", {}).Queue("a", {}, "all").Queue("a1", {}, "a");
  EXPECT_EQ(tree.Fork("a1", "a1"), "- -");
  EXPECT_EQ(tree.Fork("a1", "a"), "a1 -");
  EXPECT_EQ(tree.Fork("a1", "all"), "a -");
  EXPECT_EQ(tree.Fork("all", "a1"), "- a");
}

// ---- which queue may start (spec 1 F84)

Tree ThreeOfEach(const Numbers& numbers) {
  Tree tree;
  tree.Queue("q", {});
  for (const QuotaResource resource : {kQuotaCpu, kQuotaMemory, kQuotaGpu})
    tree.Set("q", resource, numbers);
  return tree;
}

TEST(ReclaimRuleTest, AGroupMayStartUpToTheFairShare) {
  const Tree tree = ThreeOfEach({.allocated = 1, .fair_share = 3});
  EXPECT_TRUE(tree.Rule("q").MayStart({2, 2, 2}));
  EXPECT_FALSE(tree.Rule("q").MayStart({2, 2.5, 2})) << "one resource is enough to refuse";
}

TEST(ReclaimRuleTest, AFairShareExceededInAnotherResourceForbidsTheStart) {  // spec 1 W9
  Tree tree = ThreeOfEach({.allocated = 1, .fair_share = 3});
  tree.Set("q", kQuotaMemory, {.allocated = 4, .fair_share = 3});
  EXPECT_FALSE(tree.Rule("q").MayStart({0, 0, 1}));
}

TEST(ReclaimRuleTest, ANonPreemptibleGroupMayStartUpToTheQuota) {
  const Tree tree =
      ThreeOfEach({.allocated = 3, .deserved = 3, .fair_share = 9, .non_preemptible = 1});
  EXPECT_TRUE(tree.Rule("q", false).MayStart({2, 2, 2})) << "preemptible pods do not count";
  EXPECT_FALSE(tree.Rule("q", false).MayStart({2, 2, 3}));
  EXPECT_TRUE(tree.Rule("q", true).MayStart({2, 2, 3}));
}

TEST(ReclaimRuleTest, ANonPreemptibleGroupMayNotStartWithoutAQuota) {
  const Tree tree = ThreeOfEach({.fair_share = 9});
  EXPECT_FALSE(tree.Rule("q", false).MayStart({1, 1, 1}));
}

// ---- which queue is a candidate (spec 1 F86)

// A reclaimer that holds nothing and deserves `deserved`, beside a victim.
Tree Beside(double deserved, const Numbers& victim) {
  Tree tree;
  tree.Queue("reclaimer", {.deserved = deserved, .fair_share = 4}).Queue("victim", victim);
  return tree;
}
bool IsCandidate(const Tree& tree, double gpus = 2) {
  return tree.Rule("reclaimer").MayBeVictim(tree["victim"], {0, 0, gpus});
}

TEST(ReclaimRuleTest, AStarvedQueueReclaimsFromQueuesAboveTheirDeservedAmount) {
  EXPECT_TRUE(IsCandidate(Beside(4, {.allocated = 4, .deserved = 0, .fair_share = 4})));
  EXPECT_FALSE(IsCandidate(Beside(4, {.allocated = 2, .deserved = 4, .fair_share = 4})));
}

TEST(ReclaimRuleTest, AQueueAtItsDeservedAmountIsConsidered) {  // its pods may be moved
  EXPECT_TRUE(IsCandidate(Beside(4, {.allocated = 4, .deserved = 4, .fair_share = 4})));
  EXPECT_FALSE(IsCandidate(Beside(4, {.allocated = 3.5, .deserved = 4, .fair_share = 4})));
}

TEST(ReclaimRuleTest, AResourceWithAnUnlimitedDeservedAmountIsNotConsidered) {
  EXPECT_TRUE(IsCandidate(Beside(4, {.allocated = 9, .deserved = kUnlimited})));
}

TEST(ReclaimRuleTest, AStarvedQueueConsidersOnlyRequestedResources) {
  Tree tree = Beside(4, {.allocated = 4, .deserved = 4, .fair_share = 4});
  tree.Set("victim", kQuotaCpu, {.allocated = 1, .deserved = 5});
  EXPECT_TRUE(IsCandidate(tree));
  tree.Set("reclaimer", kQuotaCpu, {.deserved = 5});
  EXPECT_FALSE(tree.Rule("reclaimer").MayBeVictim(tree["victim"], {1, 0, 2}));
}

TEST(ReclaimRuleTest, AQueueAboveItsQuotaConsidersQueuesAboveTheirFairShare) {
  EXPECT_FALSE(IsCandidate(Beside(1, {.allocated = 3, .deserved = 2, .fair_share = 4})));
  EXPECT_FALSE(IsCandidate(Beside(1, {.allocated = 4, .deserved = 2, .fair_share = 4})));
  EXPECT_TRUE(IsCandidate(Beside(1, {.allocated = 5, .deserved = 2, .fair_share = 4})));
}

TEST(ReclaimRuleTest, QueuesAreComparedBelowTheirLowestCommonAncestor) {  // spec 1 F88
  Tree tree;
  tree.Queue("ml", {}).Queue("vision", {}, "ml").Queue("speech", {}, "ml").Queue("web", {});
  tree.Queue("a", {}, "vision").Queue("b", {}, "vision").Queue("c", {}, "speech");
  const auto expect_level = [&](const std::string& victim, const std::string& one,
                                const std::string& other) {
    const ReclaimRule::Leveled level = tree.Rule("a").LevelOf(tree[victim]);
    EXPECT_EQ(level.reclaimer, tree[one]) << victim;
    EXPECT_EQ(level.victim, tree[other]) << victim;
  };
  expect_level("b", "a", "b");
  expect_level("c", "vision", "speech");
  expect_level("web", "ml", "web");
  expect_level("speech", "vision", "speech");
  expect_level("a", "a", "a");
  expect_level("vision", "vision", "vision");
  EXPECT_EQ(tree.Rule("vision").LevelOf(tree["b"]).victim, tree["vision"]);
  EXPECT_TRUE(tree.Rule("a").MayBeVictim(tree["vision"], {0, 0, 1})) << "no pair to compare";
}

// ---- what may be taken (spec 1 F90-F92)

TEST(ReclaimRuleTest, ReclaimsFromAQueueAboveItsFairShare) {  // spec 1 F95, classic
  Tree tree;
  tree.Queue("x", {.allocated = 2, .deserved = 3, .fair_share = 3});
  tree.Queue("y", {.allocated = 3, .deserved = 2, .fair_share = 2});
  EXPECT_TRUE(tree.MayTake("x", 1, {{"y", 1}}));
  EXPECT_FALSE(tree.MayTake("x", 1, {{"y", 1}, {"y", 1}})) << "y deserves the second GPU";
}

TEST(ReclaimRuleTest, DoesNotReclaimFromAQueueAtItsFairShare) {  // spec 1 F95
  Tree tree;
  tree.Queue("x", {.allocated = 2, .deserved = 3, .fair_share = 3});
  tree.Queue("y", {.allocated = 2, .deserved = 2, .fair_share = 2});
  EXPECT_FALSE(tree.MayTake("x", 1, {{"y", 1}}));
}

// spec 1 F95
TEST(ReclaimRuleTest, DeservedResourcesAreReclaimedFromAQueueAboveItsDeservedAmount) {
  Tree tree;
  tree.Queue("x", {.allocated = 2, .deserved = 3, .fair_share = 3});
  tree.Queue("y", {.allocated = 3, .deserved = 2, .fair_share = 3});
  EXPECT_TRUE(tree.MayTake("x", 1, {{"y", 1}}));
  EXPECT_FALSE(tree.MayTake("x", 2, {{"y", 1}})) << "x does not deserve that much";
}

TEST(ReclaimRuleTest, AGangIsEvictedWholeEvenIfItsQueueEndsBelowItsQuota) {  // spec 1 F95
  Tree tree;
  tree.Queue("x", {.deserved = 4, .fair_share = 4});
  tree.Queue("y", {.allocated = 4, .deserved = 2, .fair_share = 2});
  EXPECT_TRUE(tree.MayTake("x", 4, {{"y", 4}}));
}

TEST(ReclaimRuleTest, ThePiecesAreTestedInTheirOrder) {  // spec 1 W8
  Tree tree;
  tree.Queue("x", {.deserved = 4, .fair_share = 4});
  tree.Queue("y", {.allocated = 4, .deserved = 2, .fair_share = 2});
  EXPECT_TRUE(tree.MayTake("x", 4, {{"y", 1}, {"y", 3}}));
  EXPECT_FALSE(tree.MayTake("x", 4, {{"y", 3}, {"y", 1}}));
}

TEST(ReclaimRuleTest, EveryAncestorLosesTheResourcesOfAPiece) {  // spec 1 F91
  Tree tree;
  tree.Queue("x", {.deserved = 8, .fair_share = 8});
  tree.Queue("y", {.allocated = 4, .deserved = 3, .fair_share = 3});
  tree.Queue("y1", {.allocated = 2}, "y").Queue("y2", {.allocated = 2}, "y");
  EXPECT_TRUE(tree.MayTake("x", 1, {{"y1", 1}}));
  EXPECT_FALSE(tree.MayTake("x", 2, {{"y1", 1}, {"y2", 1}})) << "y1 and y2 share what y has";
}

Tree Departments() {  // spec 1 F95, saturation
  Tree tree;
  tree.Queue("d1", {.allocated = 4, .deserved = 4, .fair_share = 4});
  tree.Queue("p1", {.deserved = 3, .fair_share = 1}, "d1");
  tree.Queue("p2", {.allocated = 4, .deserved = 1, .fair_share = 3}, "d1");
  tree.Queue("d2", {.allocated = 7, .deserved = 3, .fair_share = 3});
  tree.Queue("p3", {.allocated = 7, .deserved = 3, .fair_share = 3}, "d2");
  return tree;
}

TEST(ReclaimRuleTest, ADepartmentMayExceedItsFairShareWhileTheOtherExceedsItsShareByMore) {
  EXPECT_TRUE(Departments().MayTake("p1", 1, {{"p3", 1}}));
  EXPECT_TRUE(Departments().MayTake("p1", 1, {{"p3", 1}}, /*multiplier=*/1.5));
  EXPECT_FALSE(Departments().MayTake("p1", 1, {{"p3", 1}}, 1.6)) << "5 / 4 * 1.6 = 6 / 3";
}

TEST(ReclaimRuleTest, AMultiplierBelowOneCountsAsOne) {  // spec 1 F93
  Tree tree = Departments();
  tree.Queue("d3", {.allocated = 5, .deserved = 4, .fair_share = 4});
  tree.Queue("p4", {.allocated = 5}, "d3");
  EXPECT_FALSE(tree.MayTake("p1", 1, {{"p4", 1}}, /*multiplier=*/0.5)) << "5 / 4 against 4 / 4";
}

TEST(ReclaimRuleTest, ABranchHasToOfferVictimsForItsOwnGrowth) {  // spec 1 F95, same branch
  Tree tree;
  tree.Queue("top", {.allocated = 2, .deserved = 2, .fair_share = 2});
  tree.Queue("mid1", {.allocated = 0.5, .deserved = 1, .fair_share = 1}, "top");
  tree.Queue("mid2", {.allocated = 1.5, .deserved = 1, .fair_share = 1}, "top");
  tree.Queue("x", {.deserved = 1, .fair_share = 1}, "mid1");
  tree.Queue("near", {.allocated = 0.5}, "mid1");
  tree.Queue("far", {.allocated = 1.5, .deserved = 1, .fair_share = 1}, "mid2");
  EXPECT_FALSE(tree.MayTake("x", 1, {{"far", 1.5}})) << "mid1 ends at 1.5, mid2 at 0";
  EXPECT_TRUE(tree.MayTake("x", 1, {{"far", 1.5}, {"near", 0.5}})) << "mid1 ends at 1";
}

// spec 1 F95, uninvolved
TEST(ReclaimRuleTest, ResourcesThatAreNeitherRequestedNorLostAreNotCompared) {
  Tree tree = Departments();
  const Numbers cpu{.allocated = 3000, .fair_share = 1000};
  tree.Set("d1", kQuotaCpu, cpu);
  tree.Set("d2", kQuotaCpu, {.allocated = 1000, .fair_share = 1000});
  EXPECT_TRUE(tree.MayTake("p1", 1, {{"p3", 1}}));
  EXPECT_FALSE(tree.Rule("p1").Accepts(tree.Losses({{"p3", 1}}), {1, kGpuOnly, 1}));
  std::vector<QueueLoss> with_cpu = tree.Losses({{"p3", 1}});
  with_cpu[0].amount += {1, 0, 0};
  EXPECT_FALSE(tree.Rule("p1").Accepts(with_cpu, {0, 0, 1}));
}

TEST(ReclaimRuleTest, MigDoesNotInvolveGpus) {  // spec 1 F91, W10
  Tree tree;
  tree.Queue("d1", {.allocated = 4, .fair_share = 1}).Queue("p1", {.fair_share = 1}, "d1");
  tree.Queue("d2", {.allocated = 4, .fair_share = 2}).Queue("p2", {.allocated = 4}, "d2");
  std::vector<QueueLoss> slices = tree.Losses({{"p2", 1}});
  slices[0].whole_gpus = 0;
  EXPECT_TRUE(tree.Rule("p1").Accepts(slices, {0, 0, 1}, /*whole_gpus=*/0));
  EXPECT_FALSE(tree.Rule("p1").Accepts(slices, {0, 0, 1}, /*whole_gpus=*/1));
  EXPECT_FALSE(tree.Rule("p1").Accepts(slices, {0, 0, 1})) << "GPUs are whole unless set";
  EXPECT_FALSE(tree.Rule("p1").Accepts(tree.Losses({{"p2", 1}}), {0, 0, 1}, 0));
}

TEST(ReclaimRuleTest, ASiblingWithAFairShareOfZeroDoesNotCount) {  // spec 1 F92.2
  Tree tree;
  tree.Queue("d1", {.allocated = 4, .fair_share = 1}).Queue("p1", {.fair_share = 1}, "d1");
  tree.Queue("d2", {.allocated = 2, .fair_share = 0}).Queue("p2", {.allocated = 2}, "d2");
  EXPECT_TRUE(tree.MayTake("p1", 1, {{"p2", 2}}));
}

TEST(ReclaimRuleTest, TheExcessMayBeInAResourceThatIsNotRequested) {  // spec 1 F90
  Tree tree;
  tree.Queue("x", {.deserved = 1, .fair_share = 1}).Queue("y", {.allocated = 1, .deserved = 1});
  EXPECT_FALSE(tree.MayTake("x", 1, {{"y", 1}}));
  tree.Set("y", kQuotaCpu, {.allocated = 120, .deserved = 80, .fair_share = 200, .limit = 100});
  EXPECT_TRUE(tree.MayTake("x", 1, {{"y", 1}})) << "a limit below the fair share is exceeded";
}

TEST(ReclaimRuleTest, AProtectedQueueEarlierInTheTreeDoesNotBlockReclaim) {  // spec 2 E23
  Tree tree;
  tree.Queue("x", {.deserved = 2, .fair_share = 2});
  tree.Queue("poor", {.allocated = 1, .deserved = 2, .fair_share = 2});
  tree.Queue("rich", {.allocated = 3, .fair_share = 0});
  EXPECT_TRUE(tree.MayTake("x", 1, {{"rich", 1}}));
  EXPECT_FALSE(tree.MayTake("x", 1, {{"poor", 1}, {"rich", 1}}));
}

TEST(ReclaimRuleTest, ANestedQueueReclaimsFromATopLevelLeaf) {  // spec 1 F88
  Tree tree;
  tree.Queue("d1", {.deserved = 2, .fair_share = 2});
  tree.Queue("x", {.deserved = 2, .fair_share = 2}, "d1");
  tree.Queue("leaf", {.allocated = 3, .deserved = 1, .fair_share = 1});
  EXPECT_TRUE(tree.MayTake("x", 1, {{"leaf", 1}}));
}

TEST(ReclaimRuleTest, ANonPreemptibleGroupNeedsQuotaInAllAncestors) {  // spec 1 F92.3
  Tree tree;
  tree.Queue("d", {.allocated = 5, .deserved = 3, .fair_share = 5, .non_preemptible = 3});
  tree.Queue("x", {.allocated = 2, .deserved = 3, .fair_share = 3}, "d");
  tree.Queue("y", {.allocated = 3, .deserved = 2, .fair_share = 2}, "d");
  EXPECT_TRUE(tree.MayTake("x", 1, {{"y", 1}}));
  EXPECT_FALSE(tree.MayTakeForGood("x", 1, {{"y", 1}})) << "the department's quota is used up";
}

TEST(ReclaimRuleTest, AScenarioWithoutVictimsIsAcceptedWithinTheQuota) {
  Tree tree;
  tree.Queue("x", {.allocated = 3, .deserved = 4, .fair_share = 1, .non_preemptible = 3});
  EXPECT_TRUE(tree.MayTake("x", 2, {}));
  EXPECT_TRUE(tree.MayTakeForGood("x", 1, {}));
  EXPECT_FALSE(tree.MayTakeForGood("x", 2, {}));
}

// ---- random trees

std::string NameOf(int queue) { return queue < 0 ? "" : std::to_string(queue); }

oracle::QueueNumbers NumbersOf(const QueueShare& share, const QueueSums& sums) {
  oracle::QueueNumbers numbers;
  for (size_t i = 0; i < kQuotaResources; ++i) {
    numbers.deserved[i] = share[i].deserved;
    numbers.limit[i] = share[i].limit;
    numbers.fair_share[i] = share[i].fair_share;
  }
  numbers.allocated = sums.allocated;
  numbers.allocated_non_preemptible = sums.allocated_non_preemptible;
  return numbers;
}

// GPUs may have tenths, which doubles cannot add exactly.
QuotaCount RandomAmount(Random* random, int64_t most) {
  const auto amount = [&](int64_t parts) {
    return random->Coin()
               ? 0
               : static_cast<double>(random->Below(parts * most)) / static_cast<double>(parts);
  };
  const double cpu = amount(1);
  const double memory = amount(1);
  return {cpu, memory, amount(10)};
}

TEST(ReclaimRuleTest, AgreesWithTheSpecOnRandomTrees) {
  int accepted = 0, refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Random random(seed);
    const int size = static_cast<int>(random.Between(2, 14));
    std::map<std::string, std::string> parents;
    std::set<int> inner;
    std::map<std::string, oracle::QueueNumbers> numbers;
    QueueColumns queues;
    IndexVector<QueueId, QueueShare> share_column;
    std::vector<QueueSums> sums;
    IndexVector<QueueId, QueueSums> sum_column;
    for (int queue = 0; queue < size; ++queue) {
      const int parent = random.OneIn(3) ? -1 : static_cast<int>(random.Below(queue + 1)) - 1;
      parents[NameOf(queue)] = NameOf(parent);
      if (parent >= 0) inner.insert(parent);
      QueueShare share;
      for (Share& one : share) {
        const auto amount = [&](int64_t most) {
          return random.OneIn(6) ? kUnlimited : static_cast<double>(random.Below(most));
        };
        one = {.deserved = amount(4),
               .limit = random.Coin() ? kUnlimited : amount(8),
               .fair_share = amount(5)};
      }
      share_column.Add(share);
      sums.push_back({.allocated = RandomAmount(&random, 6) + RandomAmount(&random, 4),
                      .allocated_non_preemptible = RandomAmount(&random, 3)});
      sum_column.Add(sums.back());
      numbers[NameOf(queue)] = NumbersOf(share, sums.back());
      queues.name.Add(NameId());
      queues.parent.Add(QueueId(parent));
    }
    std::vector<int> leaves;
    for (int queue = 0; queue < size; ++queue) {
      if (!inner.contains(queue)) leaves.push_back(queue);
    }
    for (int search = 0; search < 4; ++search) {
      const int reclaimer = random.Pick(leaves);
      std::vector<int> victims;
      for (const int leaf : leaves) {
        if (leaf != reclaimer) victims.push_back(leaf);
      }
      const bool preemptible = !random.OneIn(3);
      const double multiplier = random.Coin() ? 1 : 1.5;
      ReclaimRule rule({queues, share_column, sum_column},
                       {.queue = QueueId(reclaimer), .preemptible = preemptible},
                       {.saturation_multiplier = multiplier});
      for (int scenario = 0; scenario < 8; ++scenario) {  // one rule tests many
        std::vector<QueueLoss> losses;
        std::vector<oracle::Chunk> chunks;
        for (int64_t i = victims.empty() ? 0 : random.Below(5); i > 0; --i) {
          const QuotaCount amount = RandomAmount(&random, 3);
          losses.push_back(
              {QueueId(random.Pick(victims)), amount, random.OneIn(3) ? 0 : amount[kQuotaGpu]});
          chunks.push_back({.queue = NameOf(losses.back().queue.value()),
                            .amount = amount,
                            .mig_gpus = amount[kQuotaGpu] - losses.back().whole_gpus});
        }
        const QuotaCount request = RandomAmount(&random, 3);
        const double whole = random.OneIn(3) ? 0 : request[kQuotaGpu];
        const bool expected = oracle::MayReclaim(numbers, parents,
                                                 {.queue = NameOf(reclaimer),
                                                  .preemptible = preemptible,
                                                  .request = request,
                                                  .mig_gpus = request[kQuotaGpu] - whole},
                                                 chunks, multiplier);
        ++(expected && !losses.empty() ? accepted : refused);
        ASSERT_EQ(rule.Accepts(losses, request, whole), expected)
            << "queue " << reclaimer << " in search " << search << ", scenario " << scenario;
      }
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace kai::reclaim_rule_test
