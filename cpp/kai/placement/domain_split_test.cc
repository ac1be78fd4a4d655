#include "kai/placement/domain_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kai/testing/makers/random_cluster.h"

namespace kai::domain_split_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

using Pods = std::vector<int64_t>;

// The split by domain, with no placed pods.
std::optional<Pods> Split(int64_t pods, const Pods& rooms, int64_t least = 1, int64_t most = 0,
                          bool balanced = false) {
  const Pods standing(rooms.size());
  return SplitPods({.pods = pods,
                    .rooms = rooms,
                    .standing = standing,
                    .least = least,
                    .most = most,
                    .balanced = balanced});
}

TEST(SplitPods, UsesFewDomains) {
  EXPECT_THAT(Split(10, {8, 4, 5}), Optional(ElementsAre(8, 2, 0)));
  EXPECT_THAT(Split(8, {3, 4, 1}), Optional(ElementsAre(3, 4, 1)));
}

TEST(SplitPods, FillsBalancesOrSpreadsAsRequested) {
  const Pods rooms = {8, 4, 5}, standing = {0, 0, 0};
  EXPECT_THAT(SplitPods({.pods = 10, .rooms = rooms, .standing = standing}),
              Optional(ElementsAre(8, 2, 0)));
  EXPECT_THAT(SplitPods({.pods = 10, .rooms = rooms, .standing = standing, .balanced = true}),
              Optional(ElementsAre(5, 0, 5)));
  EXPECT_THAT(SplitPods({.pods = 3, .rooms = rooms, .standing = standing, .least = 2}),
              Optional(ElementsAre(0, 2, 1)));
}

TEST(SplitPods, UsesTheTightestDomainThatHoldsAll) {
  EXPECT_THAT(Split(3, {8, 4, 3}), Optional(ElementsAre(0, 0, 3)));
}

TEST(SplitPods, KeepsToTheMinimumAndTheMaximumOfDomains) {
  EXPECT_THAT(Split(3, {8, 4, 5}, 2), Optional(ElementsAre(0, 2, 1)));
  EXPECT_THAT(Split(10, {4, 4, 4}, 1, 2), Eq(std::nullopt));
  EXPECT_THAT(Split(2, {4, 4, 4}, 3), Eq(std::nullopt)) << "more domains than pods";
}

TEST(SplitPods, EachDomainOfTheMinimumGetsAtLeastOnePod) {
  EXPECT_THAT(Split(4, {8, 4, 3}, 3), Optional(ElementsAre(2, 1, 1)));
}

TEST(SplitPods, BalancesOverTheFewestDomainsThatCanBeEven) {
  EXPECT_THAT(Split(10, {8, 4, 5}, 1, 0, true), Optional(ElementsAre(5, 0, 5)));
  EXPECT_THAT(Split(7, {8, 4, 5}, 3, 3, true), Optional(ElementsAre(3, 2, 2)));
  EXPECT_THAT(Split(6, {6, 1}, 2, 2, true), Optional(ElementsAre(5, 1)))
      << "as even as the room allows";
}

TEST(SplitPods, ContinuesWithTheRunningPods) {
  const Pods rooms = {1, 4, 9}, standing = {2, 0, 0};
  SplitQuestion question{.pods = 3, .rooms = rooms, .standing = standing};
  EXPECT_THAT(SplitPods(question), Optional(ElementsAre(1, 2, 0)));
  question.balanced = true;
  question.least = 2;
  EXPECT_THAT(SplitPods(question), Optional(ElementsAre(1, 0, 2)));
}

// Tries all numbers per domain that the question allows.
bool CanBeSplit(const SplitQuestion& question, size_t at, int64_t left, int64_t used) {
  if (at == question.rooms.size()) {
    return left == 0 && used >= std::max<int64_t>(question.least, 1) &&
           (question.most == 0 || used <= question.most);
  }
  for (int64_t here = 0; here <= std::min(left, question.rooms[at]); ++here) {
    const bool uses = here > 0 || question.standing[at] > 0;
    if (CanBeSplit(question, at + 1, left - here, used + (uses ? 1 : 0))) return true;
  }
  return false;
}

TEST(SplitPods, FindsASplitIfOneExists) {
  for (uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const size_t domains = static_cast<size_t>(random.Between(1, 4));
    Pods rooms, standing;
    for (size_t i = 0; i < domains; ++i) {
      rooms.push_back(random.Between(0, 4));
      standing.push_back(random.OneIn(4) ? random.Between(1, 2) : 0);
    }
    const SplitQuestion question{.pods = random.Between(1, 8),
                                 .rooms = rooms,
                                 .standing = standing,
                                 .least = random.Between(1, 3),
                                 .most = random.Coin() ? random.Between(1, 4) : 0,
                                 .balanced = random.Coin()};
    const std::optional<Pods> split = SplitPods(question);
    ASSERT_EQ(split.has_value(), CanBeSplit(question, 0, question.pods, 0));
    if (!split) continue;
    EXPECT_EQ(std::accumulate(split->begin(), split->end(), int64_t{0}), question.pods);
    int64_t used = 0;
    for (size_t i = 0; i < domains; ++i) {
      EXPECT_LE((*split)[i], rooms[i]);
      used += (*split)[i] > 0 || standing[i] > 0 ? 1 : 0;
    }
    EXPECT_GE(used, question.least);
    if (question.most > 0) {
      EXPECT_LE(used, question.most);
    }
  }
}

}  // namespace
}  // namespace kai::domain_split_test
