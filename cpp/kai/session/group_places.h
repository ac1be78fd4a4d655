// GroupPlaces: where the waiting pods of a group could run if nothing else ran, what is free there
// after the plan, and what keeps them off the other nodes. Computed on request, for explanations.
//
//   PlacesOf(plan, account, config, groups);
//   for (const GroupPlaces::Waiting& each : group.classes)
//
// Invariants: it depends on plan and configuration alone. Cost: O(nodes + pods + decisions), and a
// survey of the nodes for each class of pods that waits. The account may be of earlier calls.
// Threads: a pure function of a plan that does not change.
#ifndef KAI_SESSION_GROUP_PLACES_H_
#define KAI_SESSION_GROUP_PLACES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kai/placement/standing.h"
#include "kai/session/config.h"
#include "kai/session/device_sum.h"
#include "kai/session/gpu_account.h"
#include "kai/session/group_story.h"
#include "kai/session/plan.h"

namespace kai {

// Pods of one class, whatever groups they belong to.
struct ClassPlaces {
  PodClassId pod_class;
  Standing standing;
  Amounts capacity;    // GPUs of possible nodes, and how many nodes have as many
  Amounts free;        // the same, after the cycle and promised to no pod
  double leaving = 0;  // GPUs of pods that leave, on possible nodes, promised to no pod
  // For how many of the pods the possible nodes have room if nothing else runs there: of no pod
  // more; and the resource that limits them.
  PodRoom most = {};
  // A pod affinity that it requires matches no pod on any node, and no pod of its own.
  bool lacks_partner = false;
};

struct GroupPlaces {
  struct Waiting {
    PodId first;       // by name
    int64_t pods = 0;  // of the class that wait after the plan
    std::shared_ptr<const ClassPlaces> places;
    std::vector<PodRefusal> refusals;  // of rules that refuse the first before any node is checked
  };
  std::vector<Waiting> classes;  // most pods first
};

std::vector<GroupPlaces> PlacesOf(const Plan& plan, const GpuAccount& account, const Config& config,
                                  std::span<const PodGroupId> groups);

}  // namespace kai

#endif  // KAI_SESSION_GROUP_PLACES_H_
