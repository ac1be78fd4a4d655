// EvictionAction: the common part of consolidation, reclaim and preempt (spec 2 R1). They differ in
// the groups that they work for, the pods that may be victims, and the scenarios that they accept.
//
//   class Consolidation final : public EvictionAction {
//
// Invariants: a group gets all that it needs, or the cluster stays as it was; in the log, evictions
// come before the promise that needs them. Cost: a search for victims (victim_search.h) for each
// waiting group, except groups that are skipped because an identical one failed (failed_groups.h).
// Threads: those of action.h.
#ifndef KAI_ACTIONS_EVICTION_ACTION_H_
#define KAI_ACTIONS_EVICTION_ACTION_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/candidates.h"
#include "kai/actions/turns.h"
#include "kai/actions/victim_lists.h"
#include "kai/actions/victim_search.h"

namespace kai {

class EvictionAction : public Action {
 public:
  void Run(CycleView& cycle) final;

 protected:
  // `name` must be a static text.
  EvictionAction(std::string_view name, EvictionNote note, int64_t depth)
      : name_(name), note_(note), depth_(depth) {}

  // True: the action does nothing in this cycle.
  virtual bool IsOff(const CycleView&) const { return false; }
  virtual bool OnlyForPreemptible() const { return false; }
  // Reclaim: whether this group may evict others at all. If not, it is skipped without a trace.
  virtual bool MayStart(CycleView&, PodGroupId) { return true; }
  // Whether any group on the lists may lose pods for this one. The lists do not change in a cycle.
  virtual bool MayFindVictims(const CycleView& cycle, PodGroupId) const {
    return !cycle.lists().may_lose.empty();
  }
  // True: a search for the group cannot succeed.
  virtual bool CannotSucceed(CycleView&, PodGroupId) { return false; }
  // True: other groups are skipped after an identical one failed only in the same queue (spec 2
  // R1).
  virtual bool SharesFailuresPerQueue() const { return true; }
  // True: a group that has lost pods before counts as a victim of the scenario (decision 0008).
  virtual bool LooksAtWholeGroups() const { return true; }
  // The bounds for the current state; null: Accepts() also accepts scenarios in which a victim
  // finds no new place.
  virtual ReturnBounds* Returns(CycleView&) { return nullptr; }
  // Groups that may lose pods for this one, in order of creation; empty if a search certainly
  // fails.
  virtual Candidates CandidatesFor(CycleView& cycle, PodGroupId group, VictimLists* lists) = 0;
  // Called while the changes of the scenario are in place (spec 2 V13).
  virtual bool Accepts(CycleView& cycle, PodGroupId group, const Scenario& scenario,
                       const QuotaCount& request) = 0;
  // Adds the data that the note of an eviction needs.
  virtual void Annotate(CycleView&, CycleLog::Decision*) {}

  // Removes groups without alive pods from the list (spec 2 R2, R4). With single victims, every
  // group that may lose pods has such pods; in KAI a pod that is evicted twice counts as two
  // missing ones.
  static void EraseWithoutAlive(const CycleView& cycle, std::vector<PodGroupId>* groups);

  // For actions in which no group may lose anything: every moved pod must find a new place, so the
  // resources for the group's first pod must already be free somewhere. False: they are not.
  static bool FirstPodFitsWhatIsFree(const CycleView& cycle, PodGroupId group);

 private:
  std::vector<std::span<const PodGroupId>> WorthTrying(CycleView& cycle) const;
  // True: whatever is evicted, the group starts no pods now.
  bool CannotStart(CycleView& cycle, PodGroupId group);
  // True: the group would fail in the current state.
  bool CannotGain(CycleView& cycle, PodGroupId group);
  // True: so would all remaining groups of these runs.
  bool NoneCanGain(CycleView& cycle, std::span<const std::span<const PodGroupId>> runs);
  bool MayEvictNow(CycleView& cycle, PodGroupId group) const;
  bool IsHeldOff(CycleView& cycle, PodGroupId group) const;
  // Adds the groups of the run that may evict now, as runs.
  void AddWhereMayEvict(CycleView& cycle, std::span<const PodGroupId> run,
                        std::vector<std::span<const PodGroupId>>* runs) const;
  bool CanNeverRun(CycleView& cycle, PodGroupId group) const;
  void Commit(CycleView& cycle, PodGroupId group, Statement::Checkpoint start);

  std::string_view name_;
  EvictionNote note_;
  int64_t depth_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_EVICTION_ACTION_H_
