// The row numbers of the cluster's columns.
//
//   table[NodeId(0)][2] = 8;      // table[PodId(0)] does not compile
//
// Invariants: no order depends on ids; ties are decided by name (name_rank; docs/decisions/0001).
// Cost: an integer. Threads: plain values.
#ifndef KAI_MODEL_COLUMNS_IDS_H_
#define KAI_MODEL_COLUMNS_IDS_H_

#include "kai/base/id.h"
#include "kai/base/interner.h"

namespace kai {

using NodeId = Id<struct NodeTag>;
using NodeClassId = Id<struct NodeClassTag>;
using PodId = Id<struct PodTag>;
using PodClassId = Id<struct PodClassTag>;
using PodGroupId = Id<struct PodGroupTag>;
using SubGroupId = Id<struct SubGroupTag>;  // sets of sub-groups and pod sets alike
using QueueId = Id<struct QueueTag>;
using ConstraintId = Id<struct ConstraintTag>;      // a pod's own restrictions on its node
using AffinityTermId = Id<struct AffinityTermTag>;  // an inter-pod (anti-)affinity term
using HostPortId = Id<struct HostPortTag>;          // a node port that some pod requests
using VolumeNeedsId = Id<struct VolumeNeedsTag>;    // what a pod's volumes require of its node
using NumaNeedsId = Id<struct NumaNeedsTag>;        // what a pod requests of NUMA zones
using ClaimId = Id<struct ClaimTag>;                // a ResourceClaim
using ClaimNeedsId = Id<struct ClaimNeedsTag>;      // what a pod's claims require of its node
using TopologyKeyId = Id<struct TopologyKeyTag>;    // the topology key of affinity terms
using DomainId = Id<struct DomainTag>;              // a value of a topology key
using TopologyId = Id<struct TopologyTag>;
using TopologyDomainId = Id<struct TopologyDomainTag>;          // in the tree of its topology
using TopologyConstraintId = Id<struct TopologyConstraintTag>;  // of sets of sub-groups
using ResourceSlot = Id<struct ResourceSlotTag>;                // an element of resource vectors

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_IDS_H_
