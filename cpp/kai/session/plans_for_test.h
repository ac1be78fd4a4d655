// Plans over random clusters, and what they say, for tests of what must hold for every plan.
//
//   const auto [first, end] = Seeds(300);
//   const Plan plan = RunPlan(Session(ParseConfig(json)), cluster);
//   EXPECT_EQ(TextOf(plan), TextOf(other));
#ifndef KAI_SESSION_PLANS_FOR_TEST_H_
#define KAI_SESSION_PLANS_FOR_TEST_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/cluster.h"
#include "kai/session/config.h"
#include "kai/session/session.h"
#include "kai/testing/cluster_maker.h"
#include "kai/testing/matchers.h"
#include "kai/testing/slow_evictions.h"

namespace kai {

// First and one past the last. KAI_SEEDS=5000:20000 in the environment looks at other clusters than
// those of every day.
inline std::pair<uint64_t, uint64_t> Seeds(uint64_t usual) {
  const char* text = std::getenv("KAI_SEEDS");
  if (text == nullptr) return {0, usual};
  char* end = nullptr;
  const uint64_t first = std::strtoull(text, &end, 10);
  return {first, *end == ':' ? std::strtoull(end + 1, nullptr, 10) : first + 1};
}

inline Config ParseConfig(std::string_view json, bool as_kai = false) {
  absl::StatusOr<Config> config = Config::Parse(json, {.as_kai = as_kai});
  EXPECT_TRUE(config.ok()) << config.status().message();
  return *std::move(config);
}

inline Plan RunPlan(const Session& session, std::shared_ptr<Cluster> cluster,
                    const Clock* stopwatch = nullptr, int64_t now_ns = kTestNowNs) {
  absl::StatusOr<Plan> plan = session.Run(std::move(cluster), now_ns, stopwatch);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

// Everything a plan decides, writes and says, in one text.
inline std::string TextOf(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  std::string text = DecisionsText(plan);
  for (const CycleLog::Decision& decision : plan.decisions) {
    StrAppend(&text, "\n", decision.action, " ", plan.MessageOf(decision));
    if (decision.for_group.valid()) StrAppend(&text, " ", cluster.PodGroupName(decision.for_group));
  }
  for (const PodGroupId group : plan.groups.ids()) {
    const GroupOutcome& outcome = plan.groups[group];
    StrAppend(&text, "\n", cluster.PodGroupName(group), ": ", VerdictName(outcome.verdict),
              outcome.writes_last_start ? " starts" : "",
              outcome.writes_last_eviction ? " evicted" : "",
              std::to_string(static_cast<int>(outcome.writes_stale_since)));
    for (const std::string& message : outcome.messages) StrAppend(&text, "\n  says ", message);
    for (const PlanReason& reason : plan.ReasonsOf(group)) {
      StrAppend(&text, "\n  ", reason.code, " ", reason.message, " ",
                reason.pod.valid() ? cluster.PodName(reason.pod) : "");
    }
  }
  for (const auto& [pod, message] : plan.pod_messages) {
    StrAppend(&text, "\n", cluster.PodName(pod), ": ", message);
  }
  for (const QueueId queue : plan.queues.ids()) {
    StrAppend(&text, "\n", cluster.Text(cluster.queues().name[queue]));
    for (const Share& share : plan.queues[queue]) {
      StrAppend(&text, " ", std::to_string(share.fair_share), "/", std::to_string(share.allocated),
                "/", std::to_string(share.request));
    }
  }
  for (const auto& [pod, claims] : plan.claims) {
    StrAppend(&text, "\n", cluster.PodName(pod), " gets");
    for (const ClaimBook::GivenClaim& claim : claims) {
      for (const auto& given : claim.allocation->devices)
        StrAppend(&text, " ", given.device.pool, "/", given.device.device);
    }
  }
  return text;
}

// As the plain scheduler says it.
inline std::vector<oracle::Decision> DecisionsOf(const Plan& plan) {
  using Kind = CycleLog::Decision::Kind;
  const Cluster& cluster = *plan.cluster;
  std::vector<oracle::Decision> decisions;
  for (const CycleLog::Decision& each : plan.decisions) {
    oracle::Decision decision{.pod = cluster.PodName(each.pod)};
    switch (each.kind) {
      case Kind::kBind:
        decision.kind = oracle::Decision::Kind::kBind;
        break;
      case Kind::kPipeline:
        decision.kind = oracle::Decision::Kind::kPipeline;
        break;
      case Kind::kEvict:
        decision.kind = oracle::Decision::Kind::kEvict;
        decision.action = each.action;
        if (each.for_group.valid()) decision.for_group = cluster.PodGroupName(each.for_group);
        break;
    }
    if (each.kind != Kind::kEvict)
      decision.node = std::string(cluster.Text(cluster.nodes().name[each.node]));
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

}  // namespace kai

#endif  // KAI_SESSION_PLANS_FOR_TEST_H_
