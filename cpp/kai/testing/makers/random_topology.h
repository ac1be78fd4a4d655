// What random clusters may have of topology: one or two Topology objects, nodes with their labels,
// groups split into sub-groups, and constraints of both, some of which cannot be met or read.
// Drawn after everything else and from a seed of its own, so that the rest of a cluster stays what
// it is.
#ifndef KAI_TESTING_MAKERS_RANDOM_TOPOLOGY_H_
#define KAI_TESTING_MAKERS_RANDOM_TOPOLOGY_H_

#include <cstdint>

#include "kai/testing/makers/cluster_maker.h"

namespace kai {

struct RandomTopologyOptions {
  bool two = true;           // now and then a second Topology
  bool split_groups = true;  // into sub-groups, those that have none
  bool lacking = true;       // nodes that lack a label
  bool mistakes = true;      // unknown topologies and levels, levels the wrong way round, or none
};

void AddRandomTopology(uint64_t seed, const RandomTopologyOptions& options, ClusterRows* rows);

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_RANDOM_TOPOLOGY_H_
