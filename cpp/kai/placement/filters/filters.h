// The filters, one file per reason to say no. They check a node in the order of
// session/registry.cc; the first one that refuses ends the node.
//
//   filters.push_back(MakeTaintFilter(cluster));
//   filters.push_back(MakeHostPortFilter(cluster, options.leaving));
//
// Invariants: those of filter.h; a filter keeps a reference to the cluster, which outlives it.
// Cost: making one looks at the classes of pods and nodes, and where it counts also at every pod.
// Threads: those of filter.h.
#ifndef KAI_PLACEMENT_FILTERS_FILTERS_H_
#define KAI_PLACEMENT_FILTERS_FILTERS_H_

#include <memory>

#include "kai/placement/filter.h"

namespace kai {

std::unique_ptr<Filter> MakeResourceTypeFilter(const Cluster& cluster);  // spec 3 P4
std::unique_ptr<Filter> MakeGpuMemoryFilter(const Cluster& cluster);     // spec 3 P5
std::unique_ptr<Filter> MakeNodeStateFilter(
    const Cluster& cluster);  // spec 3 P7: cordons and conditions
std::unique_ptr<Filter> MakeTaintFilter(const Cluster& cluster);  // spec 3 P8
std::unique_ptr<Filter> MakeNodeAffinityFilter(
    const Cluster& cluster);  // spec 3 P8: node selector and required node affinity
// Pods that are leaving still take their ports and keep others away, and those that need them
// near find them near, as in KAI; or they do not, and a pod in their place waits until they are
// gone (spec 2 W11).
enum class Leaving : uint8_t { kStillCount, kMakeRoom };

std::unique_ptr<Filter> MakeHostPortFilter(const Cluster& cluster, Leaving leaving);  // spec 3 P8
std::unique_ptr<Filter> MakeVolumeFilter(const Cluster& cluster);                     // spec 3 P8
std::unique_ptr<Filter> MakeInterPodAffinityFilter(
    const Cluster& cluster, Leaving leaving);  // spec 3 P8: in both directions
std::unique_ptr<Filter> MakeWorkerNodeFilter(const Cluster& cluster);  // spec 3 P10
// Of the plugin dynamicresources, behind those of predicates.
std::unique_ptr<Filter> MakeResourceClaimFilter(const Cluster& cluster);  // spec 3 D7

// What CSI drivers have left for the claims of pods; no plugin's, and asked before them.
std::unique_ptr<Filter> MakeStorageFilter(const Cluster& cluster);  // spec 3 P12

class ZoneLedger;
std::unique_ptr<Filter> MakeNumaFilter(std::shared_ptr<ZoneLedger> ledger);  // spec 3 U15

// Not in KAI.
std::unique_ptr<Filter> MakeTopologySpreadFilter(const Cluster& cluster);
std::unique_ptr<Filter> MakeVolumeLimitFilter(const Cluster& cluster);
std::unique_ptr<Filter> MakeVolumeZoneFilter(const Cluster& cluster);
class PolicyTables;
// One of policies().filters(). `listens`: the tables hear of changes through it; one does.
std::unique_ptr<Filter> MakeTableFilter(const Cluster& cluster,
                                        std::shared_ptr<PolicyTables> tables, size_t function,
                                        bool listens);

}  // namespace kai

#endif  // KAI_PLACEMENT_FILTERS_FILTERS_H_
