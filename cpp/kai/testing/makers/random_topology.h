// Adds topology to random clusters: one or two Topology objects, nodes with their labels, groups
// with sub-groups, and constraints; some cannot be met or are invalid. They are drawn last
// and from a separate seed, so that the rest of a cluster does not change.
#ifndef KAI_TESTING_MAKERS_RANDOM_TOPOLOGY_H_
#define KAI_TESTING_MAKERS_RANDOM_TOPOLOGY_H_

#include <cstdint>

#include "kai/testing/makers/cluster_maker.h"

namespace kai {

struct RandomTopologyOptions {
  bool two = true;           // sometimes a second Topology
  bool split_groups = true;  // splits groups without sub-groups
  bool lacking = true;       // nodes that lack a label
  bool mistakes = true;      // unknown topologies and levels, levels in the wrong order, or none
};

void AddRandomTopology(uint64_t seed, const RandomTopologyOptions& options, ClusterRows* rows);

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_RANDOM_TOPOLOGY_H_
