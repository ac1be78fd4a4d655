// Turns: which pod group an action tries next. Where one of a class has failed (group_classes.h),
// the others of it are passed over for as long as the cluster does not change.
//
//   for (const std::span<const PodGroupId> run : ReadyRuns(cycle)) {
//   Turns turns(cycle, depth_, Turns::Equals::kEach);
//   for (PodGroupId group = turns.Next(); group.valid(); group = turns.Next()) {
//
// Invariants: groups come in the order of the worklist, and each that is passed over would have
// failed like the one before. Cost: that of the worklist, for one group of each class and for those
// that do not fail. Not thread-safe.
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

// Groups of shared classes that have changed in this cycle, while nothing is tried out. Found once,
// until more change.
const ChangedGroups& ChangedOfShared(const CycleView& cycle);

// Groups with pods that wait, as the cycle stands: those of a shared class that still ask for the
// same together, in order, the others each by itself. By the age of the first; good as long as this
// object is. With a job order: by their places in it.
class WaitingRuns {
 public:
  // Of so few it is worth asking after each success whether any can still gain something.
  static constexpr size_t kFew = 64;

  // Without `apart`.
  explicit WaitingRuns(const CycleView& cycle, PodGroupId apart = PodGroupId());
  const std::vector<std::span<const PodGroupId>>& runs() const { return runs_; }

 private:
  std::vector<std::span<const PodGroupId>> runs_;
  // `groups` without those of `others`, which are in order as well.
  void AddWithout(std::span<const PodGroupId> groups, std::span<const PodGroupId> others,
                  const IndexVector<PodGroupId, int64_t>& rank);

  std::deque<std::vector<PodGroupId>> filtered_;  // where those that are left out stand in between
};

// Of these as the cycle stands, those of groups that are candidates (candidates.h) and may run:
// good until something has changed, and found once until then.
const std::vector<std::span<const PodGroupId>>& ReadyRuns(const CycleView& cycle);

class Turns {
 public:
  // Groups of a class that is not shared: to be told why they fail, each has to be tried.
  enum class Equals : uint8_t { kEach, kPassOver };

  // `depth`: pod groups looked at per leaf queue, -1 for all.
  Turns(const CycleView& cycle, int64_t depth, Equals equals);

  // A list of WaitingRuns.
  void Push(std::span<const PodGroupId> run) {
    worklist_.Push(run);
    ++runs_;
  }
  // It wants more.
  void Push(PodGroupId group) { Push(std::span(&group, 1)); }

  // Invalid: none is left, or each would fail like one before.
  PodGroupId Next();
  // What Next() gave last fails as the cluster stands, and so would others of its class.
  void Fail();
  // None of those that are left can get anything: Next() gives them in any order.
  void ForgetOrder() { worklist_.ForgetOrder(); }

 private:
  // Invalid: the group asks for something of its own.
  GroupClassId ClassOf(PodGroupId group) const;
  void NoteChanges();

  const CycleView& cycle_;
  Equals equals_;
  Worklist worklist_;
  int64_t runs_ = 0;          // in the worklist
  int64_t failing_runs_ = 0;  // of these, of shared classes that fail as the cluster stands
  Statement::Checkpoint changes_ = 0;
  absl::flat_hash_set<PodGroupId> changed_;   // by these, of classes that are not shared
  absl::flat_hash_set<GroupClassId> failed_;  // with so many changes
  GroupClassId in_hand_;                      // class of the group that Next() gave last
  bool has_more_ = false;                     // and others of it are in the worklist
};

}  // namespace kai

#endif  // KAI_ACTIONS_TURNS_H_
