// Pods that share GPUs, for random clusters: some that run on devices of nodes, some that wait.
// Drawn after everything else and from a seed of its own, so that the rest of a cluster stays what
// it is, but for waiting pods that now ask for parts of GPUs.
#ifndef KAI_TESTING_MAKERS_RANDOM_SHARERS_H_
#define KAI_TESTING_MAKERS_RANDOM_SHARERS_H_

#include <cstdint>

#include "kai/testing/makers/cluster_maker.h"

namespace kai {

struct RandomSharersOptions {
  // Parts are quarters of every device, so that sums of them are exact. If not they are anything,
  // and all pod groups wait in one unlimited queue, so that no order depends on the last bit.
  bool quarters = true;
  bool memory = true;           // gpu-memory beside gpu-fraction
  bool several_devices = true;  // of one pod
  bool leaving = true;
  bool bind_requests = true;
  bool reservations = true;     // pods that reserve devices for sharers
  bool unknown_devices = true;  // of pods that run
  int max_running_groups = 4;   // that begin on a node
  int max_waiting_groups = 3;   // beside those that there are
};

// No device is given to pods beyond what it has.
void AddRandomSharers(uint64_t seed, const RandomSharersOptions& options, ClusterRows* rows);

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_RANDOM_SHARERS_H_
