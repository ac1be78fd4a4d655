// Which pod groups an action considers at all (spec 2 O1).
#ifndef KAI_ACTIONS_CANDIDATES_H_
#define KAI_ACTIONS_CANDIDATES_H_

#include <vector>

#include "kai/placement/pod_order.h"

namespace kai {

struct CandidateFilter {
  bool ready = true;    // enough pods have arrived (spec 2 G7)
  bool pending = true;  // some pod waits
  bool preemptible = false;
  bool active = false;         // some pod holds or is promised a node
  bool may_evict_now = false;  // not inside its preemption delay (spec 2 D2)
};

// Also asked of every candidate: its queue exists and is a leaf (spec 1 F8, F10).
bool IsCandidate(const Cluster& cluster, const PodOrder& order, PodGroupId group,
                 const CandidateFilter& filter, int64_t now_ns);

// spec 2 D1
bool InPreemptionDelay(const Cluster& cluster, PodGroupId group, int64_t now_ns);

// All pod groups, oldest first, then by name: the order in which worklists are filled (spec 1 F60).
std::vector<PodGroupId> InCreationOrder(const Cluster& cluster);

}  // namespace kai

#endif  // KAI_ACTIONS_CANDIDATES_H_
