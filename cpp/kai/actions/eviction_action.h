// EvictionAction: what consolidation, reclaim and preempt have in common (spec 2 R1). They differ
// in which groups they work for, which pods may be victims, and which scenarios are acceptable.
//
//   class Consolidation final : public EvictionAction {
//
// Invariants: a group gets its victims' places whole, or the cluster stays as it was; decisions to
// evict stand in the log before the promise that they serve. Cost: a search for victims
// (victim_search.h) for each waiting group, less those that one like them speaks for
// (failed_groups.h). Threads: those of action.h.
#ifndef KAI_ACTIONS_EVICTION_ACTION_H_
#define KAI_ACTIONS_EVICTION_ACTION_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/candidates.h"
#include "kai/actions/turns.h"
#include "kai/actions/victim_search.h"

namespace kai {

class EvictionAction : public Action {
 public:
  void Run(CycleView& cycle) final;

 protected:
  // `name` lives as long as the program.
  EvictionAction(std::string_view name, EvictionNote note, int64_t depth)
      : name_(name), note_(note), depth_(depth) {}

  // Nothing to do in this cycle, whatever waits.
  virtual bool IsOff(const CycleView&) const { return false; }
  virtual bool OnlyForPreemptible() const { return false; }
  // Reclaim: may this group take from others at all? Others are passed over without a trace.
  virtual bool MayStart(CycleView&, PodGroupId) { return true; }
  // Whether any group on the lists may lose pods for this one at all. Lists stand through a cycle.
  virtual bool MayFindVictims(const CycleView& cycle, PodGroupId) const {
    return !cycle.lists().may_lose.empty();
  }
  // A search for the group cannot succeed.
  virtual bool IsHopeless(CycleView&, PodGroupId) { return false; }
  // One failed group can speak for another only if they are in one queue (spec 2 R1).
  virtual bool RemembersPerQueue() const { return true; }
  // A group that has lost pods before counts as one that a scenario takes from (decision 0008).
  virtual bool LooksAtWholeGroups() const { return true; }
  // Of the cluster as it stands; null: Accepts() also takes scenarios in which a victim finds no
  // place again.
  virtual ReturnBounds* Returns(CycleView&) { return nullptr; }
  // Groups that may lose pods for this one, in order of creation; none where it is certain that
  // nothing can come of it.
  virtual std::vector<PodGroupId> CandidatesFor(CycleView& cycle, PodGroupId group) = 0;
  // Asked while the scenario stands (spec 2 V13).
  virtual bool Accepts(CycleView& cycle, PodGroupId group, const Scenario& scenario,
                       const QuotaCount& request) = 0;
  // Adds to a decision to evict what its note needs besides.
  virtual void Annotate(CycleView&, CycleLog::Decision*) {}

  // Preemptible groups of a leaf queue, or of all, with a pod that holds or is promised a node; in
  // order of creation.
  static std::vector<PodGroupId> MayLoseIn(const CycleView& cycle, QueueId queue);
  static std::vector<PodGroupId> MayLose(const CycleView& cycle);
  // Takes groups without pods that are alive off the list (spec 2 R2, R4). Where a pod is a victim
  // once, what may lose pods has some; in KAI one evicted twice counts as two that are gone.
  static void EraseWithoutAlive(const CycleView& cycle, std::vector<PodGroupId>* groups);

  // If no group can lose anything, every pod that has to move must find a place again, and what
  // the group's first pod needs must be free already, somewhere. False: it is not.
  static bool FirstPodFitsWhatIsFree(const CycleView& cycle, PodGroupId group);

 private:
  std::vector<std::span<const PodGroupId>> WorthTrying(CycleView& cycle) const;
  // The group would fail, as the cluster stands.
  bool CannotGain(CycleView& cycle, PodGroupId group);
  // And so would all that are left of these.
  bool NoneCanGain(CycleView& cycle, std::span<const std::span<const PodGroupId>> runs);
  bool MayEvictNow(CycleView& cycle, PodGroupId group) const;
  bool CanNeverRun(CycleView& cycle, PodGroupId group) const;
  void Commit(CycleView& cycle, PodGroupId group, Statement::Checkpoint start);

  std::string_view name_;
  EvictionNote note_;
  int64_t depth_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_EVICTION_ACTION_H_
