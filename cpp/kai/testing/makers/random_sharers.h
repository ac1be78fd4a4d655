// Adds pods that share GPUs to random clusters: running pods on shared devices, and waiting ones.
// They are drawn last and from a separate seed, so that the rest of a cluster does not change,
// except that some waiting pods now request parts of GPUs.
#ifndef KAI_TESTING_MAKERS_RANDOM_SHARERS_H_
#define KAI_TESTING_MAKERS_RANDOM_SHARERS_H_

#include <cstdint>

#include "kai/testing/makers/cluster_maker.h"

namespace kai {

struct RandomSharersOptions {
  // True: parts are quarters of a device, so that sums are exact. False: parts are arbitrary, and
  // all pod groups wait in one unlimited queue, so that no order depends on the last bit.
  bool quarters = true;
  bool memory = true;           // gpu-memory as well as gpu-fraction
  bool several_devices = true;  // pods on several devices
  bool leaving = true;
  bool bind_requests = true;
  bool reservations = true;     // pods that reserve devices for sharers
  bool unknown_devices = true;  // running pods whose devices are unknown
  int max_running_groups = 4;   // per node
  int max_waiting_groups = 3;   // in addition to existing ones
};

// The pods on a device never exceed it.
void AddRandomSharers(uint64_t seed, const RandomSharersOptions& options, ClusterRows* rows);

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_RANDOM_SHARERS_H_
