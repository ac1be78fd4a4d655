#include "kai/actions/turns.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "kai/actions/candidates.h"

namespace kai {

const ChangedGroups& ChangedOfShared(const CycleView& cycle) {
  const GroupClasses& classes = *cycle.classes;
  ChangedGroups& changed = cycle.log->changed;
  if (cycle.log->changed_at == cycle.statement->Mark()) return changed;
  cycle.log->changed_at = cycle.statement->Mark();
  changed.clear();
  GroupClassId last_class;  // changes of one class, and of one group, are usually adjacent
  PodGroupId last;
  std::vector<PodGroupId>* its = nullptr;
  for (const Change& change : cycle.statement->ChangesSince(0)) {
    const PodGroupId group = cycle.cluster->pods().group[change.pod];
    if (!group.valid() || group == last) continue;
    last = group;
    const GroupClassId id = classes.ClassOf(group);
    if (!id.valid() || !classes.IsShared(id) || !classes.HasChanged(group)) continue;
    if (its == nullptr || id != last_class) its = &changed[id];
    last_class = id;
    its->push_back(group);
  }
  const IndexVector<PodGroupId, int64_t>& rank = cycle.Places();
  const auto age = [&](PodGroupId group) { return rank[group]; };
  for (auto& [id, groups] : changed) {
    if (!std::ranges::is_sorted(groups, {}, age)) std::ranges::sort(groups, {}, age);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  }
  return changed;
}

void WaitingRuns::AddWithout(std::span<const PodGroupId> groups, std::span<const PodGroupId> others,
                             const IndexVector<PodGroupId, int64_t>& rank) {
  while (!others.empty() && groups.front() == others.front()) {
    groups = groups.subspan(1);
    others = others.subspan(1);
  }
  while (!others.empty() && groups.back() == others.back()) {
    groups = groups.first(groups.size() - 1);
    others = others.first(others.size() - 1);
  }
  if (groups.empty()) return;
  if (others.empty()) {
    runs_.push_back(groups);
    return;
  }
  std::vector<PodGroupId>& rest = filtered_.emplace_back();
  rest.reserve(groups.size() - others.size());
  std::ranges::set_difference(
      groups, others, std::back_inserter(rest), {}, [&](PodGroupId group) { return rank[group]; },
      [&](PodGroupId group) { return rank[group]; });
  runs_.emplace_back(rest);
}

WaitingRuns::WaitingRuns(const CycleView& cycle, PodGroupId apart) {
  const GroupClasses& classes = *cycle.classes;
  const IndexVector<PodGroupId, int64_t>& rank = cycle.Places();
  const ChangedGroups& changed = ChangedOfShared(cycle);
  const GroupClassId of_apart = apart.valid() ? classes.ClassOf(apart) : GroupClassId();
  const auto age_of = [&](PodGroupId group) { return rank[group]; };
  std::vector<PodGroupId> with_apart;
  for (const GroupClassId id : classes.classes()) {
    if (!classes.IsShared(id)) {
      for (const PodGroupId& group : classes.GroupsOf(id)) {
        if (group != apart) runs_.emplace_back(&group, 1);
      }
      continue;
    }
    const std::span<const PodGroupId> groups = cycle.GroupsOf(id);
    const auto changed_here = changed.find(id);
    if (id != of_apart && changed_here == changed.end()) {
      runs_.push_back(groups);
      continue;
    }
    std::span<const PodGroupId> others;
    if (changed_here != changed.end()) others = changed_here->second;
    for (const PodGroupId group : others) {
      if (group == apart || cycle.order->CountOf(group, PodStatus::kPending) == 0) continue;
      const auto at = std::ranges::lower_bound(groups, rank[group], {}, age_of);
      runs_.emplace_back(&*at, 1);
    }
    if (id == of_apart && !classes.HasChanged(apart)) {
      with_apart.assign(others.begin(), others.end());
      with_apart.insert(std::ranges::upper_bound(with_apart, rank[apart], {}, age_of), apart);
      others = with_apart;
    }
    AddWithout(groups, others, rank);
  }
  const auto age = [&](std::span<const PodGroupId> run) {
    return cycle.cluster->pod_groups().creation_rank[run.front()];
  };
  if (cycle.alone.valid()) KeepOnly(cycle.alone);
  if (!std::ranges::is_sorted(runs_, {}, age)) std::ranges::sort(runs_, {}, age);
}

void WaitingRuns::KeepOnly(PodGroupId group) {
  std::vector<std::span<const PodGroupId>> kept;
  for (const std::span<const PodGroupId> run : runs_) {
    const auto found = std::ranges::find(run, group);
    if (found != run.end()) kept.emplace_back(found, 1);
  }
  runs_ = std::move(kept);
}

const std::vector<std::span<const PodGroupId>>& ReadyRuns(const CycleView& cycle) {
  CycleLog& log = *cycle.log;
  if (log.ready_at == cycle.statement->Mark()) return log.ready;
  log.ready_at = cycle.statement->Mark();
  log.ready.clear();
  log.waiting = std::make_shared<const WaitingRuns>(cycle);
  for (const std::span<const PodGroupId> run : log.waiting->runs()) {
    if (cycle.MayRun(run.front()) && IsCandidate(*cycle.cluster, *cycle.order, run.front(), {}))
      log.ready.push_back(run);
  }
  return log.ready;
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
    // Lists of several groups belong to a shared class.
    if (has_more_) {
      worklist_.PassOverAlike();
      has_more_ = worklist_.has_more();
      runs_ -= has_more_ ? 0 : 1;
    }
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
