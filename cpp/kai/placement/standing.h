// Standing: what keeps a class of pods off nodes however few pods run there. No cycle changes that,
// and no pod that ends: only a change of nodes, of the pods' requests, or of volumes and claims.
//
//   StandingOf(cluster.pods().pod_class[rooms->Pod(pod)], &rooms->search().plans());
//   for (const NodeId node : standing.possible)    // would take such a pod if they were empty
//   for (const Standing::Obstacles& each : standing.obstacles)    // why others would not
//
// All rules are checked, whatever the one before has answered, so a node has all its obstacles.
// Invariants: rows that a node shares with others are one; it depends on no pod. Cost: a check per
// rule and class of nodes, a comparison of amounts per node. Threads: one, because plans are made.
#ifndef KAI_PLACEMENT_STANDING_H_
#define KAI_PLACEMENT_STANDING_H_

#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/model/reasons/refusal.h"
#include "kai/placement/class_plans.h"

namespace kai {

struct Standing {
  // Nodes with the same obstacles. A shortage, and too little GPU memory, is what an empty node
  // lacks.
  struct Obstacles {
    std::vector<NodeId> nodes;  // ascending
    std::vector<Refusal> refusals;
    std::vector<NamedRefusal> named;
    // Of kNodeAffinityMismatch: what the node lacks of the node selector; if that is met, of the
    // affinity term that it is nearest to.
    std::vector<Requirement> unmet;
    std::vector<InternedTaint> taints;  // those that are not tolerated
  };

  std::vector<NodeId> possible;      // ascending
  std::vector<Obstacles> obstacles;  // most nodes first
};

Standing StandingOf(PodClassId pod_class, ClassPlans* plans);

}  // namespace kai

#endif  // KAI_PLACEMENT_STANDING_H_
