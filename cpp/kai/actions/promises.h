// Holds places that earlier cycles have promised to pods, before this cycle gives anything to other
// pods (decision 0020; KAI does not keep promises, spec 2 T8 and W20).
//
//   if (rules_.keeps_promises) KeepPromises(cycle, promised.places, &plan.kept_promises);
//
// A waiting pod gets its place: now, if it is idle, otherwise it is pipelined again. A pod that has
// not left its old node yet is pipelined as well, so that it keeps its new place. If the pod is
// gone, another waiting pod of its pod set takes its place.
//
// Invariants: a place is held on its node or not at all; a gang is held completely or not at all;
// limits of queues apply. A promise ends if its place cannot be held or its pod has started; while
// a pod is being bound to it, it continues until the pod has started. If its pod has not come back,
// or its group lacks pods, the promise rests: nothing is held, and it continues when the pods
// exist, until its time is over. Cost: a search of one node for each place. Threads: those of
// action.h.
#ifndef KAI_ACTIONS_PROMISES_H_
#define KAI_ACTIONS_PROMISES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/unkept_promises.h"

namespace kai {

struct PromisedPlace {
  PodGroupId group;
  SubGroupId pod_set;
  PodId pod;  // the pod that it was promised to; invalid: it does not exist
  NodeId node;
  int64_t ends_ns = 0;  // when a resting promise ends, by its time stamp
  // The devices that it shares: positions in the list of the node, or numbers below zero for
  // devices that are not listed, each of them with its own number.
  GpuList gpus = {};
};

// What earlier cycles have promised.
struct Promised {
  std::span<const PromisedPlace> places;
  std::span<const UnkeptPromise> unkept = {};
};

// A place that is still promised.
struct KeptPlace {
  size_t place = 0;  // its index
  PodId pod;         // the pod that it is held for; invalid: it rests
};

// The places of one group must be adjacent. `kept` gets the places that are still promised, in
// their order; cycle.unkept gets the groups whose promises end unkept.
void KeepPromises(CycleView& cycle, std::span<const PromisedPlace> places,
                  std::vector<KeptPlace>* kept);

}  // namespace kai

#endif  // KAI_ACTIONS_PROMISES_H_
