// What actions ask of pod groups before a cycle: which of them wait, and which may lose pods.
//
//   SortPodsOf(set, c_.pods_, w_.pod_rows, &c_.sub_groups_);
//   ListPodGroups(c_, &c_.pod_groups_);
//
// Invariants: each list goes by age, then name (spec 1 F60). Cost: O(pods + groups · log). Threads:
// one thread that writes the columns.
#ifndef KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_
#define KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_

#include <algorithm>
#include <span>

#include "kai/model/columns/cluster.h"
#include "kai/model/rows/rows.h"

namespace kai {

// In a list by age, then name: where the group stands, or would stand.
template <typename List>
auto PlaceByAge(PodGroupId group, List& list, const PodGroupColumns& groups) {
  const auto rank = [&](PodGroupId each) { return groups.creation_rank[each]; };
  return std::ranges::lower_bound(list, rank(group), {}, rank);
}

// Fills `lists`, `may_run` and `elastic_state` of the cluster's pod groups.
void ListPodGroups(const Cluster& cluster, PodGroupColumns* groups);

// The same for some of them, which have pods that came, went or changed: takes them off their lists
// and puts those that are there on those where they belong now.
void RelistPodGroups(const Cluster& cluster, std::span<const PodGroupId> changed,
                     PodGroupColumns* groups);

// Puts the pods of a pod set in order of age, then UID, and notes what some pod orders go by.
// `rows`: by PodId.
void SortPodsOf(SubGroupId pod_set, const PodColumns& pods, std::span<const CompactPod* const> rows,
                SubGroupColumns* sets);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_
