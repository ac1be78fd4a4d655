// GroupClasses: pod groups that wait, by what they ask for. Groups of one class ask the same
// question of the cluster: as long as it does not change, one of them fails where another has.
//
//   const GroupClasses classes(rooms.order(), Sharing::kYes);
//   for (const PodGroupId group : classes.GroupsOf(id))     // of ns/a: ns/a and ns/b
//
// Of ten thousand groups that wait there are mostly few kinds. Where groups have a single pod set,
// all pods of it wait, and nothing else is the matter with them, their class is shared: a cycle
// asks one of them, and what is said of it is said of all.
//
// Invariants: classes speak of groups as the cluster has them between cycles; a group that has
// changed in this cycle asks for something else (HasChanged()). Cost: made in O(pods of groups that
// wait); Look() is O(pods of the groups). Threads: many readers.
#ifndef KAI_PLACEMENT_GROUP_CLASSES_H_
#define KAI_PLACEMENT_GROUP_CLASSES_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/pod_order.h"

namespace kai {

using GroupClassId = Id<struct GroupClassTag>;

class GroupClasses {
 public:
  // kNo: each group has a class of its own, for comparison and where a failed attempt leaves
  // traces.
  enum class Sharing : uint8_t { kNo, kYes };

  // `order` has to outlive it.
  GroupClasses(const PodOrder& order, Sharing sharing);

  // Classes with groups, by their first one; a class's groups, by age, then name.
  std::span<const GroupClassId> classes() const;
  std::span<const PodGroupId> GroupsOf(GroupClassId id) const { return classes_[id].groups; }
  // Invalid: the group does not wait.
  GroupClassId ClassOf(PodGroupId group) const { return class_of_[group]; }
  // What is said of one of its groups is said of all.
  bool IsShared(GroupClassId id) const { return classes_[id].is_shared; }
  // Of a shared class: pods of the group were placed in this cycle.
  bool HasChanged(PodGroupId group) const {
    const PodGroupColumns& groups = cluster_.pod_groups();
    return cluster_.sub_groups().counts[groups.PodSetsOf(group).front()].active_used() > 0;
  }
  // Notable groups of no shared class, by age, then name: there is something of their own to say.
  std::span<const PodGroupId> loners() const { return loners_; }

  // Between cycles: groups that are new or gone, or of which pods came, went or changed.
  void Look(const absl::flat_hash_set<PodGroupId>& groups);
  size_t HeapBytes() const;

 private:
  using Question = std::vector<int64_t>;
  struct QuestionHash {
    using is_transparent = void;
    size_t operator()(std::span<const int64_t> question) const {
      return absl::HashOf(absl::MakeConstSpan(question.data(), question.size()));
    }
  };
  struct SameQuestion {
    using is_transparent = void;
    bool operator()(std::span<const int64_t> a, std::span<const int64_t> b) const {
      return std::ranges::equal(a, b);
    }
  };
  struct Class {
    bool is_shared = false;
    const Question* question = nullptr;  // null: the group is alone
    std::vector<PodGroupId> groups;
  };

  bool MayShare(PodGroupId group) const;
  // Good until the next one.
  std::span<const int64_t> QuestionOf(PodGroupId group, bool is_shared);
  void AddToQuestion(SubGroupId set);
  void Add(PodGroupId group);
  void Remove(PodGroupId group);
  void Insert(PodGroupId group, std::vector<PodGroupId>* list) const;
  void Erase(PodGroupId group, std::vector<PodGroupId>* list) const;
  bool IsListed(PodGroupId group, const std::vector<PodGroupId>& list) const;

  const Cluster& cluster_;
  const PodOrder& order_;
  Sharing sharing_;
  IndexVector<GroupClassId, Class> classes_;
  std::vector<GroupClassId> free_;  // classes without groups
  absl::node_hash_map<Question, GroupClassId, QuestionHash, SameQuestion> by_question_;
  GroupClassId last_;  // of the last group that was added: the next one mostly asks the same
  Question question_;  // scratch
  IndexVector<PodGroupId, GroupClassId> class_of_;
  std::vector<PodGroupId> loners_;
  // What classes() gave last, while it holds.
  mutable std::vector<GroupClassId> by_age_;
  mutable bool is_by_age_ = false;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_GROUP_CLASSES_H_
