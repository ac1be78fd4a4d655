// All objects that actions work with, connected as in a cycle, and whole cycles with given actions:
// for tests.
//
//   EXPECT_THAT(RunActions("preempt", MakeCluster()...), PlanIs(Evicts("ns/low-0"), ...));
//
//   TestCycle cycle(MakeCluster()...);
//   cycle.switches.Set(Switch::kVictimShares, false);
//   VictimPool pool(cycle.view, Candidates(candidates));
#ifndef KAI_ACTIONS_CYCLE_FOR_TEST_H_
#define KAI_ACTIONS_CYCLE_FOR_TEST_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/victim.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/session/plan.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/matchers/matchers.h"

namespace kai {

// By default all switches are on; without budgets and a stopwatch no search ends early.
struct TestCycle {
  explicit TestCycle(std::unique_ptr<Cluster> cluster, const RoomsOptions& options = {});
  explicit TestCycle(const ClusterMaker& maker, const RoomsOptions& options = {});
  TestCycle(const TestCycle&) = delete;
  TestCycle& operator=(const TestCycle&) = delete;
  ~TestCycle();

  const Cluster& cluster() { return rooms.cluster(); }

  // In order of creation, for any order of `names`.
  std::vector<PodGroupId> Groups(const std::vector<std::string>& names) const;
  std::vector<Victim> Victims(const std::vector<std::string>& pods) const;
  // "ns/a-0 ns/a-1"
  std::string Text(std::span<const PodId> pods) const;
  std::string Text(std::span<const Victim> victims) const;

  Rooms rooms;
  RoomCount room;
  GroupClasses classes;
  CycleTime time{kTestNowNs};
  Switches switches;
  SearchBudgets budgets;
  CycleLog log;
  CycleView view;
};

// Runs a cycle with these actions and KAI's default plugins. `config`: more members of the
// configuration, each after a comma.
Plan RunActions(std::string_view actions, const ClusterMaker& maker, std::string_view config = "",
                const Clock* stopwatch = nullptr);

// The configuration of one switch as in KAI, for RunActions().
std::string AsKai(std::string_view name);

// The messages of a plan's evictions, in order.
std::vector<std::string> EvictionMessages(const Plan& plan);

}  // namespace kai

#endif  // KAI_ACTIONS_CYCLE_FOR_TEST_H_
