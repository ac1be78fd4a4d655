// What actions ask of pod groups before a cycle: which of them wait, and which may lose pods.
//
//   SortPodsOf(set, c_.pods_, &c_.sub_groups_);
//   ListPodGroups(c_, &c_.pod_groups_);
//
// Invariants: each list goes by age, then name (spec 1 F60). Cost: O(pods + groups · log). Threads:
// one thread that writes the columns.
#ifndef KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_
#define KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_

#include "kai/model/columns/cluster.h"

namespace kai {

// Fills `lists`, `may_run`, `elastic_state` and `victim_rank` of the cluster's pod groups.
void ListPodGroups(const Cluster& cluster, PodGroupColumns* groups);

// Puts the pods of a pod set in order of age, then UID, and notes what some pod orders go by.
void SortPodsOf(SubGroupId pod_set, const PodColumns& pods, SubGroupColumns* sets);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_GROUP_LISTS_H_
