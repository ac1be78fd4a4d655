// Victim: a pod that a scenario evicts.
#ifndef KAI_ACTIONS_VICTIM_H_
#define KAI_ACTIONS_VICTIM_H_

#include "kai/model/ids.h"

namespace kai {

struct Victim {
  PodId pod;
  NodeId node;  // it holds before the scenario
};

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_H_
