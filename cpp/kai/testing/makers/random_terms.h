// Adds features besides resources, labels and affinity to random clusters: host ports, volumes,
// ConfigMaps, selectors of namespaces, spread, preferred nodes. They are drawn last and from a
// separate seed, so that the rest of a cluster does not change.
#ifndef KAI_TESTING_MAKERS_RANDOM_TERMS_H_
#define KAI_TESTING_MAKERS_RANDOM_TERMS_H_

#include <cstdint>

#include "kai/testing/makers/cluster_maker.h"

namespace kai {

struct RandomTermsOptions {
  bool host_ports = true;
  bool volumes = true;
  bool config_maps = true;
  bool namespaces = true;  // namespace selectors in affinity terms
  bool spread = true;
  bool preferred_nodes = true;
};

void AddRandomTerms(uint64_t seed, const RandomTermsOptions& options, ClusterRows* rows);

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_RANDOM_TERMS_H_
