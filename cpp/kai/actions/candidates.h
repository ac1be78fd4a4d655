// Decides which pod groups an action considers (spec 2 O1).
//
//   IsCandidate(cluster, *cycle_.order, group, {.ready = !includes_blocked})
//   MayFindRoom(cycle_, group, cycle_.order->PodsToPlace(group), cycle_.room)
//
// Invariants: a group without a leaf queue is never a candidate; a group without MayFindRoom()
// cannot be placed in the current state. Cost: O(1) to O(pods of the group); MayFindRoom() that of
// RoomCount::MayHold(). Threads: many readers, while no statement changes the cluster;
// MayFindRoom() writes to `room`.
#ifndef KAI_ACTIONS_CANDIDATES_H_
#define KAI_ACTIONS_CANDIDATES_H_

#include <span>
#include <vector>

#include "kai/actions/action.h"
#include "kai/model/changes/statement.h"
#include "kai/placement/pod_order.h"
#include "kai/placement/room_count.h"

namespace kai {

struct CandidateFilter {
  bool ready = true;    // enough pods exist (spec 2 G7)
  bool pending = true;  // some pod waits
  bool preemptible = false;
  bool active = false;  // some pod holds a node or a promised one
};

// Every candidate also needs an existing leaf queue (spec 1 F8, F10).
bool IsCandidate(const Cluster& cluster, const PodOrder& order, PodGroupId group,
                 const CandidateFilter& filter);

// The time from which the group may evict other pods (spec 2 D1). `last_eviction_ns`: its own last
// eviction. INT64_MIN: it always may.
int64_t EndOfPreemptionDelay(const Cluster& cluster, PodGroupId group, int64_t last_eviction_ns);

// False: it is proved that the group cannot be placed, in any order of groups: the nodes cannot
// hold `pods`, the next pods of the group, or a limit of its queues forbids them, and the group
// cannot start with other pods.
bool MayFindRoom(const CycleView& cycle, PodGroupId group, std::span<const PodId> pods,
                 RoomCount* room);

// Merges two lists that are sorted by age, then name.
std::vector<PodGroupId> MergeByCreation(const Cluster& cluster, std::span<const PodGroupId> a,
                                        std::span<const PodGroupId> b);

// Groups that may have a message of their own at the end of a cycle: the notable groups outside of
// shared classes, and those that the statement has changed. By age, then name.
std::vector<PodGroupId> SinglesAndChanged(const CycleView& cycle);

}  // namespace kai

#endif  // KAI_ACTIONS_CANDIDATES_H_
