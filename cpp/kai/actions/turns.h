// Turns: chooses the pod group that an action tries next. If a group of a class has failed
// (group_classes.h), the others of the class are skipped as long as the cluster does not change.
//
//   for (const std::span<const PodGroupId> run : ReadyRuns(cycle)) {
//   Turns turns(cycle, depth_, Turns::Equals::kEach);
//   for (PodGroupId group = turns.Next(); group.valid(); group = turns.Next()) {
//
// Invariants: groups come in the order of the worklist, and each skipped group would have failed
// like the one before. Cost: that of the worklist, for one group of each class and for those that
// do not fail. Not thread-safe.
#ifndef KAI_ACTIONS_TURNS_H_
#define KAI_ACTIONS_TURNS_H_

#include <deque>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "kai/actions/action.h"
#include "kai/actions/worklist.h"
#include "kai/placement/group_classes.h"

namespace kai {

// Groups of shared classes that have changed in this cycle. Call it only outside of trials.
// Computed once until more changes.
const ChangedGroups& ChangedOfShared(const CycleView& cycle);

// The groups with waiting pods in the current state, as runs: groups of a shared class that still
// request the same form one run, in order; every other group is a run of its own. Sorted by the age
// of the first group, or by the positions in the job order. Valid as long as this object.
class WaitingRuns {
 public:
  // Up to this number of runs, it pays off to check after each success whether any can still gain
  // something.
  static constexpr size_t kFew = 64;

  // Leaves out `apart`; of a cycle for one group alone, all others.
  explicit WaitingRuns(const CycleView& cycle, PodGroupId apart = PodGroupId());
  const std::vector<std::span<const PodGroupId>>& runs() const { return runs_; }

 private:
  std::vector<std::span<const PodGroupId>> runs_;
  // Adds `groups` without `others`; both are in order.
  void AddWithout(std::span<const PodGroupId> groups, std::span<const PodGroupId> others,
                  const IndexVector<PodGroupId, int64_t>& rank);
  void KeepOnly(PodGroupId group);

  std::deque<std::vector<PodGroupId>> filtered_;  // runs with a group left out in the middle
};

// The current runs of groups that are candidates (candidates.h) and may run. Valid until the next
// change, and computed once until then.
const std::vector<std::span<const PodGroupId>>& ReadyRuns(const CycleView& cycle);

class Turns {
 public:
  // For groups of a class that is not shared. kEach: each is tried, to find its reasons.
  enum class Equals : uint8_t { kEach, kPassOver };

  // `depth`: the most pod groups per leaf queue; -1: all.
  Turns(const CycleView& cycle, int64_t depth, Equals equals);

  // A list of WaitingRuns.
  void Push(std::span<const PodGroupId> run) {
    worklist_.Push(run);
    ++runs_;
  }
  // For a group that can use more pods.
  void Push(PodGroupId group) { Push(std::span(&group, 1)); }

  // Invalid: no group is left, or each would fail like one before.
  PodGroupId Next();
  // The last group from Next() failed, and so would others of its class in the current state.
  void Fail();
  // None of the remaining groups can get anything: Next() returns them in any order.
  void ForgetOrder() { worklist_.ForgetOrder(); }

 private:
  // Invalid: the group has a request of its own.
  GroupClassId ClassOf(PodGroupId group) const;
  void NoteChanges();

  const CycleView& cycle_;
  Equals equals_;
  Worklist worklist_;
  int64_t runs_ = 0;          // in the worklist
  int64_t failing_runs_ = 0;  // of these, of shared classes that fail now
  Statement::Checkpoint changes_ = 0;
  absl::flat_hash_set<PodGroupId> changed_;   // by these changes, of classes that are not shared
  absl::flat_hash_set<GroupClassId> failed_;  // with this number of changes
  GroupClassId in_hand_;                      // class of the group that Next() gave last
  bool has_more_ = false;                     // other groups of its run are in the worklist
};

}  // namespace kai

#endif  // KAI_ACTIONS_TURNS_H_
