// GroupClasses: waiting pod groups, grouped by their requests. All groups of one class need the
// same from the cluster: if one fails and the cluster does not change, the others fail as well.
//
//   const GroupClasses classes(rooms.order(), Sharing::kYes);
//   for (const PodGroupId group : classes.GroupsOf(id))     // of ns/a: ns/a and ns/b
//
// Ten thousand waiting groups usually have few kinds of requests. If groups have a single pod set,
// all their pods wait, and nothing else concerns them, their class is shared: a cycle tries one
// group and uses its result for all.
//
// Invariants: classes describe groups as they are between cycles; a group that has changed in this
// cycle has another request (HasChanged()). Cost: made in O(pods of waiting groups); Look() is
// O(pods of the groups). Threads: many readers.
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
  // kNo: each group has a class of its own; for comparison, and where a failed attempt leaves
  // traces.
  enum class Sharing : uint8_t { kNo, kYes };

  // `order` must live longer than this object.
  GroupClasses(const PodOrder& order, Sharing sharing);

  // The classes with groups, sorted by their first group; the groups of a class, by age, then name.
  std::span<const GroupClassId> classes() const;
  std::span<const PodGroupId> GroupsOf(GroupClassId id) const { return classes_[id].groups; }
  // Invalid: the group does not wait.
  GroupClassId ClassOf(PodGroupId group) const { return class_of_[group]; }
  // True: the result of one group holds for all groups of the class.
  bool IsShared(GroupClassId id) const { return classes_[id].is_shared; }
  // For a group of a shared class. True: some of its pods were placed in this cycle.
  bool HasChanged(PodGroupId group) const {
    const PodGroupColumns& groups = cluster_.pod_groups();
    return cluster_.sub_groups().counts[groups.PodSetsOf(group).front()].active_used() > 0;
  }
  // Notable groups outside of shared classes, by age, then name: they have messages of their own.
  std::span<const PodGroupId> singles() const { return singles_; }

  // Between cycles: for groups that were added or removed, or with pods that were added, removed or
  // changed.
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
    const Question* question = nullptr;  // null: the class has one group only
    std::vector<PodGroupId> groups;
  };

  bool MayShare(PodGroupId group) const;
  // Valid until the next call.
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
  GroupClassId last_;  // of the last added group: the next one is often the same
  Question question_;  // scratch
  IndexVector<PodGroupId, GroupClassId> class_of_;
  std::vector<PodGroupId> singles_;
  // The last result of classes(), while it is valid.
  mutable std::vector<GroupClassId> by_age_;
  mutable bool is_by_age_ = false;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_GROUP_CLASSES_H_
