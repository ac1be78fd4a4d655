#include "kai/actions/cycle_for_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kai/session/config.h"
#include "kai/session/session.h"

namespace kai {

TestCycle::TestCycle(std::unique_ptr<Cluster> cluster, const RoomsOptions& options)
    : rooms(std::move(cluster), options),
      room(rooms.cluster(), &rooms.search().plans(), &rooms.search().touched()),
      classes(rooms.order(), GroupClasses::Sharing::kYes),
      log(rooms.cluster()) {
  view = {.cluster = &rooms.cluster(),
          .time = &time,
          .statement = &rooms.statement(),
          .shares = &rooms.shares(),
          .order = &rooms.order(),
          .classes = &classes,
          .search = &rooms.search(),
          .room = &room,
          .placer = &rooms.placer(),
          .worklist = {},
          .generators = {ScenarioGenerator::kNodeLocalGreedy, ScenarioGenerator::kMultiNodeGang},
          .budgets = &budgets,
          .stopwatch = nullptr,
          .switches = &switches,
          .plain_search = false,
          .alone = {},
          .log = &log};
}

TestCycle::TestCycle(const ClusterMaker& maker, const RoomsOptions& options)
    : TestCycle(maker.Build(), options) {}

TestCycle::~TestCycle() = default;

std::vector<PodGroupId> TestCycle::Groups(const std::vector<std::string>& names) const {
  std::vector<PodGroupId> groups;
  for (const std::string& name : names) groups.push_back(rooms.Group(name));
  const auto& rank = view.cluster->pod_groups().creation_rank;
  std::sort(groups.begin(), groups.end(),
            [&](PodGroupId a, PodGroupId b) { return rank[a] < rank[b]; });
  return groups;
}

std::vector<Victim> TestCycle::Victims(const std::vector<std::string>& pods) const {
  std::vector<Victim> victims;
  for (const std::string& pod : pods)
    victims.push_back({.pod = rooms.Pod(pod), .node = view.cluster->pods().node[rooms.Pod(pod)]});
  return victims;
}

std::string TestCycle::Text(std::span<const PodId> pods) const {
  std::string text;
  for (const PodId pod : pods) text += (text.empty() ? "" : " ") + view.cluster->PodName(pod);
  return text;
}

std::string TestCycle::Text(std::span<const Victim> victims) const {
  std::vector<PodId> pods;
  for (const Victim& victim : victims) pods.push_back(victim.pod);
  return Text(pods);
}

Plan RunActions(std::string_view actions, const ClusterMaker& maker, std::string_view config,
                const Clock* stopwatch) {
  const std::string json =
      R"({"actions": ")" + std::string(actions) + "\"" + std::string(config) + "}";
  absl::StatusOr<Config> parsed = Config::Parse(json, {});
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  // Some tests leave plugins out on purpose.
  EXPECT_THAT(parsed->WarningTexts(), testing::Each(testing::EndsWith("are not checked")));
  absl::StatusOr<Plan> plan = Session(*std::move(parsed)).Run(maker.Build(), kTestNowNs, stopwatch);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

std::string AsKai(std::string_view name) {
  return R"(, "compat": {")" + std::string(name) + R"(": "kai"})";
}

std::vector<std::string> EvictionMessages(const Plan& plan) {
  std::vector<std::string> messages;
  for (const CycleLog::Decision& decision : plan.decisions) {
    if (decision.kind == CycleLog::Decision::Kind::kEvict)
      messages.push_back(MessageOf(plan, decision));
  }
  return messages;
}

}  // namespace kai
