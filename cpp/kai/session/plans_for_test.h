// Plans of random clusters and their texts, for property tests.
//
//   const auto [first, end] = Seeds(300);
//   const Plan plan = RunPlan(Session(ParseConfig(json)), cluster);
//   EXPECT_EQ(TextOf(plan), TextOf(other));
#ifndef KAI_SESSION_PLANS_FOR_TEST_H_
#define KAI_SESSION_PLANS_FOR_TEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/session/config.h"
#include "kai/session/session.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/matchers/matchers.h"
#include "kai/testing/oracle/slow_evictions.h"

namespace kai {

// First seed and one past the last. KAI_SEEDS=5000:20000 in the environment uses other clusters
// than the daily tests.
std::pair<uint64_t, uint64_t> Seeds(uint64_t usual);

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
