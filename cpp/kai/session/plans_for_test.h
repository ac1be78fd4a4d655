// Plans over random clusters, and what they say, for tests of what must hold for every plan.
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

// First and one past the last. KAI_SEEDS=5000:20000 in the environment looks at other clusters than
// those of every day.
std::pair<uint64_t, uint64_t> Seeds(uint64_t usual);

Config ParseConfig(std::string_view json, bool as_kai = false);

Plan RunPlan(const Session& session, std::shared_ptr<Cluster> cluster,
             const Clock* stopwatch = nullptr, int64_t now_ns = kTestNowNs);

// Everything a plan decides and writes, and the queues' numbers, in one text.
std::string DecidedText(const Plan& plan);
// And what it says.
std::string TextOf(const Plan& plan);

// The first lines of two texts that differ; empty: the texts are the same.
std::string FirstDifference(const std::string& one, const std::string& other);

// As the plain scheduler says it.
std::vector<oracle::Decision> DecisionsOf(const Plan& plan);

namespace oracle {

Settings SettingsOf(const Config& config, int64_t now_ns = kTestNowNs);

}  // namespace oracle

}  // namespace kai

#endif  // KAI_SESSION_PLANS_FOR_TEST_H_
