// The obstacles of nodes as names and values, as in texts/reason_facts.h.
//
//   ToPython(FactsOf(each, waiting.first, cluster_))
//   // nodes: 2, first: "n1", causes: [{cause: "node_affinity", unmet: [{label: "zone", ...}]}]
//
// Invariants: equal input gives equal facts. Cost: a vector of the facts; O(nodes) for each label
// that nodes lack. Threads: pure functions of a cluster that does not change.
#ifndef KAI_SESSION_PLACES_FACTS_H_
#define KAI_SESSION_PLACES_FACTS_H_

#include "kai/placement/standing.h"
#include "kai/texts/reason_facts.h"

namespace kai {

// `pod`: one of the class that was surveyed.
Facts FactsOf(const Standing::Obstacles& obstacles, PodId pod, const Cluster& cluster);

}  // namespace kai

#endif  // KAI_SESSION_PLACES_FACTS_H_
