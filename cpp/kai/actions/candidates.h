// Which pod groups an action considers at all (spec 2 O1).
#ifndef KAI_ACTIONS_CANDIDATES_H_
#define KAI_ACTIONS_CANDIDATES_H_

#include <span>
#include <vector>

#include "kai/model/statement.h"
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

// Two lists that go by age, then name, in one.
std::vector<PodGroupId> MergeByCreation(const Cluster& cluster, std::span<const PodGroupId> a,
                                        std::span<const PodGroupId> b);

// Of whom the end of a cycle may have something to say: the notable groups, and those that the
// statement has touched. By age, then name.
std::vector<PodGroupId> NotableOrChanged(const Statement& statement);

}  // namespace kai

#endif  // KAI_ACTIONS_CANDIDATES_H_
