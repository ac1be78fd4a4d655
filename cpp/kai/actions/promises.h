// Places that earlier cycles have promised to pods, and that this one holds ready for them before
// it gives anything to others (decision 0020; KAI forgets them, spec 2 T8 and W20).
//
//   if (rules_.keeps_promises) KeepPromises(cycle, promised, &plan.kept_promises);
//
// A pod that waits gets its place: now, where that is idle, and else it is pipelined once more. A
// pod that has not left its old node yet is pipelined as well, so that its new place stays its own.
// Where the pod is gone, another one of its pod set that waits takes its place.
//
// Invariants: a place is held on its node or not at all; a gang is held whole or not at all; limits
// of queues hold. A place that cannot be held, or whose pod has started, is promised no longer; one
// that a pod is bound to is, until the pod has started. One whose pod has not come
// back, or whose group lacks pods, rests: nothing is held, and it counts again once they are there,
// until its time is over. Cost: a search of one node for each place. Threads: those of action.h.
#ifndef KAI_ACTIONS_PROMISES_H_
#define KAI_ACTIONS_PROMISES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kai/actions/action.h"

namespace kai {

struct PromisedPlace {
  PodGroupId group;
  SubGroupId pod_set;
  PodId pod;  // that it was promised to; invalid: it is not there
  NodeId node;
  int64_t ends_ns = 0;  // if it rests
};

// A place that is promised still.
struct KeptPlace {
  size_t place = 0;  // its number
  PodId pod;         // for which it is held; invalid: it rests
};

// Places of one group stand together. `kept` gets those that are promised still, in their order.
void KeepPromises(CycleView& cycle, std::span<const PromisedPlace> places,
                  std::vector<KeptPlace>* kept);

}  // namespace kai

#endif  // KAI_ACTIONS_PROMISES_H_
