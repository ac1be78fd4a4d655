// BestDomain: the rack, zone or other domain that comes nearest to holding a group whose pods must
// run in one, and what keeps its pods off nodes there. Computed on request, for explanations.
//
//   BestDomainOf(plan, groups[i], places[i], after)
//
// Invariants: it depends on plan and configuration alone. Cost: O(nodes of the topology). Threads:
// a pure function of a plan that does not change.
#ifndef KAI_SESSION_BEST_DOMAIN_H_
#define KAI_SESSION_BEST_DOMAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kai/session/group_places.h"
#include "kai/session/holdings.h"
#include "kai/session/plan.h"

namespace kai {

struct BestDomain {
  NameId level = {};
  std::string name = {};           // label values from the top level down
  int64_t domains = 0;             // of this level
  int64_t room = 0;                // for how many of its pods it has room after the plan
  int64_t most = 0;                // the same if nothing ran there, on all its nodes
  std::vector<NodeId> nodes = {};  // those that could take its pods
  std::vector<Standing::Obstacles> obstacles = {};  // of its other nodes
  // Resources that nodes have too little of for one pod, each node once, with the first of these
  // nodes.
  struct Lack {
    ResourceSlot slot;
    int64_t nodes = 0;
    NodeId first;
  };
  std::vector<Lack> lacks = {};
};

// Empty if the group needs no level as a whole, some of its pods have nodes, or its waiting pods
// are of several classes.
std::optional<BestDomain> BestDomainOf(const Plan& plan, PodGroupId group,
                                       const GroupPlaces& places, const FreeAmounts& after);

// Whether the group needs one domain of a level as a whole.
bool NeedsOneDomain(const Plan& plan, PodGroupId group);

}  // namespace kai

#endif  // KAI_SESSION_BEST_DOMAIN_H_
