// Plans of random clusters and their texts, for property tests.
//
//   ForSeeds(300, [&](uint64_t seed) { EXPECT_TRUE(IsSound(MakeRandomCluster(seed))); });
//   const Plan plan = RunPlan(Session(ParseConfig(json)), cluster);
//   EXPECT_EQ(TextOf(plan), TextOf(other));
#ifndef KAI_SESSION_PLANS_FOR_TEST_H_
#define KAI_SESSION_PLANS_FOR_TEST_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kai/model/columns/cluster.h"
#include "kai/session/config.h"
#include "kai/session/session.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/matchers/matchers.h"
#include "kai/testing/oracle/slow_evictions.h"

namespace kai {

// First seed and one past the last. KAI_SEEDS=5000:20000 in the environment uses other clusters
// than the daily tests.
std::pair<uint64_t, uint64_t> Seeds(uint64_t usual);
// Calls check(seed) for each of these seeds, until a check fails. With KAI_SEEDS_ALL in the
// environment, for all seeds.
template <typename Check>
void ForSeeds(uint64_t usual, const Check& check) {
  const auto [first, end] = Seeds(usual);
  for (uint64_t seed = first; seed < end; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    check(seed);
    if (testing::Test::HasFailure() && std::getenv("KAI_SEEDS_ALL") == nullptr) return;
  }
}

Config ParseConfig(std::string_view json, bool as_kai = false);

Plan RunPlan(const Session& session, std::shared_ptr<Cluster> cluster,
             const Clock* stopwatch = nullptr, int64_t now_ns = kTestNowNs);

// All decisions and writes of a plan, and the queues' numbers, as one text.
std::string DecidedText(const Plan& plan);
// The same with outcomes and their messages.
std::string TextOf(const Plan& plan);

// The first lines in which two texts differ; empty if they are equal.
std::string FirstDifference(const std::string& one, const std::string& other);

// The decisions in the plain scheduler's format.
std::vector<oracle::Decision> DecisionsOf(const Plan& plan);

namespace oracle {

Settings SettingsOf(const Config& config, int64_t now_ns = kTestNowNs);

}  // namespace oracle

}  // namespace kai

#endif  // KAI_SESSION_PLANS_FOR_TEST_H_
