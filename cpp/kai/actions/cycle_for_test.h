// What actions work with, put together as a cycle has it, and whole cycles of named actions: for
// tests.
//
//   EXPECT_THAT(RunActions("preempt", MakeCluster()...), PlanIs(Evicts("ns/low-0"), ...));
//
//   TestCycle cycle(MakeCluster()...);
//   cycle.mends.Set(Mend::kVictimShares, false);
//   VictimPool pool(cycle.view, cycle.Groups({"ns/a", "ns/b"}));
#ifndef KAI_ACTIONS_CYCLE_FOR_TEST_H_
#define KAI_ACTIONS_CYCLE_FOR_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/victim.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/session/config.h"
#include "kai/session/session.h"
#include "kai/testing/cluster_maker.h"
#include "kai/testing/matchers.h"

namespace kai {

// Without `mends.Set(...)` everything is mended; without budgets and a stopwatch nothing ends
// early.
struct TestCycle {
  explicit TestCycle(std::unique_ptr<Cluster> cluster, const RoomsOptions& options = {})
      : rooms(std::move(cluster), options), log(rooms.cluster()) {
    view = {.cluster = &rooms.cluster(),
            .now_ns = kTestNowNs,
            .statement = &rooms.statement(),
            .usage = &rooms.usage(),
            .order = &rooms.order(),
            .search = &rooms.search(),
            .placer = &rooms.placer(),
            .worklist = {},
            .generators = {ScenarioGenerator::kNodeLocalGreedy, ScenarioGenerator::kMultiNodeGang},
            .budgets = &budgets,
            .stopwatch = nullptr,
            .mends = &mends,
            .plain_search = false,
            .log = &log};
  }
  explicit TestCycle(const ClusterMaker& maker, const RoomsOptions& options = {})
      : TestCycle(maker.Build(), options) {}
  TestCycle(const TestCycle&) = delete;
  TestCycle& operator=(const TestCycle&) = delete;

  const Cluster& cluster() { return rooms.cluster(); }

  // In order of creation, however they are listed.
  std::vector<PodGroupId> Groups(const std::vector<std::string>& names) const {
    std::vector<PodGroupId> groups;
    for (const std::string& name : names) groups.push_back(rooms.Group(name));
    const auto& rank = view.cluster->pod_groups().creation_rank;
    std::sort(groups.begin(), groups.end(),
              [&](PodGroupId a, PodGroupId b) { return rank[a] < rank[b]; });
    return groups;
  }
  std::vector<Victim> Victims(const std::vector<std::string>& pods) const {
    std::vector<Victim> victims;
    for (const std::string& pod : pods)
      victims.push_back({.pod = rooms.Pod(pod), .node = view.cluster->pods().node[rooms.Pod(pod)]});
    return victims;
  }
  // "ns/a-0 ns/a-1"
  std::string Text(std::span<const PodId> pods) const {
    std::string text;
    for (const PodId pod : pods) text += (text.empty() ? "" : " ") + view.cluster->PodName(pod);
    return text;
  }
  std::string Text(std::span<const Victim> victims) const {
    std::vector<PodId> pods;
    for (const Victim& victim : victims) pods.push_back(victim.pod);
    return Text(pods);
  }

  Rooms rooms;
  Mends mends;
  SearchBudgets budgets;
  CycleLog log;
  CycleView view;
};

// A cycle of these actions, with KAI's default plugins. `config`: more of its members, each after a
// comma.
inline Plan RunActions(std::string_view actions, const ClusterMaker& maker,
                       std::string_view config = "", const Clock* stopwatch = nullptr) {
  const std::string json =
      R"({"actions": ")" + std::string(actions) + "\"" + std::string(config) + "}";
  absl::StatusOr<Config> parsed = Config::Parse(json, {});
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->warnings, std::vector<std::string>());
  absl::StatusOr<Plan> plan = Session(*std::move(parsed)).Run(maker.Build(), kTestNowNs, stopwatch);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

// One weakness of KAI's kept: for RunActions().
inline std::string AsKai(std::string_view mend) {
  return R"(, "compat": {")" + std::string(mend) + R"(": "kai"})";
}

// What the pods that a plan evicts are told, in order.
inline std::vector<std::string> EvictionMessages(const Plan& plan) {
  std::vector<std::string> messages;
  for (const CycleLog::Decision& decision : plan.decisions) {
    if (decision.kind == CycleLog::Decision::Kind::kEvict)
      messages.push_back(plan.MessageOf(decision));
  }
  return messages;
}

}  // namespace kai

#endif  // KAI_ACTIONS_CYCLE_FOR_TEST_H_
