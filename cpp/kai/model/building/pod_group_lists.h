// Lists of pod groups for actions: groups that wait, and groups that may lose pods.
//
//   SortPodsOf(set, c_.pods_, w_.pod_rows, &c_.sub_groups_);
//   ListPodGroups(c_, &c_.pod_groups_);
//
// Invariants: each list is sorted by age, then name (spec 1 F60). Cost: O(pods + groups · log).
// Threads: one thread that writes the columns.
#ifndef KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_
#define KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_

#include <algorithm>
#include <span>

#include "kai/model/columns/cluster.h"
#include "kai/model/rows/rows.h"

namespace kai {

// The position of the group in a list by age, then name, or the position to insert it.
template <typename List>
auto PlaceByAge(PodGroupId group, List& list, const PodGroupColumns& groups) {
  const auto rank = [&](PodGroupId each) { return groups.creation_rank[each]; };
  return std::ranges::lower_bound(list, rank(group), {}, rank);
}

// Fills `lists`, `may_run`, `has_bare` and `elastic_state` of the cluster's pod groups.
void ListPodGroups(const Cluster& cluster, PodGroupColumns* groups);

// Updates the lists for some groups after their pods were added, removed or changed: removes the
// groups from their lists and adds the existing ones to the right lists.
void RelistPodGroups(const Cluster& cluster, std::span<const PodGroupId> changed,
                     PodGroupColumns* groups);

// Sorts the pods of a pod set by age, then UID, and notes the labels that some pod orders use.
// `rows`: by PodId.
void SortPodsOf(SubGroupId pod_set, const PodColumns& pods, std::span<const CompactPod* const> rows,
                SubGroupColumns* sets);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_
