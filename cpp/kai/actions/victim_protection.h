// VictimProtection: minimum run times for the evicting actions (spec 1 F102-F106).
//
//   const VictimsByGroup by_group(cycle, scenario);
//   !IsElastic(cycle, loss.group) || ...
//   KeepsMinimum(cycle, loss)
//
// Invariants: groups are in the order of their first victims, and their victims in that of the
// scenario. Cost: O(victims), and O(pods of a group) for its minimum. Threads: many readers, while
// no statement changes the cluster.
#ifndef KAI_ACTIONS_VICTIM_PROTECTION_H_
#define KAI_ACTIONS_VICTIM_PROTECTION_H_

#include <span>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/scenario.h"
#include "kai/fairshare/min_runtime.h"

namespace kai {

// True: some pod set has more pods, of any status, than it needs (spec 2 G10).
bool IsElastic(const CycleView& cycle, PodGroupId group);

// True: a minimum run time that began then has ended.
inline bool HasRunFor(const CycleView& cycle, int64_t started_ns, int64_t runtime_ns) {
  const int64_t end_ns = MinRuntime::EndOf(started_ns, runtime_ns);
  return cycle.time->HasCome(cycle.time->EndOf(end_ns, runtime_ns), WakeReason::kMinRuntime);
}

// True: the group may not lose pods yet; `runtime_ns` is the minimum run time from its queues.
inline bool IsProtected(const CycleView& cycle, PodGroupId group, int64_t runtime_ns) {
  const int64_t started_ns = cycle.log->Has(group, CycleLog::kStarted)
                                 ? cycle.time->now_ns()
                                 : cycle.cluster->pod_groups().last_start_ns[group];
  return !HasRunFor(cycle, started_ns, runtime_ns);
}

// False: no group of the queue that may lose pods is protected, unless it started in this cycle.
inline bool AnyIsProtected(const CycleView& cycle, QueueId queue, int64_t runtime_ns) {
  const int64_t started_ns = cycle.lists().bounds_in[queue].latest_start_ns;
  return !HasRunFor(cycle, started_ns, runtime_ns);
}

// The victims of a scenario by pod group, in the order of each group's first victim; pods of one
// group keep their order.
struct GroupVictims {
  PodGroupId group;
  std::span<const Victim> victims;
};
class VictimsByGroup {
 public:
  VictimsByGroup(const CycleView& cycle, const Scenario& scenario);
  const std::vector<GroupVictims>& groups() const { return groups_; }

 private:
  std::vector<Victim> victims_;
  std::vector<GroupVictims> groups_;
};

// spec 1 F106: a protected elastic group keeps its minimum.
bool KeepsMinimum(const CycleView& cycle, const GroupVictims& loss);

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_PROTECTION_H_
