#include "kai/placement/group_classes.h"

#include <algorithm>
#include <limits>

#include "kai/base/heap_bytes.h"
#include "kai/model/building/pod_group_lists.h"

namespace kai {
namespace {

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

}  // namespace

GroupClasses::GroupClasses(const PodOrder& order, Sharing sharing)
    : cluster_(order.cluster()),
      order_(order),
      sharing_(sharing),
      class_of_(cluster_.pod_groups().size()) {
  const PodGroupLists& lists = cluster_.pod_groups().lists;
  for (const PodGroupId group : lists.waiting) Add(group);
  for (const PodGroupId group : lists.notable) {
    const GroupClassId id = ClassOf(group);
    if (!id.valid() || !classes_[id].is_shared) singles_.push_back(group);
  }
}

std::span<const GroupClassId> GroupClasses::classes() const {
  if (!is_by_age_) {
    by_age_.clear();
    for (const GroupClassId id : classes_.ids()) {
      if (!classes_[id].groups.empty()) by_age_.push_back(id);
    }
    const auto age = [&](GroupClassId id) {
      return cluster_.pod_groups().creation_rank[classes_[id].groups.front()];
    };
    if (!std::ranges::is_sorted(by_age_, {}, age)) std::ranges::sort(by_age_, {}, age);
    is_by_age_ = true;
  }
  return by_age_;
}

bool GroupClasses::MayShare(PodGroupId group) const {
  const PodGroupColumns& groups = cluster_.pod_groups();
  const SubGroupColumns& sets = cluster_.sub_groups();
  const std::span<const SubGroupId> pod_sets = groups.PodSetsOf(group);
  if (pod_sets.size() != 1 || !groups.queue[group].valid() || !groups.misfits[group].empty() ||
      groups.stale_since_ns[group] != kNoTime || groups.preemption_delay_ns[group] > 0)
    return false;
  for (SubGroupId set = pod_sets.front(); set.valid(); set = sets.parent[set]) {
    if (sets.topology[set].valid()) return false;
  }
  // The pods must be in the cluster's order: only then do the pods of two groups correspond by
  // position.
  const std::span<const PodId> pods = order_.PodsOf(pod_sets.front());
  if (pods.data() != sets.PodsOf(pod_sets.front()).data()) return false;
  return std::ranges::all_of(pods, [&](PodId pod) {
    const PodStatus status = cluster_.pods().status[pod];
    // Claims belong to single pods.
    if (cluster_.ClassOf(pod).claims.valid()) return false;
    return (status == PodStatus::kPending || status == PodStatus::kGated) &&
           !cluster_.pods().node[pod].valid();
  });
}

std::span<const int64_t> GroupClasses::QuestionOf(PodGroupId group, bool is_shared) {
  const PodGroupColumns& groups = cluster_.pod_groups();
  question_.clear();
  question_.push_back(is_shared ? 1 : 0);
  question_.push_back(groups.queue[group].value());
  question_.push_back(groups.priority[group]);
  question_.push_back(groups.preemptible[group]);
  AddToQuestion(groups.root[group]);
  return question_;
}

void GroupClasses::AddToQuestion(SubGroupId set) {
  const SubGroupColumns& sets = cluster_.sub_groups();
  const PodColumns& pods = cluster_.pods();
  question_.push_back(-1);
  question_.push_back(order_.MinimumOf(set));
  question_.push_back(sets.minimum_given[set]);
  question_.push_back(sets.topology[set].value());
  question_.push_back(sets.name[set].value());
  if (sets.is_pod_set[set] != 0) {
    for (const PodId pod : order_.PodsOf(set)) {
      question_.push_back(pods.pod_class[pod].value());
      question_.push_back(static_cast<int64_t>(pods.status[pod]));
      question_.push_back(pods.node[pod].value());
    }
  } else {
    for (const SubGroupId child : sets.ChildrenOf(set)) AddToQuestion(child);
  }
  question_.push_back(-2);
}

void GroupClasses::Add(PodGroupId group) {
  is_by_age_ = false;
  const auto make = [&] {
    if (free_.empty()) return classes_.Add({});
    const GroupClassId id = free_.back();
    free_.pop_back();
    return id;
  };
  GroupClassId id;
  if (sharing_ == Sharing::kNo) {
    id = make();
  } else {
    const bool is_shared = MayShare(group);
    const std::span<const int64_t> question = QuestionOf(group, is_shared);
    if (!last_.valid() || !std::ranges::equal(question, *classes_[last_].question)) {
      auto known = by_question_.find(question);
      if (known == by_question_.end()) {
        known = by_question_.emplace(Question(question.begin(), question.end()), make()).first;
        classes_[known->second].is_shared = is_shared;
        classes_[known->second].question = &known->first;
      }
      last_ = known->second;
    }
    id = last_;
  }
  class_of_[group] = id;
  Insert(group, &classes_[id].groups);
}

void GroupClasses::Remove(PodGroupId group) {
  const GroupClassId id = class_of_[group];
  if (!id.valid()) return;
  is_by_age_ = false;
  Class& its = classes_[id];
  Erase(group, &its.groups);
  if (its.groups.empty()) {
    if (its.question != nullptr) by_question_.erase(by_question_.find(*its.question));
    its = {};
    free_.push_back(id);
    if (last_ == id) last_ = GroupClassId();
  }
  class_of_[group] = GroupClassId();
}

void GroupClasses::Look(const absl::flat_hash_set<PodGroupId>& groups) {
  class_of_.Resize(cluster_.pod_groups().size());
  // Remove all groups first, because the remaining ones may have new ranks.
  for (const PodGroupId group : groups) {
    Remove(group);
    Erase(group, &singles_);
  }
  const PodGroupLists& lists = cluster_.pod_groups().lists;
  for (const PodGroupId group : groups) {
    if (IsListed(group, lists.waiting)) Add(group);
    const GroupClassId id = ClassOf(group);
    if (IsListed(group, lists.notable) && (!id.valid() || !classes_[id].is_shared))
      Insert(group, &singles_);
  }
}

void GroupClasses::Insert(PodGroupId group, std::vector<PodGroupId>* list) const {
  const PodGroupColumns& groups = cluster_.pod_groups();
  const bool is_last =
      list->empty() || groups.creation_rank[list->back()] < groups.creation_rank[group];
  list->insert(is_last ? list->end() : PlaceByAge(group, *list, groups), group);
}

void GroupClasses::Erase(PodGroupId group, std::vector<PodGroupId>* list) const {
  auto at = PlaceByAge(group, *list, cluster_.pod_groups());
  // A removed group may have an old rank.
  if (at == list->end() || *at != group) at = std::ranges::find(*list, group);
  if (at != list->end()) list->erase(at);
}

bool GroupClasses::IsListed(PodGroupId group, const std::vector<PodGroupId>& list) const {
  const auto at = PlaceByAge(group, list, cluster_.pod_groups());
  return at != list.end() && *at == group;
}

size_t GroupClasses::HeapBytes() const {
  return HeapBytesOfAll(classes_, free_, by_question_, question_, class_of_, singles_, by_age_);
}

}  // namespace kai
