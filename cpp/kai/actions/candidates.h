// Which pod groups an action considers at all (spec 2 O1).
//
//   IsCandidate(cluster, *cycle_.order, group, {.ready = !lets_all_speak})
//   HasHope(cycle_, group, cycle_.order->PodsToPlace(group), cycle_.room)
//
// Invariants: a group without a leaf queue is never a candidate; a group without hope cannot be
// placed as the cluster stands. Cost: O(1) to O(pods of the group); HasHope() that of
// RoomCount::MayHold(). Threads: many readers, while no statement changes the cluster; HasHope()
// writes to `room`.
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
  bool ready = true;    // enough pods have arrived (spec 2 G7)
  bool pending = true;  // some pod waits
  bool preemptible = false;
  bool active = false;  // some pod holds or is promised a node
};

// Also asked of every candidate: its queue exists and is a leaf (spec 1 F8, F10).
bool IsCandidate(const Cluster& cluster, const PodOrder& order, PodGroupId group,
                 const CandidateFilter& filter);

// The moment from which the group may evict others (spec 2 D1). `last_eviction_ns`: when it was a
// victim itself. INT64_MIN: it always may.
int64_t EndOfPreemptionDelay(const Cluster& cluster, PodGroupId group, int64_t last_eviction_ns);

// Nothing proves that a group cannot be placed, whichever goes first: nodes may hold these, the
// pods it wants next, and no limit of its queues is in the way; or it can start with others.
bool HasHope(const CycleView& cycle, PodGroupId group, std::span<const PodId> pods,
             RoomCount* room);

// Two lists that go by age, then name, in one.
std::vector<PodGroupId> MergeByCreation(const Cluster& cluster, std::span<const PodGroupId> a,
                                        std::span<const PodGroupId> b);

// Groups of which there may be something of their own to say at the end of a cycle: the notable
// ones of no shared class, and those that the statement has touched. By age, then name.
std::vector<PodGroupId> LonersAndChanged(const CycleView& cycle);

}  // namespace kai

#endif  // KAI_ACTIONS_CANDIDATES_H_
