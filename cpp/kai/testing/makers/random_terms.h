// What random clusters may have besides resources, labels and affinity: ports of nodes, volumes,
// ConfigMaps, selectors of namespaces, spread, preferred nodes. Drawn after everything else and
// from a seed of its own, so that the rest of a cluster stays what it is.
#ifndef KAI_TESTING_MAKERS_RANDOM_TERMS_H_
#define KAI_TESTING_MAKERS_RANDOM_TERMS_H_

#include <cstdint>

#include "kai/testing/makers/cluster_maker.h"

namespace kai {

struct RandomTermsOptions {
  bool host_ports = true;
  bool volumes = true;
  bool config_maps = true;
  bool namespaces = true;  // selectors of namespaces in affinity terms
  bool spread = true;
  bool preferred_nodes = true;
};

void AddRandomTerms(uint64_t seed, const RandomTermsOptions& options, ClusterRows* rows);

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_RANDOM_TERMS_H_
