// Victim: a pod that a scenario evicts.
//
//   for (const Victim& victim : scenario.victims)
//
// Invariant: `node` is the node of the pod before the scenario. Cost: two ids. Threads: a plain
// value.
#ifndef KAI_ACTIONS_VICTIM_H_
#define KAI_ACTIONS_VICTIM_H_

#include "kai/model/columns/ids.h"

namespace kai {

struct Victim {
  PodId pod;
  NodeId node;  // its node before the scenario
};

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_H_
