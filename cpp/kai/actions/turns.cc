#include "kai/actions/turns.h"

#include <algorithm>

namespace kai {

absl::flat_hash_set<GroupClassId> ChangedClasses(const CycleView& cycle) {
  const GroupClasses& classes = *cycle.classes;
  absl::flat_hash_set<GroupClassId> changed;
  GroupClassId last;  // changes of one class mostly come together
  for (const Change& change : cycle.statement->ChangesSince(0)) {
    const PodGroupId group = cycle.cluster->pods().group[change.pod];
    const GroupClassId id = group.valid() ? classes.ClassOf(group) : GroupClassId();
    if (!id.valid() || id == last || !classes.IsShared(id)) continue;
    changed.insert(id);
    last = id;
  }
  return changed;
}

WaitingRuns::WaitingRuns(const CycleView& cycle, PodGroupId apart) {
  const GroupClasses& classes = *cycle.classes;
  const IndexVector<PodGroupId, int64_t>& rank = cycle.cluster->pod_groups().creation_rank;
  const absl::flat_hash_set<GroupClassId> with_changed = ChangedClasses(cycle);
  const GroupClassId of_apart = apart.valid() ? classes.ClassOf(apart) : GroupClassId();
  for (const GroupClassId id : classes.classes()) {
    const std::span<const PodGroupId> groups = classes.GroupsOf(id);
    if (!classes.IsShared(id)) {
      for (const PodGroupId& group : groups) {
        if (group != apart) runs_.emplace_back(&group, 1);
      }
      continue;
    }
    if (id != of_apart && !with_changed.contains(id)) {
      runs_.push_back(groups);
      continue;
    }
    std::vector<PodGroupId>& alike = filtered_.emplace_back();
    for (const PodGroupId& group : groups) {
      if (group == apart) continue;
      if (!classes.HasChanged(group)) {
        alike.push_back(group);
      } else if (cycle.order->CountOf(group, PodStatus::kPending) > 0) {
        runs_.emplace_back(&group, 1);
      }
    }
    if (!alike.empty()) runs_.emplace_back(alike);
  }
  const auto age = [&](std::span<const PodGroupId> run) { return rank[run.front()]; };
  if (!std::ranges::is_sorted(runs_, {}, age)) std::ranges::sort(runs_, {}, age);
}

Turns::Turns(const CycleView& cycle, int64_t depth, Equals equals)
    : cycle_(cycle), equals_(equals), worklist_(*cycle.cluster, cycle.shares, cycle.order, [&] {
        Worklist::Options options = cycle.worklist;
        options.depth = depth;
        return options;
      }()) {}

GroupClassId Turns::ClassOf(PodGroupId group) const {
  const GroupClasses& classes = *cycle_.classes;
  const GroupClassId id = classes.ClassOf(group);
  if (!id.valid()) return id;
  const bool is_of_it = classes.IsShared(id)
                            ? !classes.HasChanged(group)
                            : equals_ == Equals::kPassOver && !changed_.contains(group);
  return is_of_it ? id : GroupClassId();
}

void Turns::NoteChanges() {
  if (changes_ == cycle_.statement->Mark()) return;
  if (equals_ == Equals::kPassOver) {
    for (const Change& change : cycle_.statement->ChangesSince(changes_)) {
      const PodGroupId group = cycle_.cluster->pods().group[change.pod];
      const GroupClassId id = group.valid() ? cycle_.classes->ClassOf(group) : GroupClassId();
      if (id.valid() && !cycle_.classes->IsShared(id)) changed_.insert(group);
    }
  }
  changes_ = cycle_.statement->Mark();
  failed_.clear();
  failing_runs_ = 0;
}

PodGroupId Turns::Next() {
  NoteChanges();
  while (!worklist_.empty() && failing_runs_ < runs_) {
    const PodGroupId group = worklist_.Pop();
    has_more_ = worklist_.has_more();
    runs_ -= has_more_ ? 0 : 1;
    in_hand_ = ClassOf(group);
    if (!in_hand_.valid() || !failed_.contains(in_hand_)) return group;
    failing_runs_ -= has_more_ || !cycle_.classes->IsShared(in_hand_) ? 0 : 1;
  }
  return PodGroupId();
}

void Turns::Fail() {
  KAI_DCHECK(changes_ == cycle_.statement->Mark());
  if (!in_hand_.valid()) return;
  failed_.insert(in_hand_);
  failing_runs_ += has_more_ ? 1 : 0;
}

}  // namespace kai
